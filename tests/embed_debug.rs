//! What debuggers, profilers and sanitizers say of kernels in objects: lines, inlined functions,
//! variables, and the way to `main` from any instruction.

#[path = "common/process.rs"]
mod process;

use std::path::Path;
use std::process::Command;

use process::run;

const KERNELS: &str = "import warp as wp

@wp.struct
class Body:
    mass: float
    at: wp.vec3

@wp.func
def pull(a: wp.vec3, b: wp.vec3, k: float):
    d = b - a
    far = wp.length(d) + 0.5
    return d * (k / far)

@wp.kernel
def step(bodies: wp.array(dtype=Body), k: float, out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    body = bodies[i]
    total = wp.vec3(0.0, 0.0, 0.0)
    for j in range(bodies.shape[0]):
        total += pull(body.at, bodies[j].at, k)
    out[i] = total * body.mass
";

const PROGRAM: &str = "#include \"k.h\"
int main(int count, char **)
{
    std::vector<k::Body> bodies(9);
    for (int n = 0; n < 9; ++n) bodies[n] = {1.0f + n, {1.0f * n, 2.0f * n, 4.0f}};
    std::vector<float> out(27), gradient(27, 1.0f);
    float(*rows)[3] = reinterpret_cast<float(*)[3]>(out.data());
    float(*adjoints)[3] = reinterpret_cast<float(*)[3]>(gradient.data());
    k::step_args args = {kc::array(bodies.data(), {9}), 2.0f, kc::array(rows, {9}, adjoints)};
    if (count > 1) args.bodies.data = reinterpret_cast<void *>(64);
    kc::launch(k::step_cpu_launch, {9}, args, nullptr, 1);
    k::step_backward_args back = {args.bodies, args.k, args.out};
    kc::launch(k::step_backward_cpu_launch, {9}, back, nullptr, 1);
    return out[3] > 1e9f;
}
";

/// A folder with the program, built with these options of kc and of the C++ compiler.
fn built(options: &[&str], flags: &[&str]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNELS).expect("a file");
    std::fs::write(folder.path().join("main.cpp"), PROGRAM).expect("a file");
    let compile = ["compile", "k.py", "--emit", "obj,header", "--color", "never"];
    run(Command::new(env!("CARGO_BIN_EXE_kc")).args(compile).args(options).current_dir(folder.path()));
    let build = ["-std=c++17", "-g", "-pthread", "main.cpp", "k.o", "-o", "main"];
    run(Command::new("g++").args(build).args(flags).current_dir(folder.path()));
    folder
}

/// What gdb says to these commands.
fn gdb(folder: &Path, commands: &[&str]) -> String {
    let mut gdb = Command::new("gdb");
    gdb.args(["-batch", "-nx", "-ex", "set debuginfod enabled off"]);
    for command in commands {
        gdb.args(["-ex", command]);
    }
    run(gdb.arg("./main").current_dir(folder))
}

#[test]
fn gdb_shows_arguments_variables_and_inlined_functions() {
    let folder = built(&["-g", "--opt", "lean"], &[]);
    let commands = [
        "break k.py:21",
        "run",
        "info args",
        "print body",
        "print bodies[2].at.y",
        "print total",
        "break pull",
        "continue",
        "backtrace",
    ];
    let said = gdb(folder.path(), &commands);
    for expected in [
        "step (bodies=0x",
        "at k.py:21",
        "21\t    out[i] = total * body.mass",
        "k = 2",
        "{mass = 1, at = {x = 0, y = 0, z = 4}}",
        "$2 = 4",
        "$3 = {x = ",
        "#0  pull (",
        "#1  step (",
        "in main (",
        "10\t    d = b - a",
    ] {
        assert!(said.contains(expected), "`{expected}` in:\n{said}");
    }
}

/// Code of the built-in library has no lines and no variables of its own: it belongs to the line
/// that calls it.
#[test]
fn variables_of_the_library_stay_out_of_sight() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let kernels = "import warp as wp

@wp.kernel
def solve(x: wp.array(dtype=wp.mat33), k: float, out: wp.array(dtype=float)):
    i = wp.tid()
    m = wp.inverse(x[i]) * k
    d = wp.determinant(m) + wp.exp(wp.sin(k))
    out[i] = d
";
    let program = "#include \"k.h\"
