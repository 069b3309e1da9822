use super::super::build::Builder;
use super::*;
use crate::ir::print::print;
use crate::source::FileId;

fn span() -> Span {
    Span::new(FileId(0), 0, 0)
}

/// A kernel that sums `data[i..n]` into `out[i]`.
fn sum_kernel() -> Module {
    let ints = Type::Array(ArrayType { element: Element::Scalar(Scalar::I32), ndim: 1 });
    let params = [("data".to_string(), ints), ("out".to_string(), ints)];
    let mut b = Builder::new("sum", FunctionKind::Kernel { rank: 1 }, &params, span());
    let (data, out) = (b.function.params()[0], b.function.params()[1]);
    let i = b.one(Op::ThreadIndex(0), I32);
    b.name(i, "i");
    let zero = b.int(Scalar::I32, 0);
    let one = b.int(Scalar::I32, 1);
    let n = b.extent(data, 0);
    let body = b.new_block(&[I32, I32]);
    let outer = b.switch_to(body);
    let [k, total] = *b.params(body) else { panic!("two parameters") };
    b.name(total, "total");
    let x = b.one(Op::Load { array: data, index: smallvec::smallvec![k], path: Path::new() }, I32);
    let next = b.binary(BinaryOp::Add, total, x);
    b.name(next, "total");
    b.yield_(&[next]);
    b.switch_to(outer);
    let sum = b.push(Op::For { start: i, end: n, step: one, init: smallvec::smallvec![zero], body }, &[I32])[0];
    b.effect(Op::Store { array: out, index: smallvec::smallvec![i], path: Path::new(), value: sum });
    b.effect(Op::Return(Values::new()));
    let mut module = Module::default();
    module.functions.push(b.finish());
    module
}

#[test]
fn a_built_kernel_verifies_and_prints() {
    let module = sum_kernel();
    assert_eq!(verify(&module), Ok(()));
    let expected = "\
kernel @sum(%data: array(dtype=int32), %out: array(dtype=int32)) rank 1 {
  %i: int32 = thread_index 0
  %0: int32 = const 0
  %1: int32 = const 1
  %2: int32 = extent %data, 0
  %3: int32 = for %4: int32 = %i to %2 step %1 carry %total: int32 = %0 {
    %5: int32 = load %data[%4]
    %total.1: int32 = add %total, %5
    yield %total.1
  }
  store %out[%i], %3
  return
}
";
    assert_eq!(print(&module), expected);
}

#[test]
fn structural_faults() {
    let faults: [(&str, fn(&mut Function)); 6] = [
        ("defined twice", |f| {
            let entry = f.entry;
            let first = f.blocks[entry].params[0];
            f.blocks[entry].params[1] = first;
        }),
        ("stands in two places", |f| {
            let entry = f.entry;
            let first = f.blocks[entry].insts[0];
            f.blocks[entry].insts.insert(0, first);
        }),
        ("must end in a terminator", |f| {
            let entry = f.entry;
            f.blocks[entry].insts.pop();
        }),
        ("not visible", |f| {
            let entry = f.entry;
            f.blocks[entry].insts.swap(0, 4);
        }),
        ("not in its list", |f| f.insts[InstId(0)].op = Op::Cast(ValueId(1_000_000))),
        ("rank is 1 to 4", |f| f.kind = FunctionKind::Kernel { rank: 5 }),
    ];
    for (message, fault) in faults {
        let mut module = sum_kernel();
        fault(&mut module.functions[FuncId(0)]);
        let errors = verify(&module).expect_err(message);
        assert!(errors.iter().any(|e| e.contains(message)), "{message}: {errors:?}");
    }
}
