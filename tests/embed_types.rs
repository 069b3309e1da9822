//! Arrays of C++ programs: what a kernel's array can be made from, and that nothing else compiles.

#[path = "common/process.rs"]
mod process;

use std::path::Path;
use std::process::Command;

use process::run;

const KERNELS: &str = "import warp as wp

@wp.struct
class Params:
    a: float
    w: wp.array(dtype=float)

@wp.kernel
def mix(x: wp.array(dtype=wp.vec3), h: wp.array(dtype=wp.float16), p: Params, out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    out[i, j] = wp.length(x[i]) * p.a + p.w[j] + float(h[i])

@wp.kernel
def count(keys: wp.array(dtype=int), bins: wp.array(dtype=int)):
    wp.atomic_add(bins, keys[wp.tid()], 1)
";

const WARNINGS: [&str; 6] = ["-Wall", "-Wextra", "-Wpedantic", "-Wshadow", "-Wconversion", "-Werror"];

/// What both programs begin with.
const START: &str = "#include \"k.h\"
#include <array>
#include <cstdio>
#if __cplusplus >= 202002L
#include <span>
#endif
struct vec3 { float x, y, z; };
struct half { uint16_t bits; };
struct View {
    float *first;
    float *data_handle() const { return first; }
    static constexpr size_t rank() { return 2; }
    int extent(size_t n) const { return n == 0 ? 2 : 3; }
    long stride(size_t n) const { return n == 0 ? 1 : 2; }
};
template <class Call> int throws(Call call)
{
    try { call(); } catch (const std::invalid_argument &) { return 1; }
    return 0;
}
";

const USES: &str = "int main()
{
    std::vector<vec3> x(2, vec3{3, 0, 4});
    const std::vector<vec3> fixed(x);
    std::vector<float> w = {10, 20, 30}, out(6), gradient(6);
    std::array<half, 2> h{};
    const size_t rows = 2;
    const int columns = 3;
    k::mix_args args = {x, h, {2.0f, w}, {out.data(), {rows, columns}}};
    kc::launch(k::mix_cpu_launch, {rows, columns}, args);
    std::printf(\"%g %g %g\\n\", out[0], out[2], out[5]);
    args.x = fixed; /* only read */
    args.x = {fixed.data(), {rows}};
    float raw[2][3] = {{1, 0, 0}, {0, 2, 0}};
    args.x = {raw, {2u}};
    args.out = View{out.data()};
    kc::launch(k::mix_cpu_launch, {rows, columns}, args);
    std::printf(\"%g %g %g\\n\", out[0], out[1], out[5]);
    args.out = kc::array(out.data(), {rows, columns}, gradient.data());
    args.out = {out, {3, 2}};
#if __cplusplus >= 202002L
    std::span<float> span(w);
    args.p.w = span;
#endif
    const int64_t shape[] = {2, 3};
    kc_array made;
    kc_array_of(&made, out.data(), sizeof(float), 2, shape);
    args.out = made;
    std::printf(\"%d\\n\", throws([&] { args.out = {out, {3, 3}}; }) + throws([&] { args.out = {out.data(), {-1, 2}}; })
        + throws([&] { args.out = {out.data(), {UINT64_MAX, 2}}; }) + throws([&] { kc::launch(k::mix_cpu_launch, {-1, 2}, args); }));
    k::mix_args none = {};
    return none.x.data != nullptr;
}
";

/// Programs that give a kernel what it does not take, and what the compiler says.
const ELEMENTS: &str = "elements of another type, or these are const and it stores to them";
const DIMENSIONS: &str = "another number of dimensions";
const EXTENTS: &str = "takes another number of extents";
const TEMPORARY: &str = "the memory of a temporary ends before the launch";
const MISUSES: [(&str, &str); 39] = [
    ("args.x = doubles;", ELEMENTS),
    ("args.x = {doubles.data(), {3}};", ELEMENTS),
    ("args.x = w;", ELEMENTS),
    ("double z[2][3]; args.x = {z, {2}};", ELEMENTS),
    ("args.p.w = x;", ELEMENTS),
    ("args.p.w = ints;", ELEMENTS),
    ("args.p.w = {ints.data(), {3}};", ELEMENTS),
    ("args.p.w = fixed;", ELEMENTS),
    ("args.h = shorts;", ELEMENTS),
    ("args.out = {fixed.data(), {2, 2}};", ELEMENTS),
    ("args = {w, h, {1.0f, w}, {w.data(), {1, 3}}};", ELEMENTS),
    ("args.x = {x.data(), {2, 2}};", DIMENSIONS),
    ("args.out = {w.data(), {3}};", DIMENSIONS),
    ("args.out = kc::array(w.data(), {3});", DIMENSIONS),
    ("args.out = w;", "an array of several dimensions takes extents"),
    ("kc::launch(k::mix_cpu_launch, {3}, args);", EXTENTS),
    ("kc::launch(k::mix_cpu_launch, {3, 3, 3}, args);", EXTENTS),
    ("kc::bounds({1, 1, 1, 1, 1});", "a launch has 1 to 4 dimensions"),
    ("kc::bounds({});", "no matching function"),
    ("args.h = {ints.data(), {3}};", ELEMENTS),
    ("k::count_args c = {ints, still};", ELEMENTS),
    ("args.p.w = View{w.data()};", DIMENSIONS),
    ("args.x = {x.data(), {1, 1, 1, 1, 1}};", DIMENSIONS),
    ("kc::array<float, 2> made = kc::array<float, 1>(w);", DIMENSIONS),
    ("args.x = std::vector<vec3>(3);", TEMPORARY),
    ("args.x = {std::vector<vec3>(3), {3}};", TEMPORARY),
    ("args = {x, h, {1.0f, std::vector<float>(3)}, {w.data(), {1, 3}}};", TEMPORARY),
    ("args.x = {x.data(), {3.5}};", "no match for"),
    ("args.x = {x.data(), {true}};", "no match for"),
    ("args.x = x.data();", "no match for"),
    ("args.out = {w.data(), {1, 3}, doubles.data()};", "no match for"),
    ("args.out = {w.data(), {1, 3}, fixed.data()};", "no match for"),
    ("args.p.a = w;", "cannot convert"),
    ("args.y = w;", "has no member named"),
    ("args.p = other::Params{};", "other::Params"),
    ("kc::launch(k::count_cpu_launch, {3}, args);", "no matching function for call to"),
    ("kc::launch(k::mix_backward_cpu_launch, {3, 3}, args);", "no matching function for call to"),
    ("kc::launch(mix_cpu_launch, {3, 3}, args);", "was not declared in this scope"),
    ("kc::launch(k::mix_cpu_launch, 9, args);", "no matching function for call to"),
];

fn header() -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    // A second file with a struct of the same name.
    for name in ["k.py", "other.py"] {
        std::fs::write(folder.path().join(name), KERNELS).expect("a writable folder");
    }
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.current_dir(&folder).args(["compile", "-q", "k.py", "other.py", "--emit", "obj,header"]));
    folder
}

fn compiler(folder: &Path, standard: &str, text: &str) -> Command {
    std::fs::write(folder.join("main.cpp"), text).expect("a writable folder");
    let mut command = Command::new("g++");
    command.current_dir(folder).arg(format!("-std={standard}")).args(["-pthread", "main.cpp"]);
    command
}

#[test]
fn arrays_are_made_from_what_programs_have() {
    let folder = header();
    for standard in ["c++17", "c++20", "c++23"] {
        let mut command = compiler(folder.path(), standard, &format!("{START}{USES}"));
        run(command.args(WARNINGS).args(["k.o", "-lm", "-o", "p"]));
        let said = run(&mut Command::new(folder.path().join("p")));
        assert_eq!(said, "20 40 40\n12 14 34\n4\n", "{standard}");
    }
}

#[test]
fn nothing_else_compiles() {
    let folder = header();
    let program = |misuse: &str| {
        format!(
            "#include \"other.h\"\n{START}int main() {{ std::vector<vec3> x(3); const std::vector<int> still(3); const std::vector<float> fixed(4); std::vector<float> w(3); \
             std::vector<double> doubles(9); std::vector<int> ints(3); std::vector<int16_t> shorts(3); \
             std::array<half, 3> h{{}}; k::mix_args args = {{}}; {misuse} }}\n"
        )
    };
    run(compiler(folder.path(), "c++17", &program("args.h = h;")).args(["-w", "-fsyntax-only"]));
    for (misuse, words) in MISUSES {
        let mut command = compiler(folder.path(), "c++17", &program(misuse));
        let output = command.args(["-w", "-fsyntax-only"]).output().expect("g++ starts");
        let said = String::from_utf8_lossy(&output.stderr);
        assert!(!output.status.success() && said.contains(words), "{misuse}\n{said}");
    }
}
