//! In which orders do passes run? Every order has its name here: what runs two passes in a row
//! calls one of these.
//!
//! | pipeline | passes | why in this order |
//! |---|---|---|
//! | [`simplify`] | [`simplify_function`], then [`select()`] | only calls that are gone no longer keep their functions |
//! | [`simplify_function`] | [`rewrite`], [`dce`], until nothing changes | what the walk left unused, the sweep takes, and the walk finds more |
//! | [`clean`] | [`rewrite`], [`dce`] | what a transformation left unused is gone |
//! | [`reversible`] | [`test_inside`], [`loop_exits`], [`join_stores`], [`chosen_arrays`], [`local_arrays`], [`forward_loads`], [`code_sinking`], [`clean`] | conditions first, for exits go by them; then see below |
//! | [`forward_loops`] | [`loop_reversal`], [`clean`] | finished reverse code: only there is it known what a loop carries |
//! | [`tidy_reverse`] | [`adjacent`], [`code_sinking`] | joined branches take in more of what only they need |
//! | [`last_takes`] | [`unread_stores`], [`clean`] | finished reverse code: nothing reads the tiles again |
//! | [`own_elements`] | [`own_sums`], [`forward_loads`], [`zero_sums`], [`dead_stores`], [`clean`] | plain sums load; a store is dead when no load of its element is left |
//! | [`compute_once`] | [`computed_once`], [`clean`] | what is computed again is unused |
//! | [`loads_once`] | [`forward_loads`], [`clean`] | operands of loads that are gone may be unused |
//! | [`write_out`] | [`unroll`], [`clean`] | written-out loops leave constants |
//! | [`drop_tests`] | [`clean`] | what only the tests used is unused without them |
//! | [`small_tiles`] | [`clean`], [`unroll`], [`local_arrays`] | elements have constant indices when their loops are written out |
//! | [`flat`] | [`inline`], [`loop_exits`], [`clean`] | inlined functions bring exits of their own |
//!
//! These run by themselves, where their callers need what they make:
//!
//! | pass | called by | why there |
//! |---|---|---|
//! | [`same_arrays`] | `driver` | before all others: it makes one parameter of two |
//! | [`inline`] | `autodiff`, `codegen` | as many calls as the caller asks for |
//! | [`zero_sums`] | `autodiff` | on reverse code as it is made; [`own_elements`] does it again |
//! | [`select()`] | `driver`, `autodiff` | when it is known which kernels are wanted |
//! | [`thread_loops`] | `driver` | before differentiation: loops over threads are differentiated |
//! | [`reverse_sums`] | [`block_threads`], `codegen`, `run` | before loops are dealt out or ordered |
//! | [`block_alone`] | `codegen` | for the host, whose blocks are one thread |
//! | [`block_threads`] | `codegen` | for a GPU; its own order is `block_threads::steps` |
//! | [`index_checks`] | `codegen` | for the simulator, on finished code |
//! | [`zero_adjoints`] | `codegen` | for a GPU, on finished code |
//! | [`fast_math`] | `driver` | last: entries and functions that differentiation makes are marked too |
//!
//! In [`simplify`], a walk in program order sees operands before their uses; the sweep takes what
//! the walk left unused, and fewer carried values let the walk find more; and only calls that are
//! gone no longer keep their functions.
//!
//! In [`reversible`], arrays are chosen by number, and local arrays become values, only where every
//! region has one exit; a load is forwarded more often when fewer arrays are left; and only then is
//! it known which choices guard values that need not exist.
//!
//! [`same_arrays`]: super::same_arrays
//! [`thread_loops`]: super::thread_loops
//! [`reverse_sums`]: super::reverse_sums
//! [`block_alone`]: super::block_alone
//! [`block_threads`]: super::block_threads
//! [`index_checks`]: super::index_checks
//! [`zero_adjoints`]: super::zero_adjoints
//! [`fast_math`]: super::fast_math

