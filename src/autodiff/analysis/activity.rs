//! Which values have adjoints? Those that vary with a float in an array (or a float parameter of a
//! device function, and of a kernel on request) and that a store of floats, a float atomic or a
//! result of the function depends on.
//!
//! An array of the function's own in which only numbers are put that do not vary, such as a table
//! of cosines, has none either.
//!
//! Both directions are fixed points over the structured program; what goes round a loop is one
//! value per slot.

use crate::analysis::alias::{Root, root};
use crate::analysis::effects::EffectTable;
use crate::ids::{IdSet, IdVec};
use crate::ir::{
    BlockId, Derivative, Function, Inst, InstId, Module, Op, ValueId, arrays, effects, jumps, plain, values,
};

/// The activity of every value of one function.
pub struct Activity {
    active: IdVec<ValueId, bool>,
    varied: IdVec<ValueId, bool>,
    useful: IdVec<ValueId, bool>,
    fixed: IdSet<ValueId>,
}

impl Activity {
    /// `writing`: see [`writing_calls`]. `parameters`: the floats that a kernel is given by value
    /// have gradients.
    pub fn of(
        module: &Module,
        effects: &EffectTable,
        writing: &IdSet<InstId>,
        function: &Function,
        parameters: bool,
    ) -> Activity {
        let mut flow = Flow {
            module,
            effects,
            function,
            writing,
            loops: false,
            fixed: own_arrays(function),
            varied: function.values.ids().map(|_| false).collect(),
            useful: function.values.ids().map(|_| false).collect(),
            changed: true,
        };
        if parameters || !function.is_kernel() {
            for &param in function.params() {
                flow.varied[param] = function.ty(param).holds_floats(&module.structs);
            }
        }
        // Without loops, what a walk in the direction of the flow finds is all.
        while std::mem::take(&mut flow.changed) {
            flow.forward(function.entry);
            flow.changed &= flow.loops;
        }
        flow.changed = true;
        while std::mem::take(&mut flow.changed) {
            flow.backward(function.entry);
            flow.changed &= flow.loops;
        }
        let active = function.values.ids().map(|v| flow.varied[v] && flow.useful[v]).collect();
        Activity { active, varied: flow.varied, useful: flow.useful, fixed: flow.fixed }
    }

    /// Whether an array is the function's own, and nothing in it varies.
    pub fn is_fixed(&self, array: ValueId) -> bool {
        self.fixed.contains(&array)
    }

    pub fn is_active(&self, value: ValueId) -> bool {
        self.active.get(value) == Some(&true)
    }

    /// Whether the value varies with a float that may have a gradient.
    pub fn varies(&self, value: ValueId) -> bool {
        self.varied.get(value) == Some(&true)
    }

    /// Whether a float that the function returns depends on the value, as far as derivatives tell.
    pub fn is_useful(&self, value: ValueId) -> bool {
        self.useful.get(value) == Some(&true)
    }

    /// Whether any result of the instruction has an adjoint.
    pub fn any_result(&self, inst: &Inst) -> bool {
        inst.results.iter().any(|&r| self.is_active(r))
    }
}

struct Flow<'a> {
    module: &'a Module,
    effects: &'a EffectTable,
    function: &'a Function,
    writing: &'a IdSet<InstId>,
    loops: bool,
    /// Arrays of the function's own in which nothing varies, as far as is known.
    fixed: IdSet<ValueId>,
    varied: IdVec<ValueId, bool>,
    useful: IdVec<ValueId, bool>,
    changed: bool,
}

/// The calls that stay calls and write to arrays that they are given.
pub fn writing_calls(module: &Module, effects: &EffectTable, function: &Function) -> IdSet<InstId> {
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |id, inst| {
        if let Op::Call(callee, args) = &inst.op
            && !matches!(module.functions[*callee].derivative, Derivative::Body | Derivative::Replay(_))
            && args.iter().any(|&arg| function.ty(arg).bears_array(&module.structs))
            && effects[*callee].stores_any
        {
            found.insert(id);
        }
    });
    found
}

/// Arrays that the function makes, and with nothing that but the function's own accesses know.
fn own_arrays(function: &Function) -> IdSet<ValueId> {
    let mut found = IdSet::default();
    function.walk(function.entry, &mut |_, inst| {
        if matches!(inst.op, Op::LocalArray | Op::SharedArray) {
            found.extend(inst.results.iter().copied());
        }
    });
    if found.is_empty() {
        return found;
    }
    function.walk(function.entry, &mut |_, inst| {
        let accessed =
            if let Op::View(of, _) = &inst.op { Some(*of) } else { inst.op.access().map(|access| access.array) };
        inst.op.for_each_operand(|v| {
            if accessed != Some(v)
                && let Root::Local(array) = root(function, v)
            {
                found.remove(&array);
            }
        });
    });
    found
}

