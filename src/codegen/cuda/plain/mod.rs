//! Kernels with parameters as people write them: pointers to dense arrays, the sizes that the code
//! asks for, and numbers.
//!
//! ```text
//! extern "C" __global__ void saxpy(const float *__restrict__ x, float *__restrict__ y, float a, int n)
//! ```
//!
//! The caller promises what descriptors could say at run time: arrays are dense and row-major, have
//! fewer than 2^31 elements and do not overlap; all arrays of adjoints are there and have the
//! extents of theirs. What the entry does not use of the forward kernel's parameters, a backward
//! entry does not take.

mod functions;
mod prepare;
mod wraps;

use std::collections::BTreeMap;

use super::function::{Body, Translator};
use super::plan::Form;
use super::tree::{Expr, Infix, Stmt, Var};
use super::types::identifier;
use crate::ids::{IdMap, IdSet};
use crate::ir::{FuncId, Function, FunctionKind, InstId, Op, Phase, ValueId};
use crate::types::Type;

pub use prepare::prepare;
pub use wraps::is_wrapped;

/// What integers and sizes are at most, where the caller promises it.
const SMALL: i32 = 1 << 28;

/// What a text with plain kernels says at its head.
pub fn head_of_text(promises: &Promises) -> &'static str {
    match promises.small {
        true => {
            "\
// Arrays are dense and row-major and do not overlap. No index is negative, and no size or integer
// argument is beyond 2^28. The grid has a thread for each of the launch: columns along x, rows
// along y.
"
        }
        false => {
            "\
// Arrays are dense and row-major, do not overlap, and have fewer than 2^31 elements. The grid has a
// thread for each of the launch: columns along x, rows along y.
"
        }
    }
}

/// What the printer has to know of the kernels of a text, and of functions that take arrays.
pub type Kernels = BTreeMap<FuncId, Kernel>;

/// What is known of a kernel before it is printed.
#[derive(Default)]
pub struct Kernel {
    /// Arrays of adjoints, each with the array whose extents it has.
    pub like: IdMap<ValueId, ValueId>,
    /// Arrays that nothing in the kernel writes.
    pub read_only: IdSet<ValueId>,
    /// The threads are numbered along one dimension, though the launch has several.
    linear: bool,
    /// What indices go through that may count from the end. None: the caller promises that none
    /// does, and that integers are small.
    pub wrap: Option<FuncId>,
    /// Extents that something else says, by the caller's promise.
    said: BTreeMap<Argument, Said>,
    /// Atomic sums of floats at one place of the whole launch.
    pub one_place: IdSet<InstId>,
}

impl Kernel {
    /// What integers and sizes are at most, if the caller says so.
    pub fn most(&self) -> Option<i32> {
        self.wrap.is_none().then_some(SMALL)
    }
}

/// What else the caller promises of kernels with plain parameters.
#[derive(Clone, Debug, Default)]
pub struct Promises {
    /// No index is negative, so that none counts from the end, and no integer or size that is
    /// passed is beyond 2^28.
    pub small: bool,
    /// Extents of arrays and launches that something else says, by kernel: `x_cols` is `width`.
    pub said: BTreeMap<FuncId, BTreeMap<Argument, Said>>,
}

/// What says an extent.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Said {
    Number(u32),
    /// Another parameter of the kernel: a number, or an extent that nothing else says.
    Parameter(Argument),
}

/// What one parameter of a plain entry is given.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum Argument {
    /// The address of the first element of array parameter `n` of the IR's kernel.
    Array(u32),
    /// The extent of a dimension of array parameter `n`.
    Extent(u32, u8),
    /// The value of parameter `n`.
    Value(u32),
    /// The extent of a dimension of the launch.
    Launch(u8),
}

/// A kernel as C++ sees it.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct PlainEntry {
    pub kernel: FuncId,
    pub name: String,
    pub arguments: Vec<Argument>,
    /// The dimensions of the grid: with two, blocks cover rows along y and columns along x; with
    /// one, all threads along x.
    pub grid: u8,
    /// A block, and no thread, does what the launch has one of.
    pub by_block: bool,
}

/// The variables of a kernel's sizes and threads, as its body asks for them.
#[derive(Default)]
pub struct Scope {
    /// By the parameter's number and the dimension.
    pub extents: BTreeMap<(u32, u8), Var>,
    pub coordinates: Vec<Var>,
    pub counts: Vec<Var>,
    /// The row-major number of the thread, where the grid has one dimension and the launch several.
    pub thread: Option<Var>,
}

