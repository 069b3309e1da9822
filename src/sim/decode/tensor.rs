//! What do the instructions mean that warps use for matrices: copies that run on by themselves,
//! loads of fragments, products?

use super::modifiers::Modifiers;
use super::{Decoder, U32, unknown};
use crate::ptx::{Error, Instruction, Kind, Operand, Result, Space, Type};
use crate::sim::code::{CopyAsync, Element, LoadMatrix, Matrix, Op, Reg};

const F32: Type = Type { kind: Kind::Float, bits: 32 };
const F64: Type = Type { kind: Kind::Float, bits: 64 };
const B32: Type = Type { kind: Kind::Bits, bits: 32 };

impl<'t> Decoder<'_, 't> {
    /// `cp.async` and what waits for it.
    pub fn copy(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let reduces = m.take("reduce");
        if !m.take("async") {
            return Err(unknown(i));
        }
        if m.take("bulk") {
            return self.bulk(i, m, reduces);
        }
        if m.take("mbarrier") {
            return self.after_copies(i, m);
        }
        if m.take("commit_group") {
            let [] = self.all(i)?;
            return Ok(Op::CommitCopies);
        }
        if m.take("wait_all") {
            let [] = self.all(i)?;
            return Ok(Op::WaitForCopies { left: None });
        }
        if m.take("wait_group") {
            return match self.all(i)? {
                [Operand::Int(left)] => Ok(Op::WaitForCopies { left: Some(*left) }),
                [_] => Err(Error::malformed(i.at, format!("`{i}` takes a number"))),
            };
        }
        let all = m.take("ca");
        if !all && !m.take("cg") {
            return Err(unknown(i));
        }
        if m.find(|m| matches!(m, "shared" | "shared::cta").then_some(())).is_none() || !m.take("global") {
            return Err(unknown(i));
        }
        if i.modifiers.contains(&"L2::cache_hint") {
            return Err(unknown(i));
        }
        m.ignore_caching();
        let (Some(to), Some(from), Some(&Operand::Int(bytes))) =
            (i.operands.first(), i.operands.get(1), i.operands.get(2))
        else {
            return Err(Error::malformed(i.at, format!("`{i}` takes two addresses and a number of bytes")));
        };
        if !matches!((bytes, all), (16, _) | (4 | 8, true)) {
            return Err(Error::malformed(i.at, format!("`{i}` copies 4, 8 or 16 bytes, with `.cg` 16, not {bytes}")));
        }
        let ((to, to_offset), (from, from_offset)) = (self.place(i, to)?, self.place(i, from)?);
        let (mut read, mut ignored) = (None, None);
        match i.operands.get(3..).unwrap_or_default() {
            [] => {}
            [operand @ (Operand::Not(_) | Operand::Register(_))] if self.predicate(i, operand).is_ok() => {
                ignored = Some(self.predicate(i, operand)?);
            }
            [operand] => read = Some(self.read(i, operand, U32)?),
            _ => return Err(unknown(i)),
        }
        let bytes = bytes as u32;
        Ok(Op::CopyAsync(Box::new(CopyAsync { to, to_offset, from, from_offset, bytes, read, ignored })))
    }

    /// `ldmatrix` and `stmatrix`.
    pub fn load_matrix(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let is_known = m.take("sync") && m.take("aligned") && m.take("m8n8") && m.take("b16");
        let count = m.find(|m| match m {
            "x1" => Some(1),
            "x2" => Some(2),
            "x4" => Some(4),
            _ => None,
        });
        let (true, Some(count)) = (is_known, count) else { return Err(unknown(i)) };
        let transposed = m.take("trans");
        let space = m.space();
        if !matches!(space, Space::Shared | Space::Generic) {
            return Err(unknown(i));
        }
        let stores = i.opcode == "stmatrix";
        let [first, second] = self.all(i)?;
        let (list, address) = if stores { (second, first) } else { (first, second) };
        let list = match list {
            Operand::Vector(list) if list.len() == count => list.as_slice(),
            _ => return Err(Error::malformed(i.at, format!("`{i}` takes {count} registers in braces"))),
        };
        let regs: Result<Vec<Reg>> = list
            .iter()
            .map(|operand| if stores { self.read(i, operand, B32) } else { self.write(i, operand, B32) })
            .collect();
        let (base, offset) = self.place(i, address)?;
        let matrices = Box::new(LoadMatrix { regs: regs?.into(), space, base, offset, transposed });
        Ok(if stores { Op::StoreMatrix(matrices) } else { Op::LoadMatrix(matrices) })
    }

    /// `mma.sync` of 8 x 4 and 4 x 8 elements of float64: each thread has an element of both, and
    /// two of the result.
    fn multiply_f64(&mut self, i: &Instruction<'t>) -> Result<Op> {
        let [d, a, b, c] = self.all(i)?;
        let list = |operand: &Operand<'t>, count: usize| match operand {
            Operand::Vector(list) if list.len() == count => Ok(list.clone()),
            _ => Err(Error::malformed(i.at, format!("`{i}` takes {count} registers in braces here"))),
        };
        let (d, a, b, c) = (list(d, 2)?, list(a, 1)?, list(b, 1)?, list(c, 2)?);
        let mut read = |list: &[Operand<'t>]| -> Result<Box<[Reg]>> {
            list.iter().map(|operand| self.read(i, operand, F64)).collect()
        };
        let (a, b, c) = (read(&a)?, read(&b)?, read(&c)?);
        let d: Result<Box<[Reg]>> = d.iter().map(|operand| self.write(i, operand, F64)).collect();
        Ok(Op::MultiplyMatrices(Box::new(Matrix { element: Element::F64, depth: 4, d: d?, a, b, c })))
    }

    /// `mma.sync` of 16 x k and k x 8 elements, summed up in float32.
    pub fn multiply(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let is_known = m.take("sync") && m.take("aligned") && m.take("row") && m.take("col");
        let is_small = i.modifiers.contains(&"m8n8k4");
        let depth = m.find(|m| match m {
            "m16n8k4" | "m8n8k4" => Some(4),
            "m16n8k8" => Some(8),
            "m16n8k16" => Some(16),
            _ => None,
        });
        // Their order says which is which: result, factors, what is added.
        let names: Vec<&str> =
            i.modifiers.iter().copied().filter(|m| matches!(*m, "f32" | "f16" | "bf16" | "tf32" | "f64")).collect();
        m.ignore(&["f32", "f16", "bf16", "tf32", "f64"]);
        if is_known && is_small && names == ["f64"; 4] {
            return self.multiply_f64(i);
        }
        let (true, false, Some(depth), &["f32", first, second, "f32"]) = (is_known, is_small, depth, names.as_slice())
        else {
            return Err(unknown(i));
        };
        let element = match first {
            "f16" => Element::F16,
            "bf16" => Element::Bf16,
            "tf32" => Element::Tf32,
            _ => return Err(unknown(i)),
        };
        let of_first = match (element, depth) {
            (Element::F16 | Element::Bf16, 8) | (Element::Tf32, 4) => 2,
            (Element::F16 | Element::Bf16, 16) | (Element::Tf32, 8) => 4,
            _ => return Err(unknown(i)),
        };
        if first != second {
            return Err(unknown(i));
        }
        let [d, a, b, c] = self.all(i)?;
        let list = |operand: &Operand<'t>, count: usize| match operand {
            Operand::Vector(list) if list.len() == count => Ok(list.clone()),
            _ => Err(Error::malformed(i.at, format!("`{i}` takes {count} registers in braces here"))),
        };
        let (d, a, b, c) = (list(d, 4)?, list(a, of_first)?, list(b, of_first / 2)?, list(c, 4)?);
        let a: Result<Vec<Reg>> = a.iter().map(|operand| self.read(i, operand, B32)).collect();
        let b: Result<Vec<Reg>> = b.iter().map(|operand| self.read(i, operand, B32)).collect();
        let c: Result<Vec<Reg>> = c.iter().map(|operand| self.read(i, operand, F32)).collect();
        let d: Result<Vec<Reg>> = d.iter().map(|operand| self.write(i, operand, F32)).collect();
        Ok(Op::MultiplyMatrices(Box::new(Matrix {
            element,
            depth,
            d: d?.into(),
            a: a?.into(),
            b: b?.into(),
            c: c?.into(),
        })))
    }
}
