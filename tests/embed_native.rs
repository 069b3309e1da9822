//! Objects of kc in programs of others: the examples in C++, C, Rust, Python (ctypes) and CMake
//! compute the same, and the helpers of the header divide every launch into pieces that meet once,
//! and refuse what does not fit.

#[path = "common/process.rs"]
mod process;

use std::path::{Path, PathBuf};
use std::process::Command;

use process::run;

const EXAMPLES: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/examples/embed_native");
const WARNINGS: [&str; 4] = ["-Wall", "-Wextra", "-Wpedantic", "-Werror"];

/// A folder with the object, header and description of a file of kernels.
fn compiled(source: &Path, flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.arg("compile").arg(source).args(["--emit", "obj,header,meta", "-q", "-o"]).arg(folder.path()).args(flags));
    folder
}

fn wave() -> tempfile::TempDir {
    compiled(Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/examples/wave2d.py")), &["--checked", "--export"])
}

/// What `kc run` computes for the same launches.
fn expected() -> String {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let fill = |field: &str| format!(r#""{field}": {{"shape": [200, 200], "file": "start.npy"}}"#);
    let program = format!(
        r#"{{"format": 1, "source": "{}/examples/wave2d.py", "arrays": {{{}, {}}}, "values": {{"courant": 0.25, "damping": 0}},
        "steps": [{{"repeat": 10, "steps": [{{"kernel": "step", "dim": [200, 200]}}, {{"swap": ["now", "before"]}}]}}]}}"#,
        env!("CARGO_MANIFEST_DIR"),
        fill("now"),
        fill("before")
    );
    let mut start = vec![0f32; 200 * 200];
    start[100 * 200 + 100] = 1.0;
    // An array as NumPy stores it: a header that fills 128 bytes, then the numbers.
    let header = "{'descr': '<f4', 'fortran_order': False, 'shape': (200, 200), }";
    let mut bytes = [&b"\x93NUMPY\x01\x00\x76\x00"[..], format!("{header:<117}\n").as_bytes()].concat();
    bytes.extend(start.iter().flat_map(|x| x.to_le_bytes()));
    std::fs::write(folder.path().join("start.npy"), bytes).expect("a writable folder");
    std::fs::write(folder.path().join("wave.json"), program).expect("a writable folder");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    run(kc.current_dir(folder.path()).args(["run", "wave.json", "-q", "--npy", "now=now.npy"]));
    let bytes = std::fs::read(folder.path().join("now.npy")).expect("the result");
    let numbers = bytes[bytes.len() - 4 * 200 * 200..].chunks_exact(4);
    let now: Vec<f32> = numbers.map(|b| f32::from_le_bytes(b.try_into().expect("four bytes"))).collect();
    let sum: f64 = now.iter().map(|&x| f64::from(x)).sum();
    format!("sum {sum:.6}, in the middle {:.6}\n", now[100 * 200 + 100])
}

/// What the C and C++ examples print last.
const OUT_OF_BOUNDS: &str =
    "wave2d.py:42:28: index 199 is out of bounds for dimension 0 of `before`, which has extent 199, in thread 39800\n";

#[test]
fn the_examples_compute_what_kc_run_does() {
    let (folder, first) = (wave(), expected());
    let path = |name: &str| folder.path().join(name);
    let example = |name: &str| Path::new(EXAMPLES).join(name);
    let (object, program) = (path("wave2d.o"), path("program"));

    let mut cpp = Command::new("c++");
    run(cpp
        .arg("-std=c++17")
        .args(WARNINGS)
        .arg("-I")
        .arg(folder.path())
        .arg(example("main.cpp"))
        .arg(&object)
        .args([Path::new("-pthread"), Path::new("-o"), &program]));
    let gradient = "gradient 2.000000, -1.000000\n";
    assert_eq!(run(&mut Command::new(&program)), format!("{first}{gradient}{OUT_OF_BOUNDS}"), "C++");

    let mut c = Command::new("cc");
    run(c
        .args(["-std=c11", "-fopenmp"])
        .args(WARNINGS)
        .arg("-I")
        .arg(folder.path())
        .arg(example("main.c"))
        .arg(&object)
        .args([Path::new("-o"), &program]));
    assert_eq!(run(&mut Command::new(&program)), format!("{first}{OUT_OF_BOUNDS}"), "C");

    let mut rust = Command::new("rustc");
    let link = format!("link-arg={}", object.display());
    run(rust.args(["--edition", "2024", "-D", "warnings", "-C", &link, "-o"]).arg(&program).arg(example("main.rs")));
    assert_eq!(run(&mut Command::new(&program)), first, "Rust");

    let library = path("wave2d.so");
    run(Command::new("cc").arg("-shared").arg(&object).arg("-lm").arg("-o").arg(&library));
    let mut python = Command::new("python3");
    assert_eq!(run(python.arg(example("main.py")).arg(&library).arg(path("wave2d.json"))), first, "ctypes");
}

