//! What do the compiled modules of a package have? Its C header says, where it comes with one.

use std::collections::HashMap;
use std::rc::Rc;

use crate::check::Checker;
use crate::check::state::globals::Global;
use crate::check::types::value::{EnumClass, ScopeId};
use crate::source::header::{Header, Number, Place};
use crate::source::{FileId, SourceFile, Span};
use crate::syntax::ast::{Expr, ExprKind, UnaryOp};

impl Checker<'_> {
    /// Enters what a package's C header defines, where the package has all names of a compiled
    /// module and none of its files defines this one.
    pub(super) fn open_header(&mut self, scope: ScopeId, name: &str) {
        if !self.scopes[scope].open || self.scopes[scope].names.contains_key(name) {
            return;
        }
        let Some(folder) = self.modules.files.get_mut(&scope).and_then(|module| module.folder.take()) else { return };
        let Some(header) = self.sources.system().and_then(|system| Header::of_package(&folder, &*system)) else {
            return;
        };
        let paths: Vec<_> = header.files.iter().map(|(path, _)| self.shown(path)).collect();
        let texts = header.files.into_iter().map(|(_, text)| text);
        let files: Vec<FileId> =
            paths.into_iter().zip(texts).map(|(path, text)| self.sources.add(SourceFile::new(path, text))).collect();
        let span = |(file, bytes): &Place| Span::new(files[*file], bytes.start, bytes.end);
        let mut found: Vec<(String, Global)> = Vec::new();
        for (name, (number, place)) in header.numbers {
            found.push((name, Global::Constant(expression(number, span(&place)))));
        }
        for (name, members) in header.enumerations {
            let values = members
                .iter()
                .map(|member| (member.name.clone(), expression(Number::Int(member.value), span(&member.place))));
            let members: HashMap<String, Expr> = values.collect();
            let inner = self.new_scope(scope, Some(&name), true);
            found.push((name.clone(), Global::Enum(Rc::new(EnumClass { name, members, scope: inner }))));
        }
        for (name, global) in found {
            if !self.scopes[scope].names.contains_key(&name) {
                self.modules.from_headers.insert((scope, name.clone()));
                self.scopes[scope].names.insert(name, global);
            }
        }
    }
}

/// The number as Python writes it.
fn expression(number: Number, span: Span) -> Expr {
    let (kind, negative) = match number {
        Number::Int(value) => (ExprKind::Int(Some(u128::from(value.unsigned_abs()))), value < 0),
        Number::Float(value) => (ExprKind::Float(value.abs()), value.is_sign_negative()),
    };
    let number = Expr { kind, span };
    match negative {
        true => Expr { kind: ExprKind::Unary { op: UnaryOp::Neg, operand: Box::new(number) }, span },
        false => number,
    }
}