impl Flow<'_> {
    fn vary(&mut self, value: ValueId, on: bool) {
        if on && !self.varied[value] && self.function.ty(value).holds_floats(&self.module.structs) {
            self.varied[value] = true;
            self.changed = true;
        }
    }

    fn use_(&mut self, value: ValueId, on: bool) {
        if on && !self.useful[value] && self.function.ty(value).holds_floats(&self.module.structs) {
            self.useful[value] = true;
            self.changed = true;
        }
    }

    fn forward(&mut self, block: BlockId) {
        let function = self.function;
        for &id in &function.blocks[block].insts {
            self.forward_inst(id, &function.insts[id]);
        }
    }

    fn forward_inst(&mut self, _: InstId, inst: &Inst) {
        let function = self.function;
        match &inst.op {
            Op::Call(callee, args) => {
                let derivative = &self.module.functions[*callee].derivative;
                let zero = matches!(derivative, Derivative::Zero(_));
                let structs = &self.module.structs;
                // What it reads at an address has gradients, as the arrays that it is given have.
                let memory = *derivative == Derivative::Body && self.effects[*callee].reads_addresses();
                let varies = memory || args.iter().any(|&a| self.varied[a] || function.ty(a).bears_array(structs));
                for &result in &inst.results {
                    self.vary(result, varies && !zero);
                }
            }
            Op::If { then, otherwise, .. } => {
                for block in [*then, *otherwise] {
                    self.forward(block);
                    for (&result, &value) in inst.results.iter().zip(function.yielded(block)) {
                        self.vary(result, self.varied[value]);
                    }
                }
            }
            Op::For { init, body, .. } => self.forward_loop(inst, init, *body, 1),
            Op::While { init, body, .. } => self.forward_loop(inst, init, *body, 0),
            op if let Some(array) = self.own_array(op) => {
                let mut varies = !self.fixed.contains(&array);
                op.for_each_operand(|v| varies |= self.varied[v]);
                if varies && self.fixed.remove(&array) {
                    self.changed = true;
                }
                inst.results.iter().for_each(|&r| self.vary(r, varies));
            }
            op if op.properties().reads => inst.results.iter().for_each(|&r| self.vary(r, true)),
            op @ (plain!() | jumps!()) => {
                let varies = op.smooth_operands().iter().any(|&v| self.varied[v]);
                for &result in &inst.results {
                    self.vary(result, varies);
                }
            }
        }
    }

    /// The array of the function's own that an operation reads or writes.
    fn own_array(&self, op: &Op) -> Option<ValueId> {
        match root(self.function, op.access()?.array) {
            Root::Local(array) => Some(array),
            _ => None,
        }
    }

    fn forward_loop(&mut self, inst: &Inst, init: &[ValueId], body: BlockId, first: usize) {
        let function = self.function;
        self.loops = true;
        self.forward(body);
        let next = function.yielded(body);
        for (n, &start) in init.iter().enumerate() {
            let param = function.blocks[body].params[first + n];
            let varies = self.varied[start] || next.get(n).is_some_and(|&v| self.varied[v]);
            self.vary(param, varies);
            self.vary(inst.results[n], varies);
        }
    }

    fn backward(&mut self, block: BlockId) {
        let function = self.function;
        for &id in function.blocks[block].insts.iter().rev() {
            self.backward_inst(id, &function.insts[id]);
        }
    }

    fn backward_inst(&mut self, id: InstId, inst: &Inst) {
        let function = self.function;
        match &inst.op {
            Op::Store { value, .. } | Op::Atomic { value, .. } => self.use_(*value, true),
            Op::AtomicCas { new, .. } => self.use_(*new, true),
            Op::Return(values) => values.iter().for_each(|&v| self.use_(v, true)),
            Op::If { then, otherwise, .. } => {
                for block in [*then, *otherwise] {
                    for (&result, &value) in inst.results.iter().zip(function.yielded(block)) {
                        self.use_(value, self.useful[result]);
                    }
                    self.backward(block);
                }
            }
            Op::For { init, body, .. } => self.backward_loop(inst, init, *body, 1),
            Op::While { init, body, .. } => self.backward_loop(inst, init, *body, 0),
            Op::Call(callee, _) if matches!(self.module.functions[*callee].derivative, Derivative::Zero(_)) => {}
            Op::Call(_, args) if self.writing.contains(&id) => args.iter().for_each(|&v| self.use_(v, true)),
            op if op.properties().writes && !matches!(op, Op::Call(..)) => op.for_each_operand(|v| self.use_(v, true)),
            op @ (values!()
            | Op::Call(..)
            | arrays!()
            | Op::Load(_)
            | effects!()
            | Op::Yield(_)
            | Op::Break(_)
            | Op::Continue(_)) => {
                if inst.results.iter().any(|&r| self.useful[r]) {
                    op.smooth_operands().iter().for_each(|&v| self.use_(v, true));
                }
            }
        }
    }

    fn backward_loop(&mut self, inst: &Inst, init: &[ValueId], body: BlockId, first: usize) {
        let function = self.function;
        let next = function.yielded(body);
        for (n, &start) in init.iter().enumerate() {
            let param = function.blocks[body].params[first + n];
            let useful = self.useful[inst.results[n]] || self.useful[param];
            self.use_(start, useful);
            if let Some(&value) = next.get(n) {
                self.use_(value, useful);
            }
        }
        self.backward(body);
    }
}
