//! What do products of warpgroups mean?

use super::modifiers::Modifiers;
use super::{Decoder, TRUE, U64, unknown};
use crate::ptx::{Error, Instruction, Kind, Operand, Result, Type};
use crate::sim::code::{Factor, Narrow, Op, Reg, Sum, Warpgroup};

const B32: Type = Type { kind: Kind::Bits, bits: 32 };

impl<'t> Decoder<'_, 't> {
    pub fn warpgroup(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        if !m.take("sync") || !m.take("aligned") {
            return Err(unknown(i));
        }
        if m.take("fence") {
            return Ok(Op::Nothing);
        }
        if m.take("commit_group") {
            return Ok(Op::CommitProducts);
        }
        if m.take("wait_group") {
            return match self.all(i)? {
                [Operand::Int(left)] => Ok(Op::WaitForProducts { left: *left }),
                [_] => Err(Error::malformed(i.at, format!("`{i}` takes a number"))),
            };
        }
        if !m.take("mma_async") {
            return Err(unknown(i));
        }
        let saturates = m.take("satfinite");
        let shape = m.find(shape).ok_or_else(|| unknown(i))?;
        // Their order says which is which: result and factors.
        let names: Vec<&str> = i.modifiers.iter().copied().filter(|m| is_element(m)).collect();
        while m.find(|m| is_element(m).then_some(())).is_some() {}
        let &[sum, first, second] = names.as_slice() else { return Err(unknown(i)) };
        let (Some(a_element), Some(b_element)) = (narrow(first), narrow(second)) else { return Err(unknown(i)) };
        let is_integer = |element: Narrow| matches!(element, Narrow::S8 | Narrow::U8);
        let sum = match (sum, is_integer(a_element), saturates) {
            ("f32", false, false) => Sum::F32,
            ("f16", false, false) if a_element != Narrow::Bf16 && a_element != Narrow::Tf32 => Sum::F16,
            ("s32", true, false) => Sum::S32,
            ("s32", true, true) => Sum::SaturatedS32,
            _ => return Err(unknown(i)),
        };
        let (columns, depth) = shape;
        let each = a_element.bytes() as u32;
        let alike = first == second || a_element.bytes() == 1 && is_integer(a_element) == is_integer(b_element);
        if depth * each != 32 || !alike || !columns.is_multiple_of(8) || !(8..=256).contains(&columns) {
            return Err(unknown(i));
        }
        let (Some(d), Some(a), Some(b)) = (i.operands.first(), i.operands.get(1), i.operands.get(2)) else {
            return Err(Error::malformed(i.at, format!("`{i}` takes three operands at least")));
        };
        let registers = columns as usize / if sum == Sum::F16 { 4 } else { 2 };
        let d: Box<[Reg]> = match d {
            Operand::Vector(list) if list.len() == registers => {
                list.iter().map(|operand| self.write(i, operand, B32)).collect::<Result<_>>()?
            }
            _ => return Err(Error::malformed(i.at, format!("`{i}` has {registers} registers of results"))),
        };
        let a = match a {
            Operand::Vector(list) if list.len() == 4 => {
                Factor::Registers(list.iter().map(|operand| self.read(i, operand, B32)).collect::<Result<_>>()?)
            }
            Operand::Vector(_) => return Err(Error::malformed(i.at, format!("`{i}` has four registers of a factor"))),
            operand => Factor::Memory(self.read(i, operand, U64)?),
        };
        let b = self.read(i, b, U64)?;
        let rest: Vec<&Operand> = i.operands.iter().skip(3).collect();
        let (adds, rest) = match rest.as_slice() {
            [adds, rest @ ..] => (self.predicate(i, adds)?, rest),
            [] => (TRUE, &[][..]),
        };
        let number = |operand: &Operand| match *operand {
            Operand::Int(value) => Ok(value as i64),
            _ => Err(Error::malformed(i.at, format!("`{i}` ends with numbers"))),
        };
        let rest: Vec<i64> = rest.iter().map(|operand| number(operand)).collect::<Result<_>>()?;
        let from_memory = matches!(a, Factor::Memory(_));
        let (signs, turns) = match (rest.as_slice(), each, from_memory) {
            ([], ..) => ([1, 1], [0, 0]),
            (&[a, b], ..) => ([a, b], [0, 0]),
            (&[a, b, of_a, of_b], 2, true) => ([a, b], [of_a, of_b]),
            (&[a, b, of_b], 2, false) => ([a, b], [0, of_b]),
            _ => return Err(Error::malformed(i.at, format!("`{i}` has other numbers at its end"))),
        };
        let (negates, transposed) = (signs.map(|sign| sign == -1), turns.map(|turn| turn == 1));
        let product = Warpgroup { d, sum, columns, depth, a, b, a_element, b_element, adds, negates, transposed };
        Ok(Op::Warpgroup(Box::new(product)))
    }
}

/// `m64n128k16`: columns and depth.
fn shape(name: &str) -> Option<(u32, u32)> {
    let (columns, depth) = name.strip_prefix("m64n")?.split_once('k')?;
    Some((columns.parse().ok()?, depth.parse().ok()?))
}

fn is_element(name: &str) -> bool {
    matches!(name, "f32" | "s32") || narrow(name).is_some()
}

fn narrow(name: &str) -> Option<Narrow> {
    Some(match name {
        "f16" => Narrow::F16,
        "bf16" => Narrow::Bf16,
        "tf32" => Narrow::Tf32,
        "e4m3" => Narrow::E4m3,
        "e5m2" => Narrow::E5m2,
        "s8" => Narrow::S8,
        "u8" => Narrow::U8,
        _ => return None,
    })
}
