//! Do programs look like those of people? Shares that were counted in the applications of six
//! public packages of Warp kernels (3,395 kernels in 477 files, without unit tests), and the same
//! shares of a set.
//!
//! A kernel counts with the functions of its file that it calls. Kinds of algorithm are those that
//! the library of families says of its kernels ([`families`](super::families)); in real programs
//! they were found by rules on their structure.

use std::collections::{BTreeMap, HashMap, HashSet};

use serde_json::{Value, json};

use super::identity;
use crate::source::Span;
use crate::syntax::ast::{BinaryOp, Expr, ExprKind, Function, Item, Parsed, Stmt, StmtKind};
use crate::syntax::visit;

/// What is measured of a kernel: its name, the share of real kernels, and what this project wants.
const OF_KERNELS: [(&str, f64, &str); 24] = [
    ("operators as calls", 1.7, "<= 2"),
    ("unused parameter", 3.9, "<= 4"),
    ("line over 120 columns", 3.5, "<= 2"),
    ("three-decimal constant", 0.6, "<= 2"),
    ("transcendental inside transcendental", 0.3, "<= 1"),
    ("any comment", 61.0, ">= 55"),
    ("docstring", 56.0, ">= 55"),
    ("in-place array", 18.6, "15-20"),
    ("index from memory or arithmetic", 77.1, ">= 70"),
    ("gather", 39.7, ""),
    ("loop bound from parameter or memory", 33.6, ">= 30"),
    ("a loop", 42.8, ""),
    ("while", 7.7, ""),
    ("atomics", 23.7, ""),
    ("a struct", 3.2, ""),
    ("2-D or more arrays", 47.9, ""),
    ("vector, matrix or quaternion types", 46.7, ""),
    ("user functions", 27.9, ""),
    ("several thread indices", 33.4, ""),
    ("early return", 30.4, ""),
    ("constants of the module", 18.0, ""),
    ("loop variable unused", 1.6, ""),
    ("arithmetic of two literals", 1.7, ""),
    ("two signs of meaninglessness", 1.0, "<= 5"),
];

/// The same of whole files.
const OF_FILES: [(&str, f64, &str); 4] = [
    ("launch code", 79.0, ">= 75"),
    ("several kernels", 73.4, ">= 65"),
    ("host functions", 88.3, ""),
    ("module docstring", 54.9, ""),
];

/// Shares of real programs that are of a kind, for the kinds that kernels of this language can be.
pub(super) const KINDS: [(&str, f64); 75] = [
    ("gather", 39.7),
    ("mask or active filter", 11.6),
    ("scatter add", 11.3),
    ("scatter", 9.9),
    ("rigid transform", 9.2),
    ("elementwise map", 9.1),
    ("finite difference", 9.0),
    ("index unflatten", 8.8),
    ("csr row loop", 8.8),
    ("loop reduction", 7.9),
    ("pointer chase or walk", 7.0),
    ("spatial algebra", 6.2),
    ("element vertex gather", 6.1),
    ("quaternion kinematics", 5.4),
    ("matrix or image map", 5.2),
    ("boundary condition", 4.5),
    ("atomic min max", 4.2),
    ("copy convert", 4.0),
    ("tile reduce", 3.6),
    ("volume grid map", 3.2),
    ("grid splat", 3.0),
    ("stencil", 2.7),
    ("atomic counter", 2.6),
    ("distance threshold", 2.6),
    ("triangular loops factorisation", 2.5),
    ("spring force", 2.5),
    ("histogram count", 2.3),
    ("axpy linear combination", 2.1),
    ("spmv", 2.1),
    ("convolution", 2.1),
    ("outer or skew assembly", 2.0),
    ("fill", 2.0),
    ("atomic reduction", 1.9),
    ("pairwise n body", 1.9),
    ("prefix scan", 1.9),
    ("bit tricks hash morton", 1.8),
    ("matmul", 1.7),
    ("stream compaction", 1.7),
    ("in place update", 1.7),
    ("argmin argmax", 1.6),
    ("interpolation", 1.3),
    ("coo or edge assembly", 1.2),
    ("bounding box reduce", 1.1),
    ("closest point", 1.1),
    ("triangle normal area", 1.0),
    ("select threshold", 1.0),
    ("fem elasticity", 0.9),
    ("aabb arith", 0.9),
    ("tile matmul", 0.9),
    ("tile other", 0.9),
    ("sort or swap", 0.8),
    ("time integration", 0.8),
    ("lock or cas", 0.8),
    ("random sampling", 0.8),
    ("dot product", 0.7),
    ("quadratic ray intersection", 0.7),
    ("binary search", 0.6),
    ("ray march", 0.5),
    ("matvec dot", 0.5),
    ("explicit update step", 0.4),
    ("kernel window gather", 0.4),
    ("softmax logsumexp", 0.3),
    ("ema or adam", 0.3),
    ("tile fft solve", 0.3),
    ("vector normalise", 0.2),
    ("matrix decomposition", 0.2),
    ("contact or penetration", 0.2),
    ("loss squared error", 0.2),
    ("multilinear interpolation", 0.1),
    ("sdf primitive", 0.1),
    ("newton or fixed point", 0.1),
    ("escape time fractal", 0.1),
    ("noise field", 0.02),
    ("activation", 0.02),
    ("tone map or saturation", 0.02),
];

