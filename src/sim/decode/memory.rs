//! What do loads, stores and atomics do?

use std::collections::{HashMap, HashSet};

use half::{bf16, f16};

use super::arithmetic::is_half;
use super::modifiers::Modifiers;
use super::{Decoder, unknown};
use crate::ptx::{Error, Instruction, Kind, Operand, Result, Space, Type};
use crate::sim::code::{Access, Atomic, Inst, Op, Order, Swap, Update};
use crate::sim::value::{Lane, flush};

/// The lanes whose addresses are in a space.
macro_rules! in_space {
    ($space:pat) => {{
        struct Body;
        impl crate::sim::value::Compare for Body {
            #[inline(always)]
            fn compare(a: &Lanes, _: &Lanes) -> u32 {
                let is = |address: &u64| matches!(crate::sim::windows::resolve(*address).0, $space);
                a.iter().enumerate().fold(0, |mask, (l, address)| mask | u32::from(is(address)) << l)
            }
        }
        crate::sim::value::Test::of::<Body>()
    }};
}
pub(super) use in_space;

impl<'t> Decoder<'_, 't> {
    pub fn memory(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        match i.opcode {
            "prefetch" | "prefetchu" => {
                m.ignore(&["global", "local", "L1", "L2"]);
                m.ignore_caching();
                Ok(Op::Nothing)
            }
            // It says how caches hold what is accessed, in a last operand.
            _ if m.take("L2::cache_hint") => {
                let mut plain = i.clone();
                plain.modifiers.retain(|m| *m != "L2::cache_hint");
                plain.operands.pop();
                self.memory(&plain, m)
            }
            "st" | "red" if m.take("async") => self.send(i, m),
            "atom" | "red" => self.atomic(i, m),
            _ => self.access(i, m),
        }
    }

    fn order(m: &mut Modifiers<'t>) -> Order {
        m.ignore(&["weak"]);
        let order = m.find(|m| match m {
            "volatile" | "relaxed" => Some(Order::Strong),
            "acquire" => Some(Order::Acquire),
            "release" => Some(Order::Release),
            "acq_rel" => Some(Order::Both),
            _ => None,
        });
        order.unwrap_or(Order::Weak)
    }

    fn access(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let order = Self::order(m);
        m.ignore(&["cta", "cluster", "gpu", "sys", "mmio"]);
        let space = m.space();
        let constant = m.take("nc") || i.opcode == "ldu";
        m.ignore_caching();
        let count = m.find(|m| match m {
            "v2" => Some(2),
            "v4" => Some(4),
            "v8" => Some(8),
            _ => None,
        });
        let types = m.types();
        let &[ty] = types.as_slice() else { return Err(unknown(i)) };
        if ty.bits > 64 || ty.kind == Kind::Predicate {
            return Err(unknown(i));
        }
        let [first, second] = self.all(i)?;
        let loads = i.opcode != "st";
        let (values, address) = if loads { (first, second) } else { (second, first) };
        let single = [values.clone()];
        let list: &[Operand] = match (values, count) {
            (Operand::Vector(list), Some(count)) if list.len() == count => list,
            // LLVM writes braces around single values too.
            (Operand::Vector(list), None) if list.len() == 1 => list,
            (Operand::Vector(_), _) | (_, Some(_)) => {
                return Err(Error::malformed(i.at, format!("`{i}` has another number of registers")));
            }
            _ => &single,
        };
        let mut sign = None;
        let mut regs = Vec::with_capacity(list.len());
        for value in list {
            regs.push(match (loads, value) {
                (true, Operand::Sink) => None,
                (true, _) => {
                    let (reg, bits) = self.write_at_least(i, value, ty.bits)?;
                    sign = (ty.kind == Kind::Signed && bits > ty.bits).then_some(bits).or(sign);
                    Some(reg)
                }
                (false, Operand::Int(bits)) => Some(self.constant(*bits)),
                (false, _) => Some(self.read_at_least(i, value, ty)?),
            });
        }
        let is_read = |value: &Operand| match value {
            Operand::Register(register) => !self.unread.get(*register as usize).copied().unwrap_or(false),
            value => *value != Operand::Sink,
        };
        // A scalar load reads its element, also when nothing uses the value.
        let last = list.iter().rposition(is_read).filter(|_| loads && order == Order::Weak && list.len() > 1);
        let needed = ty.bytes() * last.map_or(list.len(), |last| last + 1) as u32;
        let (base, offset) = self.place(i, address)?;
        if !loads && (space == Space::Const || constant) {
            return Err(Error::malformed(i.at, "a store to what can only be read"));
        }
        let values = regs.into();
        let access =
            Access { space, base, offset, values, bytes: ty.bytes(), needed, sign, order, constant, swap: Swap::No };
        Ok(if loads { Op::Load(Box::new(access)) } else { Op::Store(Box::new(access)) })
    }

    fn atomic(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let order = match Self::order(m) {
            Order::Weak => Order::Strong,
            order => order,
        };
        let of_block = m.take("cta");
        m.ignore(&["cluster", "gpu", "sys", "noftz"]);
        let space = m.space();
        m.ignore_caching();
        const NAMES: &[&str] = &["add", "inc", "dec", "min", "max", "and", "or", "xor", "exch", "cas"];
        let name = m.find(|m| NAMES.iter().copied().find(|name| *name == m)).ok_or_else(|| unknown(i))?;
        if m.take("async") {
            return Err(unknown(i));
        }
        let count = m.find(|m| ["v2", "v4", "v8"].into_iter().zip([2, 4, 8]).find_map(|(v, n)| (v == m).then_some(n)));
        let types = m.types();
        let &[ty] = types.as_slice() else { return Err(unknown(i)) };
        // Vectors are sums and extremes of floats in global memory, up to 16 bytes.
        let fits = |count: usize| {
            let whole =
                matches!((ty.kind, ty.bits), (Kind::Float, 32)) && name == "add" || is_half(ty) && name != "exch";
            whole && space == Space::Global && ty.bytes() as usize * count <= 16 && i.opcode == "red"
        };
        if count.is_some_and(|count| !fits(count)) {
            return Err(unknown(i));
        }
        let f = update(name, ty).ok_or_else(|| unknown(i))?;
        let expected = usize::from(i.opcode == "atom") + 2 + usize::from(name == "cas");
        if i.operands.len() != expected {
            return Err(Error::malformed(i.at, format!("`{i}` takes {expected} operands")));
        }
        let (d, rest) = match i.opcode {
            "atom" => (&i.operands[0], &i.operands[1..]),
            _ => (&Operand::Sink, &i.operands[..]),
        };
        let d = match d {
            Operand::Sink => None,
            d => Some(self.write(i, d, ty)?),
        };
        let (base, offset) = self.place(i, &rest[0])?;
        let (single, list) = ([rest[1].clone()], &rest[1]);
        let list: &[Operand] = match (list, count) {
            (Operand::Vector(list), Some(count)) if list.len() == count => list,
            (Operand::Vector(_), _) | (_, Some(_)) => {
                return Err(Error::malformed(i.at, format!("`{i}` has another number of registers")));
            }
            _ => &single,
        };
        let mut operands = list.iter().map(|operand| self.read(i, operand, ty)).collect::<Result<Vec<_>>>()?;
        let a = operands.remove(0);
        let b = if name == "cas" { self.read(i, &rest[2], ty)? } else { a };
        let flushes = name == "add" && (ty.kind, ty.bits) == (Kind::Float, 32);
        let atomic = Atomic {
            space,
            base,
            offset,
            bytes: ty.bytes(),
            d,
            f,
            a,
            b,
            more: operands.into(),
            order,
            of_block,
            flushes,
            swap: if name == "cas" { Swap::Whole } else { Swap::No },
            reads: name != "exch",
        };
        Ok(Op::Atomic(Box::new(atomic)))
    }
}

