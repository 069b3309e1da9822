//! Small typed trees, lowered, verified, and shown as IR text.

use super::lower;
use crate::abi::{ArrayDescriptor, LaunchBounds};
use crate::check::Checked;
use crate::check::tree::*;
use crate::ids::Id;
use crate::ir::interp::{Outcome, run_kernel};
use crate::ir::print::print;
use crate::ir::verify::verify;
use crate::ir::{BinaryOp, CompareOp, Const};
use crate::source::{FileId, Span};
use crate::types::{ArrayType, BOOL, Element, I32, Scalar, Type};

mod random;

fn at() -> Span {
    Span::new(FileId(0), 0, 0)
}

fn expr(kind: ExprKind, ty: Type) -> Expr {
    Expr { kind, ty, span: at() }
}

fn stmt(kind: StmtKind) -> Stmt {
    Stmt { kind, span: at() }
}

fn int(value: i128) -> Expr {
    expr(ExprKind::Const(Const::int(Scalar::I32, value)), I32)
}

fn binary(op: BinaryOp, a: Expr, b: Expr) -> Expr {
    let ty = a.ty;
    expr(ExprKind::Binary(op, Box::new(a), Box::new(b)), ty)
}

fn add(a: Expr, b: Expr) -> Expr {
    binary(BinaryOp::Add, a, b)
}

fn less(a: Expr, b: Expr) -> Expr {
    expr(ExprKind::Compare(CompareOp::Lt, Box::new(a), Box::new(b)), BOOL)
}

fn when(condition: Expr, then: Vec<Stmt>, otherwise: Vec<Stmt>) -> Stmt {
    stmt(StmtKind::If { condition, then, otherwise })
}

fn give(value: Expr) -> Stmt {
    stmt(StmtKind::Return(vec![value]))
}

/// A function under construction: parameters first, then variables.
struct Fun {
    function: Function,
}

impl Fun {
    fn new(name: &str, params: &[(&str, Type)], results: &[Type]) -> Fun {
        let locals = params.iter().map(|(name, ty)| Local { name: name.to_string(), ty: *ty, span: at() }).collect();
        Fun {
            function: Function {
                name: name.into(),
                source_name: name.into(),
                kernel_rank: None,
                library: false,
                by_block: false,
                by_thread: false,
                cuda_name: None,
                gives: None,
                native: None,
                locals,
                param_count: params.len() as u32,
                results: results.to_vec(),
                nested: Vec::new(),
                accumulators: Vec::new(),
                by_ref: Vec::new(),
                arrays: Vec::new(),
                derivative: Default::default(),
                body: Vec::new(),
                span: at(),
                named: Default::default(),
                imported: None,
            },
        }
    }

    fn var(&mut self, name: &str, ty: Type) -> LocalId {
        self.function.locals.push(Local { name: name.into(), ty, span: at() })
    }

    fn get(&self, local: LocalId) -> Expr {
        expr(ExprKind::Local(local), self.function.locals[local].ty)
    }

    fn set(&self, local: LocalId, value: Expr) -> Stmt {
        stmt(StmtKind::Assign(self.place(local), value))
    }

    fn place(&self, local: LocalId) -> Place {
        Place { root: Root::Local(local), path: Vec::new(), ty: self.function.locals[local].ty, span: at() }
    }

    fn count(&self, variable: LocalId, end: Expr, body: Vec<Stmt>) -> Stmt {
        stmt(StmtKind::For { variable, start: int(0), end, step: int(1), body })
    }

    fn body(mut self, body: Vec<Stmt>) -> Function {
        self.function.body = body;
        self.function
    }
}

/// The IR, after it has passed the verifier.
fn module(functions: Vec<Function>) -> crate::ir::Module {
    let checked = Checked { functions: functions.into_iter().collect(), ..Checked::default() };
    let module = lower(&checked, false);
    if let Err(errors) = verify(&module) {
        panic!("{}\n{}", errors.join("\n"), print(&module));
    }
    module
}

/// The IR text of the last function.
fn text(functions: Vec<Function>) -> String {
    let shown = print(&module(functions));
    let last = shown.rfind("\nfunc").map_or(0, |start| start + 1);
    shown[last..].trim().to_string()
}

fn ints(ndim: u8) -> Type {
    Type::Array(ArrayType { element: Element::Scalar(Scalar::I32), ndim })
}

fn element(array: Expr, index: Vec<Expr>) -> Expr {
    expr(ExprKind::Load { array: Box::new(array), index, path: Vec::new() }, I32)
}

