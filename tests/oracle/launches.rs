//! Launch programs: kernels that repeat, with index arrays, counters and flags that change from
//! turn to turn. Threads may meet in some turns and not in others: kc refuses the gradient then, or
//! has the right one.

use crate::case::{Array, Case, Step, doubled, unit};
use crate::eval::number::{I32, Kind};
use crate::random::Random;
use crate::writer::Writer;

/// Threads of a launch, and elements of every array.
const N: usize = 6;

const PARAMETERS: &str = "x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float), s: wp.array(dtype=float), \
weights: wp.array(dtype=float), loss: wp.array(dtype=float), idx: wp.array(dtype=int), next: wp.array(dtype=int), n: wp.array(dtype=int), m: int";

const FLOATS: [&str; 3] = ["x", "y", "z"];

struct Generator {
    w: Writer,
    kernels: usize,
    /// What the kernel reads and writes: a thread reads others' elements of arrays that the kernel
    /// does not write.
    written: &'static str,
}

pub fn case(seed: u64) -> Case {
    let mut random = Random::new(seed ^ 0x6c61_756e);
    let double = random.one_in(2);
    let mut g = Generator { w: Writer::new(random, "import warp as wp\n"), kernels: 0, written: "" };
    let mut steps = g.steps(0);
    g.weigh();
    steps.push(launch("weigh"));
    let text = if double { doubled(&g.w.text) } else { g.w.text.clone() };
    let kind = if double { Kind::F64 } else { Kind::F32 };
    let mut random = Random::new(seed ^ 0x1234);
    let mut permutation: Vec<f64> = (0..N).map(|n| n as f64).collect();
    (1..N).rev().for_each(|n| permutation.swap(n, random.below(n + 1)));
    // Any indices, or such that no two threads share one.
    let indices = match random.below(3) {
        0 => (0..N).map(|_| random.below(N) as f64).collect(),
        _ => permutation,
    };
    let next = (0..N).map(|_| random.below(N) as f64).collect();
    let mut numbers = |count: usize| (0..count).map(|_| f64::from(unit(&mut random) as f32)).collect::<Vec<_>>();
    let mut float = |name, active| Array { name, shape: vec![N], kind, contents: numbers(N), active };
    let mut arrays: Vec<Array> = ["x", "y", "z", "s"].map(|name| float(name, true)).into_iter().collect();
    arrays.push(float("weights", false));
    arrays.push(Array { name: "loss", shape: vec![N], kind, contents: vec![0.0; N], active: false });
    for (name, contents) in [("idx", indices), ("next", next), ("n", vec![0.0; N])] {
        arrays.push(Array { name, shape: vec![N], kind: I32, contents, active: false });
    }
    let values = vec![("m", g.w.below(3) as f64, I32)];
    Case { text, arrays, values, steps, of: "loss", uses: g.w.uses, at_rest: false }
}

fn launch(kernel: &str) -> Step {
    Step::Launch { kernel: kernel.to_string(), dim: vec![N], block_dim: 1, args: Vec::new() }
}

impl Generator {
    /// Launches, swaps and repetitions.
    fn steps(&mut self, depth: usize) -> Vec<Step> {
        let mut steps = Vec::new();
        for _ in 0..1 + self.w.below(3) {
            match self.w.below(6) {
                0 | 1 if depth < 2 => {
                    self.w.uses(if depth == 0 { "repeat" } else { "repeat in repeat" });
                    let turns = 2 + self.w.below(4);
                    let mut inner = self.steps(depth + 1);
                    inner.push(self.kernel(true));
                    steps.push(Step::Repeat(turns, inner));
                }
                2 => {
                    self.w.uses("swap");
                    let (a, b) = if self.w.one_in(3) { ("idx", "next") } else { ("x", "y") };
                    steps.push(Step::Swap(a, b));
                }
                3 if self.w.one_in(2) => {
                    self.w.uses("other arguments");
                    let step = self.kernel(false);
                    if let Step::Launch { kernel, dim, block_dim, .. } = step {
                        let args = if self.w.one_in(2) {
                            vec![("x", "y"), ("y", "x")]
                        } else {
                            vec![("idx", "next"), ("next", "idx")]
                        };
                        steps.push(Step::Launch { kernel, dim, block_dim, args });
                    }
                }
                _ => {
                    let changes = self.w.one_in(4);
                    steps.push(self.kernel(changes));
                }
            }
        }
        steps
    }

    fn kernel(&mut self, changes: bool) -> Step {
        let name = format!("k{}", self.kernels);
        self.kernels += 1;
        self.w.line(&format!("\n\n@wp.kernel\ndef {name}({PARAMETERS}):"));
        self.w.depth = 1;
        self.w.line("i = wp.tid()");
        if changes {
            self.change();
        } else {
            self.compute();
        }
        self.w.depth = 0;
        launch(&name)
    }

