//! What colour does each name get? Names by what they mean, for semantic highlighting.

use super::File;
use super::find::is_kernel;
use super::names::{Role, Symbol};
use crate::check::facts::Meaning;
use crate::source::Span;
use crate::syntax::ast::Item;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Class {
    Module,
    Type,
    Struct,
    Function,
    Parameter,
    Variable,
    Property,
    EnumMember,
    Constant,
}

/// What else is known of a name, as bits.
pub const DECLARATION: u32 = 1;
pub const READONLY: u32 = 2;
pub const MODIFICATION: u32 = 4;
pub const LIBRARY: u32 = 8;
/// A kernel.
pub const KERNEL: u32 = 16;
/// The same for all threads of a launch.
pub const UNIFORM: u32 = 32;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Token {
    pub span: Span,
    pub class: Class,
    /// `DECLARATION`, ...
    pub modifiers: u32,
}

/// The tokens of all kernels, in the order of the text.
pub fn tokens(file: &File) -> Vec<Token> {
    let facts = &file.analysis.facts;
    let mut list = Vec::new();
    for occurrence in file.names.iter().filter(|occurrence| !occurrence.host) {
        let (class, mut modifiers) = match &occurrence.symbol {
            Symbol::Local { function, name } => {
                let owner = file.functions().find(|f| f.span == *function);
                let parameter = owner.is_some_and(|f| f.params.iter().any(|param| param.name.text == *name));
                let uniform = facts.per_thread.get(&(*function, name.clone())) == Some(&false);
                let class = if parameter { Class::Parameter } else { Class::Variable };
                (class, if uniform { UNIFORM } else { 0 })
            }
            Symbol::Item(name) => match item(file, name) {
                Some(found) => found,
                None => continue,
            },
            Symbol::Field { owner, .. } => {
                let is_struct = facts.structs.values().any(|def| def.name == *owner);
                if is_struct { (Class::Property, 0) } else { (Class::EnumMember, READONLY) }
            }
            Symbol::Builtin(name) => {
                let is_type = matches!(facts.expressions.get(&occurrence.span), Some(Meaning::Type(_)))
                    || crate::check::value::type_of_name(name).is_some()
                    || name.starts_with("array");
                (if is_type { Class::Type } else { Class::Function }, LIBRARY)
            }
            Symbol::Module(_) | Symbol::Member { .. } => match facts.expressions.get(&whole(file, occurrence.span)) {
                Some(Meaning::Function(_)) => (Class::Function, 0),
                Some(Meaning::Type(_)) => (Class::Struct, 0),
                Some(Meaning::Value(_) | Meaning::Constant(..)) => (Class::Constant, READONLY),
                _ => (Class::Module, 0),
            },
            Symbol::Keyword { .. } => (Class::Parameter, 0),
        };
        modifiers |= match occurrence.role {
            Role::Definition => DECLARATION,
            Role::Write => MODIFICATION,
            Role::Read => 0,
        };
        list.push(Token { span: occurrence.span, class, modifiers });
    }
    list
}

/// The expression that a name ends: `a.b` for `b`.
fn whole(file: &File, name: Span) -> Span {
    let around = file.expressions_at(name.start);
    around.into_iter().find(|e| e.span.end == name.end).map_or(name, |e| e.span)
}

fn item(file: &File, name: &str) -> Option<(Class, u32)> {
    file.analysis.parsed.all_items().into_iter().find_map(|item| match item {
        Item::Function(function) if function.name.text == name => {
            Some((Class::Function, if is_kernel(function) { KERNEL } else { 0 }))
        }
        Item::Class(class) if class.name.text == name => Some((Class::Struct, 0)),
        Item::Constant(constant) if constant.name.text == name => Some((Class::Constant, READONLY)),
        _ => None,
    })
}