use super::{
    adjacent, chosen_arrays, code_sinking, computed_once, dce, dead_stores, forward_loads, inline, join_stores,
    local_arrays, loop_exits, loop_reversal, own_sums, rewrite, select, test_inside, unread_stores, unroll, zero_sums,
};
use crate::analysis::effects::EffectTable;
use crate::ids::IdSet;
use crate::ir::verify::{Form, Within, verify, verify_body, verify_function};
use crate::ir::{Check, FuncId, Function, Inst, Module, Op, Step, ValueId};
use crate::types::StructTable;

/// More rounds than real programs need: each takes at least one thing away, most do all in two.
const MAX_ROUNDS: usize = 10;

/// Rounds after a transformation, which leaves less behind.
const MAX_CLEANING: usize = 6;

/// A local array with more scalars than this stays in memory when its function is differentiated.
pub const MAX_LOCAL_SCALARS: u64 = 256;

/// The same where tiles are: larger ones stay in memory, as their shadows do.
const MAX_TILE_SCALARS: u64 = 4;

/// Hundreds of `elif`s, or of early returns, are as many blocks one in another. Passes that look at
/// the whole inside of each take a time in the square of the depth, or worse: from here on those
/// are left out that only make code better.
const MAX_DEPTH: usize = 100;

/// Simplifies a module, except for linked functions, which are finished. Debug builds verify the
/// module after every pass; the driver verifies the result always.
pub fn simplify(module: &mut Module) {
    let mut effects = EffectTable::default();
    for id in module.functions.ids() {
        if !module.functions.is_linked(id) {
            simplify_function(module, id, &mut effects);
        }
    }
    // A module without kernels is a library: all of it is wanted.
    if module.kernels().next().is_some() {
        select(module, |_| true);
        check("select", module, || verify(module));
    }
}

/// The part of [`simplify`] that looks at one function. Those that it calls are simple by now:
/// callees come first, where the compiler made the module.
pub fn simplify_function(module: &mut Module, id: FuncId, effects: &mut EffectTable) {
    for callee in module.functions.callees(id) {
        effects.cover(module, callee);
    }
    for _ in 0..MAX_ROUNDS {
        let more = round(&mut module.functions[id], &module.structs, effects);
        check("round", module, || verify_function(module, id));
        if !more {
            break;
        }
    }
    dce::forget_calls(&mut module.functions[id]);
}

/// Removes what a transformation of a function left unused.
pub fn clean(function: &mut Function, structs: &StructTable, effects: &EffectTable) {
    for _ in 0..MAX_CLEANING {
        if !round(function, structs, effects) {
            break;
        }
    }
    verified("clean", function, structs, Form::Any);
}

/// Brings a function into the form that can be differentiated: no condition of a loop that writes,
/// one exit per region, one store of what both branches end with, no accesses of arrays that were
/// chosen, small local arrays as values, no load of an element that the thread itself has just
/// stored. With `sinking`, what only one side of a choice needs moves under a branch.
pub fn reversible(function: &mut Function, structs: &StructTable, effects: &EffectTable, sinking: bool) {
    test_inside::run(function, effects);
    loop_exits::run(function);
    clean(function, structs, effects);
    // Each level of branches is looked at from its end.
    if !function.by_block && !function.is_deeper_than(MAX_DEPTH) && join_stores::run(function, effects) {
        clean(function, structs, effects);
    }
    if chosen_arrays::run(function, structs) {
        clean(function, structs, effects);
    }
    if function.has(|inst| matches!(inst.op, Op::LocalArray)) {
        let most = if function.by_block { MAX_TILE_SCALARS } else { MAX_LOCAL_SCALARS };
        local_arrays::run(function, structs, most);
        clean(function, structs, effects);
    }
    let loads = function.has(|inst| matches!(inst.op, Op::Load(_)));
    if loads && !function.is_deeper_than(MAX_DEPTH) && forward_loads::run(function, effects) {
        clean(function, structs, effects);
    }
    if sinking {
        code_sinking::run(function, effects);
    }
    verified("reversible", function, structs, Form::Reversible);
}