fn element_place(array: Expr, index: Vec<Expr>) -> Place {
    Place { root: Root::Element { array: Box::new(array), index }, path: Vec::new(), ty: I32, span: at() }
}

/// A dense one-dimensional array over a vector's memory.
fn descriptor(data: &mut [i32]) -> ArrayDescriptor {
    let shape = [data.len() as i32, 0, 0, 0];
    let data = data.as_mut_ptr().expose_provenance() as u64;
    ArrayDescriptor { data, grad: 0, shape, strides: [4, 0, 0, 0], ndim: 1, flags: 0 }
}

/// Interprets the last function, a kernel of one one-dimensional int32 array, with one thread.
fn launch(functions: Vec<Function>, data: &mut [i32]) -> String {
    let module = module(functions);
    let shown = print(&module);
    let (kernel, _) = module.functions.iter().next_back().expect("there is a kernel");
    let args = descriptor(data);
    let bounds = LaunchBounds::new(&[1]).expect("one thread");
    let mut outcome = Outcome::new(|_| {});
    outcome.steps = Some(10_000_000);
    // SAFETY: the array lies over `data`, which lives on.
    unsafe { run_kernel(&module, kernel, &bounds, std::ptr::from_ref(&args).cast(), 0, 1, &mut outcome) };
    assert_eq!(outcome.trap, None, "{shown}");
    shown
}

/// The values of the last function, which takes two int32 and gives one, for each pair of
/// arguments; and the IR.
fn run(mut functions: Vec<Function>, inputs: &[[i32; 2]]) -> (String, Vec<i32>) {
    let mut k = Fun::new("k", &[("io", ints(1))], &[]);
    k.function.kernel_rank = Some(1);
    let io = || k.get(A);
    let f = FnId::new(functions.len() - 1);
    let body = (0..inputs.len() as i128)
        .map(|n| {
            let args = vec![element(io(), vec![int(3 * n)]), element(io(), vec![int(3 * n + 1)])];
            let call = Call { callee: f, args, by_ref: Vec::new(), test: None, span: at() };
            let place = element_place(io(), vec![int(3 * n + 2)]);
            stmt(StmtKind::Assign(place, expr(ExprKind::Call(call), I32)))
        })
        .collect();
    functions.push(k.body(body));
    let mut data: Vec<i32> = inputs.iter().flat_map(|&[a, b]| [a, b, 0]).collect();
    let shown = launch(functions, &mut data);
    (shown, data.chunks(3).map(|chunk| chunk[2]).collect())
}

const A: LocalId = LocalId(0);
const B: LocalId = LocalId(1);

#[test]
fn a_branch_gives_what_is_read_later_and_nothing_else() {
    let mut f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
    let (x, t) = (f.var("x", I32), f.var("t", I32));
    let body = vec![
        f.set(x, int(1)),
        when(
            less(f.get(A), f.get(B)),
            vec![f.set(t, add(f.get(A), f.get(A))), f.set(x, add(f.get(t), f.get(t)))],
            vec![],
        ),
        give(f.get(x)),
    ];
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %x: int32 = const 1
  %0: bool = lt %a, %b
  %x.1: int32 = if %0 {
    %t: int32 = add %a, %a
    %x.2: int32 = add %t, %t
    yield %x.2
  } else {
    yield %x
  }
  return %x.1
}";
    assert_eq!(text(vec![f.body(body)]), expected);
}

#[test]
fn a_loop_carries_what_its_iterations_hand_on() {
    let mut f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
    let (x, t, i) = (f.var("x", I32), f.var("t", I32), f.var("i", I32));
    let body = vec![
        f.count(
            i,
            f.get(A),
            vec![
                f.set(t, add(f.get(i), f.get(B))),
                when(less(f.get(t), int(3)), vec![stmt(StmtKind::Continue)], vec![]),
                when(less(int(100), f.get(t)), vec![f.set(x, int(5)), stmt(StmtKind::Break)], vec![]),
                f.set(x, add(f.get(x), f.get(t))),
            ],
        ),
        give(add(f.get(x), f.get(i))),
    ];
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %0: int32 = const 0
  %1: int32 = const 1
  %2: int32 = zero
  %3: int32 = zero
  %x: int32, %i: int32 = for %i.1: int32 = %0 to %a step %1 carry %x.1: int32 = %2, %i.2: int32 = %3 {
    %t: int32 = add %i.1, %b
    %4: int32 = const 3
    %5: bool = lt %t, %4
    if %5 {
      continue %x.1, %i.1
    }
    %6: int32 = const 100
    %7: bool = lt %6, %t
    if %7 {
      %x.2: int32 = const 5
      break %x.2, %i.1
    }
    %x.3: int32 = add %x.1, %t
    yield %x.3, %i.1
  }
  %8: int32 = add %x, %i
  return %8
}";
    assert_eq!(text(vec![f.body(body)]), expected);
}

