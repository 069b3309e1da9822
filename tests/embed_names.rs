//! Can a program link the wrong kernel? Two kernels of one name, structs of one name, a header that
//! is older than its object: each works, or the compiler or linker says why not.

#[path = "common/process.rs"]
mod process;

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

use process::run;

/// `k` is a float in one file and an int in the other.
const FLOAT: &str = "import warp as wp

@wp.struct
class Params:
    a: wp.vec4
    b: wp.vec4

@wp.kernel
def step(k: float, out: wp.array(dtype=float)):
    out[wp.tid()] = k * 1.5
";

const INT: &str = "import warp as wp

@wp.struct
class Params:
    a: wp.vec3

@wp.kernel
def step(k: int, out: wp.array(dtype=float)):
    out[wp.tid()] = float(k) + 1000.0
";

/// Functions that call the kernel of each file, and what calls both.
const CALLS_FLOAT: &str = "#include \"a.h\"
float fa() { float out = 0; a::step_args args = {1.0f, kc::array(&out, {1})}; kc::launch(a::step_cpu_launch, {1}, args); return out; }
";
const CALLS_INT: &str = "#include \"b.h\"
float fb() { float out = 0; b::step_args args = {3, kc::array(&out, {1})}; kc::launch(b::step_cpu_launch, {1}, args); return out; }
";
const CALLS_BOTH: &str = "#include <cstdio>
float fa();
float fb();
int main() { std::printf(\"%g %g\\n\", fa(), fb()); }
";

struct Folder(tempfile::TempDir);

impl Folder {
    /// The two files, their callers, and the objects of both with these flags.
    fn new(flags: [&[&str]; 2]) -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        for (name, text) in
            [("a.py", FLOAT), ("b.py", INT), ("fa.cpp", CALLS_FLOAT), ("fb.cpp", CALLS_INT), ("main.cpp", CALLS_BOTH)]
        {
            folder.write(name, text);
        }
        folder.kc("a.py", flags[0]);
        folder.kc("b.py", flags[1]);
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, text: &str) {
        std::fs::write(self.path(name), text).expect("a writable folder");
    }

    fn kc(&self, file: &str, flags: &[&str]) {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        run(kc.current_dir(&self.0).args(["compile", "-q", "--no-backward", file, "--emit", "obj,header"]).args(flags));
    }

    fn output(&self, command: &str) -> Output {
        Command::new("sh").args(["-c", command]).current_dir(&self.0).output().expect("a shell")
    }

    /// What a shell command prints; it ends well.
    fn sh(&self, command: &str) -> String {
        let output = self.output(command);
        assert!(output.status.success(), "{command}\n{}", String::from_utf8_lossy(&output.stderr));
        String::from_utf8_lossy(&output.stdout).into_owned()
    }

    /// What a shell command says that fails.
    fn fails(&self, command: &str) -> String {
        let output = self.output(command);
        assert!(!output.status.success(), "{command} ends well");
        String::from_utf8_lossy(&output.stderr).into_owned()
    }
}

const BUILD: &str = "set -e; g++ -std=c++17 -Wall -Wextra -Werror -pthread";

/// From archives a linker would take the first `step` for both.
#[test]
fn two_kernels_of_one_name_do_not_link() {
    let folder = Folder::new([&[], &[]]);
    folder.sh("ar rc a.a a.o; ar rc b.a b.o");
    let said = folder.fails(&format!("{BUILD} fa.cpp fb.cpp main.cpp a.a b.a -o p"));
    assert!(said.contains("multiple definition of `step_cpu_kernel_forward'"), "{said}");
}

#[test]
fn a_prefix_makes_them_two() {
    let folder = Folder::new([&["--prefix", "one_"], &[]]);
    folder.write("fa.cpp", &CALLS_FLOAT.replace("step", "one_step"));
    folder.sh("ar rc a.a a.o; ar rc b.a b.o");
    assert_eq!(folder.sh(&format!("{BUILD} fa.cpp fb.cpp main.cpp a.a b.a -o p; ./p")), "1.5 1003\n");
    assert_eq!(folder.sh(&format!("{BUILD} fa.cpp fb.cpp main.cpp b.a a.a -o p; ./p")), "1.5 1003\n");
    let symbols = folder.sh("nm a.o");
    assert!(symbols.contains(" one_step_cpu_kernel_forward\n") && !symbols.contains(" step_"), "{symbols}");
}

/// Each library has its own, whether others can see it or not.
#[test]
fn two_shared_libraries_keep_theirs() {
    for flags in [&[][..], &["--export"]] {
        let folder = Folder::new([flags, flags]);
        folder.sh(&format!("{BUILD} -fPIC -shared fa.cpp a.o -o liba.so"));
        folder.sh(&format!("{BUILD} -fPIC -shared fb.cpp b.o -o libb.so"));
        for order in ["-la -lb", "-lb -la"] {
            let said = folder.sh(&format!("{BUILD} main.cpp -L. -Wl,-rpath,. {order} -o p; ./p"));
            assert_eq!(said, "1.5 1003\n", "{flags:?} {order}");
        }
        let seen = folder.sh("nm -D liba.so").contains("step_cpu_kernel_forward");
        assert_eq!(seen, !flags.is_empty(), "{flags:?}");
    }
}

/// The linker refuses an old header, whether arguments changed or only the code.
#[test]
fn a_header_and_another_object_do_not_link() {
    for changed in [FLOAT.replace("dtype=float)", "dtype=float), n: int"), FLOAT.replace("1.5", "2.5")] {
        let folder = Folder::new([&[], &[]]);
        folder.write("main.cpp", "float fa(); int main() { return fa() == 1.5f ? 0 : 1; }\n");
        folder.sh(&format!("{BUILD} fa.cpp main.cpp a.o -o p; ./p"));
        folder.sh("cp a.h old.h");
        folder.write("a.py", &changed);
        folder.kc("a.py", &[]);
        let said = folder.fails("cp a.h new.h; cp old.h a.h; g++ -w -pthread fa.cpp main.cpp a.o -o p");
        assert!(said.contains("undefined reference to `step_cpu_kernel_forward_"), "{said}");
        folder.sh("cp new.h a.h; g++ -w -pthread fa.cpp main.cpp a.o -o p");
    }
}

/// Structs of one name are two types of C++, in one file and in two.
#[test]
fn structs_of_one_name_are_two_types() {
    let folder = Folder::new([&["--prefix", "one_"], &["--prefix", "two_"]]);
    for name in ["a.py", "b.py"] {
        let text = std::fs::read_to_string(folder.path(name)).expect("a file");
        folder.write(name, &text.replace("k: ", "p: Params, k: "));
        folder.kc(name, &[]);
    }
    folder.write(
        "main.cpp",
        "#include \"a.h\"\n#include \"b.h\"\nstatic_assert(sizeof(a::Params) == 32 && sizeof(b::Params) == 12, \"\");\n\
         int main() { return a::step_cpu_grain == 0 || b::step_cpu_grain == 0; }\n",
    );
    folder.sh(&format!("{BUILD} main.cpp a.o -o p; ./p"));
    let one = folder.sh(&format!("{BUILD} -S -x c++ - -o - <<'EOF'\n#include \"a.h\"\nvoid f(a::Params) {{}}\nEOF"));
    assert!(one.contains("_Z1fN1a6ParamsE"), "the linker knows whose struct it is");
}

#[test]
fn namespaces_are_as_asked() {
    let folder = Folder::new([&["--namespace", "game::physics"], &["--namespace", ""]]);
    folder.write(
        "main.cpp",
        "#include \"a.h\"\n#include \"b.h\"\nint main() { return sizeof(game::physics::step_args) == sizeof(step_args); }\n",
    );
    folder.sh(&format!("{BUILD} -c main.cpp"));
    for (flag, value) in [("--namespace", "a b"), ("--namespace", "a::"), ("--prefix", "1x"), ("--prefix", "a-b")] {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = kc.args(["compile", flag, value]).arg(folder.path("a.py")).output().expect("kc starts");
        assert_eq!(output.status.code(), Some(2), "{flag} {value}");
    }
}

/// A kernel with sums has a table of functions, which nobody needs who does not launch it.
#[test]
fn a_header_alone_needs_no_object() {
    let folder = Folder::new([&[], &[]]);
    folder.write(
        "a.py",
        "import warp as wp\n@wp.kernel\ndef total(x: wp.array(dtype=float), sum: wp.array(dtype=float)):\n    \
         wp.atomic_add(sum, 0, x[wp.tid()])\n",
    );
    folder.kc("a.py", &[]);
    // An object without checks has a table of places, too: programs are the same with both.
    folder.write("c.c", "#include \"a.h\"\nint main(void) { return sizeof a_sites / sizeof *a_sites != 1; }\n");
    folder.write("c.cpp", "#include \"a.h\"\nint main() { kc::check(kc_status(), a::a_sites); }\n");
    for standard in ["c99", "c11", "c17"] {
        folder.sh(&format!("cc -std={standard} -Wall -Wextra -Werror -O0 c.c -o p && ./p"));
    }
    for standard in ["c++17", "c++20"] {
        folder.sh(&format!("g++ -std={standard} -Wall -Wextra -Werror -O0 c.cpp -pthread -o p && ./p"));
    }
}

/// Debuggers and profilers see who called a kernel: from a callback in its middle the stack leads
/// to `main`.
#[test]
fn stacks_lead_through_kernels() {
    let folder = Folder::new([&[], &[]]);
    folder
        .write("a.py", "import warp as wp\n@wp.kernel\ndef shout(x: wp.array(dtype=float)):\n    print(x[wp.tid()])\n");
    folder.kc("a.py", &["--export"]);
    folder.write(
        "c.c",
        "#include \"a.h\"\n#include <execinfo.h>\n\
         static void shown(void *user, const uint8_t *text, uint64_t length)\n{\n    void *frames[64];\n    \
         (void)user, (void)text, (void)length;\n    backtrace_symbols_fd(frames, backtrace(frames, 64), 1);\n}\n\
         int main(void)\n{\n    float x = 1;\n    const int64_t n = 1;\n    kc_status status = {0};\n    \
         kc_launch_bounds launch;\n    shout_args args = {{0}};\n    status.print = shown;\n    \
         if (!kc_array_of(&args.x, &x, 4, 1, &n) || !kc_launch_of(&launch, 1, &n)) return 1;\n    \
         shout_cpu_launch(&launch, &args, &status, 1, NULL, NULL);\n    return 0;\n}\n",
    );
    let said = folder.sh("cc -Wall -Werror -O0 -rdynamic -fno-omit-frame-pointer c.c a.o -lm -o p && ./p");
    let (kernel, main) = (said.find("(shout_cpu_kernel_forward"), said.find("(main"));
    assert!(kernel.is_some() && kernel < main, "{said}");
}

/// Files of one name in two folders, dots in a name, options that only some configurations have,
/// and an import that changes.
#[test]
fn cmake_takes_files_as_they_are() {
    let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
    for name in ["x", "y", "prefix/bin", "prefix/lib/cmake/kc"] {
        std::fs::create_dir_all(folder.path(name)).expect("a writable folder");
    }
    folder.write("x/sim.py", FLOAT);
    folder.write("y/sim.py", INT);
    folder.write("shared.py", "import warp as wp\n\n@wp.func\ndef grown(x: float):\n    return x * 2.0\n");
    let main = "import warp as wp\nfrom shared import grown\n\n@wp.kernel\ndef grow(out: wp.array(dtype=float)):\n    \
                out[wp.tid()] = grown(1.0)\n";
    folder.write("main.kernels.py", main);
    folder.write(
        "main.cpp",
        "#include \"x/sim.h\"\n#include \"y/sim.h\"\n#include \"main.kernels.h\"\n#include <cstdio>\n\
         int main()\n{\n    float out[3] = {};\n    \
         const sim::x_step_args one = {1.0f, kc::array(out, {1})};\n    const sim::y_step_args two = {3, kc::array(out + 1, {1})};\n    \
         const main_::grow_args three = {kc::array(out + 2, {1})};\n    kc::launch(sim::x_step_cpu_launch, {1}, one);\n    \
         kc::launch(sim::y_step_cpu_launch, {1}, two);\n    kc::launch(main_::grow_cpu_launch, {1}, three);\n    \
         std::printf(\"%g %g %g\\n\", out[0], out[1], out[2]);\n}\n",
    );
    folder.write(
        "CMakeLists.txt",
        "cmake_minimum_required(VERSION 3.20)\nproject(p CXX C)\nfind_package(kc 0.2 REQUIRED)\n\
         kc_add_kernels(kernels x/sim.py y/sim.py main.kernels.py OPTIONS \"$<$<CONFIG:Debug>:--checked>\")\n\
         add_executable(p main.cpp)\ntarget_compile_options(p PRIVATE -Wall -Wextra -Wold-style-cast -Werror)\n\
         target_link_libraries(p PRIVATE kernels)\n",
    );
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/cmake");
    for name in ["kcConfig.cmake", "kcConfigVersion.cmake"] {
        std::fs::copy(root.join(name), folder.path("prefix/lib/cmake/kc").join(name)).expect("a writable folder");
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kc"), folder.path("prefix/bin/kc")).expect("a link");
    let build = "${KC_CMAKE:-cmake} -S . -B build -DCMAKE_BUILD_TYPE=Release -DCMAKE_PREFIX_PATH=$PWD/prefix >/dev/null \
                 && ${KC_CMAKE:-cmake} --build build && build/p";
    assert!(folder.sh(build).ends_with("\n1.5 1003 2\n"));
    let again = folder.sh(build);
    assert!(!again.contains("Compiling"), "{again}");
    folder.write("shared.py", "import warp as wp\n\n@wp.func\ndef grown(x: float):\n    return x * 3.0\n");
    let again = folder.sh(build);
    assert!(
        again.contains("main.kernels.py") && !again.contains("sim.py") && again.ends_with("\n1.5 1003 3\n"),
        "{again}"
    );
}

/// The package says which version it is.
#[test]
fn cmake_knows_the_version() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let text = std::fs::read_to_string(root.join("scripts/cmake/kcConfigVersion.cmake")).expect("the file");
    assert!(text.contains(&format!("set(PACKAGE_VERSION \"{}\")", env!("CARGO_PKG_VERSION"))));
}
