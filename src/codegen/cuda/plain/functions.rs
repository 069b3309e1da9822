//! Which functions that take arrays stay functions? Their arrays become pointers, behind which
//! stand the extents that the code asks for: `sample(f, f_cols, x, y)`.

use crate::analysis::ranges::{Bounds, Ranges};
use crate::diag::Diagnostic;
use crate::ids::{IdMap, IdSet};
use crate::ir::{AtomicOp, FuncId, Function, Inst, Module, Op, ResultRole, ValueId};
use crate::types::Type;

use super::prepare::Entry;

/// The functions that stay, and the kernels without calls of others that take arrays. `inlined`
/// makes a kernel where only these stay.
pub fn kept(
    module: &Module,
    kernels: &[FuncId],
    inlined: impl Fn(FuncId, &IdSet<FuncId>) -> Result<Entry, Box<Diagnostic>>,
) -> Result<(IdSet<FuncId>, Vec<Entry>), Box<Diagnostic>> {
    let mut kept: IdSet<FuncId> = IdSet::default();
    let (mut seen, mut next) = (IdSet::default(), kernels.to_vec());
    while let Some(id) = next.pop() {
        if seen.insert(id) {
            let function = &module.functions[id];
            kept.extend(may_stay(function).then_some(id));
            function.walk(function.entry, &mut |_, inst| {
                next.extend(if let Op::Call(callee, _) = inst.op { Some(callee) } else { None });
            });
        }
    }
    // What calls one that does not stay with its own arrays does not stay.
    loop {
        let before = kept.len();
        let unfit = |&id: &FuncId| {
            let function = &module.functions[id];
            function.has(|inst| !is_good(module, function, inst, &kept))
        };
        let unfit: Vec<FuncId> = kept.iter().copied().filter(unfit).collect();
        unfit.iter().for_each(|id| _ = kept.remove(id));
        let entries = kernels.iter().map(|&id| inlined(id, &kept)).collect::<Result<Vec<Entry>, _>>()?;
        for Entry { function, .. } in &entries {
            function.walk(function.entry, &mut |_, inst| {
                if let Op::Call(callee, args) = &inst.op
                    && !are_parameters(function, args)
                {
                    kept.remove(callee);
                }
            });
        }
        if kept.len() == before {
            return Ok((kept, entries));
        }
    }
}

/// Whether a function takes arrays, and nothing but its calls and accesses is against pointers. A
/// sum at one place of all threads is one of warps in the kernel.
fn may_stay(function: &Function) -> bool {
    let is_array = |&param: &ValueId| matches!(function.ty(param), Type::Array(_));
    let one_place = |inst: &Inst| {
        let Op::Atomic { op: AtomicOp::Add, access, .. } = &inst.op else { return false };
        access.indices.iter().all(|&index| function.as_const(index).is_some())
    };
    !function.is_kernel()
        && !function.library
        && !function.by_block
        && function.native.is_none()
        && function.cuda_name.is_none()
        && function.params().iter().any(is_array)
        && function.results.iter().all(|result| result.role == ResultRole::Return)
        && !function.has(one_place)
}

/// Whether an instruction needs only pointers and extents of arrays that are parameters.
fn is_good(module: &Module, function: &Function, inst: &Inst, kept: &IdSet<FuncId>) -> bool {
    let is_array = |ty: Type| matches!(ty, Type::Array(_));
    if let Op::Call(callee, args) = &inst.op {
        let takes_arrays = args.iter().any(|&arg| is_array(function.ty(arg)));
        let gives_arrays = module.functions[*callee].results.iter().any(|result| is_array(result.ty));
        return !gives_arrays && (!takes_arrays || kept.contains(callee) && are_parameters(function, args));
    }
    let of = if let Op::Extent(array, _) | Op::IsSet(array) = inst.op {
        Some(array)
    } else {
        inst.op.access().map(|access| access.array)
    };
    let mut good = true;
    inst.op.for_each_operand(|value| {
        good &= !is_array(function.ty(value)) || of == Some(value) && function.params().contains(&value);
    });
    good
}

/// Whether the arrays among the arguments are parameters, each another one: two pointers of a
/// function share no memory.
fn are_parameters(function: &Function, args: &[ValueId]) -> bool {
    let arrays: Vec<ValueId> = args.iter().copied().filter(|&arg| matches!(function.ty(arg), Type::Array(_))).collect();
    let good = |(n, array): (usize, &ValueId)| function.params().contains(array) && !arrays[..n].contains(array);
    arrays.iter().enumerate().all(good)
}

