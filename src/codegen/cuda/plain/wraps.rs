//! Indices that count from the end where they are negative: `wrap(i, x_size)`, a value of its own,
//! so that one that is used twice is computed once.

use crate::analysis::inside;
use crate::analysis::ranges::Ranges;
use crate::ids::IdMap;
use crate::ir::build::Builder;
use crate::ir::{
    BinaryOp, BlockId, CompareOp, FuncId, Function, FunctionKind, InstId, Module, Op, ResultInfo, ResultRole, ValueId,
    Values,
};
use crate::source::Span;
use crate::types::{I32, Scalar, Type};

/// The function that kernels with plain parameters call for them. Its text is the helper's.
pub fn function(module: &Module, span: Span) -> Function {
    let mut name = "wrap".to_string();
    while module.find(&name).is_some() {
        name.push('_');
    }
    let params = ["i", "n"].map(|name| (name.to_string(), I32));
    let mut b = Builder::new(&name, FunctionKind::Device, &params, span);
    b.function.cuda_name = Some("wrap".to_string());
    b.function.results.push(ResultInfo { ty: I32, role: ResultRole::Return, name: None });
    let [i, n] = [0, 1].map(|at| b.function.params()[at]);
    let zero = b.int(Scalar::I32, 0);
    let negative = b.compare(CompareOp::Lt, i, zero);
    let from_end = b.binary(BinaryOp::Add, i, n);
    let index = b.select(negative, from_end, i);
    b.effect(Op::Return(Values::from_slice(&[index])));
    b.finish()
}

/// Lets the indices of a kernel's arrays go through `wrap` where they may be negative. `like`:
/// arrays of adjoints, with those whose extents they have. `ranges`: those of the function.
pub fn insert(module: &Module, function: &mut Function, wrap: FuncId, like: &IdMap<ValueId, ValueId>, ranges: &Ranges) {
    let wanted = negative(module, function, like, ranges);
    if wanted.is_empty() {
        return;
    }
    let blocks: Vec<BlockId> = function.blocks.ids().collect();
    for block in blocks {
        for id in std::mem::take(&mut function.blocks[block].insts) {
            for &dim in wanted.get(&id).map_or(&[][..], Vec::as_slice) {
                let inst = &function.insts[id];
                let span = inst.span;
                let Some(access) = inst.op.access() else { continue };
                let (index, array) = (access.indices[usize::from(dim)], access.array);
                let array = like.get(&array).copied().unwrap_or(array);
                let wrapped = Builder::edit(function, block, |b| {
                    b.span = span;
                    let extent = b.one(Op::Extent(array, dim), I32);
                    b.one(Op::Call(wrap, Values::from_slice(&[index, extent])), I32)
                });
                if let Some(access) = function.insts[id].op.access_mut() {
                    access.indices[usize::from(dim)] = wrapped;
                }
            }
            function.blocks[block].insts.push(id);
        }
    }
}

/// The dimensions of accesses to parameters whose indices may be negative.
fn negative(
    module: &Module,
    function: &Function,
    like: &IdMap<ValueId, ValueId>,
    ranges: &Ranges,
) -> IdMap<InstId, Vec<u8>> {
    // What entries keep is numbered from 0 by kc.
    let kept: Vec<ValueId> = function.tape.iter().map(|buffer| function.params()[buffer.param as usize]).collect();
    let mut found: IdMap<InstId, Vec<u8>> = IdMap::default();
    function.walk(function.entry, &mut |id, inst| {
        let Some(access) = inst.op.access() else { return };
        if !matches!(function.ty(access.array), Type::Array(_)) || kept.contains(&access.array) {
            return;
        }
        let array = like.get(&access.array).copied().unwrap_or(access.array);
        let may_be = |&(_, &index): &(u8, &ValueId)| {
            is_wrapped(function, index)
                && !ranges.counts_from_start(id, index)
                && !inside::counts_from_start(module, function, ranges, id, array, index)
        };
        let dims: Vec<u8> = (0..).zip(&access.indices).filter(may_be).map(|(dim, _)| dim).collect();
        if !dims.is_empty() {
            found.insert(id, dims);
        }
    });
    found
}

/// Whether an index of a parameter goes through `wrap` as a value; those of other types are written
/// out.
pub fn is_wrapped(function: &Function, index: ValueId) -> bool {
    function.ty(index) == I32
}

#[cfg(test)]
mod tests {
    use crate::codegen::cuda::{Abi, CudaOptions, Promises, Texts, emit};
    use crate::ir::{parse, verify};

    /// The plain text of a kernel that reads `%x` and adds to `%y`.
    fn text(body: &str, small: bool) -> String {
        let ir = format!(
            "kernel @k(%x: array(dtype=float32), %y: array(dtype=float32), %ids: array(dtype=int32)) rank 1 {{\n\
             %t: int32 = thread_index 0\n%i: int32 = load %ids[%t]\n%two: int32 = const 2\n{body}\nreturn\n}}"
        );
        let module = parse::parse(&ir).unwrap_or_else(|e| panic!("{e}\n{ir}"));
        assert_eq!(verify::verify(&module), Ok(()), "{ir}");
        let promises = Promises { small, ..Promises::default() };
        let options = CudaOptions { abi: Abi::Plain, promises, ..CudaOptions::default() };
        let kernel = module.find("k").expect("the kernel");
        emit(&module, &[kernel], &options, &Texts::new(0)).unwrap_or_else(|e| panic!("{e:?}"))
    }

    #[test]
    fn an_index_of_an_array_is_wrapped_once() {
        let twice = "%v: float32 = load %x[%i]\nstore %y[%i], %v\n%o: float32 = atomic add %x[%i], %v";
        let text = text(twice, false);
        assert_eq!(text.matches("wrap(i, x_size)").count(), 1, "{text}");
        assert!(text.contains("int i_in_x = wrap(i, x_size);"), "{text}");
        assert!(text.contains("y[wrap(i, y_size)] = v;"), "{text}");
    }

    #[test]
    fn what_is_used_once_stays_in_its_place() {
        let once = "%j: int32 = mul %i, %two\n%v: float32 = load %x[%j]\nstore %y[%t], %v";
        // As an index alone it may overflow: no array has the element.
        assert!(
            text(once, false).contains("int j = i * 2;\n    float v = x[wrap(j, x_size)];"),
            "{}",
            text(once, false)
        );
        assert!(text(once, true).contains("int j = i * 2;\n    float v = x[j];"), "{}", text(once, true));
    }
}