/// Joins neighbouring branches of finished reverse code and moves into them what only they need.
/// Returns whether anything changed.
pub fn tidy_reverse(function: &mut Function, effects: &EffectTable) -> bool {
    if function.is_deeper_than(MAX_DEPTH) {
        return false;
    }
    let joined = adjacent::run(function, effects);
    code_sinking::into_branches(function, effects) || joined
}

/// Lets loops of finished reverse code go forward where their order does not matter.
pub fn forward_loops(function: &mut Function, structs: &StructTable, effects: &EffectTable) {
    if loop_reversal::run(function, effects) {
        clean(function, structs, effects);
    }
}

/// Lets reverse code leave nothing in tiles that nothing reads again.
pub fn last_takes(function: &mut Function, structs: &StructTable, effects: &EffectTable) {
    if function.by_block && !function.is_deeper_than(MAX_DEPTH) && unread_stores::run(function) {
        clean(function, structs, effects);
    }
}

/// Lets reverse code add plainly to the thread's own elements, and read none again that it has just
/// written, where different arrays share no memory.
pub fn own_elements(function: &mut Function, structs: &StructTable, effects: &EffectTable) {
    if function.is_deeper_than(MAX_DEPTH) {
        return;
    }
    let plain = own_sums::run(function);
    if !forward_loads::run_stored(function, effects) && !plain {
        return;
    }
    clean(function, structs, effects);
    if zero_sums::start_without_zero(function) {
        clean(function, structs, effects);
    }
    if dead_stores::run(function, effects) {
        clean(function, structs, effects);
    }
    verified("own_elements", function, structs, Form::Any);
}

/// Lets code compute once what it computes again.
pub fn compute_once(function: &mut Function, structs: &StructTable, effects: &EffectTable) {
    if computed_once::run(function, effects) {
        clean(function, structs, effects);
    }
}

/// Lets code load an element once as long as nothing is written; says whether it did it again.
pub fn loads_once(function: &mut Function, structs: &StructTable, effects: &EffectTable) -> bool {
    if function.is_deeper_than(MAX_DEPTH) || !forward_loads::run_repeated(function, effects) {
        return false;
    }
    clean(function, structs, effects);
    verified("loads_once", function, structs, Form::Any);
    true
}

/// Takes what forward code has for differentiation alone, when that is done: the tests of
/// [`Check::Degenerate`] and [`Check::Visit`].
pub fn drop_tests(module: &mut Module) {
    let is_test = |inst: &Inst| matches!(&inst.op, Op::Check(Check::Degenerate { .. } | Check::Visit, operands) if operands.len() > 1);
    let mut effects = EffectTable::default();
    for id in module.functions.ids() {
        if module.functions.is_linked(id) || !module.functions[id].has(is_test) {
            continue;
        }
        for callee in module.functions.callees(id) {
            effects.cover(module, callee);
        }
        let Module { functions, structs, .. } = &mut *module;
        let function = &mut functions[id];
        let Function { blocks, insts, .. } = &mut *function;
        blocks.values_mut().for_each(|block| block.insts.retain(|inst| !is_test(&insts[*inst])));
        clean(function, structs, &effects);
        check("drop_tests", module, || verify_function(module, id));
    }
}

/// Makes values of tiles of few elements, which are then variables of each thread of a block, for
/// all with the same elements. Not of those that `shared` says.
pub fn small_tiles(
    function: &mut Function,
    structs: &StructTable,
    effects: &EffectTable,
    shared: &dyn Fn(&Function) -> IdSet<ValueId>,
) {
    clean(function, structs, effects);
    unroll::run(function, &|_, counted| counted.iterations == 1);
    clean(function, structs, effects);
    let shared = shared(function);
    local_arrays::run_without(function, structs, MAX_TILE_SCALARS, &shared);
    clean(function, structs, effects);
}

/// The most iterations of a loop that is written out, and the most instructions that become of it.
const MAX_WRITTEN_OUT: (u64, u64) = (16, 6000);

