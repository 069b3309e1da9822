//! Points where parts of a program have no derivative and the whole has one: directions and lengths
//! at 0, rotations at the identity, absolute values and extrema at their kinks. Always in double.
//!
//! Not here, since a gradient is that of the branch that is taken: a program's own
//! `w / n if n > 0.0 else 0`, and sums and products of different kinks whose ties have conventions
//! (`max(a, 0) + min(a, 0)`, `abs(a) * sign(a)`).

use crate::case::{Array, Case, Step, doubled, unit};
use crate::eval::number::Kind;
use crate::random::Random;
use crate::writer::Writer;

const HEAD: &str = "import warp as wp


@wp.func
def direction(w: wp.vec3):
    return wp.normalize(w)


@wp.func
def rotation(w: wp.vec3):
    return wp.quat_from_axis_angle(wp.normalize(w), wp.length(w))


@wp.func
def size(w: wp.vec3):
    return wp.sqrt(wp.dot(w, w))


@wp.func
def polar(w: wp.vec3):
    return wp.normalize(w), wp.length(w)

";

pub fn case(seed: u64) -> Case {
    let mut w = Writer::new(Random::new(seed ^ 0x7265_7374), HEAD);
    w.line("\n@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float), o: wp.array(dtype=float)):");
    w.depth = 1;
    for line in
        ["i = wp.tid()", "a = x[3]", "w = wp.vec3(x[0], x[1], x[2])", "v = wp.vec3(y[0], y[1], y[2])", "b = y[3]"]
    {
        w.line(line);
    }
    statements(&mut w);
    let active = ["x", "y"];
    let mut random = Random::new(seed ^ 0x1234);
    let y: Vec<f64> = (0..4).map(|_| unit(&mut random)).collect();
    // Most of the time at rest; else beside it, where nothing is special.
    let away = if random.one_in(8) { 0.5 } else { 0.0 };
    let x: Vec<f64> = (0..4).map(|_| away * unit(&mut random)).collect();
    let array = |name: &'static str, contents: Vec<f64>| Array {
        name,
        shape: vec![contents.len()],
        kind: Kind::F64,
        contents,
        active: active.contains(&name),
    };
    Case {
        text: doubled(&w.text),
        arrays: vec![array("x", x), array("y", y), array("o", vec![0.0])],
        values: Vec::new(),
        steps: vec![Step::Launch { kernel: "k".to_string(), dim: vec![1], block_dim: 1, args: Vec::new() }],
        of: "o",
        uses: w.uses,
        at_rest: true,
    }
}

fn statements(w: &mut Writer) {
    match w.below(4) {
        0 => {
            w.uses("direction and length of a function");
            w.line("u, n = polar(w)");
        }
        1 => {
            w.line("n = size(w)");
            w.line("u = direction(w)");
            w.uses("root of a product");
        }
        2 => {
            w.uses("kept in an array");
            w.line("kept = wp.zeros(shape=2, dtype=float)");
            w.line("kept[0] = wp.length(w)");
            w.line("n = kept[0]");
            w.line("u = direction(w)");
        }
        _ => {
            w.line("n = wp.length(w)");
            w.line("u = wp.normalize(w)");
        }
    }
    w.line("sum = b * 0.5");
    for _ in 0..1 + w.below(3) {
        let term = if w.one_in(4) { scalar(w) } else { format!("wp.dot({}, v)", vector(w)) };
        match w.below(5) {
            0 => {
                w.uses("loop");
                let turn = w.fresh("k");
                w.line(&format!("for {turn} in range(2):"));
                w.line(&format!("    sum = sum + {term} * float({turn} + 1)"));
            }
            1 => {
                w.uses("branch");
                w.line("if b > 0.0:");
                w.line(&format!("    sum = sum + {term}"));
            }
            2 => {
                w.uses("named");
                let name = w.fresh("t");
                w.line(&format!("{name} = {term}"));
                w.line(&format!("sum = sum + {name} * b"));
            }
            _ => w.line(&format!("sum = sum + {term}")),
        }
    }
    let end = w.one_of(&["sum", "wp.sin(sum)", "sum * sum"]);
    w.line(&format!("o[0] = {end}"));
}

/// A function of the length that is 0 where it is.
fn odd(w: &mut Writer) -> &'static str {
    w.random.pick(&[
        "n",
        "n",
        "wp.sin(n)",
        "wp.tanh(n)",
        "n * 2.0",
        "wp.atan2(n, 1.0)",
        "n * n * n",
        "(wp.exp(n) - wp.exp(-n))",
        "size(w)",
    ])
}

fn vector(w: &mut Writer) -> String {
    match w.below(9) {
        0 | 1 => {
            w.uses("direction times length");
            let f = odd(w);
            format!("(u * {f})")
        }
        2 => {
            w.uses("length times direction");
            let f = odd(w);
            format!("({f} * direction(w))")
        }
        3 => {
            w.uses("rotation by axis and angle");
            "wp.quat_rotate(wp.quat_from_axis_angle(u, n), v)".to_string()
        }
        4 => {
            w.uses("rotation of a function");
            "wp.quat_rotate(rotation(w), v)".to_string()
        }
        5 => {
            w.uses("cross product");
            let f = odd(w);
            format!("(wp.cross(u, v) * {f})")
        }
        6 => {
            w.uses("quaternion");
            let part = w.below(4);
            format!("(v * wp.quat_from_axis_angle(u, {})[{part}])", odd(w))
        }
        7 => {
            w.uses("projection");
            let f = odd(w);
            format!("(u * (wp.dot(u, v) * {f} * n))")
        }
        _ => {
            w.uses("axis times angle");
            "(u * (2.0 * wp.atan2(wp.sin(n * 0.5), wp.cos(n * 0.5))))".to_string()
        }
    }
}

fn scalar(w: &mut Writer) -> String {
    match w.below(10) {
        0 => "n * n".to_string(),
        1 => "wp.cos(n)".to_string(),
        2 => "n * wp.sin(n)".to_string(),
        3 | 4 => {
            w.uses("absolute value");
            "wp.abs(a) * wp.abs(a)".to_string()
        }
        5 => {
            w.uses("root of a square");
            "wp.sqrt(a * a) * wp.sqrt(a * a)".to_string()
        }
        6 | 7 => {
            w.uses("extrema");
            "wp.max(a, 0.0) * wp.min(a, 0.0)".to_string()
        }
        8 => {
            w.uses("kink");
            w.one_of(&["wp.abs(a)", "n", "wp.max(a, 0.0)", "u[0]"]).to_string()
        }
        _ => {
            w.uses("power");
            w.one_of(&["wp.pow(a, 2.0)", "wp.pow(wp.abs(a), 2.0)", "wp.pow(n, 2.0)", "wp.pow(n, 3.0)"]).to_string()
        }
    }
}
