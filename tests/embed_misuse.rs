//! Programs that misuse kernels in ways that no compiler sees: the linker refuses them, or the run
//! says what is wrong. What compilers refuse is in `embed_types.rs` and `embed_bindings.rs`.

#[path = "common/process.rs"]
mod process;

use std::process::Command;

use process::run;

const KERNELS: &str = "import warp as wp

@wp.kernel
def grow(x: wp.array(dtype=float), n: int, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    assert n < 100, \"too many\"
    out[i, j] = x[i + n] * 2.0
";

/// Calls the kernel and its gradient.
const CPP: &str = "#include \"g.h\"
int main()
{
    std::vector<float> x(3), out(6);
    g::grow_args args = {x, 0, {out, {3, 2}}};
    kc::launch(g::grow_cpu_launch, {3, 2}, args);
    g::grow_backward_args back = {};
    kc::launch(g::grow_backward_cpu_launch, {3, 2}, back);
}
";

const RUST: &str = "mod g;
use g::kc::{Array, ArrayMut, Error};
fn main() -> Result<(), Error> {
    let (x, mut out) = ([0.0f32; 3], [0.0f32; 6]);
    let mut args = g::grow_args { x: Array::new(&x, [3])?, n: 0, out: ArrayMut::new(&mut out, [3, 2])? };
    g::grow([3, 2], &mut args, 1)
}
";

struct Folder(tempfile::TempDir);

impl Folder {
    /// With the header, the Rust file and the object `g.o` of the kernels.
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in [("g.py", KERNELS), ("main.cpp", CPP), ("main.rs", RUST)] {
            folder.write(name, text);
        }
        folder.kc(&["--emit", "obj,header,rust"]);
        folder
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.0.path().join(name), text).expect("a writable folder");
    }

    /// Compiles the kernels, with checks and these options.
    fn kc(&self, options: &[&str]) {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        run(kc.current_dir(&self.0).args(["compile", "-q", "g.py", "--checked"]).args(options));
    }

    /// Whether a shell command ends well, and what it says.
    fn sh(&self, command: &str) -> (bool, String) {
        let mut shell = Command::new("sh");
        let output =
            shell.args(["-c", &format!("exec 2>&1; {command}")]).current_dir(&self.0).output().expect("a shell");
        (output.status.success(), String::from_utf8_lossy(&output.stdout).into_owned())
    }
}

const LINK: &str = "g++ -std=c++17 -Wall -Wextra -Werror -pthread main.cpp";

/// A header or a Rust file beside the wrong object: eight programs.
#[test]
fn the_linker_refuses_what_does_not_belong_together() {
    let undefined = "undefined reference to `grow_cpu_kernel_forward_";
    let cases: [(&str, &[&str], String, &str); 8] = [
        ("no object", &[], format!("{LINK} -lm"), undefined),
        ("the object twice", &[], format!("{LINK} g.o g.o -lm"), "multiple definition of `grow_cpu_kernel_forward"),
        ("an object with a prefix", &["--emit", "obj", "--prefix", "my_"], format!("{LINK} g.o -lm"), undefined),
        (
            "an object without gradients",
            &["--emit", "obj", "--no-backward"],
            format!("{LINK} g.o -lm"),
            "undefined reference to `grow_cpu_kernel_backward_",
        ),
        (
            "an object for another machine",
            &["--emit", "obj", "--cpu", "aarch64"],
            format!("{LINK} g.o -lm"),
            "file in wrong format",
        ),
        (
            "an object of an older file",
            &["--emit", "header"],
            format!("echo '# changed' >> g.py; $KC compile -q g.py --checked --emit obj; {LINK} g.o -lm"),
            undefined,
        ),
        (
            "a Rust file and an object with a prefix",
            &["--emit", "obj", "--prefix", "my_"],
            "rustc --edition 2024 -C link-arg=g.o main.rs".to_string(),
            "grow_cpu_kernel_forward_",
        ),
        (
            "dlsym of an entry that is not exported",
            &[],
            "cc -shared g.o -o ./g.so && python3 -c \"import ctypes; ctypes.CDLL('./g.so').grow_cpu_kernel_forward\""
                .to_string(),
            "undefined symbol: grow_cpu_kernel_forward",
        ),
    ];
    for (what, options, command, sentence) in cases {
        let folder = Folder::new();
        let (built, said) = folder.sh(&format!("{LINK} g.o -lm -o p && ./p"));
        assert!(built, "{said}");
        if !options.is_empty() {
            folder.kc(options);
        }
        let (ends, said) = folder.sh(&format!("KC={}; {command}", env!("CARGO_BIN_EXE_kc")));
        assert!(!ends && said.contains(sentence), "{what}: {said}");
    }
}

