//! How much does kc compile? Each bound of `src/limits.rs` has a program beyond it, and a file of a
//! megabyte ends with an answer or a coded refusal, in little time and memory.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Command, Stdio};

use kc::diag::{Code, Level};
use kc::driver::{Compiler, Request};
use kc::limits::TABLE;

const HEAD: &str = "import warp as wp\n";

fn kernel(body: &str) -> String {
    format!("@wp.kernel\ndef k(x: wp.array(dtype=float), n: int):\n    i = wp.tid()\n{body}\n")
}

/// The codes of the errors of a program, in order.
fn errors(text: &str) -> Vec<&'static str> {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("program.py");
    std::fs::write(&path, text).expect("a writable file");
    let check = || {
        let compilation = Compiler::new().check(&path, std::sync::Arc::default(), &Request::default());
        compilation.diagnostics.iter().filter(|d| d.level == Level::Error).map(|d| d.code.name()).collect()
    };
    kc::driver::guard(check).expect("no panic")
}

/// Loops inside one another that `wp.static` unrolls.
fn nest(iterations: usize, depth: usize) -> String {
    let mut body = String::from("    s = float(0.0)\n");
    for level in 0..depth {
        let _ = writeln!(body, "{}for j{level} in range({iterations}):", "    ".repeat(level + 1));
    }
    body + &format!("{}s += x[wp.static(j0)]\n    x[i] = s", "    ".repeat(depth + 1))
}

/// `A0 = first`, and `A1`, `A2`, ... each made of two of the one before.
fn doubling(first: &str, next: &str, lines: usize) -> String {
    let mut text = format!("{HEAD}A0 = {first}\n");
    for n in 1..lines {
        let _ = writeln!(text, "A{n} = {}", next.replace('@', &format!("A{}", n - 1)));
    }
    text
}

/// Functions each of which calls `wp.grad` of the one before.
fn gradients(depth: usize) -> String {
    let mut text = format!("{HEAD}@wp.func\ndef f0(a: float):\n    return wp.sin(a) * a\n");
    for n in 1..=depth {
        let _ = write!(text, "@wp.func\ndef f{n}(a: float):\n    return wp.grad(f{})(a) * a\n", n - 1);
    }
    text + &kernel(&format!("    x[i] = f{depth}(x[i])"))
}

#[test]
fn what_multiplies_is_refused() {
    let uses = |last: &str| kernel(&format!("    x[i] = float({last})"));
    let programs = [
        ("numbers that square", doubling("3", "@ * @", 40) + &uses("A39"), "E0508"),
        ("a huge shift", format!("{HEAD}A = 1 << 10 ** 9\n{}", uses("A")), "E0508"),
        ("a huge power", format!("{HEAD}A = 10 ** 10 ** 10\n{}", uses("A")), "E0508"),
        ("a float that overflows", format!("{HEAD}A = 10.0 ** 400\n{}", uses("A")), "E0508"),
        ("vectors that double", doubling("wp.vec3(1.0, 2.0, 3.0)", "@ + @", 40) + &uses("A39[0]"), "E0508"),
        ("calls that double", doubling("wp.sin(1.0)", "@ * @", 40) + &uses("A39"), "E0508"),
        ("shared values", doubling("wp.vec3(1.0, 2.0, 3.0)", "wp.cross(@, @)", 40) + &uses("A39[0]"), "E0508"),
        ("both sides", doubling("wp.sin(1.0)", "@ if @ > 0.0 else @", 40) + &uses("wp.static(A39)"), "E0508"),
        ("tuples of tuples", format!("{HEAD}A = ((1,) * 9999,) * 9999\n{}", uses("wp.static(len(A))")), "E0508"),
        ("lists that double", doubling("[1.0, 2.0]", "[@, @]", 40) + &uses("wp.static(len(A39))"), "E0508"),
        ("static loops", format!("{HEAD}{}", kernel(&nest(1000, 5))), "E0910"),
        ("small static loops", format!("{HEAD}{}", kernel(&nest(2, 30))), "E0910"),
        ("gradients of gradients", gradients(20), "E0910"),
        (
            "a long vector",
            format!("{HEAD}V = wp.types.vector(length=2147483647, dtype=float)\n{}", uses("V()[0]")),
            "E0317",
        ),
        ("a long value", format!("{HEAD}{}", uses("wp.vector(1.0, length=2000)[0]")), "E0317"),
        ("no component", format!("{HEAD}{}", uses("wp.vector(1.0, length=0)[0]")), "E0317"),
        (
            "a wide matrix",
            format!("{HEAD}M = wp.types.matrix(shape=(5000, 2), dtype=float)\n{}", uses("M()[0, 0]")),
            "E0317",
        ),
        (
            "a print of many values",
            format!("{HEAD}{}", kernel(&format!("    print({})", "x[i], ".repeat(5000)))),
            "E0910",
        ),
        (
            "a print of many matrices",
            format!("{HEAD}M = wp.types.matrix(shape=(64, 64), dtype=float)\n{}", kernel("    print(M(), M())")),
            "E0910",
        ),
        (
            "a large local array",
            format!("{HEAD}{}", kernel("    a = wp.zeros(shape=60000000000, dtype=float)")),
            "E0305",
        ),
    ];
    for (what, text, code) in programs {
        assert_eq!(errors(&text), [code], "{what}");
    }
}

