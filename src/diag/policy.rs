//! Which findings does the user want, and how strongly? `--allow`, `--warn`, `--deny`, and what
//! `pyproject.toml` says.
//!
//! Warnings about gradients are for those who want one: where a file asks for no gradient, those of
//! [`GRADIENTS`] are left out, and elsewhere the first of each code speaks for all of the file, but
//! each kernel that has no gradient is named.

use std::collections::HashMap;

use super::{Code, Diagnostic, Diagnostics, Level, counted};
use crate::source::{FileId, SourceMap, Span};

/// Warnings that name what a gradient takes for granted or loses, or that there is none:
/// `gradients` is all of them.
pub const GRADIENTS: [Code; 5] = [Code::W0602, Code::W0603, Code::W0604, Code::W0606, Code::W0607];

/// Of these, those that name a kernel without a backward entry.
pub const NO_BACKWARD: [Code; 2] = [Code::W0603, Code::W0607];

/// Warnings that are shown where somebody asks for them.
pub const ON_DEMAND: [Code; 1] = [Code::W1303];

/// What becomes of a finding.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Setting {
    /// It is left out.
    Allow,
    /// It is shown and fails nothing.
    Warn,
    /// It is an error.
    Deny,
}

/// What a rule is about, the narrower the stronger.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
enum Subject {
    Code(Code),
    Gradients,
    Warnings,
}

/// The user's wishes. A rule for one code beats one for a group, and that the rule for all
/// warnings; of two rules for the same, the stricter holds. Without a rule warnings are shown, and
/// remarks (`I` codes) are not.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<(Subject, Setting)>,
    remarks: bool,
    /// Whether what runs look for is shown as well.
    before_runs: bool,
    /// What holds where no rule says anything.
    under: Option<Box<Policy>>,
}

impl Policy {
    /// Adds a rule for a code or slug, for `gradients`, or for `warnings`: all of them.
    ///
    /// # Errors
    /// A message when there is no such code, or when it is an error's: errors cannot be weakened.
    pub fn set(&mut self, name: &str, setting: Setting) -> Result<(), String> {
        let group = match name {
            "warnings" => Some(Subject::Warnings),
            "gradients" => Some(Subject::Gradients),
            _ => None,
        };
        if let Some(group) = group {
            self.rules.push((group, setting));
            return Ok(());
        }
        let known = Code::ALL.iter().find(|code| code.name().eq_ignore_ascii_case(name) || code.slug() == name);
        let Some(&code) = known else {
            let near = super::explain::page(name).err().unwrap_or_default();
            let hint = near.first().map_or(String::new(), |code| format!("; did you mean {}?", code.name()));
            return Err(format!("no code is named `{name}`{hint}"));
        };
        if code.level() == Level::Error {
            return Err(format!("{} is an error, which cannot be allowed or made a warning", code.name()));
        }
        self.rules.push((Subject::Code(code), setting));
        Ok(())
    }

    /// Shows remarks, too: for editors.
    pub fn with_remarks(mut self) -> Policy {
        self.remarks = true;
        self
    }

    /// Shows what runs would look for, too: for code that runs elsewhere.
    pub fn without_runs(mut self) -> Policy {
        self.before_runs = true;
        self
    }

    /// The same, with the rules of another one where these say nothing.
    pub fn over(mut self, under: Policy) -> Policy {
        self.under = Some(Box::new(under));
        self
    }

    /// What holds for a code.
    pub fn setting(&self, code: Code) -> Setting {
        match code.level() {
            Level::Error => Setting::Deny,
            Level::Note => {
                let wanted = self.narrow(code);
                wanted.unwrap_or(if self.remarks { Setting::Warn } else { Setting::Allow })
            }
            Level::Warning => match self.narrow(code) {
                Some(setting) => setting,
                None if ON_DEMAND.contains(&code) => Setting::Allow,
                None => self.strictest(&[Subject::Warnings]).unwrap_or(Setting::Warn),
            },
        }
    }

    /// Whether nothing is said of gradients but errors, and warnings where a file asks for one.
    pub fn is_quiet_about_gradients(&self) -> bool {
        let silent = |code: &Code| code.level() != Level::Note || self.setting(*code) == Setting::Allow;
        GRADIENTS.iter().all(|&code| self.is_quiet(code)) && Code::ALL.iter().all(silent)
    }

    /// What the rules for the code or its group say.
    fn narrow(&self, code: Code) -> Option<Setting> {
        match GRADIENTS.contains(&code) {
            true => self.strictest(&[Subject::Code(code), Subject::Gradients]),
            false => self.strictest(&[Subject::Code(code)]),
        }
    }

