//! What do instructions do that work on the bytes or the halves of a word: `vabsdiff4`, `vadd2`,
//! `max.s16x2`?

use super::modifiers::Modifiers;
use super::{Decoder, U32, unknown};
use crate::ptx::{Instruction, Kind, Result};
use crate::sim::code::{Class, Op};

/// How the parts of two words become those of a third; packed into a number, which is an operand.
#[derive(Clone, Copy)]
struct How {
    what: u32,
    /// Bits of a part: 8 or 16.
    bits: u32,
    /// Of the two operands and of the result.
    signed: [bool; 3],
    saturates: bool,
    /// The parts of the result are added to the third operand.
    adds: bool,
}

const WHAT: [&str; 5] = ["add", "sub", "absdiff", "min", "max"];

impl How {
    fn word(self) -> u32 {
        let [a, b, d] = self.signed.map(u32::from);
        let flags = a | b << 1 | d << 2 | u32::from(self.saturates) << 3 | u32::from(self.adds) << 4;
        self.what | flags << 8 | self.bits << 16
    }

    fn of(word: u32) -> How {
        let flag = |n: u32| word >> (8 + n) & 1 == 1;
        How {
            what: word & 0xff,
            bits: word >> 16,
            signed: [flag(0), flag(1), flag(2)],
            saturates: flag(3),
            adds: flag(4),
        }
    }
}

fn computed(a: u64, b: u64, c: u32, how: u32) -> u64 {
    let How { what, bits, signed, saturates, adds } = How::of(how);
    let part = |word: u64, shift: u32, signed: bool| {
        let part = (word >> shift & ((1 << bits) - 1)) as i32;
        if signed { part << (32 - bits) >> (32 - bits) } else { part }
    };
    let (least, most) = if signed[2] { (-(1 << (bits - 1)), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    let mut made = if adds { c } else { 0 };
    for shift in (0..32).step_by(bits as usize) {
        let (a, b) = (part(a, shift, signed[0]), part(b, shift, signed[1]));
        let found = match WHAT.get(what as usize) {
            Some(&"add") => a + b,
            Some(&"sub") => a - b,
            Some(&"absdiff") => (a - b).abs(),
            Some(&"min") => a.min(b),
            _ => a.max(b),
        };
        let found = if saturates { found.clamp(least, most) } else { found };
        made = if adds { made.wrapping_add(found as u32) } else { made | (found as u32 & ((1 << bits) - 1)) << shift };
    }
    made.into()
}

impl<'t> Decoder<'_, 't> {
    /// `vadd4.s32.u32.u32.sat d, a, b, c` and its like, without masks of parts. None: the
    /// instruction is none of these.
    pub fn of_parts(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Option<(Op, Class)>> {
        let named = |name: &str| WHAT.iter().position(|what| *what == name).map(|what| what as u32);
        let video = i.opcode.strip_prefix('v').and_then(|name| {
            let four = name.strip_suffix('4').map(|name| (name, 8));
            let (name, bits) = four.or_else(|| name.strip_suffix('2').map(|name| (name, 16)))?;
            Some((named(name)?, bits))
        });
        if let Some((what, bits)) = video {
            let types = m.types();
            let &[to, first, second] = types.as_slice() else { return Err(unknown(i)) };
            if types.iter().any(|ty| ty.bits != 32 || !matches!(ty.kind, Kind::Signed | Kind::Unsigned)) {
                return Err(unknown(i));
            }
            let signed = [first, second, to].map(|ty| ty.kind == Kind::Signed);
            let (saturates, adds) = (m.take("sat"), m.take("add"));
            // Sums are reported of differences alone, which have no sign.
            if adds && (WHAT[what as usize] != "absdiff" || signed[2] || saturates) {
                return Err(unknown(i));
            }
            let [d, a, b, c] = self.all(i)?;
            let how = self.constant(How { what, bits, signed, saturates, adds }.word().into());
            let (a, b, c) = (self.read(i, a, U32)?, self.read(i, b, U32)?, self.read(i, c, U32)?);
            return Ok(Some((Op::Alu4 { f: computed, d: self.write(i, d, U32)?, a, b, c, e: how }, Class::Integer)));
        }
        let signed = match () {
            () if !matches!(i.opcode, "add" | "min" | "max") => return Ok(None),
            () if m.take("s16x2") => true,
            () if m.take("u16x2") => false,
            () => return Ok(None),
        };
        let what = named(i.opcode).unwrap_or_default();
        let [d, a, b] = self.all(i)?;
        let how = How { what, bits: 16, signed: [signed; 3], saturates: false, adds: false };
        let how = self.constant(how.word().into());
        let (a, b) = (self.read(i, a, U32)?, self.read(i, b, U32)?);
        Ok(Some((Op::Alu4 { f: computed, d: self.write(i, d, U32)?, a, b, c: a, e: how }, Class::Integer)))
    }
}