/// The package is found beside the program, as `make dist` packs it, and compiles kernels again
/// when their file changes.
#[test]
fn cmake_builds_the_example() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    for name in ["prefix/bin", "prefix/lib/cmake/kc", "app"] {
        std::fs::create_dir_all(path(name)).expect("a writable folder");
    }
    let copies = [
        ("scripts/cmake/kcConfig.cmake", "prefix/lib/cmake/kc/kcConfig.cmake"),
        ("examples/wave2d.py", "wave2d.py"),
        ("examples/embed_native/main.cpp", "app/main.cpp"),
        ("examples/embed_native/CMakeLists.txt", "app/CMakeLists.txt"),
    ];
    for (from, to) in copies {
        std::fs::copy(root.join(from), path(to)).unwrap_or_else(|error| panic!("{from}: {error}"));
    }
    std::os::unix::fs::symlink(env!("CARGO_BIN_EXE_kc"), path("prefix/bin/kc")).expect("a link");
    let cmake = || Command::new(std::env::var("KC_CMAKE").unwrap_or_else(|_| "cmake".to_string()));
    let prefix = format!("-DCMAKE_PREFIX_PATH={}", path("prefix").display());
    run(cmake().arg("-S").arg(path("app")).arg("-B").arg(path("build")).arg(prefix));
    run(cmake().arg("--build").arg(path("build")));
    let said = run(&mut Command::new(path("build/wave")));
    assert!(said.starts_with("sum 1.0000") && said.ends_with(OUT_OF_BOUNDS), "{said}");
    let text = std::fs::read_to_string(path("wave2d.py")).expect("the kernels");
    // Above the kernels, so that each line is one further down.
    std::fs::write(path("wave2d.py"), format!("# changed\n{text}")).expect("a writable file");
    run(cmake().arg("--build").arg(path("build")));
    let said = run(&mut Command::new(path("build/wave")));
    assert!(said.contains("wave2d.py:43:28: index 199"), "{said}");
    // Without kc, the package says what is missing.
    std::fs::remove_file(path("prefix/bin/kc")).expect("the link");
    let mut lost = cmake();
    lost.arg("-S").arg(path("app")).arg("-B").arg(path("lost")).arg("-DKC_PROGRAM=KC_PROGRAM-NOTFOUND");
    lost.arg(format!("-Dkc_DIR={}", path("prefix/lib/cmake/kc").display())).env("PATH", "/usr/bin:/bin");
    let output = lost.output().expect("cmake starts");
    let said = String::from_utf8_lossy(&output.stderr).replace("\n  ", " ");
    assert!(!output.status.success() && said.contains("the program kc was not found"), "{said}");
}

/// A file of kernels: one that prints, one whose sums round by the order of threads, one that
/// neither.
const KERNELS: &str = "import warp as wp

@wp.kernel
def shout(x: wp.array(dtype=int)):
    print(x[wp.tid()])

@wp.kernel
def total(x: wp.array(dtype=float), sum: wp.array(dtype=float)):
    wp.atomic_add(sum, 0, x[wp.tid()])

@wp.kernel
def count(x: wp.array4d(dtype=int)):
    i, j, k, l = wp.tid()
    x[i, j, k, l] = x[i, j, k, l] + 1
    assert x[i, j, k, l] == 1, \"met \\\"once\\\" 100%\"
";

const USES: &str = r#"
#include "k.h"
using namespace k;
#include <cstdlib>