/// Marks loads whose value a compare-and-swap of the same function looks at again, and those of
/// words around smaller elements: at an address without its last two bits.
pub fn mark_swapped(insts: &mut [Inst], instructions: &[Instruction]) {
    let words: HashSet<u32> = insts
        .iter()
        .zip(instructions)
        .filter_map(|(inst, written)| match (&inst.op, written.operands.get(2)) {
            (Op::Alu { d, .. }, Some(Operand::Int(bits))) if written.opcode == "and" && *bits as u32 == !3 => Some(*d),
            _ => None,
        })
        .collect();
    let mut swaps = HashMap::new();
    for inst in insts.iter_mut() {
        if let Op::Atomic(atomic) = &mut inst.op
            && atomic.swap == Swap::Whole
        {
            if atomic.bytes == 4 && atomic.offset == 0 && words.contains(&atomic.base) {
                atomic.swap = Swap::Part;
            }
            swaps.insert((atomic.base, atomic.offset), atomic.swap);
        }
    }
    for inst in insts {
        if let Op::Load(access) = &mut inst.op {
            access.swap = swaps.get(&(access.base, access.offset)).copied().unwrap_or(Swap::No);
        }
    }
}

/// What an atomic leaves, of the old value and its operands.
pub(super) fn update(name: &str, ty: Type) -> Option<Update> {
    macro_rules! of {
        ($ty:ty, |$old:ident, $a:ident| $e:expr) => {
            Some(
                (|old, a, _| {
                    let ($old, $a) = (<$ty as Lane>::of(old), <$ty as Lane>::of(a));
                    Lane::bits($e)
                }) as Update,
            )
        };
    }
    macro_rules! ints {
        (|$old:ident, $a:ident| $e:expr) => {
            match (ty.kind, ty.bits) {
                (Kind::Unsigned | Kind::Bits, 32) => of!(u32, |$old, $a| $e),
                (Kind::Signed, 32) => of!(i32, |$old, $a| $e),
                (Kind::Unsigned | Kind::Bits, 64) => of!(u64, |$old, $a| $e),
                (Kind::Signed, 64) => of!(i64, |$old, $a| $e),
                _ => None,
            }
        };
    }
    fn pair(old: u64, a: u64, f: impl Fn(u64, u64) -> u64) -> u64 {
        f(old & 0xffff, a & 0xffff) | f(old >> 16 & 0xffff, a >> 16 & 0xffff) << 16
    }
    match (name, ty.kind, ty.bits) {
        ("exch", _, 32 | 64) => Some(|_, a, _| a),
        ("cas", _, 16 | 32 | 64) => Some(|old, a, b| if old == a { b } else { old }),
        ("add", Kind::Float, 32) => of!(f32, |old, a| old + a),
        ("add", Kind::Float, 64) => of!(f64, |old, a| old + a),
        ("add", Kind::Float, 16) => of!(f16, |old, a| f16::from_f32(old.to_f32() + a.to_f32())),
        ("add", Kind::Brain, _) => of!(bf16, |old, a| bf16::from_f32(old.to_f32() + a.to_f32())),
        ("add", Kind::HalfPair, _) => {
            Some(|old, a, _| pair(old, a, |x, y| Lane::bits(f16::from_f32(f16::of(x).to_f32() + f16::of(y).to_f32()))))
        }
        ("add", Kind::BrainPair, _) => Some(|old, a, _| {
            pair(old, a, |x, y| Lane::bits(bf16::from_f32(bf16::of(x).to_f32() + bf16::of(y).to_f32())))
        }),
        ("add", ..) => ints!(|old, a| old.wrapping_add(a)),
        ("min", ..) => ints!(|old, a| old.min(a)),
        ("max", ..) => ints!(|old, a| old.max(a)),
        ("and", Kind::Bits, _) => ints!(|old, a| old & a),
        ("or", Kind::Bits, _) => ints!(|old, a| old | a),
        ("xor", Kind::Bits, _) => ints!(|old, a| old ^ a),
        ("inc", Kind::Unsigned, 32) => of!(u32, |old, a| if old >= a { 0 } else { old + 1 }),
        ("dec", Kind::Unsigned, 32) => of!(u32, |old, a| if old == 0 || old > a { a } else { old - 1 }),
        _ => None,
    }
}

/// As the units of global memory add: subnormals count as zero (PTX ISA, "atom").
pub fn added_flushed(old: u64, a: u64) -> u64 {
    Lane::bits(flush(flush(f32::of(old)) + flush(f32::of(a))))
}
