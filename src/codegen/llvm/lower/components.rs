//! How are components of values read and set, at indices that are known or not?

use super::*;

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    pub(super) fn extract(&mut self, frame: &Frame<'a, 'ctx>, a: ValueId, path: &Path) -> Scalars<'ctx> {
        let mut ty = frame.ty(a);
        let mut scalars = frame.get(a).clone();
        for step in path {
            scalars = match *step {
                Step::At(n) => {
                    let start = flatten::leaf_start(ty, n, &self.ir.structs);
                    ty = self.step_ty(ty, Some(n));
                    let count = flatten::leaf_count(ty, &self.ir.structs);
                    scalars[start..start + count].iter().copied().collect()
                }
                Step::Dynamic(index) => {
                    let parts = ty.step_count(&self.ir.structs);
                    let index = self.component_index(frame, index, parts);
                    ty = self.step_ty(ty, None);
                    let width = flatten::leaf_count(ty, &self.ir.structs);
                    self.pick(&scalars, index, width)
                }
            };
        }
        scalars
    }

    pub fn step_ty(&self, ty: Type, index: Option<u32>) -> Type {
        ty.step(index, &self.ir.structs).expect("verified IR: a path fits its type")
    }

    /// An index into components as i64, the count added once when it was negative.
    pub fn component_index(&mut self, frame: &Frame<'a, 'ctx>, index: ValueId, count: u32) -> Val<'ctx> {
        use crate::codegen::llvm::builder::IntPredicate;
        let s = frame.scalar_ty(index);
        let wide = if s.is_signed_int() {
            self.ops.cast(s, Scalar::I64, frame.scalar(index))
        } else {
            self.ops.cast(s, Scalar::U64, frame.scalar(index))
        };
        if !s.is_signed_int() {
            return wide;
        }
        if frame.known.ranges.is_at_least(frame.at, index, 0) {
            return wide;
        }
        let negative = self.ll.icmp(IntPredicate::SLT, wide, self.ll.const_i64(0));
        self.ll.select(negative, self.ll.add(wide, self.ll.const_i64(i64::from(count))), wide)
    }

    /// Part `index` of a value made of parts of `width` scalars; zero when there is no such part.
    fn pick(&mut self, scalars: &Scalars<'ctx>, index: Val<'ctx>, width: usize) -> Scalars<'ctx> {
        let ll = self.ll;
        let parts = scalars.len() / width.max(1);
        (0..width)
            .map(|k| {
                (0..parts).fold(ll.zero(ll.ty(scalars[k])), |rest, part| {
                    ll.select(ll.eq(index, ll.const_i64(part as i64)), scalars[part * width + k], rest)
                })
            })
            .collect()
    }

    pub(super) fn insert(&mut self, frame: &Frame<'a, 'ctx>, a: ValueId, path: &Path, b: ValueId) -> Scalars<'ctx> {
        let ll = self.ll;
        let mut ty = frame.ty(a);
        let mut scalars = frame.get(a).clone();
        let new = frame.get(b).clone();
        // Where the part may start, and the condition for each place (none: it is certain).
        let mut places: SmallVec<[(usize, Option<Val>); 4]> = smallvec![(0, None)];
        for step in path {
            match *step {
                Step::At(n) => {
                    let start = flatten::leaf_start(ty, n, &self.ir.structs);
                    places.iter_mut().for_each(|place| place.0 += start);
                    ty = self.step_ty(ty, Some(n));
                }
                Step::Dynamic(index) => {
                    let parts = ty.step_count(&self.ir.structs);
                    let index = self.component_index(frame, index, parts);
                    ty = self.step_ty(ty, None);
                    let width = flatten::leaf_count(ty, &self.ir.structs);
                    let mut more = SmallVec::new();
                    for (start, condition) in &places {
                        for part in 0..parts as usize {
                            let here = ll.eq(index, ll.const_i64(part as i64));
                            let here = condition.map_or(here, |c| ll.and(c, here));
                            more.push((start + part * width, Some(here)));
                        }
                    }
                    places = more;
                }
            }
        }
        for (start, condition) in places {
            for (k, value) in new.iter().enumerate() {
                let slot = &mut scalars[start + k];
                *slot = condition.map_or(*value, |c| ll.select(c, *value, *slot));
            }
        }
        scalars
    }
}