/// The module with the short loops written out that pick from tables of constants; None: there are
/// no such loops. A reader wants the loop; processors want what is picked as constants (host code
/// of a lattice-Boltzmann step with nine directions takes 1.7 to 1.8 times as long in loops).
pub fn write_out(module: &Module) -> Option<Module> {
    let candidates: Vec<FuncId> = module.functions.ids().filter(|&id| has_table_loop(module, id)).collect();
    if candidates.is_empty() {
        return None;
    }
    let mut written = module.clone();
    let mut effects = EffectTable::default();
    let mut changed = false;
    for id in candidates {
        for callee in module.functions.callees(id) {
            effects.cover(module, callee);
        }
        let Module { functions, structs, .. } = &mut written;
        let function = &mut functions[id];
        if unroll::run(function, &is_table_loop) {
            clean(function, structs, &effects);
            changed = true;
            check("write_out", &written, || verify_function(&written, id));
        }
    }
    changed.then_some(written)
}

fn has_table_loop(module: &Module, id: FuncId) -> bool {
    let function = &module.functions[id];
    !module.functions.is_linked(id)
        && function.has(|inst| matches!(inst.op, Op::For { .. }))
        && function.has(|inst| picks_from_table(function, inst))
}

fn is_table_loop(function: &Function, counted: &unroll::Counted) -> bool {
    let (iterations, size) = MAX_WRITTEN_OUT;
    let all = counted.iterations.saturating_mul(counted.size as u64);
    let mut picks = false;
    function.walk(counted.body, &mut |_, inst| picks |= picks_from_table(function, inst));
    picks && counted.iterations <= iterations && all <= size
}

/// Whether an instruction takes a part of a composite of constants, by a value.
fn picks_from_table(function: &Function, inst: &Inst) -> bool {
    let Op::Extract(of, path) = &inst.op else { return false };
    let constant = |&part: &ValueId| function.as_const(part).is_some();
    let table = || matches!(function.op(*of), Some(Op::Construct(parts)) if parts.iter().all(constant));
    path.iter().any(|step| matches!(step, Step::Dynamic(_))) && table()
}

/// A copy of a kernel without calls and with one exit per region. None: it would grow too large.
pub fn flat(module: &Module, kernel: FuncId) -> Option<Function> {
    let mut function = module.functions[kernel].clone();
    inline::run(&mut function, module, &|_| true).ok()?;
    loop_exits::run(&mut function);
    // No calls are left whose effects could matter.
    clean(&mut function, &module.structs, &EffectTable::default());
    Some(function)
}

/// One walk and one sweep; returns whether another round may find more.
///
/// A walk replaces operands before it reaches their uses, and a sweep takes everything that nothing
/// needs. What they can leave for each other is little: an operation that may have a simpler form
/// in turn, uses of what a loop carries without changing it, and a `while` whose condition turned
/// out to fail after the walk had asked for it.
pub(super) fn round(function: &mut Function, structs: &StructTable, effects: &EffectTable) -> bool {
    let walked = rewrite::walk(function, structs);
    let swept = dce::sweep(function, effects);
    walked.unfinished || swept.replaced || walked.changed && swept.has_while
}

/// Verifies a function after a pass, in a form, in debug builds and tests.
pub(super) fn verified(pass: impl std::fmt::Display, function: &Function, structs: &StructTable, form: Form) {
    if cfg!(debug_assertions)
        && let Err(errors) = verify_body(Within::Structs(structs), function, form)
    {
        panic!("after pass {pass}: {}", errors.join("\n"));
    }
}

/// A pass that breaks a rule is a fault of kc, found in debug builds and tests.
fn check(pass: &str, module: &Module, verified: impl Fn() -> Result<(), Vec<String>>) {
    if cfg!(debug_assertions)
        && let Err(errors) = verified()
    {
        panic!("after pass {pass}: {}\n{}", errors.join("\n"), crate::ir::print::print(module));
    }
}