fn assign(place: Place, value: Expr) -> Stmt {
    stmt(StmtKind::Assign(place, value))
}

/// A kernel `k(io: array(int32))` with this body.
fn kernel(body: impl FnOnce(&mut Fun) -> Vec<Stmt>) -> Function {
    let mut k = Fun::new("k", &[("io", ints(1))], &[]);
    k.function.kernel_rank = Some(1);
    let body = body(&mut k);
    k.body(body)
}

#[test]
fn slices_follow_python() {
    // io[start:stop:step][n] for n = 0 .. 2, where there are so many; the extents show in the sums.
    let extent = 7i128;
    let bound = |value: Option<i128>| value.map(int);
    for (start, stop, step) in [
        (None, None, None),
        (Some(2), None, None),
        (None, Some(-2), None),
        (Some(-3), Some(100), None),
        (Some(-100), Some(4), Some(2)),
        (Some(5), Some(2), None),
        (Some(1), None, Some(3)),
        (None, None, Some(-1)),
        (Some(3), None, Some(-1)),
        (Some(-2), Some(1), Some(-2)),
        (Some(100), Some(-100), Some(-3)),
        (Some(1), Some(4), Some(-1)),
    ] {
        for known in [true, false] {
            let function = kernel(|k| {
                let (zero, view, sum, i) =
                    (k.var("zero", I32), k.var("view", ints(1)), k.var("sum", I32), k.var("i", I32));
                // Bounds as constants, or as values that only run time knows.
                let bound = |value| bound(value).map(|v| if known { v } else { add(v, k.get(zero)) });
                let range = ViewIndex::Range { start: bound(start), stop: bound(stop), step: bound(step) };
                let slice = ExprKind::View { array: Box::new(k.get(A)), index: vec![range] };
                let count = expr(ExprKind::Extent(Box::new(k.get(view)), 0), I32);
                vec![
                    k.set(zero, element(k.get(A), vec![int(0)])),
                    k.set(view, expr(slice, ints(1))),
                    k.count(
                        i,
                        count,
                        vec![
                            k.set(sum, binary(BinaryOp::Mul, k.get(sum), int(10))),
                            k.set(sum, add(k.get(sum), element(k.get(view), vec![k.get(i)]))),
                        ],
                    ),
                    assign(element_place(k.get(A), vec![int(0)]), k.get(sum)),
                ]
            });
            let mut data: Vec<i32> = (0..extent as i32).collect();
            let shown = launch(vec![function], &mut data);
            // Python's rule.
            let step = step.unwrap_or(1);
            let (low, high) = if step > 0 { (0, extent) } else { (-1, extent - 1) };
            let place = |bound: i128| (if bound < 0 { bound + extent } else { bound }).clamp(low, high);
            let (first, past) = if step > 0 { (low, high) } else { (high, low) };
            let (first, past) = (start.map_or(first, place), stop.map_or(past, place));
            let inside = |n: &i128| if step > 0 { *n < past } else { *n > past };
            let named = std::iter::successors(Some(first), |n| Some(n + step)).take_while(inside);
            let expected = named.fold(0, |sum, n| sum * 10 + n as i32);
            assert_eq!(data[0], expected, "{start:?}:{stop:?}:{step:?}\n{shown}");
        }
    }
}

#[test]
fn what_may_be_outside_an_array_is_read_only_when_asked_for() {
    // io[1] = 1 if io[0] > 100 and io[io[0]] > 0 else 2: the load would be an error of the run.
    let function = kernel(|k| {
        let first = element(k.get(A), vec![int(0)]);
        let far = element(k.get(A), vec![first.clone()]);
        let condition = Box::new(expr(ExprKind::And(vec![less(int(100), first), less(int(0), far)]), BOOL));
        let value = ExprKind::Conditional { condition, then: Box::new(int(1)), otherwise: Box::new(int(2)) };
        vec![assign(element_place(k.get(A), vec![int(1)]), expr(value, I32))]
    });
    let mut data = [50, 0];
    let shown = launch(vec![function], &mut data);
    assert_eq!(data, [50, 2]);
    assert!(shown.contains("= if ") && shown.contains("select"), "{shown}");
}

