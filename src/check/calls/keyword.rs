//! Arguments by name: which parameter is meant, and which has two?

use super::call::Given;
use crate::check::body::Body;
use crate::check::messages;
use crate::check::names::suggest::nearest;
use crate::check::state::definition::Signature;
use crate::check::types::value::Reported;
use crate::diag::Diagnostic;
use crate::syntax::ast::{Arg, Name};

/// That there is no parameter or option of a name, with the one of `known` that is probably meant.
pub fn unknown_keyword<'a>(message: String, keyword: &Name, known: impl Iterator<Item = &'a str>) -> Diagnostic {
    let diagnostic = messages::calls::unknown_keyword(&message, keyword.span);
    match nearest(&keyword.text, known) {
        Some(near) => messages::repairs::written_instead(diagnostic, &near, keyword.span),
        None => diagnostic,
    }
}

impl Body<'_, '_> {
    /// Reports a name that is given twice in one call: no Python, so no call is looked at further.
    pub(super) fn repeated_keyword(&mut self, args: &[Arg]) -> Option<Reported> {
        let names = || args.iter().filter_map(|arg| arg.name.as_ref());
        let (k, second) =
            names().enumerate().find(|(k, name)| names().take(*k).any(|other| other.text == name.text))?;
        let first = names().take(k).find(|other| other.text == second.text)?;
        Some(self.report(messages::calls::keyword_twice(&second.text, second.span, first.span)))
    }

    /// Reports `print(x, sep=", ")`: a kernel prints its values with spaces between them, and a
    /// line end.
    pub(super) fn print_keyword(&mut self, name: &str, args: &[Arg]) -> Option<Reported> {
        let keyword = args.iter().find_map(|arg| arg.name.as_ref())?;
        let help = match keyword.text.as_str() {
            "sep" | "end" => "what stands between and behind values is part of a format: `wp.printf(\"%f, %f\", x, y)`",
            "file" | "flush" => "leave it away: a kernel prints to the output of the program",
            _ => "give values alone",
        };
        Some(self.report(messages::calls::keyword_of_print(name, &keyword.text, help, keyword.span)))
    }

    /// Reports a parameter that one argument gives by its place and another by its name.
    pub(super) fn twice_filled(&mut self, signature: &Signature, given: &[Given], name: &str) -> Option<Reported> {
        let by_name = given.iter().filter_map(|arg| arg.name.as_ref());
        let (keyword, first) = by_name.into_iter().find_map(|keyword| {
            let slot = signature.params.iter().position(|param| param.name == keyword.text)?;
            Some((keyword, given.get(slot).filter(|arg| arg.name.is_none())?))
        })?;
        Some(self.report(messages::calls::parameter_twice(name, &keyword.text, keyword.span, first.span)))
    }
}
