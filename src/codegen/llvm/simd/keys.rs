//! What if lanes use the same element of an array that is stored to? Then the order of their
//! threads shows. A key tells (see [`side_by_side`](crate::analysis::side_by_side)): lanes of which
//! two have the same one leave before they have done anything, and their threads run one by one.

use crate::codegen::llvm::builder::{IntPredicate, Val};
use crate::codegen::llvm::lower::{Frame, Lower};
use crate::ir::Inst;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// Looks at what an instruction gave, if it is a key.
    pub fn compare_keys(&mut self, frame: &Frame<'a, 'ctx>, inst: &'a Inst) {
        let (Some(lanes), &[result]) = (self.mode.lanes(), &inst.results[..]) else { return };
        let Some(one_by_one) = lanes.one_by_one.filter(|_| lanes.plan.keys.contains(&result)) else { return };
        let ll = self.ll;
        let meet = self.have_equals(frame.scalar(result), frame.scalar_ty(result).is_signed_int());
        let apart = ll.block(self.into.function, "apart");
        ll.likely_br(ll.icmp(IntPredicate::EQ, meet, ll.bool(false)), apart, one_by_one);
        ll.position_at_end(apart);
    }

    /// Whether two running lanes have the same number, or one has a negative one: as an index that
    /// counts from the end, and may name the element that another number names.
    fn have_equals(&self, key: Val<'ctx>, signed: bool) -> Val<'ctx> {
        let ll = self.ll;
        let count = self.simd_width();
        let key = ll.splat(key, count);
        let ty = ll.lane_ty(ll.ty(key));
        // Those of lanes that rest are no indices, and differ.
        let others = ll.not(ll.sequence(ty, count));
        let shown = self.mask().map_or(key, |mask| ll.select(mask, key, others));
        let lane = |lane: u32| (lane % count) as i32;
        let equal = (1..=count / 2).map(|by| {
            let turned: Vec<i32> = (0..count).map(|n| lane(n + by)).collect();
            ll.eq(shown, ll.shuffle(shown, shown, &turned))
        });
        let negative = signed.then(|| {
            let negative = ll.icmp(IntPredicate::SLT, key, ll.zero(ll.ty(key)));
            self.mask().map_or(negative, |mask| ll.and(mask, negative))
        });
        let found = equal.chain(negative).reduce(|a, b| ll.or(a, b));
        found.map_or(ll.bool(false), |found| ll.any(found))
    }
}