impl Scope {
    /// All of them: the body finds them declared.
    pub fn variables(&self) -> impl Iterator<Item = Var> {
        self.extents.values().chain(&self.counts).chain(&self.thread).chain(&self.coordinates).copied()
    }
}

/// Words for the extents of an array, by its dimensions.
pub fn extent_name(array: &str, ndim: u8, dim: u8) -> String {
    match (ndim, dim) {
        (1, _) => format!("{array}_size"),
        (2, 0) => format!("{array}_rows"),
        (2, _) => format!("{array}_cols"),
        (_, dim) => format!("{array}_extent{dim}"),
    }
}

/// Words for the extents of a launch of so many dimensions.
pub fn count_names(rank: u8) -> &'static [&'static str] {
    match rank {
        0 | 1 => &["n"],
        2 => &["rows", "cols"],
        3 => &["layers", "rows", "cols"],
        _ => &["n0", "n1", "n2", "n3"],
    }
}

/// The dimensions of a launch of this kernel.
pub fn rank(function: &Function) -> u8 {
    if let FunctionKind::Kernel { rank } = function.kind { rank.max(1) } else { 1 }
}

/// Whether C's library, which `nvcc` includes, has a function of this name that `extern "C"` would
/// declare again.
pub fn is_c_function(name: &str) -> bool {
    #[rustfmt::skip]
    const NAMES: &[&str] = &[
        "abort", "alarm", "atexit", "atof", "atoi", "atol", "bcmp", "bcopy", "bsearch", "bzero", "calloc", "ctime", "difftime",
        "drand48", "exit", "ffs", "getenv", "gmtime", "ldiv", "localtime", "lrand48", "memchr", "memcmp", "memmove",
        "mktime", "qsort", "raise", "rand", "random", "realloc", "signal", "srand", "srandom", "strcmp", "strlen",
        "system", "wait",
    ];
    debug_assert!(NAMES.is_sorted());
    NAMES.contains(&name)
}

