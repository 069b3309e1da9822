//! A second evaluator of the kernel language, for tests alone. It answers one question: what does
//! this program compute, by the definition of the language?
//!
//! It runs the syntax tree, and shares nothing behind the parser with the compiler. The checked
//! tree would not do: `check` has resolved names that are known while compiling there, has made
//! loops over the threads of tile operations, and turned local arrays and tuples into variables,
//! and faults were found in just these steps. So values carry their types here, names are looked up
//! when a statement runs, and functions, types, shapes and tuples are values like all others. The
//! semantics are those of `docs/language.md` and `docs/tiles.md`. `tests/architecture.rs` keeps the
//! imports: `kc::syntax`, and `kc::source` and `kc::diag`, which it needs.
//!
//! The threads of a block run in lockstep, one part of an expression after the other, each under
//! the mask of the threads that are there. Where the order of threads matters and the language does
//! not fix it, the program is [`Stop::Undefined`].
//!
//! Floats are doubles that are rounded to float32 after each operation where the program says
//! float32; each has a derivative in double (forward mode). So float32 results are compared within
//! a tolerance, float64 results closely.
//!
//! | file | question it answers |
//! |---|---|
//! | [`number`] | what is a number, and what does an operator make of two? |
//! | [`value`] | what can a name mean? |
//! | [`expr`] | what is the value of an expression? |
//! | [`stmt`] | what does a statement do? |
//! | [`calls`] | what does a call of a function, type or built-in give? |
//! | [`builtins`] | what do built-ins of numbers and vectors compute? |
//! | [`tiles`] | what do the threads of a block do together? |

mod builtins;
mod calls;
mod expr;
pub mod number;
mod stmt;
mod tiles;
pub mod value;

use std::collections::HashMap;
use std::sync::Arc;

use kc::diag::Diagnostics;
use kc::source::FileId;
use kc::syntax::ast;

use number::Number;
use value::{Mark, Type, Value, View};

/// Why there is no answer.
#[derive(Debug)]
pub enum Stop {
    /// The program, or this evaluator, is at fault.
    Fault(String),
    /// The program has no meaning, and kc has to say so: an index that is not there, tiles that do
    /// not fit in a block that is not full.
    Meaningless(String),
    /// The result depends on an order of threads that the language leaves open.
    Undefined(String),
}

pub type Result<T> = std::result::Result<T, Stop>;

/// One value for each thread of the block; those of threads that are not there mean nothing.
pub type Lanes = Vec<Value>;

/// Statements that one launch may run.
const STEPS: u64 = 400_000;

/// A bit for each thread of the block.
type Mask = u64;

/// The threads of a mask.
fn threads(mask: Mask) -> impl Iterator<Item = usize> {
    (0..64).filter(move |lane| mask >> lane & 1 == 1)
}

/// A file that can be run.
pub struct Machine {
    globals: HashMap<String, Value>,
    frames: Vec<Frame>,
    /// Threads of a block.
    block_dim: usize,
    /// The threads of this block: fewer in the last one of a launch that is no multiple.
    here: Mask,
    /// The coordinates of each thread.
    coordinates: Vec<Vec<i64>>,
    /// Counts the lines that all threads come to, and the times that they meet: tiles are ordered
    /// by both.
    line: u64,
    /// When the threads met last: arrays are ordered by that alone.
    met: u64,
    /// Whether all threads surely go on to the next line together.
    in_lines: bool,
    steps: u64,
}

/// The variables of a function that runs.
#[derive(Default)]
struct Frame {
    names: HashMap<String, Lanes>,
    returned: Mask,
    broken: Mask,
    continued: Mask,
    results: Lanes,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Access {
    Read,
    Write,
    /// An update in any order.
    Add,
}

impl Machine {
    /// Reads a file.
    pub fn new(text: &str) -> Result<Machine> {
        let mut diagnostics = Diagnostics::new();
        let parsed = kc::syntax::parse(FileId(0), text, &mut diagnostics);
        if let Some(first) = diagnostics.iter().next() {
            return Err(Stop::Fault(format!("the text is not read: {}", first.message)));
        }
        let mut machine = Machine {
            globals: HashMap::new(),
            frames: Vec::new(),
            block_dim: 1,
            here: 1,
            coordinates: vec![vec![0]],
            line: 1,
            met: 1,
            in_lines: false,
            steps: 0,
        };
        for item in parsed.all_items() {
            match item {
                ast::Item::Function(function) => {
                    machine.globals.insert(function.name.text.clone(), Value::Function(function.clone()));
                }
                ast::Item::Class(class) => {
                    let ty = Value::Type(Type::Struct(Arc::new(class.clone())));
                    machine.globals.insert(class.name.text.clone(), ty);
                }
                ast::Item::Constant(constant) => {
                    machine.frames = vec![Frame::default()];
                    let value = machine.eval(&constant.value, 1)?.swap_remove(0);
                    machine.globals.insert(constant.name.text.clone(), value);
                }
                _ => {}
            }
        }
        Ok(machine)
    }