    /// The strictest rule about the first of the subjects that has one.
    fn strictest(&self, subjects: &[Subject]) -> Option<Setting> {
        let of =
            |wanted: &Subject| self.rules.iter().filter(|(rule, _)| rule == wanted).map(|(_, setting)| *setting).max();
        let own = subjects.iter().find_map(of);
        own.or_else(|| self.under.as_ref().and_then(|under| under.strictest(subjects)))
    }

    /// Drops what is allowed and raises what is denied.
    pub fn apply(&self, diagnostics: &mut Diagnostics, sources: &SourceMap) {
        let mut asks = HashMap::new();
        let mut firsts = self.firsts(diagnostics, sources, &mut asks);
        diagnostics.update(|diagnostic: &mut Diagnostic| {
            let setting = self.setting(diagnostic.code);
            if setting == Setting::Deny {
                diagnostic.level = Level::Error;
            }
            if setting == Setting::Allow || !self.is_quiet(diagnostic.code) {
                return setting != Setting::Allow;
            }
            if self.leaves_to_runs(diagnostic) {
                return false;
            }
            let Some((code, span)) = diagnostic.span().map(|span| (diagnostic.code, span)) else { return true };
            if NO_BACKWARD.contains(&code) {
                return asks.get(&span.file).copied().unwrap_or(true);
            }
            match firsts.get_mut(&(code, span.file)) {
                Some((first, more)) if *first == span => {
                    if *more > 0 {
                        let others = counted(*more, "more warning");
                        let text = format!("{others} {} in this file: `--warn {}` shows all", code.name(), code.name());
                        diagnostic.notes.push(text);
                        *more = 0;
                    }
                    true
                }
                _ => false,
            }
        });
    }

    /// Whether a code is left out where a file asks for no gradient: unless a rule names it.
    fn is_quiet(&self, code: Code) -> bool {
        GRADIENTS.contains(&code) && self.narrow(code).is_none()
    }

    /// Whether nothing is said of it, since a run of the gradient looks for it.
    fn leaves_to_runs(&self, diagnostic: &Diagnostic) -> bool {
        diagnostic.is_left_to_runs && !self.before_runs && !self.remarks
    }

    /// Of each quiet code, in each file that asks for a gradient, the first finding and the number
    /// of the others. `asks` becomes which of the files do.
    fn firsts(
        &self,
        diagnostics: &Diagnostics,
        sources: &SourceMap,
        asks: &mut HashMap<FileId, bool>,
    ) -> HashMap<(Code, FileId), (Span, usize)> {
        let mut firsts: HashMap<(Code, FileId), (Span, usize)> = HashMap::new();
        for diagnostic in diagnostics.iter().filter(|d| self.is_quiet(d.code) && !self.leaves_to_runs(d)) {
            let Some(span) = diagnostic.span() else { continue };
            if !*asks.entry(span.file).or_insert_with(|| asks_for_gradient(&sources.file(span.file).text)) {
                continue;
            }
            firsts
                .entry((diagnostic.code, span.file))
                .and_modify(|(first, more)| {
                    *first = (*first).min(span);
                    *more += 1;
                })
                .or_insert((span, 0));
        }
        firsts
    }
}