#define expect(condition) do { if (!(condition)) { std::printf("line %d: %s\n", __LINE__, #condition); std::exit(1); } } while (0)

template <class Call> bool throws(Call call)
{
    try {
        call();
    } catch (const std::invalid_argument &) {
        return true;
    }
    return false;
}

static unsigned called;

/* In the other order, one after the other. */
static void backwards(void *, uint64_t count, kc_piece piece, const kc_job *job)
{
    ++called;
    while (count-- > 0) piece(job, count);
}

int main()
{
    int data[6] = {};
    const int64_t shape[] = {2, 3}, negative[] = {2, -1}, none[] = {0, 3}, wide[] = {2, INT32_MAX}, long_one[] = {(int64_t)1 << 31};
    kc_array x;
    expect(kc_array_of(&x, data, sizeof *data, 2, shape) && x.ndim == 2 && x.strides[0] == 12 && x.strides[1] == 4 && x.data == data);
    expect(!x.grad && x.shape[1] == 3 && x.shape[2] == 0 && x.flags == 0);
    expect(!kc_array_of(&x, data, sizeof *data, 2, negative) && !x.data && x.shape[0] == 0);
    expect(kc_array_of(&x, data, sizeof *data, 2, none) && x.strides[0] == 12);
    expect(!kc_array_of(&x, data, sizeof *data, 2, wide) && !kc_array_of(&x, data, 1, 1, long_one));
    expect(kc_array_of(&x, data, 1, 2, wide) && x.strides[0] == INT32_MAX);
    expect(!kc_array_of(&x, data, 4, 0, shape) && !kc_array_of(&x, data, 4, 5, shape));
    kc_launch_bounds b;
    const int64_t most[] = {INT32_MAX, INT32_MAX, 2, 1}, more[] = {INT32_MAX, INT32_MAX, 2, 2}, zero[] = {INT32_MAX, INT32_MAX, INT32_MAX, 0};
    expect(kc_launch_of(&b, 2, shape) && b.size == 6 && b.shape[2] == 1);
    expect(kc_launch_of(&b, 4, most) && b.size == (uint64_t)INT32_MAX * INT32_MAX * 2);
    const int64_t cube[] = {INT32_MAX, INT32_MAX, INT32_MAX};
    expect(!kc_launch_of(&b, 3, cube) && b.size == 0);
    expect(kc_launch_of(&b, 4, more) == (UINT64_C(4) * INT32_MAX * INT32_MAX <= INT64_MAX));
    expect(!kc_launch_of(&b, 4, zero) && !kc_launch_of(&b, 1, negative + 1) && !kc_launch_of(&b, 0, shape));
    expect(throws([&] { kc::array(data, {2, -3}); }) && throws([&] { kc::bounds({1, -1}); }) && throws([&] { kc::bounds({UINT64_MAX}); }));
    const int fixed[2] = {7, 8};
    expect(kc::array(fixed, {2}).data == fixed);

    expect(shout_cpu_grain == UINT64_MAX && total_cpu_grain >= 64 && total_cpu_grain <= 16384);

    /* Each element is met once, whatever the launch and however many work. */
    const int64_t shapes[][4] = {{1, 1, 1, 1}, {5, 1, 1, 1}, {4097, 1, 1, 1}, {1, 1, 1, 20011}, {17, 1, 31, 67}, {3, 5000, 1, 7}, {100000, 1, 1, 1}, {0, 4, 4, 4}};
    for (auto &s : shapes) {
        for (unsigned workers : {0u, 1u, 2u, 3u, 64u}) {
            std::vector<int> met((size_t)(s[0] * s[1] * s[2] * s[3]));
            count_args args = {kc::array(met.data(), {s[0], s[1], s[2], s[3]})};
            kc_status status = {};
            kc::launch(count_cpu_launch, {s[0], s[1], s[2], s[3]}, args, &status, workers);
            kc::check(status, k_sites);
            expect(kc_launch_of(&b, 4, s));
            std::vector<int> again(met.size());
            args.x = kc::array(again.data(), {s[0], s[1], s[2], s[3]});
            unsigned before = called;
            count_cpu_launch(&b, &args, &status, workers, backwards, nullptr);
            expect((called > before) == (workers > 1 && b.size > count_cpu_grain));
            for (size_t n = 0; n < met.size(); ++n) expect(met[n] == 1 && again[n] == 1);
        }
    }
    std::vector<float> ones(100000, 1.0f);
    float sum = 0.0f;
    total_args args = {kc::array(ones.data(), {100000}), kc::array(&sum, {1})};
    kc::launch(total_cpu_launch, {100000}, args, nullptr, 8);
    expect(sum == 100000.0f);

    /* What went wrong, in a buffer of any size. */
    int twice[2] = {1, 0};
    count_args other = {kc::array(twice, {2, 1, 1, 1})};
    kc_status status = {};
    kc::launch(count_cpu_launch, {2, 1, 1, 1}, other, &status, 1);
    std::string said;
    try {
        kc::check(status, k_sites);
    } catch (const std::runtime_error &error) {
        said = error.what();
    }
    expect(said == "k.py:15:5: assertion failed: met \"once\" 100%, in thread 0");
    char small[8];
    expect(kc_status_text(small, sizeof small, &status, k_sites, 1000) == (int)said.size() && said.compare(0, 7, small) == 0);
    status.site = 12345;
    std::vector<char> big(200);
    kc_status_text(big.data(), big.size(), &status, k_sites, sizeof k_sites / sizeof *k_sites);
    expect(std::string(big.data()).find("unknown place") == 0);
    std::puts("all as expected");
    return 0;
}
"#;

