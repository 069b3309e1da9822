//! What do the compiled modules of a package have? Its C header says, where it comes with one.

use std::collections::HashMap;
use std::path::PathBuf;
use std::rc::Rc;
use std::sync::Arc;

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
        let Some(system) = self.sources.system() else { return };
        let known = self.known.headers.get(&folder).filter(|header| header.is_current(&*system));
        let header = match known {
            Some(header) => header,
            None => {
                let Some(header) = Header::of_package(&folder, &*system) else { return };
                let header = Arc::new(header);
                self.known.headers.keep(folder, header.clone(), 1);
                header
            }
        };
        let shown = |(path, text): &(PathBuf, String)| SourceFile::new(self.shown(path), text.clone());
        let files: Vec<SourceFile> = header.files.iter().map(shown).collect();
        let files: Vec<FileId> = files.into_iter().map(|file| self.sources.add(file)).collect();
        let span = |(file, bytes): &Place| Span::new(files[*file], bytes.start, bytes.end);
        let mut found: Vec<(String, Global)> = Vec::new();
        for (name, (number, place)) in &header.numbers {
            found.push((name.clone(), Global::Constant(expression(*number, span(place)))));
        }
        for (name, members) in &header.enumerations {
            let values = members
                .iter()
                .map(|member| (member.name.clone(), expression(Number::Int(member.value), span(&member.place))));
            let members: HashMap<String, Expr> = values.collect();
            let inner = self.new_scope(scope, Some(name), true);
            let class = EnumClass { name: name.clone(), members, scope: inner };
            found.push((name.clone(), Global::Enum(Rc::new(class))));
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
