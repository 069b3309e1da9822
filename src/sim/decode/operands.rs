//! What do the operands of an instruction stand for? A register, whose size has to fit; a constant,
//! which gets a register; an address.

use super::control::function_address;
use super::{Decoder, FALSE, Slot, TRUE};
use crate::ptx::{Base, Error, Instruction, Kind, Operand, Register, Result, Type};
use crate::sim::code::{Pred, PredIn, Reg, Special};

impl<'t> Decoder<'_, 't> {
    /// All operands of an instruction that has `N`.
    pub fn all<'i, const N: usize>(&self, i: &'i Instruction<'t>) -> Result<[&'i Operand<'t>; N]> {
        let list: Vec<&Operand> = i.operands.iter().collect();
        let found = list.len();
        list.try_into().map_err(|_| Error::malformed(i.at, format!("`{i}` takes {N} operands, not {found}")))
    }

    /// The register that holds a constant.
    pub fn constant(&mut self, bits: u64) -> Reg {
        if let Some(&reg) = self.constants.get(&bits) {
            return reg;
        }
        let reg = self.regs;
        self.regs += 1;
        self.constants.insert(bits, reg);
        self.constant_list.push((reg, bits));
        reg
    }

    pub fn special(&mut self, special: Special) -> Reg {
        if let Some(&reg) = self.specials.get(&special) {
            return reg;
        }
        let reg = self.regs;
        self.regs += 1;
        self.specials.insert(special, reg);
        reg
    }

    /// The register that an operand of this type is read from.
    pub fn read(&mut self, i: &Instruction<'t>, operand: &Operand<'t>, ty: Type) -> Result<Reg> {
        if let Operand::Register(register) = operand {
            let (reg, of) = self.number_register(i, *register)?;
            if of.bits != ty.bits {
                return Err(wrong_size(i, of.bits, ty.bits));
            }
            return Ok(reg);
        }
        self.read_at_least(i, operand, ty)
    }

    /// The same, where a wider register will do.
    pub fn read_at_least(&mut self, i: &Instruction<'t>, operand: &Operand<'t>, ty: Type) -> Result<Reg> {
        let mask = if ty.bits >= 64 { u64::MAX } else { (1 << ty.bits) - 1 };
        let is_float = ty.kind == Kind::Float;
        Ok(match *operand {
            Operand::Register(register) => {
                let (reg, of) = self.number_register(i, register)?;
                if of.bits < ty.bits {
                    return Err(wrong_size(i, of.bits, ty.bits));
                }
                reg
            }
            Operand::Int(_) if is_float => {
                return Err(Error::malformed(i.at, format!("`{i}` takes a float, not an integer")));
            }
            Operand::Int(value) => self.constant(value & mask),
            Operand::F32(bits) if ty.bits == 32 => self.constant(bits.into()),
            Operand::F32(bits) if is_float && ty.bits == 64 => self.constant(f64::from(f32::from_bits(bits)).to_bits()),
            Operand::F64(bits) if ty.bits == 64 => self.constant(bits),
            Operand::F64(bits) if is_float && ty.bits == 32 => {
                self.constant((f64::from_bits(bits) as f32).to_bits().into())
            }
            Operand::Special(name) => {
                let special =
                    special(name).ok_or_else(|| Error::unknown(i.at, format!("`%{name}` as an operand of `{i}`")))?;
                self.special(special)
            }
            Operand::Variable { variable, offset } => {
                let address = self.layout.addresses[variable]
                    .ok_or_else(|| Error::malformed(i.at, "a variable of another function"))?;
                let mut address = address.wrapping_add(offset as u64);
                if address & mask != address && self.module.variables[variable].space == crate::ptx::Space::Param {
                    // `cvta.param` adds the rest.
                    address &= mask;
                }
                if address & mask != address {
                    return Err(Error::malformed(i.at, "an address that does not fit"));
                }
                self.constant(address)
            }
            Operand::Function(name) => {
                let address = function_address(self.module, name).map_err(|what| Error::unknown(i.at, what))?;
                self.constant(address)
            }
            _ => return Err(Error::malformed(i.at, format!("an operand that `{i}` does not take"))),
        })
    }

    /// A register that is no predicate, with its type.
    fn number_register(&self, i: &Instruction<'t>, register: Register) -> Result<(Reg, Type)> {
        match self.slot(i, register)? {
            Slot::Reg(reg, ty) => Ok((reg, ty)),
            Slot::Pred(_) => Err(Error::malformed(i.at, format!("`{i}` takes a number, not a predicate"))),
        }
    }

    /// The register of this size that a result goes to.
    pub fn write(&mut self, i: &Instruction<'t>, operand: &Operand<'t>, ty: Type) -> Result<Reg> {
        let (reg, bits) = self.write_at_least(i, operand, ty.bits)?;
        if bits != ty.bits && !(ty.bits == 8 && bits == 16) {
            return Err(wrong_size(i, bits, ty.bits));
        }
        Ok(reg)
    }

    /// A register of at least so many bits, and how many it has.
    pub fn write_at_least(&mut self, i: &Instruction<'t>, operand: &Operand<'t>, bits: u32) -> Result<(Reg, u32)> {
        match operand {
            Operand::Register(register) => {
                let (reg, ty) = self.number_register(i, *register)?;
                if ty.bits < bits { Err(wrong_size(i, ty.bits, bits)) } else { Ok((reg, ty.bits)) }
            }
            // A register of its own that nobody reads.
            Operand::Sink => {
                self.regs += 1;
                Ok((self.regs - 1, bits.max(16)))
            }
            _ => Err(Error::malformed(i.at, format!("the result of `{i}` goes to no register"))),
        }
    }

    pub fn pred(&self, i: &Instruction<'t>, register: Register) -> Result<Pred> {
        match self.slot(i, register)? {
            Slot::Pred(pred) => Ok(pred),
            Slot::Reg(..) => Err(Error::malformed(i.at, format!("`{i}` takes a predicate, not a number"))),
        }
    }

    pub fn predicate(&self, i: &Instruction<'t>, operand: &Operand<'t>) -> Result<PredIn> {
        match *operand {
            Operand::Register(register) => Ok(PredIn { pred: self.pred(i, register)?, negated: false }),
            Operand::Not(register) => Ok(PredIn { pred: self.pred(i, register)?, negated: true }),
            Operand::Int(0) => Ok(FALSE),
            Operand::Int(_) => Ok(TRUE),
            _ => Err(Error::malformed(i.at, format!("`{i}` takes a predicate"))),
        }
    }

    pub fn write_predicate(&mut self, i: &Instruction<'t>, operand: &Operand<'t>) -> Result<Pred> {
        match operand {
            Operand::Register(register) => self.pred(i, *register),
            Operand::Sink => {
                self.preds += 1;
                Ok(self.preds - 1)
            }
            _ => Err(Error::malformed(i.at, format!("the result of `{i}` goes to no predicate"))),
        }
    }

    /// The register and the offset of an address, in the space that the instruction names.
    pub fn place(&mut self, i: &Instruction<'t>, operand: &Operand<'t>) -> Result<(Reg, i64)> {
        match *operand {
            Operand::Address(Base::Register(register), offset) => {
                let (reg, ty) = self.number_register(i, register)?;
                if ty.bits < 32 { Err(wrong_size(i, ty.bits, 64)) } else { Ok((reg, offset)) }
            }
            Operand::Address(Base::Variable(variable), offset) => {
                let address = self.layout.addresses[variable]
                    .ok_or_else(|| Error::malformed(i.at, "a variable of another function"))?;
                Ok((self.constant(address), offset))
            }
            Operand::Address(Base::Zero, offset) => Ok((self.constant(0), offset)),
            _ => Err(Error::malformed(i.at, format!("`{i}` takes an address in brackets"))),
        }
    }
}