/// Whether a file asks for a gradient somewhere: with a tape, an array that has one, `wp.grad`, or
/// one of its own.
pub fn asks_for_gradient(text: &str) -> bool {
    const WORDS: [&str; 6] = ["Tape", "backward", "requires_grad", "grad", "func_grad", "func_replay"];
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    text.lines().any(|line| {
        let code = line.split('#').next().unwrap_or_default();
        WORDS.iter().any(|word| {
            code.match_indices(word).any(|(at, _)| {
                let (before, after) = (&code[..at], code[at + word.len()..].trim_start());
                let whole = !before.ends_with(is_word) && !code[at + word.len()..].starts_with(is_word);
                let off = after.strip_prefix('=').is_some_and(|value| value.trim_start().starts_with("False"));
                let asked = match *word {
                    "Tape" | "backward" => after.starts_with('('),
                    "grad" => before.ends_with('.'),
                    "requires_grad" => after.starts_with('=') && !off,
                    _ => true,
                };
                whole && asked
            })
        }) || code.split_once("enable_backward").is_some_and(|(_, value)| value.contains("True"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_code_beats_all_warnings() {
        let mut policy = Policy::default();
        assert_eq!(policy.setting(Code::W0907), Setting::Warn);
        policy.set("warnings", Setting::Deny).expect("a rule");
        assert_eq!(policy.setting(Code::W0907), Setting::Deny);
        policy.set("no-kernels", Setting::Allow).expect("a slug");
        assert_eq!(policy.setting(Code::W0907), Setting::Allow);
        let mut diagnostics = Diagnostics::new();
        diagnostics.push(Diagnostic::new(Code::W0907, "x"));
        diagnostics.push(Diagnostic::new(Code::E0301, "y"));
        policy.apply(&mut diagnostics, &SourceMap::default());
        assert_eq!(diagnostics.len(), 1);
    }

    #[test]
    fn what_runs_look_for_is_told_to_those_who_ask() {
        let shown = |policy: &Policy| {
            let mut sources = SourceMap::default();
            let file = sources.add(crate::source::SourceFile::new("a.py", "tape = wp.Tape()\n".to_string()));
            let mut found = Diagnostics::new();
            let at = |n| Diagnostic::new(Code::W0606, "x").label(Span::new(file, n, n + 1), "here");
            found.push(at(1).left_to_runs());
            found.push(at(5));
            found.push(at(9).left_to_runs());
            policy.apply(&mut found, &sources);
            found.into_sorted().iter().map(|d| (d.span().map(|span| span.start), d.notes.len())).collect::<Vec<_>>()
        };
        let mut all = Policy::default();
        all.set("gradients", Setting::Warn).expect("a group");
        assert_eq!(shown(&Policy::default()), [(Some(5), 0)]);
        assert_eq!(shown(&Policy::default().without_runs()), [(Some(1), 1)]);
        assert_eq!(shown(&Policy::default().with_remarks()), [(Some(1), 1)]);
        assert_eq!(shown(&all).len(), 3);
    }

    #[test]
    fn one_warning_of_gradients_speaks_for_a_file_that_asks_for_one() {
        let counts = |text: &str, policy: &Policy| {
            let mut sources = SourceMap::default();
            let file = sources.add(crate::source::SourceFile::new("a.py", text.to_string()));
            let mut found = Diagnostics::new();
            for at in [5, 1, 9] {
                found.push(Diagnostic::new(Code::W0606, "x").label(Span::new(file, at, at + 1), "here"));
            }
            policy.apply(&mut found, &sources);
            let shown = found.into_sorted();
            (shown.len(), shown.first().map(|first| (first.span().map(|span| span.start), first.notes.len())))
        };
        let mut all = Policy::default();
        all.set("gradients", Setting::Warn).expect("a group");
        let (asks, asks_not) = ("tape = wp.Tape()  # text\n", "a = wp.zeros(9)  # wp.Tape()\n");
        assert_eq!(counts(asks, &Policy::default()), (1, Some((Some(1), 1))));
        assert_eq!(counts(asks_not, &Policy::default()), (0, None));
        assert_eq!(counts(asks_not, &all), (3, Some((Some(1), 0))));
    }

    #[test]
    fn each_kernel_without_a_gradient_is_named_where_one_is_asked_for() {
        let shown = |text: &str| {
            let mut sources = SourceMap::default();
            let file = sources.add(crate::source::SourceFile::new("a.py", text.to_string()));
            let mut found = Diagnostics::new();
            for (code, at) in [(Code::W0607, 1), (Code::W0607, 5), (Code::W0603, 9)] {
                found.push(Diagnostic::new(code, "x").label(Span::new(file, at, at + 1), "here"));
            }
            Policy::default().apply(&mut found, &sources);
            found.len()
        };
        assert_eq!((shown("tape = wp.Tape()  # text\n"), shown("a = wp.zeros(9)  # text\n")), (3, 0));
    }

    #[test]
    fn files_ask_for_gradients_in_many_ways() {
        for text in ["wp.Tape()", "x.grad", "wp.grad(f)", "loss.backward()", "requires_grad=True", "@wp.func_grad(f)"] {
            assert!(asks_for_gradient(text), "{text}");
        }
        for text in ["requires_grad=False", "enable_backward=False", "gradient = 3", "x.gradient", "# wp.Tape()"] {
            assert!(!asks_for_gradient(text), "{text}");
        }
    }

    #[test]
    fn rules_of_a_project_hold_where_the_command_line_says_nothing() {
        let (mut project, mut line) = (Policy::default(), Policy::default());
        project.set("W0907", Setting::Deny).expect("a rule");
        project.set("W1301", Setting::Allow).expect("a rule");
        line.set("W0907", Setting::Allow).expect("a rule");
        let policy = line.over(project);
        assert_eq!((policy.setting(Code::W0907), policy.setting(Code::W1301)), (Setting::Allow, Setting::Allow));
        assert_eq!(policy.setting(Code::W1303), Setting::Allow);
    }

    #[test]
    fn errors_and_slips_are_refused() {
        let mut policy = Policy::default();
        assert!(policy.set("E0301", Setting::Warn).is_err());
        assert!(policy.set("w0997", Setting::Warn).is_err());
    }
}