/// What is measured of a program: the answers of [`OF_KERNELS`] for each kernel, and of
/// [`OF_FILES`].
#[derive(Clone, PartialEq, Debug, Default)]
pub struct Looks {
    kernels: Vec<[bool; OF_KERNELS.len()]>,
    file: [bool; OF_FILES.len()],
}

impl Looks {
    pub fn of(text: &str, parsed: &Parsed) -> Looks {
        let functions: HashMap<&str, &Function> = parsed
            .items
            .iter()
            .filter_map(|item| match item {
                Item::Function(function) => Some((function.name.text.as_str(), &**function)),
                _ => None,
            })
            .collect();
        let kernels: Vec<&Function> = identity::kernels_of(parsed).collect();
        let host = text.lines().any(|line| line.trim_start().starts_with("def ") && is_plain(text, line));
        Looks {
            kernels: kernels.iter().map(|kernel| of_kernel(text, kernel, &functions)).collect(),
            file: [
                text.contains("wp.launch(") || text.contains("wp.launch_tiled("),
                kernels.len() > 1,
                host,
                text.starts_with("\"\"\""),
            ],
        }
    }
}

/// Whether a header of a function at the top level has no decorator.
fn is_plain(text: &str, header: &str) -> bool {
    let at = header.as_ptr() as usize - text.as_ptr() as usize;
    let above = text[..at].trim_end().rsplit('\n').next().unwrap_or("");
    !header.starts_with(' ') && !above.starts_with('@')
}