fn wrong_size(i: &Instruction, found: u32, expected: u32) -> Error {
    Error::malformed(i.at, format!("`{i}` takes a register of {expected} bits, and this one has {found}"))
}

fn special(name: &str) -> Option<Special> {
    let axis = |name: &str| match name.rsplit_once('.')?.1 {
        "x" => Some(0),
        "y" => Some(1),
        _ => Some(2),
    };
    Some(match name {
        "laneid" => Special::Lane,
        "warpid" => Special::Warp,
        "nwarpid" => Special::Warps,
        "smid" | "gridid" => Special::Zero,
        "nsmid" => Special::Ones,
        "cluster_ctarank" => Special::RankInCluster,
        "cluster_nctarank" => Special::BlocksOfCluster,
        _ if name.starts_with("cluster_ctaid") => Special::InCluster(axis(name)?),
        _ if name.starts_with("cluster_nctaid") => Special::ClusterExtent(axis(name)?),
        _ if name.starts_with("clusterid") => Special::Cluster(axis(name)?),
        _ if name.starts_with("nclusterid") => Special::Clusters(axis(name)?),
        "lanemask_eq" => Special::MaskEq,
        "lanemask_le" => Special::MaskLe,
        "lanemask_lt" => Special::MaskLt,
        "lanemask_ge" => Special::MaskGe,
        "lanemask_gt" => Special::MaskGt,
        "envreg1" => Special::Environment(1),
        "envreg2" => Special::Environment(2),
        "dynamic_smem_size" => Special::DynamicShared,
        "total_smem_size" => Special::TotalShared,
        _ if name.starts_with("tid") => Special::Tid(axis(name)?),
        _ if name.starts_with("ntid") => Special::Ntid(axis(name)?),
        _ if name.starts_with("ctaid") => Special::Ctaid(axis(name)?),
        _ if name.starts_with("nctaid") => Special::Nctaid(axis(name)?),
        _ => return None,
    })
}