    /// Changes what the next turn goes by.
    fn change(&mut self) {
        let turn = self.w.below(4);
        match self.w.below(7) {
            0 => {
                self.w.uses("indices by turn");
                let index = self.w.one_of(&["0", "i // 2", "i", "5 - i", "next[i]", "(i + n[i]) % 6"]);
                self.w.line(&format!("if n[i] == {turn}:"));
                self.w.line(&format!("    idx[i] = {index}"));
                self.w.line(&format!("if n[i] == {}:", turn + 1));
                self.w.line("    idx[i] = i");
                self.w.line("n[i] = n[i] + 1");
            }
            1 => {
                self.w.uses("indices go on");
                self.w.line("idx[i] = (idx[i] + 1) % 6");
                self.w.line("n[i] = n[i] + 1");
            }
            2 => {
                self.w.uses("other indices");
                self.w.line("idx[i] = next[i]");
                self.w.line("next[i] = (next[i] * 5 + i) % 6");
                self.w.line("n[i] = n[i] + 1");
            }
            3 => {
                self.w.uses("counter of one thread");
                self.w.line("if i == 0:");
                self.w.line("    n[0] = n[0] + 1");
            }
            _ => self.w.line("n[i] = n[i] + 1"),
        }
    }

    fn compute(&mut self) {
        self.written = self.w.one_of(&FLOATS);
        let written = self.written;
        let e = self.float(2);
        for _ in 0..self.w.below(2) {
            let v = self.float(1);
            self.w.line(&format!("v = {v}"));
        }
        match self.w.below(9) {
            0 | 1 => {
                self.w.uses("scatter");
                self.w.line(&format!("{written}[idx[i]] = {e}"));
            }
            2 => {
                self.w.uses("scatter by turn");
                let turn = self.w.below(4);
                self.w.line(&format!("if n[0] == {turn}:"));
                self.w.line(&format!("    {written}[idx[i]] = {e}"));
                self.w.line("else:");
                self.w.line(&format!("    {written}[i] = {e}"));
            }
            3 => {
                self.w.uses("sums");
                self.w.line(&format!("wp.atomic_add({written}, idx[i], {e})"));
            }
            4 => {
                self.w.uses("read of a neighbour");
                let turn = self.w.below(4);
                self.w.line(&format!("if n[0] == {turn}:"));
                self.w.line(&format!("    s[i] = {written}[(i + m) % 6]"));
                self.w.line(&format!("{written}[i] = {e}"));
            }
            5 => {
                self.w.uses("update");
                self.w.line(&format!("{written}[i] = {written}[i] * 0.5 + {e}"));
            }
            6 => {
                self.w.uses("update of an element by its index");
                self.w.line(&format!("{written}[idx[i]] = {written}[idx[i]] * 0.5 + {e}"));
            }
            7 => {
                self.w.uses("gather");
                let other = self.other();
                self.w.line(&format!("{written}[i] = {other}[idx[i]] * {e}"));
            }
            _ => {
                self.w.uses("sum of all");
                self.w.line(&format!("wp.atomic_add(s, 0, {e})"));
            }
        }
    }

    /// An array of which others' elements may be read.
    fn other(&mut self) -> &'static str {
        let others: Vec<&str> = FLOATS.into_iter().filter(|name| *name != self.written).collect();
        self.w.random.pick(&others)
    }

    fn float(&mut self, depth: usize) -> String {
        let a = if depth == 0 { return self.leaf() } else { self.float(depth - 1) };
        let b = self.leaf();
        match self.w.below(6) {
            0 => format!("({a} + {b})"),
            1 | 2 => format!("{a} * {b}"),
            3 => format!("wp.sin({a})"),
            4 => format!("wp.tanh({a} - {b})"),
            _ => a,
        }
    }

    fn leaf(&mut self) -> String {
        let other = self.other();
        match self.w.below(7) {
            0 => self.w.literal(),
            1 => "float(i) * 0.125".to_string(),
            2 => "float(n[i]) * 0.25".to_string(),
            3 => format!("{other}[idx[i]]"),
            4 => format!("{other}[(i + 1) % 6]"),
            _ => format!("{other}[i]"),
        }
    }

    fn weigh(&mut self) {
        self.w.line(&format!("\n\n@wp.kernel\ndef weigh({PARAMETERS}):"));
        self.w.text += "    i = wp.tid()\n    loss[i] = (x[i] + y[i] * 0.5 + z[i] * 2.0 + s[i]) * weights[i]\n";
    }
}
