//! Which names do entries have for linkers, and what keeps a header and an object together that
//! belong together?
//!
//! A linker takes the first function of a name. Two files with a kernel `step`, a header that is
//! older than its object: each would run the wrong code. So every host entry has a second symbol,
//! its name with a [`mark`] at the end, and that is the one which headers declare.

use std::borrow::Cow;

use sha2::{Digest, Sha256};

use crate::ir::{FuncId, Module};

/// The names of results.
#[derive(Clone, Debug, Default)]
pub struct Linkage {
    /// In front of the names of kernels and structs: `sim_` makes `sim_step_cpu_kernel_forward`.
    pub prefix: String,
    /// The C++ namespace of a header, such as `game::physics`; empty: none. None: one that is named
    /// after the source file.
    pub namespace: Option<String>,
    /// The entries of an object are visible outside of the shared library that it is linked into.
    pub exported: bool,
}

impl Linkage {
    /// The module with the prefix in front of its kernels and structs.
    pub fn prefixed<'m>(&self, module: &'m Module) -> Cow<'m, Module> {
        let mut module = Cow::Borrowed(module);
        if self.prefix.is_empty() {
            return module;
        }
        let named = module.to_mut();
        let kernels: Vec<FuncId> = named.kernels().map(|(id, _)| id).collect();
        for id in kernels {
            let kernel = &mut named.functions[id];
            kernel.name.insert_str(0, &self.prefix);
            kernel.source_name.insert_str(0, &self.prefix);
        }
        named.structs.values_mut().for_each(|def| def.name.insert_str(0, &self.prefix));
        module
    }
}

/// A host entry.
pub struct Entry {
    /// The symbol that it has in any case.
    pub name: String,
    /// The one that its header declares.
    pub symbol: String,
}

/// Sixteen hexadecimal digits that differ where `parts` do.
pub fn mark(parts: &[&str]) -> String {
    let mut hash = Sha256::new();
    for part in parts {
        hash.update((part.len() as u64).to_le_bytes());
        hash.update(part);
    }
    hash.finalize()[..8].iter().map(|byte| format!("{byte:02x}")).collect()
}

/// The symbol of an entry that only its own header declares.
pub fn marked(entry: &str, mark: &str) -> String {
    format!("{entry}_{mark}")
}

/// Whether a text is a C identifier.
pub fn is_identifier(text: &str) -> bool {
    let mut chars = text.chars();
    chars.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
        && chars.all(|c| c.is_ascii_alphanumeric() || c == '_')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_differ_where_parts_do() {
        assert_eq!(mark(&["a", "b"]), mark(&["a", "b"]));
        assert_ne!(mark(&["a", "b"]), mark(&["ab", ""]));
        assert_eq!(mark(&[]).len(), 16);
    }

    #[test]
    fn identifiers_are_those_of_c() {
        for good in ["a", "_", "kc_1", "Z9"] {
            assert!(is_identifier(good), "{good}");
        }
        for bad in ["", "1a", "a-b", "a b", "ä", "a::b"] {
            assert!(!is_identifier(bad), "{bad}");
        }
    }
}