#[test]
fn the_helpers_divide_launches_and_refuse_what_does_not_fit() {
    let sources = tempfile::tempdir().expect("a temporary folder");
    let kernels: PathBuf = sources.path().join("k.py");
    std::fs::write(&kernels, KERNELS).expect("a writable folder");
    let folder = compiled(&kernels, &["--checked"]);
    let (source, program) = (folder.path().join("uses.cpp"), folder.path().join("uses"));
    std::fs::write(&source, USES.replace("#include <cstdlib>", "#include <cstdlib>\n#include <string>"))
        .expect("a file");
    let mut cpp = Command::new("c++");
    cpp.args(["-std=c++17", "-fsanitize=undefined", "-fno-sanitize-recover"])
        .args(WARNINGS)
        .arg("-Wno-unused-function");
    run(cpp.arg("-pthread").arg(&source).arg(folder.path().join("k.o")).arg("-o").arg(&program));
    assert_eq!(run(&mut Command::new(&program)), "all as expected\n");
    let text = std::fs::read_to_string(folder.path().join("k.json")).expect("the description");
    let description: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let host = |name: &str| {
        let kernels = description["kernels"].as_array().expect("kernels");
        let kernel = kernels.iter().find(|kernel| kernel["name"] == name).expect("the kernel");
        let host = &kernel["entries"]["forward"]["host"];
        (host["parallel"] == true, host["same_in_any_order"] == true)
    };
    assert_eq!([host("shout"), host("total"), host("count")], [(false, true), (true, false), (true, true)]);
}

/// Kernels whose threads add to arrays: floats in rows, integers of 8 to 64 bits, doubles, an array
/// in a struct.
const ADDING: &str = "import warp as wp

@wp.struct
class Bins:
    width: int
    of: wp.array(dtype=wp.int64)

@wp.kernel
def spread(x: wp.array2d(dtype=wp.vec3), y: wp.array(dtype=wp.vec3), w: wp.array(dtype=wp.float64)):
    i, j = wp.tid()
    y[j % 7] += x[i, j]
    wp.atomic_add(w, i % 5, wp.float64(1.0))

@wp.kernel
def count(x: wp.array(dtype=int), bins: Bins, small: wp.array2d(dtype=wp.uint8)):
    i = wp.tid()
    wp.atomic_add(bins.of, x[i] % bins.width, wp.int64(1))
    wp.atomic_add(small, x[i] % 3, x[i] % 2, wp.uint8(1))

@wp.kernel
def most(x: wp.array(dtype=int), y: wp.array(dtype=int)):
    wp.atomic_max(y, 0, x[wp.tid()])
";

const ADDS: &str = r#"
#include "k.h"
using namespace k;
#include <cmath>
#include <cstdlib>

