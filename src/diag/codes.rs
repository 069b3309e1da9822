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
    E1001 "launch-file-invalid" "launch file cannot be read or is malformed";
    E1002 "launch-format-unknown" "launch file has an unknown format version";
    E1003 "kernel-not-found" "no such kernel in the source file";
    E1004 "argument-names" "arguments do not match the kernel's parameters";
    E1005 "argument-type" "argument has another type than the kernel's parameter";
    E1006 "size-invalid" "extent or size is out of range";
    E1007 "array-file-invalid" "array file cannot be read";
    E1008 "array-missing" "array is not in the file";
    E1009 "array-mismatch" "stored array has another shape or type than the argument";
    E1010 "array-placement" "strides or alias cannot be used";
    E1011 "value-invalid" "value does not fit its type";
    E1012 "option-invalid" "command line option is malformed";
    E1013 "output-not-written" "results cannot be written";

    // 11 running
    E1101 "index-out-of-bounds" "index is out of bounds";
    E1102 "assertion-failed" "an assertion in the kernel failed";
    E1103 "gradients-unavailable" "gradients are not available yet";
    E1104 "device-unavailable" "device is not available";
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