impl Translator<'_> {
    /// Gives the coordinates of a plain kernel's threads their variables: those that the source has
    /// for them.
    pub fn name_threads(&mut self) {
        let function = self.function;
        let rank = rank(function);
        let mut named: Vec<Option<Var>> = vec![None; usize::from(rank)];
        function.walk(function.entry, &mut |_, inst| {
            if let (Op::ThreadIndex(n), [result]) = (&inst.op, inst.results.as_slice())
                && let Some(place @ None) = named.get_mut(usize::from(*n))
                && self.plan.form(*result) == Form::Variable
            {
                let var = self.variables.of(*result);
                let alone = self.variables.members().any(|(v, members)| v == var && members.len() == 1);
                *place = alone.then_some(var);
            }
        });
        let coordinates = (0..).zip(named).map(|(n, var): (usize, _)| {
            var.unwrap_or_else(|| self.new_variable(crate::types::I32, ["i", "j", "k", "l"].get(n).unwrap_or(&"i")))
        });
        let coordinates: Vec<Var> = coordinates.collect();
        let is_taken = |name: &str| function.params().iter().any(|&p| function.values[p].name.as_deref() == Some(name));
        let words = match count_names(rank) {
            ["n"] if is_taken("n") => &["threads"],
            words => words,
        };
        let counts = (0..).zip(words).map(|(dim, word)| match self.plain_said(Argument::Launch(dim)) {
            Some(Expr::Var(said)) => said,
            _ => self.new_variable(crate::types::I32, word),
        });
        let counts = counts.collect();
        let numbered = rank > 1 && self.plain.as_ref().is_some_and(|(kernel, _)| kernel.linear);
        let thread = numbered.then(|| self.new_variable(crate::types::I32, "thread"));
        if let Some((_, scope)) = &mut self.plain {
            let extents = std::mem::take(&mut scope.extents);
            *scope = Scope { extents, coordinates, counts, thread };
        }
    }

    /// A coordinate of a plain kernel's thread.
    pub fn plain_coordinate(&self, n: u8) -> Option<Expr> {
        let (_, scope) = self.plain.as_ref()?;
        scope.coordinates.get(usize::from(n)).map(|&var| Expr::Var(var))
    }

    /// The number of a plain kernel's thread.
    pub fn plain_thread(&self) -> Option<Expr> {
        let (_, scope) = self.plain.as_ref()?;
        scope.thread.or(scope.coordinates.first().copied()).map(Expr::Var)
    }

    /// The number of the parameter that a value is, if plain parameters stand for arrays here and
    /// it is one.
    pub fn plain_array(&self, value: ValueId) -> Option<u32> {
        self.plain.as_ref()?;
        let is_array = matches!(self.function.ty(value), Type::Array(_));
        (0..).zip(self.function.params()).find(|&(_, &p)| p == value && is_array).map(|(n, _)| n)
    }

    /// What says the extent of an array or of the launch, by the caller's promise.
    fn plain_said(&mut self, argument: Argument) -> Option<Expr> {
        let (kernel, scope) = self.plain.as_ref()?;
        match *kernel.said.get(&argument)? {
            Said::Number(n) => Some(Expr::atom(n.to_string())),
            Said::Parameter(Argument::Value(n)) => {
                let &param = self.function.params().get(n as usize)?;
                let var = self.variables.of(param);
                // One that the kernel changes says it no more.
                let alone = self.variables.members().any(|(v, members)| v == var && members.len() == 1);
                (alone && self.function.ty(param) == crate::types::I32).then_some(Expr::Var(var))
            }
            Said::Parameter(Argument::Launch(dim)) => scope.counts.get(usize::from(dim)).map(|&count| Expr::Var(count)),
            Said::Parameter(Argument::Extent(n, dim)) => Some(Expr::Var(self.extent_variable(n, dim))),
            Said::Parameter(Argument::Array(_)) => None,
        }
    }

    /// An extent of an array that is plain parameter `n`.
    pub fn plain_extent(&mut self, n: u32, dim: u8) -> Expr {
        let function = self.function;
        let Some((kernel, _)) = &self.plain else { return Expr::atom("0") };
        let given = function.params()[n as usize];
        let owner = kernel.like.get(&given).copied().unwrap_or(given);
        let n = (0..).zip(function.params()).find(|&(_, &p)| p == owner).map_or(n, |(n, _)| n);
        let said = self.plain_said(Argument::Extent(n, dim));
        said.unwrap_or_else(|| Expr::Var(self.extent_variable(n, dim)))
    }

    /// The variable of an extent of array parameter `n`, whatever is promised.
    fn extent_variable(&mut self, n: u32, dim: u8) -> Var {
        let function = self.function;
        let known = self.plain.as_ref().and_then(|(_, scope)| scope.extents.get(&(n, dim)).copied());
        let var = known.unwrap_or_else(|| {
            let ty = function.params().get(n as usize).map(|&param| function.ty(param));
            let ndim = if let Some(Type::Array(array)) = ty { array.ndim } else { 1 };
            let word = extent_name(&identifier(&function.param_name(n as usize)), ndim, dim);
            self.new_variable(crate::types::I32, &word)
        });
        if let Some((_, scope)) = &mut self.plain {
            scope.extents.insert((n, dim), var);
        }
        var
    }
}

/// What a function that takes pointers is passed.
#[derive(Clone, Default)]
pub struct Passed {
    /// The parameters that it names: arrays of which it asks only extents are not passed.
    pub named: Vec<u32>,
    /// The extents that it asks for, by parameter and dimension: behind the parameter.
    pub extents: Vec<(u32, u8)>,
}

impl Passed {
    pub fn of(body: &Body, scope: &Scope) -> Passed {
        let used = used(body);
        let is_used = |var: &Var| used[var.0 as usize];
        let named = (0..).zip(&body.params).filter(|(_, var)| is_used(var)).map(|(n, _)| n).collect();
        let extents = scope.extents.iter().filter(|(_, var)| is_used(var)).map(|(&extent, _)| extent).collect();
        Passed { named, extents }
    }
}

/// Which variables the statements of a function name.
fn used(body: &Body) -> Vec<bool> {
    let mut used = vec![false; body.vars.len()];
    mark(&body.stmts, &mut used);
    used
}