#define expect(condition) do { if (!(condition)) { std::printf("line %d: %s\n", __LINE__, #condition); std::exit(1); } } while (0)

static uint64_t pieces;
static bool divided;

/* In the other order; remembers how the launch was divided. */
static void backwards(void *, uint64_t count, kc_piece piece, const kc_job *job)
{
    pieces = count;
    divided = job->others != nullptr;
    while (count-- > 0) piece(job, count);
}

int main()
{
    typedef float vec3[3];
    const int rows = 3000, columns = 41;
    std::vector<float> x((size_t)rows * columns * 3);
    for (size_t n = 0; n < x.size(); ++n) x[n] = (float)(n % 17) * 0.25f; /* sums are exact in any order */
    kc_launch_bounds b = kc::bounds({rows, columns});
    std::vector<float> expected;
    for (unsigned workers : {1u, 2u, 3u, 5u, 300u}) {
        for (int apart : {1, 2}) { /* elements side by side, and with gaps */
            std::vector<float> y(7 * 3 * 2, 1.0f);
            std::vector<double> w(5, 2.0);
            spread_args args = {kc::array((vec3 *)x.data(), {rows, columns}), kc::array((vec3 *)y.data(), {7}), kc::array(w.data(), {5})};
            args.y.strides[0] *= apart;
            divided = false;
            spread_cpu_launch(&b, &args, nullptr, workers, backwards, nullptr);
            expect(divided == (workers > 1));
            expect(workers == 1 || (pieces > 1 && pieces <= workers && pieces <= b.size / spread_cpu_grain));
            std::vector<float> got;
            for (int n = 0; n < 7; ++n)
                for (int k = 0; k < 3; ++k) got.push_back(y[(size_t)(n * apart * 3 + k)]);
            if (expected.empty()) expected = got;
            expect(got == expected);
            for (double sum : w) expect(sum == 2.0 + rows / 5 * columns);
            if (apart == 2) for (int n = 0; n < 7; ++n) for (int k = 3; k < 6; ++k) expect(y[(size_t)(n * 6 + k)] == 1.0f);
        }
    }
    /* What is added to is read too: one worker does it all. */
    std::vector<double> w(5);
    spread_args shared = {kc::array((vec3 *)x.data(), {rows, columns}), kc::array((vec3 *)x.data(), {7}), kc::array(w.data(), {5})};
    divided = false;
    pieces = 0;
    spread_cpu_launch(&b, &shared, nullptr, 4, backwards, nullptr);
    expect(!divided && pieces == 0 && w[4] == rows / 5 * columns);

    std::vector<int> numbers(50000);
    for (size_t n = 0; n < numbers.size(); ++n) numbers[n] = (int)(n * 7919 % 10007);
    std::vector<int64_t> first, second;
    std::vector<uint8_t> small[2];
    for (unsigned workers : {1u, 4u}) {
        auto &bins = workers == 1 ? first : second;
        bins.assign(100, 1);
        auto &tiny = small[workers == 1 ? 0 : 1];
        tiny.assign(6, 3);
        count_args args = {kc::array(numbers.data(), {50000}), {100, kc::array(bins.data(), {100})}, kc::array(tiny.data(), {3, 2})};
        kc::launch(count_cpu_launch, {50000}, args, nullptr, workers);
    }
    expect(first == second && small[0] == small[1] && first[3] > 1);
    /* Parts of a launch by hand, each with arrays of its own. */
    std::vector<int64_t> parts[2] = {std::vector<int64_t>(100), std::vector<int64_t>(100)};
    std::vector<uint8_t> rest(6);
    kc_launch_bounds all = kc::bounds({50000});
    for (int n = 0; n < 2; ++n) {
        count_args args = {kc::array(numbers.data(), {50000}), {100, kc::array(parts[n].data(), {100})}, kc::array(rest.data(), {3, 2})};
        count_cpu_kernel_forward_alone(&all, &args, n == 0 ? 0 : 20001, n == 0 ? 20001 : 50000, nullptr);
    }
    for (size_t n = 0; n < 100; ++n) expect(parts[0][n] + parts[1][n] + 1 == first[n]);

    /* A greatest element is no sum: its updates are atomic, in pieces. */
    int greatest = 0;
    most_args top = {kc::array(numbers.data(), {50000}), kc::array(&greatest, {1})};
    divided = true;
    most_cpu_launch(&all, &top, nullptr, 4, backwards, nullptr);
    expect(!divided && pieces > 1 && greatest == 10006);

    /* The gradient, with adjoints behind their arrays and in arguments of their own. */
    std::vector<float> ax[2];
    for (unsigned workers : {1u, 3u}) {
        auto &adjoint = ax[workers == 1 ? 0 : 1];
        adjoint.assign(x.size(), 0.0f);
        std::vector<float> y(21), ay(21, 0.5f);
        spread_backward_args args = {};
        args.x = kc::array((vec3 *)x.data(), {rows, columns}, (vec3 *)adjoint.data());
        args.y = kc::array((vec3 *)y.data(), {7});
        args.w = kc::array(w.data(), {5});
        args.adj_y = kc::array((vec3 *)ay.data(), {7});
        kc::launch(spread_backward_cpu_launch, {rows, columns}, args, nullptr, workers);
    }
    for (size_t n = 0; n < x.size(); ++n) expect(ax[0][n] == 0.5f && ax[1][n] == 0.5f);
    std::puts("all as expected");
    return 0;
}
"#;

