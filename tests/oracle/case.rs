//! What is a case? A file of kernels, arrays with contents, and launches in order: the evaluator
//! runs it, and kc does, as `kc run` runs launch programs.

use serde_json::{Value as Json, json};

use crate::eval::number::{Kind, Number};
use crate::eval::value::{Type, Value, View, row_major};
use crate::eval::{Machine, Result};
use crate::random::Random;

pub struct Array {
    pub name: &'static str,
    pub shape: Vec<usize>,
    pub kind: Kind,
    pub contents: Vec<f64>,
    /// The program is differentiated by what it holds at first.
    pub active: bool,
}

#[derive(Clone)]
pub enum Step {
    Launch { kernel: String, dim: Vec<usize>, block_dim: usize, args: Vec<(&'static str, &'static str)> },
    Swap(&'static str, &'static str),
    Repeat(usize, Vec<Step>),
}

pub struct Case {
    pub text: String,
    pub arrays: Vec<Array>,
    pub values: Vec<(&'static str, f64, Kind)>,
    pub steps: Vec<Step>,
    /// Its sum at the end is differentiated.
    pub of: &'static str,
    pub uses: Vec<&'static str>,
    /// At points where parts of the program have no derivative, it is compared with differences.
    pub at_rest: bool,
}

/// What the arrays hold in the end, in their order, with derivatives of floats.
pub type Numbers = Vec<Vec<Number>>;

impl Step {
    fn json(&self) -> Json {
        match self {
            Step::Launch { kernel, dim, block_dim, args } => {
                let args: serde_json::Map<String, Json> =
                    args.iter().map(|(param, name)| (param.to_string(), json!(name))).collect();
                let mut step = json!({"kernel": kernel, "dim": dim, "args": args});
                if *block_dim > 1 {
                    step["block_dim"] = json!(block_dim);
                }
                step
            }
            Step::Swap(a, b) => json!({"swap": [a, b]}),
            Step::Repeat(count, steps) => {
                json!({"repeat": count, "steps": steps.iter().map(Step::json).collect::<Vec<_>>()})
            }
        }
    }
}

impl Case {
    /// As a launch program for kc.
    pub fn json(&self, gradient: bool) -> Json {
        let fill = |array: &Array| match array.kind.is_float() {
            true => json!(array.contents),
            false => json!(array.contents.iter().map(|&x| x as i64).collect::<Vec<_>>()),
        };
        let arrays: serde_json::Map<String, Json> = self
            .arrays
            .iter()
            .map(|array| (array.name.to_string(), json!({"shape": array.shape, "fill": fill(array)})))
            .collect();
        let value = |(name, value, kind): &(&str, f64, Kind)| {
            (name.to_string(), if kind.is_float() { json!(value) } else { json!(*value as i64) })
        };
        let values: serde_json::Map<String, Json> = self.values.iter().map(value).collect();
        let steps: Vec<Json> = self.steps.iter().map(Step::json).collect();
        let mut program =
            json!({"format": 1, "id": "p", "source": "k.py", "arrays": arrays, "values": values, "steps": steps});
        if gradient {
            program["gradient_of"] = json!([self.of]);
        }
        program
    }

    /// By the evaluator, with the derivative along a direction, moved by `h` along it.
    pub fn evaluate(&self, along: &[Vec<f64>], h: f64) -> Result<Numbers> {
        let mut machine = Machine::new(&self.text)?;
        let mut arrays: Vec<(String, View)> = Vec::new();
        for (array, along) in self.arrays.iter().zip(along) {
            let number = |(n, &x): (usize, &f64)| match array.kind.is_float() {
                true => Number { dot: along[n], ..Number::float(array.kind, x + h * along[n], 0.0) },
                false => Number::int(array.kind, x as i128),
            };
            let elements = array.contents.iter().enumerate().map(|e| Value::Number(number(e))).collect();
            let flat = View::new(vec![array.contents.len()], Type::Number(array.kind), elements);
            let shaped = View { strides: row_major(&array.shape), shape: array.shape.clone(), ..flat };
            arrays.push((array.name.to_string(), shaped));
        }
        self.run(&mut machine, &self.steps, &mut arrays)?;
        let held = |array: &Array| {
            let (_, view) = arrays.iter().find(|(name, _)| name == array.name).expect("an array of the case");
            view.elements().iter().map(Value::number).collect()
        };
        self.arrays.iter().map(held).collect()
    }

    fn run(&self, machine: &mut Machine, steps: &[Step], arrays: &mut Vec<(String, View)>) -> Result<()> {
        for step in steps {
            match step {
                Step::Launch { kernel, dim, block_dim, args } => {
                    let number = |kind: Kind, x: f64| match kind.is_float() {
                        true => Number::float(kind, x, 0.0),
                        false => Number::int(kind, x as i128),
                    };
                    let mut given: Vec<(String, Value)> = self
                        .values
                        .iter()
                        .map(|(name, x, kind)| (name.to_string(), Value::Number(number(*kind, *x))))
                        .collect();
                    given.extend(arrays.iter().map(|(name, view)| (name.clone(), Value::Array(view.clone()))));
                    for (param, name) in args {
                        let (_, view) = arrays.iter().find(|(n, _)| n == name).expect("an array of the case");
                        given.push((param.to_string(), Value::Array(view.clone())));
                    }
                    machine.launch(kernel, dim, *block_dim, &given)?;
                }
                Step::Swap(a, b) => {
                    for (name, _) in arrays.iter_mut() {
                        *name = if name == a {
                            b.to_string()
                        } else if name == b {
                            a.to_string()
                        } else {
                            name.clone()
                        };
                    }
                }
                Step::Repeat(count, steps) => {
                    for _ in 0..*count {
                        self.run(machine, steps, arrays)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// A direction: a number for each element of an array by which the program is differentiated,
    /// else 0.
    pub fn direction(&self, random: &mut Random) -> Vec<Vec<f64>> {
        let number = |array: &Array, random: &mut Random| if array.active { unit(random) } else { 0.0 };
        let of = |array: &Array, random: &mut Random| array.contents.iter().map(|_| number(array, random)).collect();
        self.arrays.iter().map(|array| of(array, random)).collect()
    }
}

/// From -1 to 1.
pub fn unit(random: &mut Random) -> f64 {
    (random.bits() >> 11) as f64 / (1u64 << 52) as f64 - 1.0
}

/// A text in double precision: literals, types and conversions.
pub fn doubled(text: &str) -> String {
    let mut out = String::new();
    let mut rest = text;
    while let Some(start) = rest.find(|c: char| c.is_ascii_digit()) {
        let end = rest[start..].find(|c: char| !c.is_ascii_digit() && c != '.').map_or(rest.len(), |n| start + n);
        let (before, number) = (&rest[..start], &rest[start..end]);
        out += before;
        if number.contains('.') {
            out += &format!("wp.float64({number})");
        } else {
            out += number;
        }
        rest = &rest[end..];
    }
    out += rest;
    let mut found = out;
    for (single, double) in [
        ("dtype=float", "dtype=wp.float64"),
        (": float", ": wp.float64"),
        (" float(", " wp.float64("),
        ("(float(", "(wp.float64("),
    ] {
        found = found.replace(single, double);
    }
    for name in ["vec2", "vec3", "vec4", "mat22", "mat33", "quat"] {
        for end in ["(", ")", ",", "\n", ":"] {
            found = found.replace(&format!("wp.{name}{end}"), &format!("wp.{name}d{end}"));
        }
    }
    found
}