#[test]
fn what_is_within_the_bounds_is_compiled() {
    let uses = |last: &str| kernel(&format!("    x[i] = float({last})"));
    let programs = [
        doubling("3", "@ * @", 6) + &uses("A5 % 7"),
        doubling("wp.vec3(1.0, 2.0, 3.0)", "@ + @", 8) + &uses("A7[0]"),
        format!("{HEAD}A = (1 << 100) % 1000\nB = 2 ** -1\nC = -7 // 2\n{}", uses("A + C)* float(B")),
        format!("{HEAD}{}", kernel(&nest(100, 2))),
        gradients(4),
        format!("{HEAD}V = wp.types.vector(length=1024, dtype=float)\n{}", uses("V()[1023]")),
        format!("{HEAD}{}", kernel(&format!("    print({})", "x[i], ".repeat(4000)))),
    ];
    for text in programs {
        assert_eq!(errors(&text), [""; 0], "{text}");
    }
}

/// Python's own results for arithmetic on constants.
#[test]
fn constants_are_computed_as_python_does() {
    let sums = [
        ("-7 // 2", "-4"),
        ("7 // -2", "-4"),
        ("-7 // -2", "3"),
        ("-7 % 3", "2"),
        ("7 % -3", "-2"),
        ("-7.5 % 2.0", "0.5"),
        ("7.5 % -2.0", "-0.5"),
        ("-7.5 // 2.0", "-4.0"),
        ("2 ** 10", "1024"),
        ("2 ** -1", "0.5"),
        ("0 ** 0", "1"),
        ("(-1) ** 1000000000001", "-1"),
        ("1 << 40 >> 38", "4"),
        ("-1 >> 1000", "-1"),
        ("0 << 1000000", "0"),
        ("True + True", "2"),
        ("3 * True", "3"),
        ("7 / 2", "3.5"),
        ("~5 ^ 3", "-7"),
        ("(1 << 100) % 1000", "376"),
        ("7.5 // -2.0", "-4.0"),
        ("-9 % -3", "0"),
        ("8 // -2", "-4"),
        ("1 ** 1000000000001", "1"),
        ("5 | 3", "7"),
        ("True ^ True", "False"),
    ];
    for (sum, result) in sums {
        let text =
            format!("{HEAD}A = {sum}\n{}", kernel(&format!("    x[i] = wp.static(1.0 if A == {result} else 1 // 0)")));
        assert_eq!(errors(&text), [""; 0], "{sum}");
    }
    for stops in ["1 // 0", "1 % 0", "1.0 / 0.0", "0 ** -1"] {
        let text = format!("{HEAD}A = {stops}\n{}", kernel("    x[i] = float(A)"));
        assert_eq!(errors(&text), ["E0501"], "{stops}");
    }
}