    /// Runs a kernel with its arguments, in blocks of so many threads.
    pub fn launch(
        &mut self,
        kernel: &str,
        dim: &[usize],
        block_dim: usize,
        arguments: &[(String, Value)],
    ) -> Result<()> {
        let Some(Value::Function(kernel)) = self.globals.get(kernel).cloned() else {
            return Err(Stop::Fault(format!("there is no kernel `{kernel}`")));
        };
        self.block_dim = block_dim;
        self.steps = 0;
        let count: usize = dim.iter().product();
        for first in (0..count).step_by(block_dim) {
            let size = block_dim.min(count - first);
            self.here = u64::MAX >> (64 - size);
            self.coordinates = (first..first + size).map(|n| coordinates(n, dim)).collect();
            self.coordinates.resize(block_dim, Vec::new());
            self.meet();
            let mut frame = Frame { results: vec![Value::Unset; block_dim], ..Frame::default() };
            for (name, value) in arguments {
                frame.names.insert(name.clone(), vec![value.clone(); block_dim]);
            }
            self.frames = vec![frame];
            self.in_lines = true;
            self.block(&kernel.body, self.here)?;
        }
        Ok(())
    }

    fn frame(&mut self) -> &mut Frame {
        self.frames.last_mut().expect("a function runs")
    }

    /// All threads are at one place.
    fn meet(&mut self) {
        self.line += 1;
        self.met = self.line;
    }

    /// What only all threads of the block may do together.
    fn together(&mut self, what: &str, mask: Mask) -> Result<()> {
        if mask != self.here {
            return Err(Stop::Undefined(format!("not all threads come to `{what}`")));
        }
        self.meet();
        Ok(())
    }

    /// Notes what a thread does with an element, and says so where another thread did what does not
    /// go together with it.
    fn touch(&self, mark: &mut Mark, tile: bool, lane: usize, access: Access) -> Result<()> {
        let since = if tile { self.line } else { self.met };
        if mark.interval != since {
            *mark = Mark { interval: since, ..Mark::default() };
        }
        let own = 1 << lane;
        let against = match access {
            Access::Read => mark.wrote | mark.added,
            Access::Write => mark.read | mark.wrote | mark.added,
            Access::Add => mark.read | mark.wrote,
        };
        match access {
            Access::Read => mark.read |= own,
            Access::Write => mark.wrote |= own,
            Access::Add => mark.added |= own,
        }
        if against & !own != 0 {
            return Err(Stop::Undefined("threads meet at an element".to_string()));
        }
        Ok(())
    }

    /// The element at a place, as one thread reads it.
    fn load(&self, view: &View, tile: bool, at: usize, lane: usize) -> Result<Value> {
        let mut memory = view.memory.borrow_mut();
        self.touch(&mut memory.marks[at], tile, lane, Access::Read)?;
        Ok(memory.elements[at].clone())
    }

    fn store(&self, view: &View, tile: bool, at: usize, lane: usize, value: Value) -> Result<()> {
        let mut memory = view.memory.borrow_mut();
        self.touch(&mut memory.marks[at], tile, lane, Access::Write)?;
        memory.elements[at] = settle(value, &view.element)?;
        Ok(())
    }

    /// An update of an element by one thread: the old value.
    fn update(
        &self,
        view: &View,
        tile: bool,
        at: usize,
        lane: usize,
        change: impl FnOnce(&Value) -> Result<Value>,
    ) -> Result<Value> {
        let mut memory = view.memory.borrow_mut();
        self.touch(&mut memory.marks[at], tile, lane, Access::Add)?;
        let new = change(&memory.elements[at])?;
        Ok(std::mem::replace(&mut memory.elements[at], settle(new, &view.element)?))
    }
}

/// A value as the element of an array: what was not assigned is zero, and nothing converts.
fn settle(value: Value, element: &Type) -> Result<Value> {
    match (&value, element) {
        (Value::Unset, element) => Ok(element.zero()),
        (Value::Number(Number { kind, .. }), Type::Number(wanted)) if kind != wanted => {
            Err(Stop::Fault(format!("{kind:?} is stored to {wanted:?}")))
        }
        _ => Ok(value),
    }
}

fn coordinates(n: usize, dim: &[usize]) -> Vec<i64> {
    let mut rest = n;
    let mut found: Vec<i64> = dim
        .iter()
        .rev()
        .map(|&extent| {
            let at = rest % extent;
            rest /= extent;
            at as i64
        })
        .collect();
    found.reverse();
    found
}