int main()
{
    float x[1][3][3] = {{{2, 0, 0}, {0, 1, 0}, {0, 0, 1}}}, out[1];
    kc::launch(k::solve_cpu_launch, {1}, k::solve_args{{x, {1}}, 2.0f, {out, {1}}}, nullptr, 1);
}
";
    for options in [&["--opt", "lean"][..], &["--opt", "lean", "--checked"]] {
        std::fs::write(folder.path().join("k.py"), kernels).expect("a file");
        std::fs::write(folder.path().join("main.cpp"), program).expect("a file");
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        run(kc.current_dir(&folder).args(["compile", "-q", "k.py", "--emit", "obj,header", "-g"]).args(options));
        let build = ["-std=c++17", "-g", "-pthread", "main.cpp", "k.o", "-lm", "-o", "main"];
        run(Command::new("g++").args(build).current_dir(folder.path()));
        let said = gdb(
            folder.path(),
            &["break k.py:8", "run", "echo [args]\\n", "info args", "echo [locals]\\n", "info locals"],
        );
        let (_, shown) = said.split_once("[args]\n").expect("the program stops");
        let (args, locals) = shown.split_once("[locals]\n").expect("both");
        let names = |text: &str| -> Vec<String> {
            let mut names: Vec<String> =
                text.lines().filter_map(|l| Some(l.split_once(" = ")?.0.to_string())).collect();
            names.sort();
            names
        };
        assert_eq!(names(args), ["k", "out", "x"], "{options:?}: {said}");
        let known = ["d", "i", "m"];
        assert!(names(locals).iter().all(|name| known.contains(&name.as_str())), "{options:?}: {said}");
        assert!(locals.contains("d = "), "{options:?}: {said}");
        // No file that is nowhere.
        let lines = run(Command::new("objdump").args(["--dwarf=decodedline", "k.o"]).current_dir(folder.path()));
        let files =
            lines.lines().filter_map(|line| line.split_whitespace().next()).filter(|word| word.ends_with(".py"));
        assert!(files.clone().count() > 0 && files.clone().all(|file| file == "k.py"), "{lines}");
    }
}

#[test]
fn every_instruction_has_a_line_and_a_way_to_main() {
    const POINTS: usize = 40;
    for options in [&["-g"][..], &["-g", "--opt", "lean"], &["-g", "--cpu", "auto"], &["-g", "--checked"]] {
        let folder = built(options, &[]);
        // The first instructions choose the code for the processor, and are of no line.
        let mut commands = vec!["break step_cpu_kernel_backward", "run", "stepi 40"];
        commands.extend(["stepi 11", "echo [point]\\n", "backtrace -20"].repeat(POINTS));
        let said = gdb(folder.path(), &commands);
        let points: Vec<&str> = said.split("[point]\n").skip(1).collect();
        assert_eq!(points.len(), POINTS, "{options:?}: {said}");
        for point in points {
            assert!(point.contains("at k.py:") && point.contains("in main ("), "{options:?}: {point}");
        }
    }
}

#[test]
fn sanitizers_name_the_line_of_a_wild_pointer() {
    let folder = built(&["-g", "--opt", "lean"], &["-fsanitize=address"]);
    let crash = Command::new("./main").arg("wild").current_dir(folder.path()).output().expect("the program");
    let said = String::from_utf8_lossy(&crash.stderr);
    assert!(!crash.status.success(), "{said}");
    let frame = said.lines().find(|line| line.contains("#0 ")).unwrap_or_default();
    assert!(frame.contains("step") && frame.contains("k.py:"), "{said}");
    assert!(said.contains("in main "), "{said}");
}

#[test]
fn debug_information_leaves_the_code_as_it_is() {
    let code = |options: &[&str]| {
        let folder = built(options, &[]);
        run(Command::new("objcopy")
            .args(["-O", "binary", "--only-section=.text", "k.o", "text"])
            .current_dir(folder.path()));
        std::fs::read(folder.path().join("text")).expect("the code")
    };
    let cpu = ["--cpu", "x86-64-v3"];
    let (without, with) = (code(&cpu), code(&[&cpu[..], &["-g"]].concat()));
    assert!(!without.is_empty());
    assert!(without == with, "{} bytes of code, and {} with -g", without.len(), with.len());
}
