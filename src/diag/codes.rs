//! The one list of diagnostic codes. A number is never reused; each code has a page
//! `pages/CODE.md`.
//!
//! Families: 01 syntax, 02 names, 03 types, 04 calls, 05 constants, 06 gradients, 07 races and
//! memory, 08 back ends, 09 kc itself, 10 launch files and arguments, 11 running, 12 numbers, 13
//! tidiness, 14 data sets. `W` codes are warnings, `I` codes remarks that are shown on request and
//! in editors.

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

            /// Whether it is a back end's: it does not take what is right.
            pub fn is_of_back_ends(self) -> bool {
                self.name()[1..].starts_with("08")
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
    E0101 "unknown-character" "a character that is no part of Python";
    E0102 "malformed-string" "a string that is not closed or has a broken escape";
    E0103 "malformed-number" "a number that Python refuses";
    E0104 "unclosed-bracket" "a bracket that is never closed";
    E0105 "stray-bracket" "a closing bracket without an opening one";
    E0106 "unexpected-indent" "a line deeper than its block";
    E0107 "inconsistent-indent" "an indentation that matches no block";
    E0108 "missing-body" "a header without a body";
    E0109 "missing-colon" "a header without `:`";
    E0110 "assignment-in-expression" "`=` where a comparison belongs";
    E0111 "missing-value" "an expression with a hole";
    E0112 "unexpected-token" "text that fits nowhere";
    E0113 "invalid-target" "an assignment to something that is no place";
    E0114 "clause-alone" "`else`, `elif`, `except` or `finally` without its opener";
    E0115 "too-deep" "code that nests too deep";
    E0116 "invalid-name" "a definition or member without a proper name";
    E0117 "invalid-parameters" "parameters or arguments in a forbidden form";
    E0118 "decorator-alone" "a decorator with nothing to decorate";
    E0119 "too-many-errors" "too many syntax errors";

    // 02 names
    E0201 "unknown-name" "a name that is not defined";
    E0202 "unknown-attribute" "an attribute or built-in that does not exist";
    E0203 "host-name" "plain Python used inside a kernel";

    // 03 types
    E0301 "type-mismatch" "operand types that do not fit an operator";
    E0302 "variable-type" "a variable that changes its type";
    E0303 "store-type" "a value stored where another type is kept";
    E0304 "not-a-value" "something used as a value, or indexed, that cannot be";
    E0305 "bad-index" "an index or a range that does not fit";
    E0306 "component-range" "a component that does not exist";
    E0307 "condition-type" "a condition that is neither true nor false";
    E0308 "unsupported-python" "Python that kernels do not have";
    E0309 "missing-annotation" "a parameter without a type";
    E0310 "not-a-type" "an annotation that is not a type";
    E0311 "return-types" "returns of different types";
    E0312 "kernel-returns" "a kernel that returns a value";
    E0313 "value-count" "the wrong number of values";
    E0314 "not-assignable" "something that cannot be assigned";
    E0315 "overload-types" "an overload that does not fit its generic kernel";
    E0316 "local-array-return" "a local array that leaves its function";
    E0317 "value-too-large" "a matrix or struct of more components than a thread can work with";
    E0318 "interface-name" "a name that generated code cannot have";
    E0319 "tile-shape" "shapes of tiles that do not fit";
    E0320 "tile-not-once" "a tile operation that may not run, or more than once";
    E0321 "threads-differ" "a tile operation with what differs between the threads of a block";
    E0322 "several-meanings" "a name of a function or type that means one or another, as a run decides";
    E0323 "loop-range" "a loop over something else than `range`";
    E0324 "no-result" "a value of a function that returns none";

    // 04 calls
    E0401 "no-overload" "arguments that no overload takes";
    E0402 "argument-count" "the wrong number of arguments";
    E0403 "unknown-keyword" "a keyword that is no parameter";
    E0404 "not-callable" "a call of something that is no function";
    E0405 "recursion" "a function that calls itself";
    E0406 "tid-in-function" "`wp.tid()` outside a kernel";
    E0407 "needs-variable" "an argument that must be a variable";
    E0408 "unsupported-builtin" "a Warp built-in that kc does not have";
    W0409 "launch-mismatch" "a launch that does not fit its kernel";
    W0410 "precision-kept" "a product that may be computed with fewer bits than it is";
    W0411 "coordinates-unclear" "an ambiguous launch: do the coordinates of this tile kernel count threads or blocks?";
    W0412 "serial-work" "work of all threads of a block that one thread does";

    // 05 constants
    E0501 "not-constant" "a value that is not known at compile time";
    E0502 "host-value" "a Python object used inside a kernel";
    E0503 "literal-range" "a number that does not fit its type";
    W0504 "unresolved-kernel" "a kernel that needs a value only Python knows: checked, not compiled";
    W0505 "generic-kernel-types" "a generic kernel for which the file names no types: checked, not compiled";
    W0506 "native-function" "a kernel that calls CUDA text which kc cannot pass on: checked, not compiled";
    E0507 "imported-name" "a name of another file that cannot be used";
    E0508 "constant-too-large" "a constant that is too large";

    // 06 gradients
    E0601 "order-dependent-gradient" "a value with a gradient that depends on the order of the threads";
    W0602 "gradient-race" "a gradient of what another thread of the launch may have written";
    W0603 "overwritten-value" "no backward entry: it needs a value that the launch overwrites";
    W0604 "gradient-lost" "a gradient that ends in a conversion to integer or a step function";
    E0605 "no-gradient" "a gradient that would pass through something without one";
    W0606 "scattered-store" "a gradient that assumes that no two threads store to one element";
    W0607 "gradient-limit" "no backward entry: a construct that kc cannot reverse";
    I0608 "kept-for-gradient" "what the gradient of a kernel keeps, and where";
    W0620 "custom-gradient-misses-argument" "a custom gradient that never writes an argument's adjoint";
    E0621 "custom-gradient-target" "a custom gradient of something that is no kernel function";
    E0622 "custom-gradient-signature" "a custom gradient whose parameters do not fit its function";
    E0623 "replay-signature" "a replay function whose signature differs from its function's";
    E0624 "no-adjoint" "`wp.adjoint` where there is none";
    E0625 "nothing-to-differentiate" "`wp.grad` of a function without a differentiable result";

    // 07 races and memory
    W0701 "racy-write" "threads that write one element without an atomic";
    W0702 "missing-sync" "a read of what another thread of the block writes, without a barrier between";
    W0703 "out-of-bounds" "a constant index outside its array";
    W0704 "maybe-unset" "a variable that may be read before it is assigned";
    I0705 "uncoalesced-access" "neighbouring threads that touch memory far apart";

    // 08 back ends
    E0801 "llvm-refused" "LLVM could not compile a kernel";
    E0802 "local-memory-too-large" "local arrays that do not fit in a thread";
    E0803 "parameters-too-large" "more parameter bytes than a kernel can have";
    E0820 "no-cuda-text" "a construct without CUDA C++ form";
    E0821 "native-text" "a kernel that calls CUDA text, for another output";
    E0822 "tiles-on-gpu" "tiles that the threads of a GPU's block cannot share";
    E0823 "no-tensor-cores" "instructions for matrices that the architecture has not";
    E0824 "grid-sync" "threads of a launch that wait for each other, where they cannot";
    E0830 "ptx-malformed" "a text that is no PTX";
    E0831 "ptx-unknown" "PTX that the simulator does not know";

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
    E0910 "program-too-large" "a program that is too large to compile";
    E0911 "no-files" "a folder or pattern without kernel files";
    E0999 "internal-error" "a fault of kc itself";

    // 10 launch files and arguments
    E1001 "launch-file-invalid" "launch file cannot be read or is malformed";
    E1002 "launch-format-unknown" "launch file has an unknown format version";
    E1003 "kernel-not-named" "a source file with several kernels, and none is named";
    E1004 "argument-names" "arguments do not match the kernel's parameters";
    E1005 "argument-type" "argument has another type than the kernel's parameter";
    E1006 "size-invalid" "extent or size is out of range";
    E1007 "array-file-invalid" "array file cannot be read";
    E1008 "array-missing" "array is not in the file";
    E1009 "array-mismatch" "stored array has another shape or type than the argument";
    E1010 "array-placement" "strides or alias cannot be used";
    E1011 "value-invalid" "value does not fit its type";
    E1012 "option-invalid" "command line option is malformed";

    // 11 running
    E1101 "index-out-of-bounds" "index is out of bounds";
    E1102 "assertion-failed" "an assertion in the kernel failed";
    E1103 "gradients-unavailable" "the kernel has no gradient to run";
    E1104 "device-unavailable" "device is not available";
    E1105 "backward-alone" "a backward launch that needs its forward launch";
    E1106 "tape-too-large" "values kept for the gradient that do not fit in memory";
    E1107 "device-fault" "a launch on the GPU failed";
    E1108 "threads-meet" "two threads at one element, whose order shows in the result";
    E1109 "no-made-launch" "a kernel that does not run with made-up arguments";
    E1110 "launch-too-late" "a launch that took longer than `--timeout`";
    E1111 "misaligned-access" "an address that is no multiple of what is read or written";
    E1112 "uninitialised-read" "memory that is read and was never written";
    E1113 "data-race" "two threads at one element, and nothing orders them";
    E1114 "divergent-barrier" "a barrier that not all threads of a block reach";
    E1115 "missing-lanes" "an exchange within a warp that lacks lanes it names";
    E1116 "endless-launch" "a launch that runs on and on";
    E1117 "kernel-stopped" "a kernel that stops itself";
    E1118 "profile-gate" "a launch for which `--fail-if` holds";
    W1119 "order-shows" "a result that depends on the order of the threads";
    W1120 "near-degenerate" "a gradient that a convention decides, or that has lost digits";
    E1121 "profile-export" "an export of a profiler that is none";
    W1122 "races-unwatched" "a launch too long for the check of races";
    E1123 "use-after-free" "memory of a device that is used after it was given back";
    E1124 "bad-free" "memory of a device that is given back and is not there to be given back";
    E1125 "device-leak" "memory of a device that is never given back";
    E1126 "streams-unordered" "work of two streams on the same memory, and nothing orders it";
    E1127 "no-such-engine" "an id that is not of the mesh, tree or grid that a kernel asks";
    W1128 "stale-engine" "a search by boxes or cells that are older than the points";

    // 12 numbers
    W1201 "integer-division" "`/` or `%` on integers that differs from Python";
    W1202 "integer-overflow" "integer arithmetic that wraps";
    W1203 "narrowed-literal" "a literal that does not survive as float32";
    W1204 "double-precision" "a comparison in double precision by accident";
    W1205 "lost-digits" "a float64 that has the digits of a float32";

    // 13 tidiness
    W1301 "unused-variable" "a variable that is never read";
    W1302 "unreachable-code" "code that is never reached";
    W1303 "shadowed-builtin" "a name that hides a built-in";
    W1304 "unused-allow" "a `# kc: allow` comment that allows nothing";
    W1305 "endless-loop" "a loop that never ends";
    W1306 "numpy-name" "a NumPy function that stands for a built-in";
    W1307 "unused-value" "a statement that computes a value and drops it";
    W1308 "missing-return" "a function that ends without the value it returns elsewhere";
    W1309 "ignored-default" "a default of a struct's field, which nothing takes";

    // 14 data sets
    E1401 "dataset-directory" "a directory that is not free for a data set";
    E1402 "dataset-differs" "a data set that was begun with other options";
    E1403 "dataset-damaged" "a file or row of a data set that is not what it should be";
    E1404 "dataset-option" "an invalid option of `kc dataset`";
    E1405 "dataset-exhausted" "not enough different programs";
}

impl Code {
    pub fn level(self) -> Level {
        match self.name().as_bytes()[0] {
            b'E' => Level::Error,
            b'W' => Level::Warning,
            _ => Level::Note,
        }
    }

    /// Whether it says that a text is no Python.
    pub fn is_syntax(self) -> bool {
        self.name().starts_with("E01")
    }

    /// Whether it is about a gradient.
    pub fn is_gradient(self) -> bool {
        matches!(self.name().as_bytes(), [_, b'0', b'6', ..])
    }

    pub fn from_name(name: &str) -> Option<Code> {
        Code::ALL.iter().copied().find(|code| code.name().eq_ignore_ascii_case(name))
    }
}
