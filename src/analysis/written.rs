//! Which of its array parameters may a function write, and which may it read?

use std::collections::{BTreeMap, HashMap};

use crate::ir::{
    FuncId, Function, Module, Op, Step, ValueDef, ValueId, accesses, arithmetic, effects, jumps, nested, threads,
};
use crate::source::Span;

/// A parameter, and the fields that lead from it to a part.
pub type Origin = (u32, Vec<u32>);

/// The arrays that a function may write, or read, and where it first does so. Gradients that come
/// with an array are memory of their own and do not count.
#[derive(Clone, PartialEq, Eq, Debug, Default)]
pub struct Touched {
    pub arrays: BTreeMap<Origin, Span>,
    /// It uses an array that may be any of them.
    pub any: bool,
}

impl Touched {
    /// Whether the array at `fields` of parameter `param` may be one of them.
    pub fn may_be(&self, param: u32, fields: &[u32]) -> bool {
        // A struct that is passed on whole represents all its arrays.
        let overlaps = |(n, at): &(u32, Vec<u32>)| *n == param && (fields.starts_with(at) || at.starts_with(fields));
        self.any || self.arrays.keys().any(overlaps)
    }
}

/// What a function and those that it calls may write.
pub fn written(module: &Module, id: FuncId) -> Touched {
    find(module, id, |op| op.properties().writes, &mut HashMap::new()).clone()
}

/// What they may read the elements of.
pub fn read(module: &Module, id: FuncId) -> Touched {
    find(module, id, |op| op.properties().reads, &mut HashMap::new()).clone()
}

fn find<'k>(
    module: &Module,
    id: FuncId,
    counts: fn(&Op) -> bool,
    known: &'k mut HashMap<FuncId, Touched>,
) -> &'k Touched {
    // There is no recursion among functions.
    if !known.contains_key(&id) {
        let function = &module.functions[id];
        let mut found = Touched { any: function.native.is_some(), ..Touched::default() };
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Call(callee, args) = &inst.op {
                let inner = find(module, *callee, counts, known).clone();
                found.any |= inner.any;
                let library = module.functions[*callee].library;
                for ((n, fields), &span) in &inner.arrays {
                    let span = if library { inst.span } else { span };
                    match args.get(*n as usize) {
                        Some(&arg) => origins(function, arg, fields, span, &mut found),
                        None => found.any = true,
                    }
                }
            } else if counts(&inst.op) {
                match inst.op.access() {
                    Some(access) => origins(function, access.array, &[], inst.span, &mut found),
                    None => found.any = true,
                }
            }
        });
        known.insert(id, found);
    }
    &known[&id]
}

/// Adds the parameters that a value, or the part at `fields` of a struct, may be.
pub fn origins(function: &Function, value: ValueId, fields: &[u32], span: Span, found: &mut Touched) {
    let inst = match function.values[value].def {
        ValueDef::Param(block, n) if block == function.entry => {
            found.arrays.entry((n, fields.to_vec())).or_insert(span);
            return;
        }
        ValueDef::Param(..) => {
            found.any = true;
            return;
        }
        ValueDef::Result(inst, _) => inst,
    };
    match &function.insts[inst].op {
        Op::View(of, _) => origins(function, *of, fields, span, found),
        Op::Select { then, otherwise, .. } => {
            origins(function, *then, fields, span, found);
            origins(function, *otherwise, fields, span, found);
        }
        // Local arrays, the null array, gradients, what no parameter is.
        Op::LocalArray | Op::SharedArray | Op::Zero | Op::Gradient(_) | Op::ArrayAt { .. } => {}
        Op::Extract(whole, path) => {
            let steps = path.iter().map(|step| if let Step::At(k) = step { Some(*k) } else { None });
            match steps.chain(fields.iter().map(|&k| Some(k))).collect::<Option<Vec<u32>>>() {
                Some(fields) => origins(function, *whole, &fields, span, found),
                None => found.any = true,
            }
        }
        Op::Construct(parts) => match fields.split_first() {
            Some((&k, rest)) if parts.len() > k as usize => origins(function, parts[k as usize], rest, span, found),
            _ => parts.iter().for_each(|&part| origins(function, part, &[], span, found)),
        },
        arithmetic!()
        | Op::Insert(..)
        | threads!()
        | Op::Call(..)
        | Op::Extent(..)
        | Op::IsSet(_)
        | Op::Address(_)
        | accesses!()
        | effects!()
        | nested!()
        | jumps!() => found.any = true,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse;

    #[test]
    fn views_choices_and_calls_lead_to_parameters() {
        let text = "\
func @put(%y: array(dtype=int32), %v: int32) {
  %zero: int32 = const 0
  store %y[%zero], %v
  return
}

kernel @k(%a: array(dtype=int32), %b: array(dtype=int32), %c: array(dtype=int32), %d: array(dtype=int32)) rank 1 {
  %i: int32 = thread_index 0
  %set: bool = is_set %b
  %chosen: array(dtype=int32) = select %set, %b, %c
  %v: int32 = load %a[%i]
  call @put(%chosen, %v)
  %g: array(dtype=int32) = gradient %d
  store %g[%i], %v
  return
}
";
        let module = parse::parse(text).unwrap_or_else(|error| panic!("{error:?}"));
        let found = written(&module, module.find("k").expect("the kernel"));
        let which: Vec<bool> = (0..4).map(|n| found.may_be(n, &[])).collect();
        assert_eq!(which, [false, true, true, false]);
        let found = read(&module, module.find("k").expect("the kernel"));
        let which: Vec<bool> = (0..4).map(|n| found.may_be(n, &[])).collect();
        assert_eq!(which, [true, false, false, false]);
        assert!(!found.any);
    }
}
