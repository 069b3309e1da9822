//! What do fetches from textures and accesses to surfaces mean (PTX ISA, "Texture Instructions",
//! "Surface Instructions")?

use super::{Decoder, unknown};
use crate::ptx::{Error, Instruction, Kind, Operand, Result, Type};
use crate::sim::code::{Border, Op, Reg, SurfaceAccess, TextureFetch};

use super::modifiers::Modifiers;

/// `tex.2d`: so many dimensions.
fn dimensions(m: &mut Modifiers) -> Option<usize> {
    m.find(|m| match m {
        "1d" => Some(1),
        "2d" => Some(2),
        "3d" => Some(3),
        _ => None,
    })
}

impl<'t> Decoder<'_, 't> {
    pub fn texture(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        // There is one level of detail.
        let has_level = m.take("level");
        let dims = dimensions(m).ok_or_else(|| unknown(i))?;
        if !m.take("v4") {
            return Err(unknown(i));
        }
        let types = m.types();
        let &[of, coordinate] = types.as_slice() else { return Err(unknown(i)) };
        if of.bits != 32 || coordinate.bits != 32 {
            return Err(unknown(i));
        }
        let (to, from) = match (i.operands.as_slice(), has_level) {
            ([to, from], false) | ([to, from, _], true) => (to, from),
            _ => return Err(unknown(i)),
        };
        let (texture, coordinates) = self.in_image(i, from, dims, coordinate)?;
        let Operand::Vector(list) = to else {
            return Err(Error::malformed(i.at, format!("`{i}` gives four values")));
        };
        let to: Result<Vec<Option<Reg>>> = list
            .iter()
            .map(|one| if *one == Operand::Sink { Ok(None) } else { self.write(i, one, of).map(Some) })
            .collect();
        let whole = coordinate.kind != Kind::Float;
        Ok(Op::Texture(Box::new(TextureFetch { texture, coordinates, whole, to: to?.into() })))
    }

    pub fn surface(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        let writes = i.opcode == "sust";
        if !m.take("b") {
            return Err(unknown(i));
        }
        m.ignore_caching();
        let dims = dimensions(m).ok_or_else(|| unknown(i))?;
        let count = m.find(|m| match m {
            "v2" => Some(2),
            "v4" => Some(4),
            _ => None,
        });
        let types = m.types();
        let &[ty] = types.as_slice() else { return Err(unknown(i)) };
        let border = m.find(|m| match m {
            "trap" => Some(Border::Trap),
            "clamp" => Some(Border::Clamp),
            "zero" => Some(Border::Zero),
            _ => None,
        });
        let [first, second] = self.all(i)?;
        let (place, values) = if writes { (first, second) } else { (second, first) };
        let (surface, coordinates) = self.in_image(i, place, dims, super::U32)?;
        let list = match values {
            Operand::Vector(list) => list.as_slice(),
            one => std::slice::from_ref(one),
        };
        if list.len() != count.unwrap_or(1) {
            return Err(Error::malformed(i.at, format!("`{i}` with {} values", list.len())));
        }
        let values: Result<Vec<Reg>> = list
            .iter()
            .map(|one| match writes {
                true => self.read_at_least(i, one, ty),
                false => self.write(i, one, ty),
            })
            .collect();
        let border = border.unwrap_or(Border::Trap);
        let bytes = ty.bits / 8;
        Ok(Op::Surface(Box::new(SurfaceAccess { surface, coordinates, values: values?.into(), bytes, border, writes })))
    }

    /// The handle of an image, and coordinates; of three dimensions the fourth one is not used.
    fn in_image(
        &mut self,
        i: &Instruction<'t>,
        operand: &Operand<'t>,
        dims: usize,
        ty: Type,
    ) -> Result<((Reg, i64), Box<[Reg]>)> {
        let Operand::InTensor { base, offset, coordinates } = operand else {
            return Err(Error::malformed(i.at, format!("`{i}` takes a handle and coordinates in braces")));
        };
        if coordinates.len() != if dims == 3 { 4 } else { dims } {
            return Err(Error::malformed(i.at, format!("`{i}` with {} coordinates", coordinates.len())));
        }
        let place = self.place(i, &Operand::Address(*base, *offset))?;
        let coordinates: Result<Vec<Reg>> = coordinates[..dims].iter().map(|one| self.read(i, one, ty)).collect();
        Ok((place, coordinates?.into()))
    }
}