/// The functions that stay, each behind all that call it.
pub fn callers_first(module: &Module, kept: &IdSet<FuncId>) -> Vec<FuncId> {
    // Callees come first, where the compiler made the module; not so in a text that was read.
    let mut order: Vec<FuncId> = Vec::new();
    let mut left: Vec<FuncId> = module.functions.ids().filter(|id| kept.contains(id)).collect();
    while !left.is_empty() {
        let called = |id: FuncId, by: &[FuncId]| {
            by.iter().any(|&other| {
                other != id
                    && module.functions[other].has(|inst| matches!(inst.op, Op::Call(callee, _) if callee == id))
            })
        };
        let at = left.iter().rposition(|&id| !called(id, &left)).unwrap_or(left.len() - 1);
        order.push(left.remove(at));
    }
    order
}

/// What all calls of a function say of its arguments.
#[derive(Clone)]
pub struct Calls {
    pub bounds: Vec<Option<Bounds>>,
    /// An array of adjoints that is there.
    pub there: Vec<bool>,
    /// The number of the argument whose extents an array has.
    pub like: Vec<Option<usize>>,
}

/// Adds what a finished function says of the functions that it calls.
pub fn note_calls(entry: &Entry, ranges: &Ranges, kept: &IdSet<FuncId>, known: &mut IdMap<FuncId, Calls>) {
    let function = &entry.function;
    function.walk(function.entry, &mut |id, inst| {
        let Op::Call(callee, args) = &inst.op else { return };
        if !kept.contains(callee) {
            return;
        }
        let there = |arg: &ValueId| entry.given.iter().any(|place| place.param == *arg && place.path.is_empty());
        let like = |arg: &ValueId| entry.like.get(arg).and_then(|of| args.iter().position(|other| other == of));
        let here = Calls {
            bounds: args.iter().map(|&arg| ranges.bounds_at(id, arg)).collect(),
            there: args.iter().map(there).collect(),
            like: args.iter().map(like).collect(),
        };
        match known.get_mut(callee) {
            None => _ = known.insert(*callee, here),
            Some(all) => {
                for (n, bounds) in all.bounds.iter_mut().enumerate() {
                    *bounds = bounds.zip(here.bounds[n]).and_then(|(a, b)| Bounds::union(Some(a), Some(b)));
                    all.there[n] &= here.there[n];
                    all.like[n] = all.like[n].filter(|_| all.like[n] == here.like[n]);
                }
            }
        }
    });
}

#[cfg(test)]
mod tests {
    use crate::codegen::cuda::{Abi, CudaOptions, Texts, emit};
    use crate::ir::{parse, verify};

    /// The plain text of a kernel that calls `@at`, which reads an element of an array and adds to
    /// one of another.
    fn text(body: &str) -> String {
        let ir = format!(
            "func @at(%f: array2d(dtype=float32), %g: array(dtype=float32), %r: int32, %c: int32) -> (float32) {{\n\
             %v: float32 = load %f[%r, %c]\n%o: float32 = atomic add %g[%c], %v\nreturn %v\n}}\n\
             kernel @k(%x: array2d(dtype=float32), %y: array(dtype=float32), %z: array3d(dtype=float32)) rank 1 {{\n\
             %i: int32 = thread_index 0\n{body}\nstore %y[%i], %v\nreturn\n}}"
        );
        let module = parse::parse(&ir).unwrap_or_else(|e| panic!("{e}\n{ir}"));
        assert_eq!(verify::verify(&module), Ok(()), "{ir}");
        let options = CudaOptions { abi: Abi::Plain, ..CudaOptions::default() };
        let kernel = module.find("k").expect("the kernel");
        emit(&module, &[kernel], &options, &Texts::new(0)).unwrap_or_else(|e| panic!("{e:?}"))
    }

    #[test]
    fn arrays_are_pointers_with_the_extents_that_are_asked_for() {
        let text = text("%m: int32 = neg %i\n%v: float32 = call @at(%x, %y, %m, %i)");
        let head = "static __device__ float at(const float *f, int f_rows, int f_cols, float *g, int r, int c) {";
        assert!(text.contains(head), "{text}");
        // Of the arguments, only the row may be negative.
        assert!(text.contains("f[wrap(r, f_rows) * f_cols + c]") && text.contains("atomicAdd(&g[c], v)"), "{text}");
        assert!(text.contains("= at(x, x_rows, x_cols, y, m, i);"), "{text}");
    }

    #[test]
    fn functions_of_rows_are_part_of_the_kernel() {
        let text = text("%row: array2d(dtype=float32) = view %z[%i]\n%v: float32 = call @at(%row, %y, %i, %i)");
        assert!(!text.contains("float at(") && text.contains("z[(i * z_extent1 + i) * z_extent2 + i]"), "{text}");
    }
}