/// The tables of a set: of its programs, and of the kinds of algorithm that they are of, by number
/// of rows.
pub fn table<'a>(programs: impl Iterator<Item = &'a Looks>, kinds: &BTreeMap<String, u64>, rows: u64) -> Value {
    let (mut of_kernels, mut of_files) = ([0u64; OF_KERNELS.len()], [0u64; OF_FILES.len()]);
    let (mut kernels, mut files) = (0u64, 0u64);
    for looks in programs {
        files += 1;
        of_files.iter_mut().zip(looks.file).for_each(|(sum, one)| *sum += u64::from(one));
        for kernel in &looks.kernels {
            kernels += 1;
            of_kernels.iter_mut().zip(kernel).for_each(|(sum, one)| *sum += u64::from(*one));
        }
    }
    let percent = |part: u64, whole: u64| (part as f64 / whole.max(1) as f64 * 1e3).round() / 10.0;
    let mut table = serde_json::Map::new();
    let mut line = |name: &str, share: f64, real: f64, goal: &str| {
        table.insert(name.to_string(), json!({"rows": share, "people": real, "goal": goal}));
    };
    for ((name, real, goal), count) in OF_KERNELS.iter().zip(of_kernels) {
        line(name, percent(count, kernels), *real, goal);
    }
    for ((name, real, goal), count) in OF_FILES.iter().zip(of_files) {
        line(name, percent(count, files), *real, goal);
    }
    let of = |name: &str| kinds.get(name).copied().unwrap_or(0);
    let total = KINDS.iter().map(|(name, _)| of(name)).sum::<u64>().max(1) as f64;
    let real = KINDS.iter().map(|(_, share)| share).sum::<f64>();
    let variation = KINDS.iter().map(|(name, share)| (of(name) as f64 / total - share / real).abs()).sum::<f64>() / 2.0;
    let found: BTreeMap<&str, Value> =
        KINDS.iter().map(|(name, share)| (*name, json!({"rows": percent(of(name), rows), "people": share}))).collect();
    let present = KINDS.iter().filter(|(name, _)| of(name) > 0).count();
    json!({
        "programs": files,
        "kernels": kernels,
        "percent": table,
        "kinds_of_80": present,
        "kinds_variation": (variation * 1e4).round() / 1e4,
        "kinds": found,
    })
}

/// Words that are operators.
const OPERATORS: [&str; 10] = ["add", "sub", "mul", "div", "mod", "neg", "pos", "floordiv", "bit_and", "bit_or"];

const TRANSCENDENTAL: [&str; 18] = [
    "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "sinh", "cosh", "tanh", "exp", "log", "log2", "log10", "pow",
    "erf", "erfc", "cbrt",
];

/// The built-in that an expression calls.
fn builtin(expr: &Expr) -> Option<&str> {
    let ExprKind::Call { callee, .. } = &expr.kind else { return None };
    match &callee.kind {
        ExprKind::Attribute { base, name } if matches!(&base.kind, ExprKind::Name(n) if n == "wp") => Some(&name.text),
        _ => None,
    }
}

fn name(expr: &Expr) -> Option<&str> {
    match &expr.kind {
        ExprKind::Name(name) => Some(name),
        _ => None,
    }
}

fn any(expr: &Expr, test: &mut dyn FnMut(&Expr) -> bool) -> bool {
    let mut found = false;
    visit::walk(expr, &mut |one| found = found || test(one));
    found
}

fn is_literal(expr: &Expr) -> bool {
    matches!(expr.kind, ExprKind::Int(_) | ExprKind::Float(_))
}

/// The name of the array whose element an expression is.
fn element(expr: &Expr) -> Option<(&str, &[Expr])> {
    match &expr.kind {
        ExprKind::Subscript { base, indices } => Some((name(base)?, indices)),
        _ => None,
    }
}