/// Files of about a megabyte end with a code, in bounded memory. Time is that of an unoptimised
/// build beside others.
#[test]
fn large_files_end_soon() {
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let files = [
        ("parentheses", format!("{HEAD}{}", kernel(&format!("    x[i] = {}", "(".repeat(1_000_000))))),
        ("minus", format!("{HEAD}{}", kernel(&format!("    x[i] = {}1.0", "-".repeat(1_000_000))))),
        ("one line", format!("{HEAD}A = {}\n", "1 + ".repeat(200_000))),
        ("letters", "é".repeat(500_000)),
        ("comments", "# kc: allow W0701\n".repeat(58_000)),
        ("allowed", "# kc: allow(W0701)\n".repeat(50_000)),
        ("unknown names", format!("{HEAD}{}", kernel(&lines(30_000, &|n| format!("    x[i] = y{n} + 1.0\n"))))),
        (
            "unknown built-ins",
            format!("{HEAD}{}", kernel(&lines(30_000, &|n| format!("    x[i] = wp.sinn{n}(x[i])\n")))),
        ),
        ("defaults", {
            let text = format!("{HEAD}@wp.func\ndef f0(a: float = 1.0):\n    return a\n");
            text + &lines(30, &|n| format!("@wp.func\ndef f{}(a: float = f{n}() + f{n}()):\n    return a\n", n + 1))
                + &kernel("    x[i] = f30()")
        }),
        ("constants in a row", {
            format!(
                "{HEAD}A0 = 1\n{}{}",
                lines(40_000, &|n| format!("A{} = A{n} + 1\n", n + 1)),
                kernel("    x[i] = float(A40000)")
            )
        }),
        ("statements", format!("{HEAD}{}", kernel(&lines(30_000, &|n| format!("    v{n} = x[{n}] * 2.0\n"))))),
        ("stores", format!("{HEAD}{}", kernel(&lines(20_000, &|n| format!("    x[i + {n}] = x[i + {n}] * 2.0\n"))))),
        ("early returns", {
            let returns = lines(14_000, &|n| format!("    if x[i] > {n}.5:\n        x[i] = {n}.0\n        return\n"));
            format!("{HEAD}{}", kernel(&returns))
        }),
        ("functions of one name", {
            let functions = "@wp.func\ndef f(a: float):\n    return a\n".repeat(25_000);
            format!("{HEAD}{functions}{}", kernel("    x[i] = f(1.0)"))
        }),
        ("functions in a row", {
            let functions = lines(6_000, &|n| format!("@wp.func\ndef f{n}(a: float):\n    return f{}(a)\n", n + 1));
            format!("{HEAD}{}{functions}@wp.func\ndef f6000(a: float):\n    return a\n", kernel("    x[i] = f0(x[i])"))
        }),
    ];
    for (what, text) in files {
        assert!(text.len() <= 1 << 20, "{what}: {}", text.len());
        ends_soon(what, &text, &["check", "--format", "short"], 60);
    }
}

