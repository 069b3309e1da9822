//! Where do the bits of floats go? Read as integers they have no derivative, so a float that is
//! made of them again has lost it, however far apart the two casts are: across functions, and
//! through arrays of integers.

use crate::ids::{IdMap, IdSet};
use crate::ir::{Derivative, FuncId, Function, Module, Op, ValueId, arrays, effects, jumps, parts, threads};

/// What functions that cast bits, or call such a function, do with them.
pub struct BitFunctions(IdMap<FuncId, Summary>);

#[derive(Default)]
struct Summary {
    /// Whether a result depends on the bits of a float.
    gives: bool,
    /// The parameters that are arrays into which such bits are stored.
    fills: Vec<usize>,
    /// Whether a float is made of the bits in integers that it is given.
    takes: bool,
}

impl BitFunctions {
    pub fn of(module: &Module) -> BitFunctions {
        let mut known = BitFunctions(IdMap::default());
        let casts = |f: &Function| !f.library && f.has(|inst| matches!(inst.op, Op::Bitcast(_)));
        if module.functions.values().any(casts) {
            let mut seen = IdSet::default();
            for id in module.functions.ids() {
                known.summarise(module, id, &mut seen);
            }
        }
        known
    }

    /// Whether a function casts bits, itself or in what it calls.
    pub fn casts(&self, id: FuncId) -> bool {
        self.0.contains_key(&id)
    }

    /// Whether a call makes a float of bits that it is given.
    pub fn takes(&self, callee: FuncId) -> bool {
        self.0.get(&callee).is_some_and(|summary| summary.takes)
    }

    fn summarise(&mut self, module: &Module, id: FuncId, seen: &mut IdSet<FuncId>) {
        let function = &module.functions[id];
        // Custom gradients say themselves what becomes of the bits, and the library's noise is flat
        // on purpose.
        if !seen.insert(id) || function.library || !matches!(function.derivative, Derivative::Body) {
            return;
        }
        let callees = module.functions.callees(id);
        for &callee in &callees {
            self.summarise(module, callee, seen);
        }
        if !callees.iter().any(|&callee| self.casts(callee)) && !function.has(|inst| matches!(inst.op, Op::Bitcast(_)))
        {
            return;
        }
        let bits = self.spread(function, IdSet::default(), |_| true);
        let mut gives = false;
        function.walk(function.entry, &mut |_, inst| {
            if let Op::Return(values) = &inst.op {
                gives |= values.iter().any(|v| bits.contains(v));
            }
        });
        let fills = (0..function.params().len()).filter(|&n| bits.contains(&function.params()[n])).collect();
        let given = function.params().iter().copied().filter(|&v| !is_float(function, v)).collect();
        let reached = self.spread(function, given, |_| false);
        let takes = function.has(|inst| {
            if let Op::Call(callee, args) = &inst.op {
                return self.takes(*callee) && args.iter().any(|a| reached.contains(a));
            }
            let Op::Bitcast(a) = &inst.op else { return false };
            reached.contains(a) && inst.results.iter().any(|&r| is_float(function, r))
        });
        self.0.insert(id, Summary { gives, fills, takes });
    }

    /// The values without a gradient that depend on `found`, or on the bits of floats that vary; of
    /// arrays the parameters and variables that hold such values.
    pub fn spread(
        &self,
        function: &Function,
        mut found: IdSet<ValueId>,
        varies: impl Fn(ValueId) -> bool,
    ) -> IdSet<ValueId> {
        let is_float = |v: ValueId| is_float(function, v);
        loop {
            let before = found.len();
            function.walk(function.entry, &mut |_, inst| match &inst.op {
                Op::Bitcast(a) if is_float(*a) && varies(*a) => found.extend(inst.results.iter().copied()),
                Op::If { then, otherwise, .. } => {
                    for block in [then, otherwise] {
                        let pairs = inst.results.iter().zip(function.yielded(*block));
                        let more: Vec<ValueId> = pairs.filter(|(_, v)| found.contains(*v)).map(|(&r, _)| r).collect();
                        found.extend(more);
                    }
                }
                Op::For { init, body, .. } | Op::While { init, body, .. } => {
                    let first = usize::from(matches!(inst.op, Op::For { .. }));
                    for (n, start) in init.iter().enumerate() {
                        let next = function.yielded(*body).get(n);
                        if found.contains(start) || next.is_some_and(|v| found.contains(v)) {
                            found.extend([inst.results[n], function.blocks[*body].params[first + n]]);
                        }
                    }
                }
                Op::Store { access, value } => {
                    if found.contains(value) {
                        found.insert(whole(function, access.array));
                    }
                }
                Op::Load(access) => {
                    if found.contains(&whole(function, access.array)) {
                        found.extend(inst.results.iter().copied().filter(|&r| !is_float(r)));
                    }
                }
                Op::Compare(..) => {}
                op @ (Op::Const(_)
                | Op::Unary(..)
                | Op::Binary(..)
                | Op::Fma(..)
                | Op::Cast(_)
                | Op::Bitcast(_)
                | parts!()
                | threads!()
                | Op::Call(..)
                | arrays!()
                | Op::Atomic { .. }
                | Op::AtomicCas { .. }
                | effects!()
                | jumps!()) => {
                    let mut carries = false;
                    op.for_each_operand(|v| carries |= found.contains(&v));
                    if let Op::Call(callee, args) = op
                        && let Some(summary) = self.0.get(callee)
                        && args.iter().any(|&a| varies(a))
                    {
                        carries |= summary.gives;
                        found.extend(summary.fills.iter().map(|&n| whole(function, args[n])));
                    }
                    if carries {
                        found.extend(inst.results.iter().copied().filter(|&r| !is_float(r)));
                    }
                }
            });
            if found.len() == before {
                return found;
            }
        }
    }
}

fn is_float(function: &Function, value: ValueId) -> bool {
    function.ty(value).scalar_part().is_some_and(|s| s.is_float())
}

/// The array that a view is of.
fn whole(function: &Function, array: ValueId) -> ValueId {
    if let Some(Op::View(of, _)) = function.op(array) { whole(function, *of) } else { array }
}