#[test]
fn workers_that_add_have_arrays_of_their_own() {
    let sources = tempfile::tempdir().expect("a temporary folder");
    let kernels: PathBuf = sources.path().join("k.py");
    std::fs::write(&kernels, ADDING).expect("a writable folder");
    let folder = compiled(&kernels, &[]);
    let (source, program) = (folder.path().join("adds.cpp"), folder.path().join("adds"));
    std::fs::write(&source, ADDS).expect("a file");
    let mut cpp = Command::new("c++");
    cpp.args(["-std=c++17", "-fsanitize=undefined,address", "-fno-sanitize-recover"])
        .args(WARNINGS)
        .arg("-Wno-unused-function");
    run(cpp.arg("-pthread").arg(&source).arg(folder.path().join("k.o")).arg("-o").arg(&program));
    assert_eq!(run(&mut Command::new(&program)), "all as expected\n");
    let text = std::fs::read_to_string(folder.path().join("k.json")).expect("the description");
    let description: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let host = |n: usize| &description["kernels"][n]["entries"]["forward"]["host"];
    assert_eq!(host(0)["alone"], "spread_cpu_kernel_forward_alone");
    assert_eq!(host(0)["sums"], serde_json::json!(["y", "w"]));
    assert_eq!(host(1)["sums"], serde_json::json!(["bins.of", "small"]));
    assert_eq!(
        (&host(2)["alone"], &host(2)["sums"]),
        (&"most_cpu_kernel_forward_alone".into(), &serde_json::Value::Null)
    );
}

/// Kernels whose rows are apart: a stencil with indices that count from the end, with a sum that is
/// one for all rows, and ranges out of memory.
const ROWS: &str = "import warp as wp

