//! What do copies in bulk mean, and what waits for them, and instructions on tensor maps?

use super::memory::update;
use super::modifiers::Modifiers;
use super::{Decoder, U32, U64, unknown};
use crate::ptx::{Error, Instruction, Kind, Operand, Result, Space, Type};
use crate::sim::code::{Bulk, BulkExtent, ChangedMap, Op, Reg, Send};
use crate::sim::tensor_map::Field;

const REDUCTIONS: &[&str] = &["add", "inc", "dec", "min", "max", "and", "or", "xor"];

impl<'t> Decoder<'_, 't> {
    pub fn bulk(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>, reduces: bool) -> Result<Op> {
        if m.take("commit_group") {
            let [] = self.all(i)?;
            return Ok(Op::CommitBulk);
        }
        if m.take("wait_group") {
            m.take("read");
            return match self.all(i)? {
                [Operand::Int(left)] => Ok(Op::WaitForBulk { left: *left }),
                [_] => Err(Error::malformed(i.at, format!("`{i}` takes a number"))),
            };
        }
        let tensor = m.take("tensor");
        if m.take("prefetch") {
            m.ignore(&["L2", "global", "tile", "1d", "2d", "3d", "4d", "5d"]);
            m.ignore_caching();
            return Ok(Op::Nothing);
        }
        let rank = m.find(|m| m.strip_suffix('d').and_then(|rank| rank.parse::<usize>().ok()));
        m.take("tile");
        m.ignore(&["mbarrier::complete_tx::bytes", "bulk_group"]);
        let mut operands: Vec<&Operand> = i.operands.iter().collect();
        // The policy of a cache comes last; the mask of the blocks that get a copy before it.
        if m.take("L2::cache_hint") {
            operands.pop();
        }
        let blocks = match m.take("multicast::cluster") {
            true => Some(operands.pop().ok_or_else(|| unknown(i))?),
            false => None,
        };
        let blocks = blocks.map(|mask| self.read(i, mask, Type { kind: Kind::Bits, bits: 16 })).transpose()?;
        let (to, from) = self.ends(i)?;
        m.ignore(&["global", "shared::cta", "shared::cluster", "shared"]);
        let f = match reduces {
            true => {
                let name = m.find(|m| REDUCTIONS.iter().copied().find(|name| *name == m));
                m.take("noftz");
                let types = m.types();
                let (Some(name), &[ty], false) = (name, types.as_slice(), tensor) else { return Err(unknown(i)) };
                Some((update(name, ty).ok_or_else(|| unknown(i))?, ty.bytes()))
            }
            false => None,
        };
        let wrong = || Error::malformed(i.at, format!("`{i}` has other operands"));
        let (shared, other, extent, told) = match (to, tensor, operands.as_slice()) {
            (Space::Shared, true, [to, map, told]) => {
                let (global, at) = self.in_tensor(i, map, rank)?;
                (self.place(i, to)?, global, BulkExtent::Box(at), Some(self.place(i, told)?))
            }
            (Space::Shared, false, [to, from, bytes, told]) => {
                let bytes = BulkExtent::Bytes(self.read(i, bytes, U32)?);
                (self.place(i, to)?, self.place(i, from)?, bytes, Some(self.place(i, told)?))
            }
            (Space::Global, true, [map, from]) => {
                let (global, at) = self.in_tensor(i, map, rank)?;
                (self.place(i, from)?, global, BulkExtent::Box(at), None)
            }
            (Space::Global, false, [to, from, bytes]) => {
                let bytes = BulkExtent::Bytes(self.read(i, bytes, U32)?);
                (self.place(i, from)?, self.place(i, to)?, bytes, None)
            }
            _ => return Err(wrong()),
        };
        Ok(Op::Bulk(Box::new(Bulk { told, shared, global: other, from, extent, reduces: f, blocks })))
    }

    /// `st.async` and `red.async`.
    pub fn send(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        m.ignore(&["async", "weak", "relaxed", "cluster", "mbarrier::complete_tx::bytes", "shared::cluster"]);
        let count = m.find(|m| match m {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let name = match i.opcode {
            "red" => Some(m.find(|m| REDUCTIONS.iter().copied().find(|name| *name == m)).ok_or_else(|| unknown(i))?),
            _ => None,
        };
        let types = m.types();
        let (&[ty], [to, value, told]) = (types.as_slice(), self.all(i)?) else { return Err(unknown(i)) };
        let reduces = name.map(|name| update(name, ty).ok_or_else(|| unknown(i))).transpose()?;
        let list = match (value, count) {
            (Operand::Vector(list), Some(count)) if list.len() == count => list.clone(),
            (value, None) => vec![value.clone()],
            _ => return Err(Error::malformed(i.at, format!("`{i}` has another number of registers"))),
        };
        let values: Result<Vec<Reg>> = list.iter().map(|value| self.read(i, value, ty)).collect();
        let (to, told) = (self.place(i, to)?, self.place(i, told)?);
        Ok(Op::Send(Box::new(Send { to, told, values: values?.into(), bytes: ty.bytes(), reduces })))
    }

    /// The spaces that a copy goes to and comes from, by their order.
    fn ends(&self, i: &Instruction<'t>) -> Result<(Space, Space)> {
        let all: Vec<Space> = i.modifiers.iter().filter_map(|m| Space::named(m)).collect();
        match all.as_slice() {
            &[to @ (Space::Shared | Space::Global), from @ (Space::Shared | Space::Global)]
                if (to, from) != (Space::Global, Space::Global) =>
            {
                Ok((to, from))
            }
            _ => Err(unknown(i)),
        }
    }

    /// The address of a tensor map, and coordinates.
    fn in_tensor(
        &mut self,
        i: &Instruction<'t>,
        operand: &Operand<'t>,
        rank: Option<usize>,
    ) -> Result<((Reg, i64), Box<[Reg]>)> {
        let Operand::InTensor { base, offset, coordinates } = operand else {
            return Err(Error::malformed(i.at, format!("`{i}` takes a tensor map and coordinates in braces")));
        };
        if Some(coordinates.len()) != rank {
            return Err(Error::malformed(i.at, format!("`{i}` with {} coordinates", coordinates.len())));
        }
        let place = self.place(i, &Operand::Address(*base, *offset))?;
        let coordinates: Result<Vec<Reg>> = coordinates.iter().map(|one| self.read(i, one, U32)).collect();
        Ok((place, coordinates?.into()))
    }

    /// `tensormap.replace` and `tensormap.cp_fenceproxy`.
    pub fn tensor_map(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        if m.take("cp_fenceproxy") {
            m.ignore(&["global", "shared::cta", "tensormap::generic", "release", "sync", "aligned"]);
            m.ignore(&["cta", "cluster", "gpu", "sys"]);
            let [to, from, _] = self.all(i)?;
            let ((to, to_offset), (from, from_offset)) = (self.place(i, to)?, self.place(i, from)?);
            return Ok(Op::CopyTensorMap { to, to_offset, from, from_offset });
        }
        if !m.take("replace") || !m.take("tile") {
            return Err(unknown(i));
        }
        m.ignore(&["b1024"]);
        let space = m.space();
        let name = m.find(|m| FIELDS.iter().find(|(name, _)| *name == m)).ok_or_else(|| unknown(i))?;
        m.types();
        let (place, n, value) = match (name.1, i.operands.as_slice()) {
            (Shape::One, [place, value]) => (place, 0, value),
            (Shape::Each, [place, Operand::Int(n @ 0..=4), value]) => (place, *n as usize, value),
            _ => return Err(Error::malformed(i.at, format!("`{i}` has other operands"))),
        };
        let field = match name.0 {
            "global_address" => Field::Address,
            "rank" => Field::Rank,
            "box_dim" => Field::Box(n),
            "global_dim" => Field::Dim(n),
            "global_stride" if n < 4 => Field::Stride(n),
            "element_stride" => Field::Step(n),
            "elemtype" => Field::Element,
            "interleave_layout" => Field::Interleave,
            "swizzle_mode" => Field::Swizzle,
            "fill_mode" => Field::Fill,
            _ => return Err(unknown(i)),
        };
        let (base, offset) = self.place(i, place)?;
        let value = self.read(i, value, if field.place().1 == 8 { U64 } else { U32 })?;
        Ok(Op::TensorMap(Box::new(ChangedMap { space, base, offset, field, value })))
    }
}

/// Whether a field of a tensor map is one, or one for each dimension.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Shape {
    One,
    Each,
}

const FIELDS: &[(&str, Shape)] = &[
    ("global_address", Shape::One),
    ("rank", Shape::One),
    ("box_dim", Shape::Each),
    ("global_dim", Shape::Each),
    ("global_stride", Shape::Each),
    ("element_stride", Shape::Each),
    ("elemtype", Shape::One),
    ("interleave_layout", Shape::One),
    ("swizzle_mode", Shape::One),
    ("fill_mode", Shape::One),
];