#[test]
fn the_place_of_a_reference_is_evaluated_once() {
    // bump(io[io[0]++]) with the index from an atomic.
    let bump = random::bump();
    let function = kernel(|k| {
        let next = |k: &Fun| {
            let place = element_place(k.get(A), vec![int(0)]);
            expr(ExprKind::Atomic { op: crate::ir::AtomicOp::Add, place, value: Box::new(int(1)) }, I32)
        };
        let args = vec![element(k.get(A), vec![next(k)])];
        let by_ref = vec![element_place(k.get(A), vec![next(k)])];
        vec![stmt(StmtKind::Call(Call { callee: FnId(0), args, by_ref, test: None, span: at() }))]
    });
    let mut data = [1, 10, 20];
    launch(vec![bump, function], &mut data);
    assert_eq!(data, [2, 13, 20]);
}

#[test]
fn a_loop_over_components_is_unrolled() {
    // v = vec3(1, 2, 3); for i in range(3): v[i] = v[i] + v[-1]; then io[i] = v[i], and a step
    // outside stays dynamic.
    let vec3 = Type::Vec(3, Scalar::I32);
    let function = kernel(|k| {
        let (v, i) = (k.var("v", vec3), k.var("i", I32));
        let part = |k: &Fun, index: Expr| {
            let path = vec![Step::Dynamic(Box::new(index))];
            expr(ExprKind::Part { base: Box::new(k.get(v)), path }, I32)
        };
        let path = vec![Step::Dynamic(Box::new(k.get(i)))];
        let place = Place { root: Root::Local(v), path, ty: I32, span: at() };
        vec![
            k.set(v, expr(ExprKind::Construct(vec![int(1), int(2), int(3)]), vec3)),
            k.count(i, int(3), vec![assign(place, add(part(k, k.get(i)), part(k, int(-1))))]),
            k.count(i, int(3), vec![assign(element_place(k.get(A), vec![k.get(i)]), part(k, k.get(i)))]),
            assign(element_place(k.get(A), vec![int(3)]), part(k, int(3))),
        ]
    });
    let mut data = [9; 4];
    let shown = launch(vec![function], &mut data);
    assert_eq!(data, [4, 5, 6, 0]);
    assert!(!shown.contains(" for "), "{shown}");
}

/// `v[i] += 1` evaluates its index once, and `k = i` may come before `v[k]`: in both a local
/// chooses the component that was computed from the loop's variable.
#[test]
fn a_loop_over_components_is_unrolled_where_the_index_is_computed_first() {
    let vec3 = Type::Vec(3, Scalar::I32);
    let function = kernel(|k| {
        let (v, i, j, n) = (k.var("v", vec3), k.var("i", I32), k.var("j", I32), k.var("n", I32));
        let path = vec![Step::Dynamic(Box::new(k.get(n)))];
        let part = || expr(ExprKind::Part { base: Box::new(k.get(v)), path: path.clone() }, I32);
        let place = || Place { root: Root::Local(v), path: path.clone(), ty: I32, span: at() };
        let update = |variable| vec![k.set(n, add(k.get(variable), int(0))), assign(place(), add(part(), int(1)))];
        vec![
            k.set(v, expr(ExprKind::Construct(vec![int(1), int(2), int(3)]), vec3)),
            k.count(i, int(3), update(i)),
            // By the same local again.
            k.count(j, int(3), update(j)),
            k.set(n, int(2)),
            assign(element_place(k.get(A), vec![int(0)]), part()),
        ]
    });
    let mut data = [9];
    let shown = launch(vec![function], &mut data);
    assert_eq!(data, [5]);
    assert!(!shown.contains(" for "), "{shown}");
}

/// Unrolling stops at 16 iterations, and where all copies of a body would be too many: the inner
/// loops stay then.
#[test]
fn long_and_deep_loops_over_components_stay() {
    let loops = |iterations: i128, depth: u32| {
        let vec3 = Type::Vec(3, Scalar::I32);
        let function = kernel(|k| {
            let (v, i) = (k.var("v", vec3), k.var("i", I32));
            let path = vec![Step::Dynamic(Box::new(k.get(i)))];
            let place = Place { root: Root::Local(v), path: path.clone(), ty: I32, span: at() };
            let part = expr(ExprKind::Part { base: Box::new(k.get(v)), path }, I32);
            let mut body = vec![assign(place, add(part, int(1)))];
            for _ in 0..depth {
                body = vec![k.count(i, int(iterations), body)];
            }
            body.insert(0, k.set(v, expr(ExprKind::Construct(vec![int(1), int(2), int(3)]), vec3)));
            let first =
                expr(ExprKind::Part { base: Box::new(k.get(v)), path: vec![Step::Dynamic(Box::new(int(0)))] }, I32);
            body.push(assign(element_place(k.get(A), vec![int(0)]), first));
            body
        });
        let mut data = [0];
        let shown = launch(vec![function], &mut data);
        assert_eq!(i128::from(data[0]), 1 + iterations.pow(depth - 1), "{shown}");
        shown.matches("= for ").count()
    };
    assert_eq!(loops(16, 1), 0);
    assert_eq!(loops(17, 1), 1);
    assert_eq!(loops(16, 2), 0);
    assert_eq!(loops(16, 3), 256);
}

