//! Where is this defined, and where is it used?

use super::File;
use super::hover::ordered;
use super::names::{Occurrence, Role, Symbol};
use crate::source::Span;

/// Where something is defined.
#[derive(Clone, PartialEq, Eq, Debug)]
pub enum Target {
    Here(Span),
    /// In a library file, at these bytes.
    Library {
        path: String,
        name: std::ops::Range<u32>,
    },
}

/// The definitions of the name at an offset, and its own place.
pub fn definitions(file: &File, offset: u32) -> Option<(Span, Vec<Target>)> {
    let occurrence = file.names.at(offset)?;
    let targets = match &occurrence.symbol {
        Symbol::Builtin(name) => ordered(file, name, offset)
            .into_iter()
            .map(|overload| Target::Library { path: overload.path, name: overload.name })
            .collect(),
        Symbol::Module(_) => Vec::new(),
        symbol => {
            let all = file.names.all(symbol).filter(|o| o.role == Role::Definition);
            let mut places: Vec<Target> = all.map(|o| Target::Here(o.span)).collect();
            // Of several functions of one name, the one that the call means.
            let called =
                file.expressions_at(offset).into_iter().rev().find_map(|e| file.analysis.facts.calls.get(&e.span));
            if let Some(called) = called
                && places.contains(&Target::Here(called.name))
            {
                places.sort_by_key(|place| *place != Target::Here(called.name));
            }
            places
        }
    };
    (!targets.is_empty()).then_some((occurrence.span, targets))
}

/// The struct that the value at an offset is of.
pub fn type_definition(file: &File, offset: u32) -> Option<Span> {
    use crate::check::facts::Meaning;
    use crate::types::{Element, Type};
    let facts = &file.analysis.facts;
    let of = |ty: Type| match ty {
        Type::Struct(id) => Some(id),
        Type::Array(array) => {
            if let Element::Struct(id) = array.element {
                Some(id)
            } else {
                None
            }
        }
        _ => None,
    };
    let ty = match &file.names.at(offset)?.symbol {
        Symbol::Local { function, name } => facts.variable(*function, name)?.ty,
        _ => match facts.expressions.get(&file.expressions_at(offset).last()?.span)? {
            Meaning::Value(ty) | Meaning::Type(ty) => *ty,
            _ => return None,
        },
    };
    let name = &facts.structs.get(of(ty)?)?.name;
    file.classes().find(|class| class.name.text == *name).map(|class| class.name.span)
}

/// Every occurrence of the name at an offset, in the order of the text.
pub fn references(file: &File, offset: u32) -> Vec<&Occurrence> {
    match file.names.at(offset) {
        Some(occurrence) => file.names.all(&occurrence.symbol).collect(),
        None => Vec::new(),
    }
}
