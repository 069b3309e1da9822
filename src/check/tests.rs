//! The checker on small programs: what it accepts, and the code and place of what it refuses.

use super::*;
use crate::source::SourceFile;
use crate::syntax;

/// Checks a file that starts with `import warp as wp`; returns the result and `CODE line` of each
/// finding but lints.
fn run(text: &str) -> (Checked, Vec<String>) {
    let text = format!("import warp as wp\n{text}");
    let mut sources = SourceMap::default();
    let file = sources.add(SourceFile::new("test.py", text.clone()));
    let mut diagnostics = Diagnostics::new();
    let parsed = syntax::parse(file, &text, &mut diagnostics);
    let checked = check(&parsed, &Options::default(), &Instances::new(0), &mut sources, &mut diagnostics);
    let found = diagnostics
        .into_sorted()
        .iter()
        // Lints have tests of their own (tests/lang/warnings.md).
        .filter(|d| d.level == crate::diag::Level::Error || d.code.is_gradient())
        .map(|d| {
            let span = d.span().expect("a place");
            let line = sources.file(span.file).line_column(span.start).line;
            format!("{} {}", d.code.name(), line - 1)
        })
        .collect();
    (checked, found)
}

/// The findings of a kernel body; `x`, `y` are float arrays, `ids` an int array, `m` a 2-D array,
/// `n` an int, `a` a float, `vs` an array of vec3.
fn body(text: &str) -> Vec<String> {
    let indented: String = text.lines().map(|line| format!("    {line}\n")).collect();
    let (_, found) = run(&format!(
        "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), ids: wp.array(dtype=int), \
         m: wp.array2d(dtype=float), n: int, a: float, vs: wp.array(dtype=wp.vec3)):\n    i = wp.tid()\n{indented}"
    ));
    // Lines of `text` count from 1.
    found
        .into_iter()
        .map(|f| {
            let (code, line) = f.split_once(' ').expect("two words");
            format!("{code} {}", line.parse::<i32>().expect("a number") - 3)
        })
        .collect()
}

#[test]
fn accepts_ordinary_kernels() {
    let none: Vec<String> = Vec::new();
    assert_eq!(body("y[i] = a * x[i] + y[i]"), none);
    assert_eq!(body("s = 0.0\nfor j in range(n):\n    s += x[j]\ny[i] = s"), none);
    assert_eq!(body("v = vs[i]\nv[0] = v.y + 1.0\nvs[i] = v * 2.0\nvs[i].x = 1.0\nvs[i][2] += a"), none);
    assert_eq!(body("row = m[i]\ny[i] = row[0] + m[i, 1] + m[i][2]\nm[i, 0] += 1.0"), none);
    assert_eq!(
        body("if i < n and x[i] > 0 or not ids[i]:\n    y[i] = float(ids[i])\nelif 0 < i < 5:\n    return"),
        none
    );
    assert_eq!(body("h, w = m.shape\ny[i] = float(h * w) + float(len(x)) + float(x.shape[0])"), none);
    assert_eq!(body("wp.atomic_add(y, i, a)\nold = wp.atomic_max(ids, 0, i)\nids[i] = old"), none);
    assert_eq!(body("p = wp.vec3(1, 2, 3)\nq = wp.vec3(a)\nr = p + q - 2.0 * p / a\nvs[i] = -r"), none);
    assert_eq!(body("t = x[i] if i > 0 else a\ny[i] = t\nb = wp.float64(0.1)\nc = b * wp.float64(a)"), none);
    assert_eq!(
        body("s = int(0)\nwhile s < n:\n    s += 1\n    if s == 3:\n        continue\n    break\nprint(s)"),
        none
    );
    assert_eq!(body("part = x[1:3]\ny[i] = part[0]\nwp.printf(\"%d %f\\n\", i, a)\nassert i < n, \"bound\""), none);
}