fn of_kernel(text: &str, kernel: &Function, functions: &HashMap<&str, &Function>) -> [bool; OF_KERNELS.len()] {
    let mut all = vec![kernel];
    let mut n = 0;
    while n < all.len() {
        each_expression(&all[n].body, &mut |expr| {
            if let ExprKind::Call { callee, .. } = &expr.kind
                && let Some(called) = name(callee).and_then(|name| functions.get(name))
                && !called.decorators.is_empty()
                && !all.iter().any(|other| std::ptr::eq(*other, *called))
            {
                all.push(called);
            }
        });
        n += 1;
    }
    let mut facts = Facts::default();
    for function in &all {
        facts.read(function);
    }
    let at = |span: Span| text.get(span.start as usize..span.end as usize).unwrap_or_default();
    let own: Vec<&str> = all.iter().map(|function| at(function.span)).collect();
    let texts = |test: &dyn Fn(&str) -> bool| own.iter().any(|text| test(text));
    let lines = |test: &dyn Fn(&str) -> bool| texts(&|text| text.lines().any(test));
    let annotated = |words: &[&str]| {
        let annotations = kernel.params.iter().filter_map(|param| param.annotation.as_ref());
        annotations.map(|one| at(one.span)).any(|one| words.iter().any(|word| one.contains(word)))
    };
    let unused = kernel.params.iter().any(|param| !facts.used.contains(param.name.text.as_str()));
    let arrays = annotated(&["array2d", "array3d", "array4d", "ndim=2", "ndim=3", "ndim=4"]);
    let vectors =
        texts(&|text| ["wp.vec", "wp.mat", "wp.quat", "wp.transform", "wp.spatial"].iter().any(|w| text.contains(w)));
    let in_place = facts.written.iter().any(|array| facts.read.contains(array));
    let is_struct = annotated(&["Params"])
        || kernel
            .params
            .iter()
            .filter_map(|p| p.annotation.as_ref())
            .any(|a| name(a).is_some_and(|n| n.starts_with(char::is_uppercase)));
    let constant = facts
        .used
        .iter()
        .any(|word| word.len() > 1 && word.starts_with(char::is_uppercase) && **word == word.to_uppercase());
    let signs = [facts.operator_calls, facts.nested, unused, facts.loop_unused, facts.literals, facts.seed, facts.same];
    let signs = signs.iter().filter(|sign| **sign).count();
    [
        facts.operator_calls,
        unused,
        lines(&|line| line.len() > 120),
        facts.three_decimals,
        facts.nested,
        lines(&|line| line.contains('#')),
        kernel.doc.is_some(),
        in_place,
        facts.computed_index || facts.loaded_index,
        facts.loaded_index,
        facts.open_bound,
        facts.loops,
        facts.whiles,
        facts.atomics,
        is_struct,
        arrays,
        vectors,
        all.len() > 1,
        facts.thread_indices,
        facts.early_return,
        constant,
        facts.loop_unused,
        facts.literals,
        signs >= 2,
    ]
}

fn each_expression<'a>(body: &'a [Stmt], f: &mut dyn FnMut(&'a Expr)) {
    visit::each_statement(body, &mut |stmt| visit::expressions(stmt, &mut |whole| visit::walk(whole, f)));
}

/// What was seen in a kernel and the functions that it calls.
#[derive(Default)]
struct Facts<'a> {
    used: HashSet<&'a str>,
    read: HashSet<&'a str>,
    written: HashSet<&'a str>,
    operator_calls: bool,
    three_decimals: bool,
    nested: bool,
    computed_index: bool,
    loaded_index: bool,
    open_bound: bool,
    loops: bool,
    whiles: bool,
    atomics: bool,
    thread_indices: bool,
    early_return: bool,
    loop_unused: bool,
    literals: bool,
    seed: bool,
    same: bool,
}

impl<'a> Facts<'a> {
    fn read(&mut self, function: &'a Function) {
        // Locals that hold what was loaded, and what was computed of indices.
        let (mut loaded, mut computed): (HashSet<&str>, HashSet<&str>) = (HashSet::new(), HashSet::new());
        let params: HashSet<&str> = function.params.iter().map(|param| param.name.text.as_str()).collect();
        visit::each_statement(&function.body, &mut |stmt| {
            if let StmtKind::Assign { targets, value } = &stmt.kind
                && let Some(target) = targets.first().and_then(name)
            {
                let mut is_load = |e: &Expr| element(e).is_some_and(|(array, _)| params.contains(array));
                if any(value, &mut is_load) || any(value, &mut |e| name(e).is_some_and(|n| loaded.contains(n))) {
                    loaded.insert(target);
                }
                if !matches!(value.kind, ExprKind::Name(_) | ExprKind::Int(_)) && builtin(value) != Some("tid") {
                    computed.insert(target);
                }
            }
        });
        visit::each_statement(&function.body, &mut |stmt| self.statement(stmt, &params, &loaded));
        each_expression(&function.body, &mut |expr| self.expression(expr, &params, &loaded, &computed));
    }

