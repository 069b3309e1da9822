//! The one list of diagnostic codes. A number is never reused; each code has a page `pages/CODE.md`.
//!
//! Families: 01 syntax, 02 names, 03 types, 04 calls, 05 constants, 06 gradients, 07 races and memory, 08 back ends,
//! 09 kc itself, 10 launch files and arguments, 11 running. `W` codes are warnings.

use super::Level;

macro_rules! codes {
    ($($code:ident $slug:literal $title:literal;)*) => {
        /// The code of a diagnostic, such as `E0301`.
        #[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Debug)]
        pub enum Code { $($code),* }

        impl Code {
            /// Every code, in the order of the list.
            pub const ALL: &[Code] = &[$(Code::$code),*];

            /// `E0301`
            pub fn name(self) -> &'static str {
                match self { $(Code::$code => stringify!($code)),* }
            }

            /// `type-mismatch`
            pub fn slug(self) -> &'static str {
                match self { $(Code::$code => $slug),* }
            }

            /// One line for lists.
            pub fn title(self) -> &'static str {
                match self { $(Code::$code => $title),* }
            }

            /// The page that `kc explain` shows, in Markdown.
            pub fn page(self) -> &'static str {
                match self { $(Code::$code => include_str!(concat!("pages/", stringify!($code), ".md"))),* }
            }
        }
    };
}

codes! {
    // 01 syntax

    // 02 names

    // 03 types

    // 04 calls

    // 05 constants

    // 08 back ends

    // 09 kc itself
    E0901 "unreadable-file" "a file that cannot be read";
    E0902 "not-utf-8" "a file that is not UTF-8 text";
    E0903 "file-too-large" "a source file above the size limit";
    E0904 "unwritten-output" "an output that cannot be written";
    E0905 "unknown-kernel" "`-k` names a kernel that the file does not have";
    E0906 "same-output" "two inputs would write the same output file";
    W0907 "no-kernels" "a file without kernels";
    E0908 "nothing-to-compile" "no kernel to compile";
    E0909 "invalid-ir" "an IR text that does not parse or verify";
    E0999 "internal-error" "a fault of kc itself";

    // 10 launch files and arguments

    // 11 running

}

impl Code {
    pub fn level(self) -> Level {
        match self.name().as_bytes()[0] {
            b'E' => Level::Error,
            b'W' => Level::Warning,
            _ => Level::Note,
        }
    }

    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name().eq_ignore_ascii_case(name))
    }
}
