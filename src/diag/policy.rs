//! Which findings does the user want, and how strongly? `--allow`, `--warn`, `--deny`.

use super::{Code, Diagnostic, Diagnostics, Level};

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

/// The user's wishes. A rule for one code beats the rule for all warnings; of two rules for the
/// same, the stricter holds. Without a rule warnings are shown, and remarks (`I` codes) are not.
#[derive(Clone, Debug, Default)]
pub struct Policy {
    rules: Vec<(Option<Code>, Setting)>,
    remarks: bool,
}

impl Policy {
    /// Adds a rule for a code or slug, or for `warnings`: all of them.
    ///
    /// # Errors
    /// A message when there is no such code, or when it is an error's: errors cannot be weakened.
    pub fn set(&mut self, name: &str, setting: Setting) -> Result<(), String> {
        if name == "warnings" {
            self.rules.push((None, setting));
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
        self.rules.push((Some(code), setting));
        Ok(())
    }

    /// Shows remarks, too: for editors.
    pub fn with_remarks(mut self) -> Policy {
        self.remarks = true;
        self
    }

    /// What holds for a code.
    pub fn setting(&self, code: Code) -> Setting {
        let strictest = |wanted: Option<Code>| {
            self.rules.iter().filter(|(rule, _)| *rule == wanted).map(|(_, setting)| *setting).max()
        };
        match code.level() {
            Level::Error => Setting::Deny,
            Level::Warning => strictest(Some(code)).or_else(|| strictest(None)).unwrap_or(Setting::Warn),
            Level::Note if self.remarks => strictest(Some(code)).unwrap_or(Setting::Warn),
            Level::Note => strictest(Some(code)).unwrap_or(Setting::Allow),
        }
    }

    /// Drops what is allowed and raises what is denied.
    pub fn apply(&self, diagnostics: &mut Diagnostics) {
        diagnostics.update(|diagnostic: &mut Diagnostic| {
            let setting = self.setting(diagnostic.code);
            if setting == Setting::Deny {
                diagnostic.level = Level::Error;
            }
            setting != Setting::Allow
        });
    }
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
        policy.apply(&mut diagnostics);
        assert_eq!(diagnostics.len(), 1);
    }

    #[test]
    fn errors_and_slips_are_refused() {
        let mut policy = Policy::default();
        assert!(policy.set("E0301", Setting::Warn).is_err());
        assert!(policy.set("w0997", Setting::Warn).is_err());
    }
}
