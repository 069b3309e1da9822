//! Does the evaluator give what was worked out by hand?

use crate::case::{Array, Case, Step};
use crate::eval::Stop;
use crate::eval::number::Kind;

/// What `y` holds after a launch of `k` with x = 1, 2, 3, 4 and y as given, and its derivatives by
/// x along 1, 0, 0, 0.
fn run(body: &str, y: [f64; 4], block_dim: usize) -> Result<(Vec<f64>, Vec<f64>), Stop> {
    let head = "import warp as wp\n\n@wp.func\ndef twice(a: float):\n    return a * 2.0\n\n@wp.func\ndef thrice(a: float):\n    return a * 3.0\n\n";
    let kernel = "@wp.kernel\ndef k(x: wp.array(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n";
    let body: String = body.lines().map(|line| format!("    {line}\n")).collect();
    let array = |name, contents: &[f64]| Array {
        name,
        shape: vec![4],
        kind: Kind::F32,
        contents: contents.to_vec(),
        active: true,
    };
    let case = Case {
        text: format!("{head}{kernel}{body}"),
        arrays: vec![array("x", &[1.0, 2.0, 3.0, 4.0]), array("y", &y)],
        values: Vec::new(),
        steps: vec![Step::Launch { kernel: "k".to_string(), dim: vec![4], block_dim, args: Vec::new() }],
        of: "y",
        uses: Vec::new(),
        at_rest: false,
    };
    let found = case.evaluate(&[vec![1.0, 0.0, 0.0, 0.0], vec![0.0; 4]], 0.0)?;
    Ok((found[1].iter().map(|n| n.value()).collect(), found[1].iter().map(|n| n.dot).collect()))
}

#[track_caller]
fn gives(body: &str, y: [f64; 4], block_dim: usize, values: [f64; 4], slopes: [f64; 4]) {
    match run(body, y, block_dim) {
        Ok((v, s)) => assert_eq!((v, s), (values.to_vec(), slopes.to_vec())),
        Err(stop) => panic!("{stop:?}"),
    }
}

#[test]
fn tuples_and_functions_follow_control_flow() {
    let fibonacci = "t = (x[0], x[1])\nfor n in range(i):\n    t = (t[1], t[0] + t[1])\ny[i] = t[0]";
    gives(fibonacci, [0.0; 4], 1, [1.0, 2.0, 3.0, 5.0], [1.0, 0.0, 1.0, 1.0]);
    let chosen = "f = twice\nif i > 1:\n    f = thrice\ny[i] = f(x[0])";
    gives(chosen, [0.0; 4], 1, [2.0, 2.0, 3.0, 3.0], [2.0, 2.0, 3.0, 3.0]);
    let ended = "n = int(0)\nwhile True:\n    n += 1\n    if n > i:\n        break\ny[i] = float(n) * x[0]";
    gives(ended, [0.0; 4], 4, [1.0, 2.0, 3.0, 4.0], [1.0, 2.0, 3.0, 4.0]);
    let typed = "T = int\nif i > 1:\n    T = float\ny[i] = float(T(x[i] + 0.5))";
    gives(typed, [0.0; 4], 1, [1.0, 2.0, 3.5, 4.5], [0.0; 4]);
}

#[test]
fn threads_of_a_block_go_in_lockstep() {
    let scattered = "v = x[i]\nw = y[i]\nt = wp.tile(v * 10.0)\nif w < v:\n    w = t[0] * v\nwp.sync()\nwp.tile_scatter_add(t, 0, 1.0, True)\ny[i] = w";
    gives(scattered, [0.0, 5.0, 0.0, 5.0], 4, [10.0, 5.0, 30.0, 5.0], [20.0, 0.0, 30.0, 0.0]);
    let halves = "s = wp.zeros(shape=4, dtype=float, storage=\"shared\")\nn = wp.lane()\ns[n] = x[i]\nwp.sync()\nd = 2\nwhile d > 0:\n    if n < d:\n        s[n] += s[n + d]\n    wp.sync()\n    d = d // 2\ny[i] = s[0]";
    gives(halves, [0.0; 4], 4, [10.0; 4], [1.0; 4]);
    let turned = "y[i] = wp.shuffle_xor(x[i] * x[i], 1) + wp.tile_sum(wp.tile(x[i]))[0]";
    gives(turned, [0.0; 4], 4, [14.0, 11.0, 26.0, 19.0], [1.0, 3.0, 1.0, 1.0]);
    // A block of three threads, and one of one.
    let partial = "y[i] = wp.tile_sum(wp.tile(x[i]))[0] + float(wp.block_dim())";
    gives(partial, [0.0; 4], 3, [9.0, 9.0, 9.0, 7.0], [1.0, 1.0, 1.0, 0.0]);
    let least = "y[i] = wp.tile_min(wp.tile(x[i]))[0]";
    gives(least, [0.0; 4], 3, [1.0, 1.0, 1.0, 4.0], [1.0, 1.0, 1.0, 0.0]);
}

#[test]
fn what_the_language_leaves_open_has_no_answer() {
    for body in [
        "t = wp.tile(x[i])\nif i > 0:\n    t[0] = x[i]\ny[i] = t[0]",
        "y[0] = x[i]\ny[i] = y[0]",
        "if i > 0:\n    wp.sync()\ny[i] = x[i]",
        "s = wp.zeros(shape=4, dtype=float, storage=\"shared\")\nif i > 1:\n    s[wp.lane()] = x[i]\nelse:\n    y[i] = s[wp.lane() + 2]",
    ] {
        assert!(matches!(run(body, [0.0; 4], 4), Err(Stop::Undefined(_))), "{body}");
    }
}