/// Kernels of thousands of lines, and what of LLVM's work on them is quadratic: without budgets
/// these take 5 to 60 s each.
#[test]
fn objects_of_long_kernels_are_made_soon() {
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let text = |lines: String| format!("{HEAD}{}", kernel(&format!("    s = x[i]\n{lines}    x[i] = s")));
    let files = [
        ("loops", text(lines(800, &|n| format!("    for j{n} in range(n):\n        s += x[j{n}] * {n}.0\n")))),
        ("loops without end", text(lines(800, &|n| format!("    while s < {n}.5:\n        s = s * 1.5 + x[i]\n")))),
        ("library calls", text(lines(500, &|_| "    s = wp.sin(s) * 1.5\n".to_string()))),
        ("stores", text(lines(1_500, &|n| format!("    x[i + {n}] = x[i + {n}] * 2.0\n")))),
        ("terms of a sum", {
            let sum = (0..2_000).map(|n| format!("x[i + {n}]")).collect::<Vec<_>>().join(" + ");
            format!("{HEAD}{}", kernel(&format!("    x[i] = {sum}")))
        }),
        ("a chain of calls", {
            let functions = lines(400, &|n| {
                format!("@wp.func\ndef f{}(a: float):\n    return wp.sin(f{n}(a)) * {n}.0 + a\n", n + 1)
            });
            format!("{HEAD}@wp.func\ndef f0(a: float):\n    return a\n{functions}{}", kernel("    x[i] = f400(x[i])"))
        }),
        (
            "the product of 12 x 12 matrices",
            format!(
                "{HEAD}M = wp.types.matrix(shape=(12, 12), dtype=float)\n@wp.kernel\ndef k(a: wp.array(dtype=M), b: wp.array(dtype=M)):\n    i = wp.tid()\n    b[i] = a[i] * a[i]\n"
            ),
        ),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().to_str().expect("a name in UTF-8");
    for (what, text) in files {
        ends_soon(what, &text, &["compile", "--format", "short", "--emit", "obj", "--out-dir", target], 15);
    }
}

/// What is below the number of instructions from which on device code is made with little effort.
#[test]
fn device_code_of_long_kernels_is_made_soon() {
    let lines = |n: usize, line: &dyn Fn(usize) -> String| (0..n).map(line).collect::<String>();
    let loops = lines(440, &|n| format!("    for j{n} in range(n):\n        s += x[j{n}] * {n}.0\n"));
    let sum = (0..1_300).map(|n| format!("x[i + {n}]")).collect::<Vec<_>>().join(" + ");
    let files = [
        ("loops", format!("{HEAD}{}", kernel(&format!("    s = x[i]\n{loops}    x[i] = s")))),
        ("terms of a sum", format!("{HEAD}{}", kernel(&format!("    x[i] = {sum}")))),
    ];
    let folder = tempfile::tempdir().expect("a temporary folder");
    let target = folder.path().to_str().expect("a name in UTF-8");
    for (what, text) in files {
        ends_soon(what, &text, &["compile", "--format", "short", "--emit", "ptx", "--out-dir", target], 4);
    }
}

/// kc answers within so many seconds of processor time (of an unoptimised build), or says with a
/// code why not.
fn ends_soon(what: &str, text: &str, arguments: &[&str], seconds: u64) {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let path = folder.path().join("large.py");
    std::fs::write(&path, text).expect("a writable file");
    let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
    command.args(arguments).arg(&path).stdout(Stdio::piped()).stderr(Stdio::piped());
    // SAFETY: `setrlimit` may be called between fork and exec.
    unsafe {
        command.pre_exec(move || {
            let seconds = libc::rlimit { rlim_cur: seconds, rlim_max: seconds };
            libc::setrlimit(libc::RLIMIT_CPU, &seconds);
            Ok(())
        });
    }
    let output = command.output().expect("kc runs");
    let said = String::from_utf8_lossy(&output.stdout);
    assert_eq!(output.status.signal(), None, "{what}: too slow");
    assert!(matches!(output.status.code(), Some(0 | 1)), "{what}: {:?}\n{said}", output.status);
    assert!(!said.contains("E0999"), "{what}: {said}");
    assert_eq!(output.status.code() == Some(1), said.contains("error["), "{what}: {said}");
}

/// `KC_BLESS=1 cargo test --test limits` writes `docs/limits.md` anew.
#[test]
fn the_page_is_current() {
    let mut page = String::from(
        "# Limits\n\nkc compiles what people and programs write, and refuses what would only take time and memory. What\n\
         goes beyond a bound ends with its code, which `kc explain CODE` explains.\n\n| at most | of | code |\n|---|---|---|\n",
    );
    for limit in TABLE {
        let code =
            if limit.code.is_empty() { String::new() } else { format!("`{}`", limit.code.replace(", ", "`, `")) };
        let _ = writeln!(page, "| {} | {} | {code} |", limit.value, limit.what);
    }
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/docs/limits.md");
    if std::env::var_os("KC_BLESS").is_some_and(|value| value == "1") {
        std::fs::write(path, &page).expect("docs/ can be written");
    }
    assert_eq!(std::fs::read_to_string(path).unwrap_or_default(), page, "KC_BLESS=1 writes docs/limits.md anew");
    let codes: BTreeSet<&str> =
        TABLE.iter().flat_map(|limit| limit.code.split(", ")).filter(|code| !code.is_empty()).collect();
    for code in codes {
        assert!(Code::from_name(code).is_some(), "{code}");
    }
}
