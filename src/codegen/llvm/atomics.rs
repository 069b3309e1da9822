//! How do atomics reach memory? With one instruction where LLVM has it for the type, by a
//! compare-and-swap loop otherwise.
//!
//! Order is relaxed; the scope is the device. On local memory, which only its thread sees, and
//! where one host worker runs all threads, a plain read and write do. NVIDIA's `red`/`atom.add.f32`
//! on global memory flushes subnormals (PTX ISA, "atom"): the one place where device code differs
//! from rule 9.

use super::builder::{AtomicRMWBinOp, IntPredicate, Val};
use super::lower::{Frame, Lower, Scalars, Target};
use super::options::Checks;
use super::rows::Rows;
use super::warp::Same;
use crate::ir::{Access, AtomicOp, Inst, ValueId};
use crate::types::{LocalArrayType, Scalar, Type};

/// Where a module has more atomics than this that the host does by loops of compare-and-swap, the
/// others are calls of one function: 500 of them in a row took LLVM's register allocation a second.
const INLINE_SWAPS: u32 = 32;

/// Threads of a warp add elements of so many numbers by rows.
const LEAST_ADDED: u32 = 3;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    pub fn atomic(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        value: ValueId,
        inst: &'a Inst,
    ) -> Scalars<'ctx> {
        if self.mode.lanes().is_some() {
            return self.atomic_lanes(frame, op, access, value, inst);
        }
        let operands = frame.get(value).clone();
        if let Some(same) = self.same_in_warp(frame, op, access, inst) {
            return self.update_of_warp(frame, op, access, inst, same, &operands);
        }
        if let Some(rows) = self.rows_of_sums(frame, op, access, inst) {
            return self.sum_by_rows(frame, op, access, inst, rows, &operands);
        }
        if let Some(some) = self.adds_something(frame, op, access, value, inst) {
            self.when(Some(some), |lower| {
                let plain = |lower: &mut Self| _ = lower.update_each(frame, op, access, inst, &operands);
                if !lower.add_to_private(frame, op, access, inst, &operands, plain) {
                    plain(lower);
                }
                Scalars::new()
            });
            return operands.iter().map(|v| self.ll.zero(self.ll.ty(*v))).collect();
        }
        let plain = |lower: &mut Self| lower.update_each(frame, op, access, inst, &operands);
        if self.add_to_private(frame, op, access, inst, &operands, |lower| _ = plain(lower)) {
            // Nothing uses the old value.
            return operands.iter().map(|v| self.ll.zero(self.ll.ty(*v))).collect();
        }
        plain(self)
    }

    fn update_each(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        inst: &'a Inst,
        operands: &Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        if self.vector_of_sums(frame, op, access, inst).is_some() {
            return self.add_vector(frame, op, access, inst, operands);
        }
        self.update(frame, access, inst, |lower, s, pointer, local, k| {
            let operand = operands[k];
            if local {
                let old = lower.read(s, pointer);
                let new = lower.combine(op, s, old, operand);
                lower.write(s, pointer, new);
                old
            } else {
                lower.atomic_scalar(op, s, pointer, operand)
            }
        })
    }

    pub fn atomic_cas(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        access: &Access,
        [expected, new]: [ValueId; 2],
        inst: &'a Inst,
    ) -> Scalars<'ctx> {
        if self.mode.lanes().is_some() {
            return self.atomic_cas_lanes(frame, access, [expected, new], inst);
        }
        let (expected, new) = (frame.get(expected).clone(), frame.get(new).clone());
        self.update(frame, access, inst, |lower, s, pointer, local, k| {
            lower.compare_and_swap(s, pointer, local, expected[k], new[k])
        })
    }

    /// Replaces the scalar at `pointer` if its bits are those of `expected`; gives the old one.
    pub fn compare_and_swap(
        &mut self,
        s: Scalar,
        pointer: Val<'ctx>,
        local: bool,
        expected: Val<'ctx>,
        new: Val<'ctx>,
    ) -> Val<'ctx> {
        let (ll, ops) = (self.ll, self.ops);
        let (wanted, replacement) = (ops.to_bits(s, expected), ops.to_bits(s, new));
        let old = if local {
            let old = ops.to_bits(s, self.read(s, pointer));
            let next = ll.select(ll.eq(old, wanted), replacement, old);
            self.write(s, pointer, ops.from_bits(s, next));
            old
        } else {
            self.touch(s, pointer);
            ll.atomic_cas(pointer, wanted, replacement, s.size()).0
        };
        ops.from_bits(s, old)
    }

    /// Finds the place of an atomic and applies `each` to every scalar of the part: scalar type,
    /// address, whether nobody else sees it, position.
    fn update(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        access: &Access,
        inst: &'a Inst,
        each: impl Fn(&mut Self, Scalar, Val<'ctx>, bool, usize) -> Val<'ctx>,
    ) -> Scalars<'ctx> {
        let Some(&result) = inst.results.first() else { return Scalars::new() };
        let place = self.place(frame, access, inst.span);
        let of_block = matches!(frame.ty(access.array), Type::Local(LocalArrayType { block: true, .. }));
        let private = place.is_local && !(of_block && self.target.is_gpu()) || self.target.is_alone();
        self.checked(&place, frame.ty(result), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            lower.when(part.exists, |lower| {
                let s = part.ty.scalar_part().expect("verified IR: atomics work on scalars and composites");
                let count = part.ty.scalar_count().unwrap_or(1);
                (0..count)
                    .map(|k| {
                        let pointer = lower.ll.offset_by(part.pointer, u64::from(k * s.size()));
                        each(lower, s, pointer, private, k as usize)
                    })
                    .collect()
            })
        })
    }

    /// An atomic whose old value nobody asks for, at a place that is the same for the threads of a
    /// warp.
    fn update_of_warp(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        inst: &'a Inst,
        same: Same,
        operands: &Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let place = self.place(frame, access, inst.span);
        // A composite of no components represents "no results".
        self.checked(&place, Type::Vec(0, Scalar::I32), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            let s = part.ty.scalar_part().expect("verified IR: atomics work on scalars and composites");
            lower.when(part.exists, |lower| {
                if same == (Same::Always { waits: true }) && lower.add_to_own(op, s, part.pointer, operands) {
                    return Scalars::new();
                }
                let at = |k: usize| lower.ll.offset_by(part.pointer, k as u64 * u64::from(s.size()));
                let places: Vec<_> = operands.iter().enumerate().map(|(k, operand)| (at(k), *operand)).collect();
                lower.atomic_of_warp(op, s, same, &places);
                Scalars::new()
            })
        });
        operands.iter().map(|v| self.ll.zero(self.ll.ty(*v))).collect()
    }

    /// How the threads of a warp add elements that nobody asks for the old values of, if they do it
    /// together.
    fn rows_of_sums(&self, frame: &Frame<'a, 'ctx>, op: AtomicOp, access: &Access, inst: &Inst) -> Option<Rows> {
        let &result = inst.results.first()?;
        if self.vector_of_sums(frame, op, access, inst).is_some() {
            return None;
        }
        let adds = matches!(op, AtomicOp::Add | AtomicOp::Sub);
        let rows = self.rows(frame, access, frame.ty(result), LEAST_ADDED).filter(|_| adds)?;
        (crate::analysis::uses(frame.function)[result] == 0).then_some(rows)
    }

    fn sum_by_rows(
        &mut self,
        frame: &Frame<'a, 'ctx>,
        op: AtomicOp,
        access: &Access,
        inst: &Inst,
        rows: Rows,
        operands: &Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let place = self.place(frame, access, inst.span);
        // A composite of no components represents "no results".
        self.checked(&place, Type::Vec(0, Scalar::I32), |lower, place| {
            let part = lower.part(frame, place, &access.path);
            if let Some(s) = part.ty.scalar_part() {
                lower.by_rows(rows, part.pointer, operands, |lower, at, number| {
                    lower.atomic_scalar(op, s, at, number);
                });
            }
            Scalars::new()
        });
        operands.iter().map(|v| self.ll.zero(self.ll.ty(*v))).collect()
    }

    pub fn read(&mut self, s: Scalar, pointer: Val<'ctx>) -> Val<'ctx> {
        self.load_value(pointer, Type::Scalar(s), 1)[0]
    }

    pub fn write(&mut self, s: Scalar, pointer: Val<'ctx>, value: Val<'ctx>) {
        self.store_value(pointer, Type::Scalar(s), 1, &Scalars::from_slice(&[value]));
    }

    /// The new value.
    pub fn combine(&self, op: AtomicOp, s: Scalar, old: Val<'ctx>, operand: Val<'ctx>) -> Val<'ctx> {
        op.binary().map_or(operand, |op| self.ops.binary(op, s, old, operand))
    }

    pub fn atomic_scalar(&mut self, op: AtomicOp, s: Scalar, pointer: Val<'ctx>, operand: Val<'ctx>) -> Val<'ctx> {
        let swaps = s.is_float() && op != AtomicOp::Exchange;
        if swaps && !self.target.is_gpu() {
            self.state.swaps += 1;
            if self.state.swaps > INLINE_SWAPS {
                return self.atomic_call(op, s, pointer, operand);
            }
        }
        self.atomic_in_place(op, s, pointer, operand)
    }

    /// The same, as a call of a function of its own.
    fn atomic_call(&mut self, op: AtomicOp, s: Scalar, pointer: Val<'ctx>, operand: Val<'ctx>) -> Val<'ctx> {
        let (ll, ty) = (self.ll, self.ops.ty(s));
        let name = format!("kc_atomic_{}_{}", op.name(), s.name());
        let function = self.function_once(&name, Some(ty), &[ll.ptr(0), ty], |lower, function| {
            let around = std::mem::replace(&mut lower.into.function, function);
            let old = lower.atomic_in_place(op, s, ll.param(function, 0), ll.param(function, 1));
            lower.into.function = around;
            ll.ret(Some(old));
        });
        ll.call(function, &[pointer, operand])
    }

    fn atomic_in_place(&mut self, op: AtomicOp, s: Scalar, pointer: Val<'ctx>, operand: Val<'ctx>) -> Val<'ctx> {
        let signed = s.is_signed_int();
        let rmw = match op {
            AtomicOp::Exchange => Some(AtomicRMWBinOp::Xchg),
            AtomicOp::Add | AtomicOp::Sub if matches!(s, Scalar::F32 | Scalar::F64) => {
                let operand = if op == AtomicOp::Sub { self.ll.fneg(operand) } else { operand };
                return self.ll.atomic_rmw(AtomicRMWBinOp::FAdd, pointer, operand, s.size());
            }
            _ if s.is_float() => None,
            AtomicOp::And => Some(AtomicRMWBinOp::And),
            AtomicOp::Or => Some(AtomicRMWBinOp::Or),
            AtomicOp::Xor => Some(AtomicRMWBinOp::Xor),
            AtomicOp::Add => Some(AtomicRMWBinOp::Add),
            AtomicOp::Sub => Some(AtomicRMWBinOp::Sub),
            AtomicOp::Min => Some(if signed { AtomicRMWBinOp::Min } else { AtomicRMWBinOp::UMin }),
            AtomicOp::Max => Some(if signed { AtomicRMWBinOp::Max } else { AtomicRMWBinOp::UMax }),
        };
        match rmw {
            Some(rmw) => {
                let bits = self.ops.to_bits(s, operand);
                self.touch(s, pointer);
                self.ops.from_bits(s, self.ll.atomic_rmw(rmw, pointer, bits, s.size()))
            }
            None => self.cas_loop(s, pointer, |lower, old| lower.combine(op, s, old, operand)),
        }
    }

    /// Reads an element of fewer than 32 bits, for the simulator: the word around it, which the
    /// atomic swaps, may be there where the element is not.
    fn touch(&self, s: Scalar, pointer: Val<'ctx>) {
        if self.target == (Target::Nvptx { checks: Checks::Simulated }) && s.size() < 4 {
            self.ll.load_atomic(self.ll.int_ty(s.size() * 8), pointer, s.size());
        }
    }

    /// Replaces the value at `pointer` by `change` of it; gives the old value. Stops without a
    /// write when the bits would not change.
    fn cas_loop(
        &mut self,
        s: Scalar,
        pointer: Val<'ctx>,
        change: impl Fn(&mut Self, Val<'ctx>) -> Val<'ctx>,
    ) -> Val<'ctx> {
        let (ll, ops) = (self.ll, self.ops);
        let bits_ty = ll.int_ty(s.size() * 8);
        let (before, retry) = (ll.current_block(), ll.block(self.into.function, "retry"));
        let (swap, done) = (ll.block(self.into.function, "swap"), ll.block(self.into.function, "swapped"));
        let seen = ll.load_atomic(bits_ty, pointer, s.size());
        ll.br(retry);
        ll.position_at_end(retry);
        let old = ll.phi(bits_ty);
        ll.add_incoming(old, seen, before);
        let value = ops.from_bits(s, old);
        let new = change(self, value);
        let new = ops.to_bits(s, new);
        ll.cond_br(ll.icmp(IntPredicate::EQ, new, old), done, swap);
        let unchanged_from = retry;
        ll.position_at_end(swap);
        let (found, stored) = ll.atomic_cas(pointer, old, new, s.size());
        ll.add_incoming(old, found, swap);
        ll.cond_br(stored, done, retry);
        ll.position_at_end(done);
        let result = ll.phi(bits_ty);
        ll.add_incoming(result, old, unchanged_from);
        ll.add_incoming(result, old, swap);
        ops.from_bits(s, result)
    }
}