    fn statement(&mut self, stmt: &'a Stmt, params: &HashSet<&str>, loaded: &HashSet<&str>) {
        let mut store = |target: &'a Expr, updates: bool| {
            if let Some((array, _)) = element(target).filter(|(array, _)| params.contains(array)) {
                self.written.insert(array);
                if updates {
                    self.read.insert(array);
                }
            }
        };
        match &stmt.kind {
            StmtKind::Assign { targets, value } => {
                targets.iter().for_each(|target| store(target, false));
                if builtin(value) == Some("tid") {
                    self.thread_indices |= matches!(targets.first().map(|t| &t.kind), Some(ExprKind::Tuple(_)));
                }
                loads(value, &mut self.read);
            }
            StmtKind::AugAssign { target, value, .. } => {
                store(target, true);
                loads(value, &mut self.read);
            }
            StmtKind::For { target, iter, body, .. } => {
                self.loops = true;
                let open = |e: &Expr| {
                    name(e).is_some_and(|n| params.contains(n) || loaded.contains(n)) || element(e).is_some()
                };
                self.open_bound |= any(iter, &mut { open });
                let variable = name(target);
                let mut used = false;
                each_expression(body, &mut |expr| used |= name(expr) == variable);
                self.loop_unused |= !used;
            }
            StmtKind::While { .. } => (self.loops, self.whiles) = (true, true),
            StmtKind::If { then, .. } => {
                self.early_return |= matches!(then.as_slice(), [.., Stmt { kind: StmtKind::Return(_), .. }]);
                visit::expressions(stmt, &mut |whole| loads(whole, &mut self.read));
            }
            _ => visit::expressions(stmt, &mut |whole| loads(whole, &mut self.read)),
        }
    }

    fn expression(&mut self, expr: &'a Expr, params: &HashSet<&str>, loaded: &HashSet<&str>, computed: &HashSet<&str>) {
        self.used.extend(name(expr));
        let mut index = |indices: &[Expr]| {
            for index in indices {
                let mut load = |e: &Expr| element(e).is_some() || name(e).is_some_and(|n| loaded.contains(n));
                self.loaded_index |= any(index, &mut load);
                let is_name = |e: &Expr| name(e).is_some_and(|n| computed.contains(n));
                self.computed_index |= matches!(index.kind, ExprKind::Binary { .. }) || any(index, &mut { is_name });
            }
        };
        if let Some((_, indices)) = element(expr).filter(|(array, _)| params.contains(array)) {
            index(indices);
        }
        if let (Some(word), ExprKind::Call { args, .. }) = (builtin(expr), &expr.kind) {
            self.operator_calls |= OPERATORS.contains(&word);
            if word.starts_with("atomic_") {
                self.atomics = true;
                for arg in args.iter().skip(1).take(args.len().saturating_sub(2)) {
                    index(std::slice::from_ref(&arg.value));
                }
            }
            self.seed |= word == "rand_init" && args.first().is_some_and(|arg| is_literal(&arg.value));
            if TRANSCENDENTAL.contains(&word) {
                let inner = |e: &Expr| builtin(e).is_some_and(|word| TRANSCENDENTAL.contains(&word));
                self.nested |= args.iter().any(|arg| any(&arg.value, &mut { inner }));
            }
        }
        match &expr.kind {
            ExprKind::Float(value) => {
                let scaled = value * 1e3;
                let three = (scaled - scaled.round()).abs() < 1e-9 && scaled.round() as i64 % 10 != 0;
                self.three_decimals |= three && *value > 0.01;
            }
            ExprKind::Binary { op, left, right } => {
                let fold = is_literal(left) && is_literal(right) && !matches!(op, BinaryOp::Pow);
                self.literals |= fold;
            }
            ExprKind::Compare { first, rest } => {
                self.same |= rest.iter().any(|(_, other)| name(first).is_some() && name(first) == name(other));
            }
            _ => {}
        }
    }
}

/// The arrays of which an expression reads elements.
fn loads<'a>(expr: &'a Expr, out: &mut HashSet<&'a str>) {
    visit::walk(expr, &mut |one| out.extend(element(one).map(|(array, _)| array)));
}