#[test]
fn a_guard_nests_nothing() {
    // if a < b: return a, elif b < a: return b, else: return 0
    let f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
    let body = vec![when(
        less(f.get(A), f.get(B)),
        vec![give(f.get(A))],
        vec![when(less(f.get(B), f.get(A)), vec![give(f.get(B))], vec![give(int(0))])],
    )];
    let expected = "\
func @f(%a: int32, %b: int32) -> (int32) {
  %0: bool = lt %a, %b
  if %0 {
    return %a
  }
  %1: bool = lt %b, %a
  if %1 {
    return %b
  }
  %2: int32 = const 0
  return %2
}";
    assert_eq!(text(vec![f.body(body)]), expected);
}

#[test]
fn many_branches_and_variables_take_linear_time() {
    // if a < 0: x0 = a, elif a < 1: x1 = a, ... 1,000 deep, each with a variable of its own, and
    // their sum.
    let build = || {
        let mut f = Fun::new("f", &[("a", I32), ("b", I32)], &[I32]);
        let variables: Vec<LocalId> = (0..1000).map(|n| f.var(&format!("x{n}"), I32)).collect();
        let mut chain = Vec::new();
        for (n, &x) in variables.iter().enumerate().rev() {
            chain = vec![when(less(f.get(A), int(n as i128)), vec![f.set(x, f.get(B))], chain)];
        }
        let last = variables[999];
        chain.push(give(add(f.get(variables[0]), f.get(last))));
        f.body(chain)
    };
    let thread = std::thread::Builder::new().stack_size(1 << 29).spawn(move || {
        let start = std::time::Instant::now();
        let module = module(vec![build()]);
        assert!(module.functions.values().next().is_some_and(|f| f.insts.len() < 12_000));
        start.elapsed()
    });
    let elapsed = thread.expect("a thread").join().expect("no panic");
    assert!(elapsed.as_secs() < 5, "{elapsed:?}");
}

#[test]
fn unrolled_steps_read_as_one_expression() {
    // dot(a, b) of the library: the steps lose their names, the printer puts them together.
    let vec3 = Type::Vec(3, Scalar::I32);
    let mut f = Fun::new("dot", &[("a", vec3), ("b", vec3)], &[I32]);
    f.function.library = true;
    let (s, i) = (f.var("s", I32), f.var("i", I32));
    let product = |f: &Fun, at: Expr| {
        let part = |local| {
            let path = vec![Step::Dynamic(Box::new(at.clone()))];
            expr(ExprKind::Part { base: Box::new(f.get(local)), path }, I32)
        };
        binary(BinaryOp::Mul, part(A), part(B))
    };
    let body = vec![
        f.set(s, product(&f, int(0))),
        stmt(StmtKind::For {
            variable: i,
            start: int(1),
            end: int(3),
            step: int(1),
            body: vec![f.set(s, add(f.get(s), product(&f, f.get(i))))],
        }),
        give(f.get(s)),
    ];
    let shown = text(vec![f.body(body)]);
    assert!(!shown.contains("%s") && !shown.contains(" for "), "{shown}");
}

#[test]
fn components_set_one_by_one_become_a_construction() {
    let vec3 = Type::Vec(3, Scalar::I32);
    let mut f = Fun::new("iota", &[("a", I32)], &[vec3]);
    f.function.library = true;
    let (v, i) = (f.var("v", vec3), f.var("i", I32));
    let path = vec![Step::Dynamic(Box::new(f.get(i)))];
    let place = Place { root: Root::Local(v), path, ty: I32, span: at() };
    let body = vec![f.count(i, int(3), vec![assign(place, add(f.get(A), f.get(i)))]), give(f.get(v))];
    let shown = text(vec![f.body(body)]);
    assert!(shown.contains("construct"), "{shown}");
}