@wp.kernel
def bands(x: wp.array2d(dtype=int), s: wp.array2d(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(s, i - 2, j, x[i, j])
    wp.atomic_add(s, i, j, 3 * x[i, j])

@wp.kernel
def both(x: wp.array2d(dtype=int), s: wp.array2d(dtype=int), total: wp.array(dtype=int)):
    i, j = wp.tid()
    wp.atomic_add(s, i, j, x[i, j])
    if i > 0 and i < x.shape[0] - 1:
        wp.atomic_add(s, i - 1, j, x[i, j])
        wp.atomic_add(s, i + 1, (j * 7) % x.shape[1], 3 * x[i, j])
    wp.atomic_add(total, j % 5, 1)

@wp.kernel
def ranges(rows: wp.array(dtype=int), x: wp.array2d(dtype=int), s: wp.array(dtype=int)):
    i, j = wp.tid()
    for k in range(rows[i], rows[i + 1]):
        wp.atomic_add(s, k, x[i, j])
";

const APART: &str = r#"
#include "k.h"
using namespace k;
#include <cstdlib>
#include <set>

#define expect(condition) do { if (!(condition)) { std::printf("line %d: %s\n", __LINE__, #condition); std::exit(1); } } while (0)

static uint64_t pieces;
static bool copied, left_out;
static std::vector<int> met;

/* In the other order; remembers how the launch was divided, and in how many pieces each thread was. */
static void backwards(void *, uint64_t count, kc_piece piece, const kc_job *job)
{
    if (job->between) left_out = true;
    else pieces = count;
    copied = job->others != nullptr;
    std::set<const void *> own;
    for (uint64_t n = 0; n < count; ++n) {
        own.insert(kc_piece_args(job, n));
        for (uint64_t t = kc_piece_begin(job, n); t < kc_piece_end(job, n); ++t) ++met[(size_t)t];
        if (!job->between && n + 1 < count) expect(kc_piece_begin(job, n + 1) - kc_piece_end(job, n) == job->gap);
    }
    /* Pieces that run side by side have copies of their own, or none has. */
    expect(own.size() == (copied ? count : 1));
    while (count-- > 0) piece(job, count);
}

int main()
{
    for (int columns : {40, 1500}) {
        const int rows = 700;
        const size_t size = (size_t)rows * columns;
        std::vector<int> x(size), first[2], total(5), sums;
        for (size_t n = 0; n < size; ++n) x[n] = (int)(n * 7919 % 1009);
        kc_launch_bounds b = kc::bounds({rows, columns});
        for (unsigned workers : {1u, 2u, 3u, 7u, 64u}) {
            const bool several = workers > 1;
            /* The first two rows meet the last two: they run when all others have. */
            std::vector<int> s(size), t(size);
            bands_args args = {kc::array(x.data(), {rows, columns}), kc::array(s.data(), {rows, columns})};
            met.assign(size, 0);
            pieces = 0;
            left_out = false;
            bands_cpu_launch(&b, &args, nullptr, workers, backwards, nullptr);
            expect((pieces > 1) == several && (!several || !copied));
            if (left_out) for (size_t n = 0; n < size; ++n) expect(met[n] == (n < (size_t)columns * 2 ? 0 : 1));
            if (first[0].empty()) first[0] = s;
            expect(s == first[0]);
            /* As by threads of its own. */
            args.s = kc::array(t.data(), {rows, columns});
            kc::launch(bands_cpu_launch, {rows, columns}, args, nullptr, workers);
            expect(t == first[0]);

            s.assign(size, 0);
            total.assign(5, 0);
            both_args two = {kc::array(x.data(), {rows, columns}), kc::array(s.data(), {rows, columns}), kc::array(total.data(), {5})};
            met.assign(size, 0);
            left_out = copied = false;
            both_cpu_launch(&b, &two, nullptr, workers, backwards, nullptr);
            expect(copied == several && left_out == (several && (pieces - 1) * 2 * (uint64_t)columns >= both_cpu_grain));
            if (workers == 7) expect(left_out == (columns == 1500));
            if (left_out) for (size_t n = 0; n < size; ++n) expect(met[n] == 1);
            if (first[1].empty()) first[1] = s;
            expect(s == first[1] && total[0] == (int)size / 5 && total[4] == (int)size / 5);
        }
        /* Numbers that rise, with empty ranges, and those that do not; the last one too, and too few. */
        std::vector<int> numbers((size_t)rows + 1);
        for (int n = 0; n < rows + 1; ++n) numbers[(size_t)n] = n * 3 / 2;
        for (int wrong : {0, 1, 2, 3, 4}) {
            std::vector<int> given = numbers;
            if (wrong == 1) given[300] = given[301] + 1;
            if (wrong == 2) given.back() = 0;
            if (wrong == 3) given[0] = -2;
            std::vector<int> one(numbers.back() + 2), more(one.size());
            for (unsigned workers : {1u, 3u}) {
                auto &s = workers == 1 ? one : more;
                ranges_args args = {kc::array(given.data(), {rows + 1 - (wrong == 4)}), kc::array(x.data(), {rows, columns}), kc::array(s.data(), {(int64_t)s.size()})};
                kc_launch_bounds less = kc::bounds({rows - (wrong == 4), columns});
                met.assign(size, 0);
                pieces = 0;
                ranges_cpu_launch(&less, &args, nullptr, workers, backwards, nullptr);
                if (workers > 1) expect(pieces > 1 && copied == (wrong != 0 && wrong != 4));
            }
            expect(one == more);
        }
        /* The array of the numbers is too short for the launch: nothing is read behind it. */
        {
            std::vector<int> few(numbers.begin(), numbers.begin() + 2), s(numbers.back() + 2);
            ranges_args args = {kc::array(few.data(), {2}), kc::array(x.data(), {rows, columns}), kc::array(s.data(), {(int64_t)s.size()})};
            kc_status status = {};
            met.assign(size, 0);
            ranges_cpu_launch(&b, &args, &status, 3, backwards, nullptr);
            expect(status.kind == KC_OUT_OF_BOUNDS && copied);
        }
    }
    std::puts("all as expected");
    return 0;
}
"#;

/// The helpers of the header keep workers to rows that are apart in what they add to, as `kc run`
/// does, and the description says which are.
#[test]
fn workers_that_add_keep_to_rows_that_are_apart() {
    let sources = tempfile::tempdir().expect("a temporary folder");
    let kernels: PathBuf = sources.path().join("k.py");
    std::fs::write(&kernels, ROWS).expect("a writable folder");
    let folder = compiled(&kernels, &["--checked"]);
    let (source, program) = (folder.path().join("apart.cpp"), folder.path().join("apart"));
    std::fs::write(&source, APART).expect("a file");
    let mut cpp = Command::new("c++");
    cpp.args(["-std=c++17", "-fsanitize=undefined,address", "-fno-sanitize-recover"])
        .args(WARNINGS)
        .arg("-Wno-unused-function");
    run(cpp.arg("-pthread").arg(&source).arg(folder.path().join("k.o")).arg("-o").arg(&program));
    assert_eq!(run(&mut Command::new(&program)), "all as expected\n");
    let text = std::fs::read_to_string(folder.path().join("k.json")).expect("the description");
    let description: serde_json::Value = serde_json::from_str(&text).expect("JSON");
    let apart = |n: usize| &description["kernels"][n]["entries"]["forward"]["host"]["apart"];
    assert_eq!(apart(0), &serde_json::json!([{"array": "s", "gap": 2, "head": 2}]));
    assert_eq!(apart(1), &serde_json::json!([{"array": "s", "gap": 2, "head": 0}]));
    assert_eq!(apart(2), &serde_json::json!([{"array": "s", "rising": "rows", "first": 0}]));
}

/// A program with two files of kernels, in both configurations.
#[test]
fn a_loop_of_a_game_builds_for_debugging_and_for_speed() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = |name: &str| folder.path().join(name);
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    std::fs::create_dir(path("app")).expect("a folder");
    for name in ["CMakeLists.txt", "flock.py", "ground.py", "main.cpp"] {
        std::fs::copy(root.join("examples/embed_game").join(name), path("app").join(name)).expect("a file");
    }
    let cmake = || Command::new(std::env::var("KC_CMAKE").unwrap_or_else(|_| "cmake".to_string()));
    for (kind, report) in [("Debug", "flock.py:18:12: index 500 is out of bounds"), ("Release", "no report")] {
        let build = path(kind);
        let mut configure = cmake();
        configure.arg("-S").arg(path("app")).arg("-B").arg(&build).arg(format!("-DCMAKE_BUILD_TYPE={kind}"));
        configure.arg(format!("-Dkc_DIR={}", root.join("scripts/cmake").display()));
        run(configure.arg(format!("-DKC_PROGRAM={}", env!("CARGO_BIN_EXE_kc"))));
        run(cmake().arg("--build").arg(&build));
        let said = run(&mut Command::new(build.join("game")));
        let lines: Vec<&str> = said.lines().collect();
        let [state, check] = lines[..] else { panic!("{said}") };
        let numbers: Vec<f32> = state.split([' ', ',']).filter_map(|word| word.parse().ok()).collect();
        assert!(
            matches!(numbers[..], [touched, low, fast] if touched == 1.0 && low >= 0.0 && fast <= 3.001),
            "{state}"
        );
        assert!(check.starts_with(report), "{kind}: {check}");
    }
}