#[test]
fn functions_overloads_defaults_and_constants() {
    let (checked, found) = run("
N = wp.constant(4)
HALF = 0.5
vec5 = wp.types.vector(length=5, dtype=float)

@wp.struct
class P:
    pos: wp.vec3
    mass: float
    data: wp.array(dtype=float)

@wp.func
def f(x: float, scale: float = 2.0):
    return x * scale

@wp.func
def f(x: int):
    return x + N

@wp.func
def two(x: float):
    return x, x * HALF

@wp.kernel
def k(p: P, ps: wp.array(dtype=P), out: wp.array(dtype=float), o5: wp.array(dtype=vec5)):
    i, j = wp.tid()
    a, b = two(f(p.mass))
    c = f(x=a, scale=b)
    d = f(i)
    q = ps[i]
    q.pos = wp.vec3(c, float(d), 0.0)
    q.pos.x = 1.0
    ps[i] = q
    ps[j].mass += 1.0
    out[i] = q.data[0] + vec5()[4]
    for t in range(N):
        out[t] = HALF
");
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(checked.kernels.len(), 1);
    let kernel = &checked.functions[checked.kernels[0]];
    assert_eq!(kernel.kernel_rank, Some(2));
    let names: Vec<&str> = checked.functions.values().map(|f| f.name.as_str()).collect();
    assert_eq!(names, ["f", "f_2", "two", "k"]);
}

#[test]
fn one_broken_kernel_blocks_no_other() {
    let (checked, found) = run("
@wp.kernel
def bad(x: wp.array(dtype=float)):
    x[0] = wp.tid()
    y = undefined
    x[1] = y + 1.0
    x[2] = wp.sine(1.0)

@wp.kernel
def good(x: wp.array(dtype=float)):
    x[0] = 1.0
");
    assert_eq!(found, ["E0303 4", "E0201 5", "E0202 7"]);
    assert_eq!(checked.kernels.len(), 1);
}

#[test]
fn refusals_have_codes() {
    let table: &[(&str, &[&str])] = &[
        ("y[i] = i * 2.0", &["E0301 1"]),
        ("y[i] = unknown", &["E0201 1"]),
        ("s = x[i]\ns = i", &["E0302 2"]),
        ("y[i] = i", &["E0303 1"]),
        ("y[i] = x", &["E0303 1"]),
        ("y[i] = a[0]", &["E0304 1"]),
        ("y[a] = 1.0", &["E0305 1"]),
        ("y[i, i] = 1.0", &["E0305 1"]),
        ("v = vs[i]\ny[i] = v[3]", &["E0306 2"]),
        ("if vs[i]:\n    return", &["E0307 1"]),
        ("b: float = 1.0\ny[i] = b", &["E0308 1"]),
        ("b = [1, 2]", &["E0308 1"]),
        ("for j in x:\n    pass", &["E0323 1"]),
        ("return 1.0", &["E0312 1"]),
        ("b, c = a", &["E0313 1"]),
        ("x[0:2] = 1.0", &["E0314 1"]),
        ("wp.atomic_add(y, 0, i)", &["E0303 1"]),
        ("y[i] = wp.vec3(1.0, 2.0)[0]", &["E0402 1"]),
        ("y()", &["E0404 1"]),
        ("b = wp.address_of(x)", &["E0408 1"]),
        ("b = 3000000000", &["E0503 1"]),
        ("break", &["E0308 1"]),
        ("y[i] = vs[i].q", &["E0202 1"]),
        ("b = i + wp.int64(1)\nc = missing\nd = b + c", &["E0301 1", "E0201 2"]),
    ];
    for (text, expected) in table {
        assert_eq!(body(text), *expected, "{text}");
    }
    let files: &[(&str, &[&str])] = &[
        ("@wp.func\ndef f(x: float):\n    return f(x)\n", &["E0405 3"]),
        ("@wp.func\ndef f(x: float):\n    return wp.tid()\n", &["E0406 3"]),
        ("@wp.func\ndef f(x: float):\n    if x > 0.0:\n        return int(x)\n    return 1.0\n", &["E0311 5"]),
        ("@wp.kernel\ndef k(x):\n    pass\n", &["E0309 2"]),
        ("@wp.kernel\ndef k(x: str):\n    pass\n", &["E0310 2"]),
        ("def h(x):\n    return x\n@wp.kernel\ndef k(x: float):\n    y = h(x)\n", &["E0203 5"]),
        (
            "@wp.func\ndef f(x: float):\n    return x\n@wp.kernel\ndef k(x: int):\n    y = f(x)\n    z = f(1.0, 2.0)\n",
            &["E0401 6", "E0402 7"],
        ),
    ];
    for (text, expected) in files {
        assert_eq!(run(text).1, *expected, "{text}");
    }
}

#[test]
fn a_repaired_syntax_error_still_blocks_its_kernel() {
    let (checked, found) = run("
@wp.kernel
def bad(x: wp.array(dtype=float)):
    if x[0] > 0.0
        x[0] = 1.0

@wp.kernel
def good(x: wp.array(dtype=float)):
    x[0] = 1.0
");
    assert_eq!(found.len(), 1, "{found:?}");
    let names: Vec<&str> = checked.kernels.iter().map(|&k| checked.functions[k].name.as_str()).collect();
    assert_eq!(names, ["good"]);
}

#[test]
fn vector_slices_reversed_ranges_and_static_loops() {
    let none: Vec<String> = Vec::new();
    assert_eq!(body("v = vs[i]\nv[0:2] = v[1:]\nv[::2] += wp.vec2(1.0, 2.0)\nw = wp.vec2(*v[:2])\ny[i] = w.x"), none);
    assert_eq!(body("v = vs[i]\nv[0:2] = v"), ["E0303 2"]);
    assert_eq!(body("v = vs[i]\ny[i] = v[3:][0]"), ["E0306 2"]);
    assert_eq!(body("for j in reversed(range(2, n, 3)):\n    y[j] = 0.0"), none);
    assert_eq!(body("for j in range(3):\n    y[j] = wp.static(float(j) * 0.5)"), none);
    assert_eq!(body("for j in range(n):\n    y[j] = wp.static(float(j) * 0.5)"), ["E0501 2"]);
}

/// The derivative of the first function of this source name.
fn derivative_of<'c>(checked: &'c Checked, name: &str) -> &'c tree::Derivative {
    &checked.functions.values().find(|f| f.source_name == name).expect("a function").derivative
}

#[test]
fn derivatives_are_decided_per_overload() {
    let (checked, found) = run("
@wp.kernel
def k(x: wp.array(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    x[i] = wp.sin(x[i]) + wp.sign(x[i]) + wp.clamp(x[i], 0.0, 1.0) + wp.smoothstep(0.0, 1.0, x[i])
    n[i] = wp.clamp(n[i], 0, 1)
");
    assert_eq!(found, Vec::<String>::new());
    let tree::Derivative::Rule { adjoint, replay: None } = *derivative_of(&checked, "sin") else {
        panic!("sin has a rule")
    };
    let rule = checked.functions[adjoint].with_body();
    assert_eq!((rule.param_count, rule.results.len(), rule.accumulators.len()), (2, 0, 1));
    // The rule's own callees have rules too.
    assert!(matches!(derivative_of(&checked, "cos"), tree::Derivative::Rule { .. }));
    assert!(matches!(derivative_of(&checked, "sign"), tree::Derivative::Zero(_)));
    assert_eq!(*derivative_of(&checked, "smoothstep"), tree::Derivative::Body);
    // At the bounds of `clamp`, its body says what a rule might say otherwise.
    assert_eq!(*derivative_of(&checked, "clamp"), tree::Derivative::Body);
}

#[test]
fn kernels_that_are_not_differentiated_bring_no_rules() {
    let (checked, found) = run("
@wp.kernel(enable_backward=False)
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = wp.sin(x[i])
");
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(*derivative_of(&checked, "sin"), tree::Derivative::Body);
    assert!(matches!(derivative_of(&checked, "k"), tree::Derivative::None(_)));
}

#[test]
fn custom_gradients_of_overloads_generics_and_several_results() {
    let (checked, found) = run("
from typing import Any

@wp.struct
class P:
    pos: wp.vec3
    data: wp.array(dtype=float)

@wp.func
def twice(v: Any):
    return v + v

@wp.func_grad(twice)
def adj_twice(v: Any, adj_ret: Any):
    wp.adjoint[v] += type(v)(2.0) * adj_ret

@wp.func
def f(p: P, a: wp.array2d(dtype=float), i: int):
    return p.pos * a[i, 0], p.data[i]

@wp.func
def f(x: float):
    return x

@wp.func_grad(f)
def adj_f(p: P, a: wp.array2d(dtype=float), i: int, r0: wp.vec3, r1: float):
    wp.adjoint[p].pos += r0 * a[i, 0]
    wp.adjoint[p].data[i] += r1
    wp.adjoint[a][i, 0] += wp.dot(p.pos, r0) + 0.0 * wp.adjoint[p].data[i]

@wp.func
def slot(n: wp.array(dtype=int), i: int):
    return wp.atomic_add(n, i, 1)

@wp.func_replay(slot)
def replay_slot(n: wp.array(dtype=int), i: int):
    return n[i]

@wp.kernel
def k(p: P, x: wp.array2d(dtype=float), n: wp.array(dtype=int)):
    i = wp.tid()
    v, w = f(p, x, slot(n, i))
    x[i, 0] = f(v[0]) + twice(w) + float(twice(wp.float64(w)))
");
    assert_eq!(found, Vec::<String>::new());
    let rules: Vec<Option<(u32, usize)>> = checked
        .functions
        .values()
        .filter(|f| f.source_name == "f" || f.source_name == "twice")
        .map(|f| match f.derivative {
            tree::Derivative::Rule { adjoint, .. } => {
                let rule = &checked.functions[adjoint];
                Some((rule.param_count, rule.accumulators.len()))
            }
            _ => None,
        })
        .collect();
    // f(struct, array, int) with two results: 3 + 2 shadows + 2 adjoints; only the struct has
    // floats of its own.
    assert_eq!(rules, [Some((7, 1)), None, Some((2, 1)), Some((2, 1))]);
    assert!(matches!(derivative_of(&checked, "slot"), tree::Derivative::Replay(_)));
}

#[test]
fn custom_gradients_are_checked() {
    let f = "@wp.func\ndef f(a: float, b: float):\n    return a * b\n@wp.func_grad(f)\n";
    let table: &[(&str, &[&str])] = &[
        ("def g(a: float, b: float, r: float):\n    wp.adjoint[a] += b * r\n", &["W0620 5"]),
        ("def g(a: float, b: float, r: float):\n    wp.adjoint[a] += b * r\n    wp.adjoint[b] = a * r\n", &[]),
        ("def g(a: float, b: float):\n    wp.adjoint[a] += b\n", &["E0622 5"]),
        ("def g(a: float, b: float, r: int):\n    wp.adjoint[a] += b\n", &["E0622 5"]),
        ("def g(a: int, b: float, r: float):\n    wp.adjoint[b] += r\n", &["E0622 5"]),
        ("def g(a: float, b: float, r: float):\n    return a\n", &["E0622 6"]),
        ("def g(a: float, b: float, r: float):\n    wp.adjoint[r] += a\n", &["E0624 6"]),
        ("def g(a: float, b: float, r: float):\n    wp.adjoint[a] += wp.vec3()\n", &["E0301 6"]),
    ];
    for (text, expected) in table {
        assert_eq!(run(&format!("{f}{text}")).1, *expected, "{text}");
    }
    // What the function does not read, and what the rule reads of an output, needs no gradient.
    let store = "@wp.func\ndef f(i: int, x: wp.array(dtype=float), out: wp.array(dtype=float), spare: wp.array(dtype=float)):\n    \
                 out[i] = x[i]\n@wp.func_grad(f)\ndef g(i: int, x: wp.array(dtype=float), out: wp.array(dtype=float), \
                 spare: wp.array(dtype=float)):\n    ";
    let rules: &[(&str, &[&str])] =
        &[("wp.adjoint[x][i] += wp.adjoint[out][i]\n", &[]), ("spare[i] = wp.adjoint[out][i]\n", &["W0620 5"])];
    for (rule, expected) in rules {
        assert_eq!(run(&format!("{store}{rule}")).1, *expected, "{rule}");
    }
    let files: &[(&str, &[&str])] = &[
        ("@wp.func_grad(h)\ndef g(a: float, r: float):\n    wp.adjoint[a] += r\n", &["E0621 1"]),
        (
            "@wp.func\ndef f(a: float):\n    return a\n@wp.func_replay(f)\ndef g(a: float):\n    return int(a)\n",
            &["E0623 5"],
        ),
        ("@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    y = wp.adjoint[x]\n", &["E0624 3"]),
        // Threads have no tiles.
        (
            "@wp.func\ndef f(x: wp.array(dtype=float)):\n    x[0] = 2.0\n@wp.func_grad(f)\ndef g(x: wp.array(dtype=float)):\n    \
             wp.tile_store(wp.adjoint[x], wp.tile_zeros(shape=4, dtype=float))\n",
            &["E0622 5"],
        ),
    ];
    for (text, expected) in files {
        assert_eq!(run(text).1, *expected, "{text}");
    }
}

#[test]
fn wp_grad_calls_an_adjoint_to_be_written() {
    let (checked, found) = run("
@wp.func
def f(a: float, n: int, x: wp.array(dtype=float)):
    return a * x[n]

@wp.func
def apply(g: wp.Function, a: float):
    return g(a)

@wp.kernel(enable_backward=False)
def k(x: wp.array(dtype=float)):
    i = wp.tid()
    da, dn, dx = wp.grad(f)(x[i], i, x)
    h = wp.grad(wp.sqrt)
    v, w = wp.grad(wp.atan2)(da, h(x[i]))
    x[i] = v + float(dn) + dx[0] + wp.grad(apply)(wp.sin, w) + wp.detach(w)
");
    assert_eq!(found, Vec::<String>::new());
    let f = checked.functions.iter().find(|(_, f)| f.name == "f").expect("f").0;
    let adjoint = checked.functions.values().find(|g| g.name == "adj_f").expect("its adjoint");
    assert_eq!(adjoint.derivative, tree::Derivative::AdjointOf(f));
    assert_eq!((adjoint.param_count, adjoint.results.len()), (5, 1));
    // Forward code needs the rules, though no kernel is differentiated.
    assert!(matches!(derivative_of(&checked, "sin"), tree::Derivative::Rule { .. }));
    assert!(matches!(derivative_of(&checked, "detach"), tree::Derivative::Zero(_)));
    let kernel = |text: &str| {
        run(&format!("{text}\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[0] = wp.grad(f)(x[1])\n")).1
    };
    assert_eq!(kernel("@wp.func\ndef f(a: float):\n    return int(a)"), ["E0625 6"]);
    assert_eq!(kernel("@wp.func\ndef f(a: float):\n    return\n"), ["E0625 7"]);
    assert_eq!(kernel("@wp.func\ndef f(a: int):\n    return float(a)"), ["E0401 6"]);
}

#[test]
fn generic_kernels_are_compiled_for_the_overloads_of_the_file() {
    let scale = "
from typing import Any
@wp.kernel
def scale(x: wp.array(dtype=Any), s: Any):
    i = wp.tid()
    x[i] = s * x[i]
";
    let names = |text: &str| -> (Vec<String>, Vec<String>) {
        let (checked, found) = run(&format!("{scale}{text}"));
        (checked.kernels.iter().map(|&id| checked.functions[id].name.clone()).collect(), found)
    };
    let (kernels, found) = names(
        "scale32 = wp.overload(scale, [wp.array(dtype=float), float])\n\
         wp.overload(scale, {\"x\": wp.array[wp.float64], \"s\": wp.float64})\n\
         wp.overload(scale, [wp.array(dtype=float), float])\n",
    );
    assert_eq!(found, Vec::<String>::new());
    assert_eq!(kernels, ["scale_float32", "scale_float64"]);
    assert_eq!(names(""), (Vec::new(), Vec::new()));
    assert_eq!(names("wp.overload(scale, [wp.array(dtype=float)])\n").1, ["E0315 7"]);
    assert_eq!(names("wp.overload(scale, [float, float])\n").1, ["E0315 7"]);
    // An overload whose body does not fit its types.
    assert_eq!(names("wp.overload(scale, [wp.array(dtype=float), int])\n").1, ["E0301 6"]);
}

#[test]
fn module_options_turn_gradients_off() {
    let kernel = |decorator: &str| {
        format!(
            "wp.set_module_options({{\"enable_backward\": False, \"mode\": \"debug\"}})\n{decorator}\ndef k(n: int):\n    return\n"
        )
    };
    let (checked, found) = run(&kernel("@wp.kernel"));
    assert_eq!(found, Vec::<String>::new());
    assert!(matches!(derivative_of(&checked, "k"), tree::Derivative::None(_)));
    let (checked, _) = run(&kernel("@wp.kernel(enable_backward=True, module=\"unique\")"));
    assert_eq!(*derivative_of(&checked, "k"), tree::Derivative::Body);
}

#[test]
fn kernels_in_host_code_have_entries_of_their_own() {
    let names = |text: &str| -> Vec<String> {
        let (checked, found) = run(text);
        assert_eq!(found, Vec::<String>::new(), "{text}");
        checked.kernels.iter().map(|&id| checked.functions[id].name.clone()).collect()
    };
    let kernel = |indent: &str, value: &str| {
        format!("{indent}@wp.kernel\n{indent}def k(x: wp.array(dtype=float)):\n{indent}    x[0] = float({value})\n")
    };
    let nested = kernel("    ", "1.0");
    assert_eq!(names(&format!("def f():\n{nested}")), ["k"]);
    assert_eq!(names(&format!("class C:\n{nested}def g():\n{nested}{}", kernel("", "2.0"))), ["C_k", "g_k", "k"]);
    assert_eq!(names(&format!("def f():\n{nested}{nested}")), ["f_k", "f_k_2"]);
    let variants = format!("def f(n, d=0.5):\n{}\nf(3)\nf(n=4)\nf(3, d=0.5)\nf(-1, 2.0)\n", kernel("    ", "n"));
    assert_eq!(names(&variants), ["k_3_0_5", "k_4_0_5", "k_m1_2"]);
    let iterations = format!("for v in (1, 2):\n{}", kernel("    ", "v"));
    assert_eq!(names(&iterations), ["k_1", "k_2"]);
    let wrapped = format!("def f(n):\n{}\ndef g(m):\n    f(m + 1)\ng(1)\ng(2)\n", kernel("    ", "n"));
    assert_eq!(names(&wrapped), ["k_2", "k_3"]);
}

#[test]
fn host_functions_that_call_themselves_come_to_an_end() {
    let text = "def f(n):\n    @wp.kernel\n    def k(x: wp.array(dtype=int)):\n        x[0] = n\n    f(n + 1)\n    return f(n)\nf(0)\n\
                v = f(0)\n@wp.kernel\ndef j(x: wp.array(dtype=int)):\n    x[0] = v\n";
    let (checked, _) = run(text);
    assert!(checked.kernels.len() > 100);
}

#[test]
fn an_error_found_while_a_host_value_is_computed_is_still_reported() {
    // `f` is first met in the arguments of `make`.
    let text = "
@wp.func
def f(x: float):
    return missing
def make(v):
    @wp.kernel
    def k(x: wp.array(dtype=float)):
        x[0] = v
make(f(1.0))
";
    assert!(run(text).1.contains(&"E0201 4".to_string()));
}
