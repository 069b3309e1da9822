//! What do instructions on mbarrier objects mean, and those on addresses in a cluster?

use super::modifiers::Modifiers;
use super::{Decoder, U32, U64, unknown};
use crate::ptx::{Error, Instruction, Operand, Result, Space};
use crate::sim::cluster;
use crate::sim::code::{Mbarrier, OnMbarrier, Op, Order, Reg, Special};

impl<'t> Decoder<'_, 't> {
    pub fn mbarrier(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        const NAMES: &[&str] = &[
            "init",
            "inval",
            "arrive",
            "arrive_drop",
            "expect_tx",
            "complete_tx",
            "test_wait",
            "try_wait",
            "pending_count",
        ];
        // The first one says what is done: `arrive.expect_tx`.
        let name = i.modifiers.first().copied().and_then(|first| NAMES.iter().find(|name| **name == first));
        let name = *name.ok_or_else(|| unknown(i))?;
        m.take(name);
        let also_expects = m.take("expect_tx");
        let parity = m.take("parity");
        m.ignore(&["noComplete", "cta", "cluster", "b64"]);
        let relaxed = m.take("relaxed");
        m.ignore(&["acquire", "release"]);
        let space = m.space();
        if name == "pending_count" {
            let [d, state] = self.all(i)?;
            let (state, d) = (self.read(i, state, U64)?, self.write(i, d, U32)?);
            return Ok(self.on(OnMbarrier::Pending { d, state }, space, (state, 0), Order::Strong));
        }
        let operands: Vec<&Operand> = i.operands.iter().collect();
        let order = |order: Order| if relaxed { Order::Strong } else { order };
        let wrong = || Error::malformed(i.at, format!("`{i}` has another number of operands"));
        match (name, operands.as_slice()) {
            ("init", [place, count]) => {
                let (place, count) = (self.place(i, place)?, self.read(i, count, U32)?);
                Ok(self.on(OnMbarrier::Init { count }, space, place, Order::Strong))
            }
            ("inval", [place]) => {
                let place = self.place(i, place)?;
                Ok(self.on(OnMbarrier::Invalidate, space, place, Order::Strong))
            }
            ("expect_tx" | "complete_tx", [place, bytes]) => {
                let (place, bytes) = (self.place(i, place)?, self.read(i, bytes, U32)?);
                let expects = name == "expect_tx";
                let does = if expects { OnMbarrier::Expect { bytes } } else { OnMbarrier::Complete { bytes } };
                Ok(self.on(does, space, place, Order::Strong))
            }
            ("arrive" | "arrive_drop", rest) => {
                // `arrive [a]` of remote objects has no state.
                let (d, rest) = match rest {
                    [d, rest @ ..] if !matches!(d, Operand::Address(..)) => (Some(*d), rest),
                    rest => (None, rest),
                };
                let d = match d {
                    None | Some(Operand::Sink) => None,
                    Some(d) => Some(self.write(i, d, U64)?),
                };
                let [place, rest @ ..] = rest else { return Err(wrong()) };
                let number = match rest {
                    [] => None,
                    [number] => Some(self.read(i, number, U32)?),
                    _ => return Err(wrong()),
                };
                let one = self.constant(1);
                let (count, expected) = match (also_expects, number) {
                    (true, Some(bytes)) => (one, Some(bytes)),
                    (true, None) => return Err(wrong()),
                    (false, count) => (count.unwrap_or(one), None),
                };
                let place = self.place(i, place)?;
                let does = OnMbarrier::Arrive { d, count, expected, drops: name == "arrive_drop" };
                Ok(self.on(does, space, place, order(Order::Release)))
            }
            ("test_wait" | "try_wait", [p, place, phase, rest @ ..]) => {
                // A hint says how long a thread is willing to wait.
                if rest.len() > usize::from(name == "try_wait") {
                    return Err(wrong());
                }
                let phase = self.read(i, phase, if parity { U32 } else { U64 })?;
                let (p, place) = (self.write_predicate(i, p)?, self.place(i, place)?);
                let does = OnMbarrier::Test { p, phase, waits: name == "try_wait" };
                Ok(self.on(does, space, place, order(Order::Acquire)))
            }
            _ => Err(wrong()),
        }
    }

    fn on(&self, does: OnMbarrier, space: Space, (base, offset): (Reg, i64), order: Order) -> Op {
        Op::Mbarrier(Box::new(Mbarrier { does, space, base, offset, order }))
    }

    /// `cp.async.mbarrier.arrive`.
    pub fn after_copies(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        if !m.take("arrive") {
            return Err(unknown(i));
        }
        let counted = m.take("noinc");
        m.take("b64");
        let space = m.space();
        let [place] = self.all(i)?;
        let place = self.place(i, place)?;
        Ok(self.on(OnMbarrier::AfterCopies { counted }, space, place, Order::Release))
    }

    /// `mapa`, which gives the address of the same place in another block of the cluster, and
    /// `getctarank`, which gives the rank of the block that an address leads to.
    pub fn in_cluster(&mut self, i: &Instruction<'t>, m: &mut Modifiers<'t>) -> Result<Op> {
        m.space();
        let types = m.types();
        let &[ty] = types.as_slice() else { return Err(unknown(i)) };
        let nothing = self.constant(0);
        let (f, d, a, b): (fn(u64, u64, u32, u32) -> u64, _, _, _) = match (i.opcode, i.operands.as_slice()) {
            ("mapa", [d, a, rank]) => {
                let (a, rank) = (self.read(i, a, ty)?, self.read(i, rank, U32)?);
                (cluster::mapped, self.write(i, d, ty)?, a, rank)
            }
            ("getctarank", [d, a]) => {
                let (a, own) = (self.read(i, a, ty)?, self.special(Special::RankInCluster));
                (cluster::rank_of, self.write(i, d, U32)?, a, own)
            }
            _ => return Err(unknown(i)),
        };
        Ok(Op::Alu4 { f, d, a, b, c: nothing, e: nothing })
    }
}
