//! What is proved of one launch, against what its threads saw: random kernels whose values become
//! the indices of stores.

use std::collections::{BTreeMap, BTreeSet};

use super::random::{Seen, launched};
use super::*;
use crate::analysis::independence::meetings;
use crate::analysis::ownership::IndexFacts;
use crate::analysis::ranges::LaunchFacts;
use crate::ids::Id;
use crate::types::{ArrayType, Element, StructTable, Type};

/// The function with one more parameter, a matrix of integers, and a store behind the definition of
/// `index`: to that element of the row that the first coordinate names.
fn storing(function: &Function, index: ValueId) -> Function {
    let mut function = function.clone();
    let entry = function.entry;
    let span = function.span;
    let array = function.values.push(Value {
        ty: Type::Array(ArrayType { element: Element::Scalar(Scalar::I32), ndim: 2 }),
        def: ValueDef::Param(entry, function.blocks[entry].params.len() as u32),
        name: Some("array".to_string()),
        span,
    });
    function.blocks[entry].params.push(array);
    let value = function.params()[0];
    let is_row = |&v: &ValueId| matches!(function.op(v), Some(Op::ThreadIndex(0)));
    let row = function.values.ids().find(is_row).expect("the first coordinate");
    let access = Access { array, indices: Values::from_slice(&[row, index]), path: Path::new() };
    let store = InstId(function.insts.len() as u32);
    function.insts.push(Inst { op: Op::Store { access, value }, results: Results::new(), span });
    let (block, at) = match function.values[index].def {
        ValueDef::Param(block, _) => (block, 0),
        ValueDef::Result(inst, _) => {
            let stands = |block: &BlockId| function.blocks[*block].insts.iter().position(|&other| other == inst);
            let block = function.blocks.ids().find(|block| stands(block).is_some()).expect("a block");
            (block, stands(&block).expect("a place") + 1)
        }
    };
    function.blocks[block].insts.insert(at, store);
    function
}

#[test]
fn what_a_launch_proves_holds_for_its_threads() {
    let (mut proved, mut open, mut narrow) = (0, 0, 0);
    for seed in 1..=150u64 {
        let (function, seen, facts) = launched(seed);
        let (always, ranges) = (Ranges::of(&function), Ranges::of_launch(&function, &facts));
        let mut numbers: BTreeMap<ValueId, Vec<(usize, i128)>> = BTreeMap::new();
        for Seen { thread, value, number, reader } in seen {
            let bounds = ranges.interval(value).expect("the bounds of an integer");
            assert!(
                bounds.low <= number && number <= bounds.high,
                "seed {seed}: {value} is {number}, not in {bounds:?}"
            );
            narrow += usize::from(Some(bounds) != always.interval(value));
            if reader.is_none() {
                numbers.entry(value).or_default().push((thread, number));
            }
        }
        // Some of them: each is a kernel to look at.
        for (value, numbers) in numbers.into_iter().filter(|(value, _)| value.index() as u64 % 3 == seed % 3) {
            let kernel = storing(&function, value);
            let found = meetings(&kernel, &StructTable::default(), &IndexFacts::of_launch(&kernel, &facts));
            if found.arrays.is_none_or(|arrays| !arrays.is_empty()) {
                open += 1;
                continue;
            }
            proved += 1;
            let mut owners = BTreeMap::new();
            // Where one thread of a row stores alone, its index may count from the end.
            let mut threads_of_row: BTreeMap<usize, BTreeSet<usize>> = BTreeMap::new();
            for (thread, _) in &numbers {
                threads_of_row.entry(thread / 3).or_default().insert(*thread);
            }
            for (thread, number) in numbers {
                let owner = *owners.entry((thread / 3, number)).or_insert(thread);
                let alone = threads_of_row[&(thread / 3)].len() == 1;
                assert!(
                    (alone || number >= 0) && owner == thread,
                    "seed {seed}: threads {owner} and {thread} have {value} = {number}"
                );
            }
        }
    }
    assert!(proved > 30 && open > 100 && narrow > 1000, "{proved} proved, {open} open, {narrow} closer bounds");
}

/// Indices that a launch proves to be a thread's own, and near relatives that it does not.
#[test]
fn a_launch_proves_more_than_a_kernel_and_overflow_less() {
    let facts = |threads: [u32; 4], w: i128| LaunchFacts {
        threads,
        integers: BTreeMap::from([(Root::Param(1, vec![]), w)]),
        extents: BTreeMap::from([(Root::Param(0, vec![]), [1 << 20, 0, 0, 0])]),
    };
    let shared = |rank: u8, body: &str, facts: &LaunchFacts| {
        let text = format!(
            "kernel @k(%y: array(dtype=int32), %w: int32) rank {rank} {{\n  %i: int32 = thread_index 0\n{body}  return\n}}\n"
        );
        let module = parse(&text).unwrap_or_else(|e| panic!("{e:?}\n{text}"));
        let kernel = &module.functions[module.find("k").expect("the kernel")];
        meetings(kernel, &module.structs, &IndexFacts::of_launch(kernel, facts)).arrays != Some(Default::default())
    };
    let flat = "  %j: int32 = thread_index 1\n  %a: int32 = mul %i, %w\n  %b: int32 = add %a, %j\n  store %y[%b], %i\n";
    assert!(!shared(2, flat, &facts([3, 4, 1, 1], 4)));
    assert!(shared(2, flat, &facts([3, 4, 1, 1], 3)), "rows overlap");
    assert!(!shared(2, flat, &facts([1, 4, 1, 1], 0)), "one row");
    assert!(shared(2, flat, &facts([3, 4, 1, 1], 1 << 30)), "wraps");
    assert!(shared(2, flat, &facts([3, 4, 1, 1], -4)), "counts from the end");
    let large = "  %c: int32 = const 1073741824\n  %a: int32 = mul %i, %c\n  store %y[%a], %i\n";
    assert!(!shared(1, large, &facts([2, 1, 1, 1], 0)) && shared(1, large, &facts([5, 1, 1, 1], 0)));
    let inside = |by: &str| {
        format!(
            "  %zero: int32 = const 0\n  %one: int32 = const 1\n  %four: int32 = const 4\n  %a: int32 = mul %i, %four\n  \
             for %k: int32 = %zero to {by} step %one {{\n    %b: int32 = add %a, %k\n    store %y[%b], %i\n    yield\n  }}\n"
        )
    };
    assert!(!shared(1, &inside("%four"), &facts([9, 1, 1, 1], 0)));
    assert!(!shared(1, &inside("%w"), &facts([9, 1, 1, 1], 4)) && shared(1, &inside("%w"), &facts([9, 1, 1, 1], 5)));
    let extent = "  %n: int32 = extent %y, 0\n  %a: int32 = mul %i, %n\n  store %y[%a], %i\n";
    assert!(!shared(1, extent, &facts([9, 1, 1, 1], 0)) && shared(1, extent, &facts([4096, 1, 1, 1], 0)));
}