/// Statements of C++, and what they throw.
const ARRAY: &str = "kc: an array has 1 to 4 dimensions, with extents and strides of at most 31 bits";
const ELEMENTS: &str = "kc: the extents are those of more elements than there are";
const LAUNCH: &str = "kc: extents of a launch have at most 31 bits, and all together at most 63";
const THROWN: [(&str, &str); 19] = [
    ("args.x = {x.data(), {-3}};", ARRAY),
    ("args.x = {x.data(), {uint64_t(1) << 32}};", ARRAY),
    ("args.x = kc::array(x.data(), {INT64_MIN});", ARRAY),
    ("args.out = View{out.data(), -1, 2, 2};", ARRAY),
    ("args.out = View{out.data(), 3, 2, 1L << 40};", ARRAY),
    ("args.out = {out, {3, 3}};", ELEMENTS),
    ("args.x = {x, {4}};", ELEMENTS),
    ("launched(-1, 2);", LAUNCH),
    ("launched(1L << 31, 2);", LAUNCH),
    ("kc::bounds({INT32_MAX, INT32_MAX, INT32_MAX});", LAUNCH),
    ("launched(4, 2);", "g.py:7:17: index 3 is out of bounds for dimension 0 of `x`, which has extent 3, in thread 6"),
    ("launched(3, 3);", "g.py:7:5: index 2 is out of bounds for dimension 1 of `out`, which has extent 2, in thread 2"),
    (
        "args.n = 1; launched(3, 2);",
        "g.py:7:17: index 3 is out of bounds for dimension 0 of `x`, which has extent 3, in thread 4",
    ),
    (
        "args.n = -9; launched(3, 2);",
        "g.py:7:17: index -9 is out of bounds for dimension 0 of `x`, which has extent 3, in thread 0",
    ),
    ("args.n = 100; launched(3, 2);", "g.py:6:5: assertion failed: too many, in thread 0"),
    (
        "args.x = {}; launched(3, 2);",
        "g.py:7:17: index 0 is out of bounds for dimension 0 of `x`, which has extent 0, in thread 0",
    ),
    (
        "args.out = {}; launched(3, 2);",
        "g.py:7:5: index 0 is out of bounds for dimension 0 of `out`, which has extent 0, in thread 0",
    ),
    (
        "args.x.shape[0] = -3; launched(3, 2);",
        "g.py:7:17: index 0 is out of bounds for dimension 0 of `x`, which has extent 0, in thread 0",
    ),
    (
        "args.out.shape[1] = INT32_MIN; launched(3, 2);",
        "g.py:7:5: index 0 is out of bounds for dimension 1 of `out`, which has extent 0, in thread 0",
    ),
];

const RUNS: &str = "#include \"g.h\"
#include <cstdio>
struct View {
    float *first;
    long rows, columns, step;
    float *data_handle() const { return first; }
    static constexpr size_t rank() { return 2; }
    long extent(size_t n) const { return n == 0 ? rows : columns; }
    long stride(size_t n) const { return n == 0 ? step : 1; }
};
static std::vector<float> x(3), out(6);
static g::grow_args args;
static void launched(long rows, long columns)
{
    kc_status status = {};
    kc::launch(g::grow_cpu_launch, {rows, columns}, args, &status, 1);
    kc::check(status, g::g_sites);
}
template <class Call> void said(Call call)
{
    args = {x, 0, {out, {3, 2}}};
    launched(3, 2);
    try {
        call();
        std::puts(\"nothing\");
    } catch (const std::exception &error) {
        std::puts(error.what());
    }
}
int main()
{
";

/// No read or write goes astray meanwhile: AddressSanitizer looks.
#[test]
fn the_run_says_what_is_wrong() {
    let folder = Folder::new();
    let lines: String = THROWN.iter().map(|(statement, _)| format!("    said([] {{ {statement} }});\n")).collect();
    folder.write("main.cpp", &format!("{RUNS}{lines}}}\n"));
    let (ended, said) = folder.sh(&format!("{LINK} -fsanitize=address,undefined g.o -lm -o p && ./p"));
    assert!(ended, "{said}");
    assert_eq!(said.lines().count(), THROWN.len(), "{said}");
    for (line, (statement, sentence)) in said.lines().zip(THROWN) {
        assert_eq!(line, sentence, "{statement}");
    }
}

/// What Rust gives as an error.
#[test]
fn rust_gives_errors() {
    let cases = [
        ("Array::new(&x, [3])?", "Array::new(&x, [4])?", "the extents are those of 4 elements, and there are 3"),
        (
            "Array::new(&x, [3])?",
            "Array::new(&x, [usize::MAX])?",
            "the extents are those of 18446744073709551615 elements, and there are 3",
        ),
        (
            "ArrayMut::new(&mut out, [3, 2])?",
            "ArrayMut::new(&mut out, [usize::MAX, 2])?",
            "extents have at most 31 bits each, and those of a launch 63 together",
        ),
        (
            "ArrayMut::new(&mut out, [3, 2])?",
            "ArrayMut::new(&mut out, [3, 2])?.with_gradient(Box::leak(Box::new([0.0; 5])))?",
            "the extents are those of 6 elements, and there are 5",
        ),
        (
            "[3, 2], &mut args",
            "[1 << 40, 2], &mut args",
            "extents have at most 31 bits each, and those of a launch 63 together",
        ),
        (
            "Array::new(&x, [3])?",
            "{ _ = x; Array::none() }",
            "index 0 is out of bounds for dimension 0 of `x`, which has extent 0, in thread 0",
        ),
        ("n: 0", "n: 100", "g.py:6:5: assertion failed: too many, in thread 0"),
    ];
    let folder = Folder::new();
    let build = "rustc --edition 2024 -D warnings -C link-arg=g.o -C link-arg=-lm main.rs -o main && ./main";
    // `main` prints errors with all that is in them.
    let shown = RUST.replace(
        "fn main() -> Result<(), Error> {",
        "fn main() {\n    if let Err(error) = all() { println!(\"{error}\") }\n}\nfn all() -> Result<(), Error> {",
    );
    folder.write("main.rs", &shown);
    assert_eq!(folder.sh(build), (true, String::new()));
    for (right, wrong, sentence) in cases {
        assert!(shown.contains(right), "{right}");
        folder.write("main.rs", &shown.replacen(right, wrong, 1));
        let (ended, said) = folder.sh(build);
        assert!(ended && said.ends_with(&format!("{sentence}\n")), "{wrong}: {said}");
    }
}