/// What the entry takes: parameters that it uses (the forward one has all of the source's), each
/// array with the extents that the code asks for, then the extents of the launch.
pub fn arguments(function: &Function, body: &Body, scope: &Scope) -> Vec<Argument> {
    let mut used = used(body);
    // The head compares with them.
    for count in &scope.counts {
        used[count.0 as usize] = true;
    }
    let is_used = |var: Var| used.get(var.0 as usize).copied().unwrap_or(false);
    let mut list = Vec::new();
    for (n, (&param, &var)) in (0..).zip(function.params().iter().zip(&body.params)) {
        let wanted = function.phase == Phase::Forward || is_used(var);
        match function.ty(param) {
            Type::Array(array) => {
                list.extend(wanted.then_some(Argument::Array(n)));
                let dims = (0..array.ndim).filter(|&dim| scope.extents.get(&(n, dim)).is_some_and(|&v| is_used(v)));
                list.extend(dims.map(|dim| Argument::Extent(n, dim)));
            }
            _ => list.extend(wanted.then_some(Argument::Value(n))),
        }
    }
    // Of a launch that is numbered along one dimension, the first extent bounds the threads too.
    let own = |&(_, count): &(u8, &Var)| {
        !body.params.contains(count) && !scope.extents.values().any(|extent| extent == count)
    };
    list.extend((0..).zip(&scope.counts).filter(own).map(|(dim, _)| Argument::Launch(dim)));
    list
}

fn mark(stmts: &[Stmt], used: &mut [bool]) {
    for stmt in stmts {
        stmt.for_each_expr(&mut |e| {
            e.for_each_var(&mut |var| {
                if let Some(used) = used.get_mut(var.0 as usize) {
                    *used = true;
                }
            });
        });
        // A parameter that is only assigned to is a variable of the body.
        if let Stmt::Assign { var, .. } = stmt
            && let Some(used) = used.get_mut(var.0 as usize)
        {
            *used = true;
        }
        stmt.bodies().iter().for_each(|body| mark(body, used));
    }
}

/// Which thread is this, and is it one of the launch?
pub fn head(scope: &Scope, by_block: bool, name: &dyn Fn(Var) -> String) -> Vec<String> {
    let along = |axis: char| match by_block {
        true => format!("blockIdx.{axis}"),
        false => format!("blockIdx.{axis} * blockDim.{axis} + threadIdx.{axis}"),
    };
    let counts: Vec<String> = scope.counts.iter().map(|&count| name(count)).collect();
    let coordinates: Vec<String> = scope.coordinates.iter().map(|&coordinate| name(coordinate)).collect();
    let mut lines = Vec::new();
    if let Some(thread) = scope.thread.map(name) {
        lines.push(format!("int {thread} = {};", along('x')));
        lines.push(format!("if ({thread} >= {}) return;", counts.join(" * ")));
        for (n, coordinate) in coordinates.iter().enumerate() {
            let below = counts[n + 1..].join(" * ");
            let above = match counts.len() - n - 1 {
                0 => thread.clone(),
                1 => format!("{thread} / {below}"),
                _ => format!("{thread} / ({below})"),
            };
            let modulo = if n > 0 { format!(" % {}", counts[n]) } else { String::new() };
            lines.push(format!("int {coordinate} = {above}{modulo};"));
        }
        return lines;
    }
    let axes = ['x', 'y', 'z'];
    for (n, coordinate) in coordinates.iter().enumerate() {
        let axis = axes[(coordinates.len() - 1 - n).min(2)];
        lines.push(format!("int {coordinate} = {};", along(axis)));
    }
    let outside: Vec<String> = coordinates.iter().zip(&counts).map(|(at, count)| format!("{at} >= {count}")).collect();
    lines.push(format!("if ({}) return;", outside.join(" || ")));
    lines
}

/// The place of an element in a dense array: `(i * rows + j) * cols + k`.
pub fn offset(indices: Vec<Expr>, extent: &mut dyn FnMut(u8) -> Expr) -> Expr {
    let mut parts = indices.into_iter();
    let first = parts.next().unwrap_or_else(|| Expr::atom("0"));
    (1..).zip(parts).fold(first, |e, (dim, index)| {
        let is_zero = e == Expr::atom("0");
        if is_zero {
            return index;
        }
        let start = if e == Expr::atom("1") { extent(dim) } else { Expr::infix(Infix::Mul, e, extent(dim)) };
        // `start + i - 1`
        match index {
            Expr::Infix(op @ (Infix::Add | Infix::Sub), a, b) => {
                Expr::infix(op, Expr::infix(Infix::Add, start, *a), *b)
            }
            index if index == Expr::atom("0") => start,
            index => Expr::infix(Infix::Add, start, index),
        }
    })
}
