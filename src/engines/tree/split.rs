//! Where is a node divided? By the surface area heuristic over 16 bins (Wald, On fast construction
//! of SAH-based bounding volume hierarchies, 2007), or at the median.

use super::Strategy;
use super::bounds::Bounds;
use super::work::Work;

const BINS: usize = 16;

/// The two sides of a divided node, with their boxes.
pub type Sides<'a> = [(Work<'a>, Bounds); 2];

/// Divides at least two items whose box is `around`, so that neither side is empty.
pub fn divide<'a>(work: Work<'a>, around: &Bounds, strategy: Strategy) -> Sides<'a> {
    match strategy {
        Strategy::Sah => by_area(work),
        Strategy::Median => by_median(work, around.longest_axis()),
    }
}

/// The boxes of items by the place of their centre along one axis.
struct Bins {
    axis: usize,
    /// Where the first bin starts, in doubled coordinates.
    start: f32,
    /// Bins for each unit of length.
    scale: f32,
    boxes: [Bounds; BINS],
    counts: [u32; BINS],
}

impl Bins {
    /// None where the centres have no extent, or none that f32 can hold.
    fn of(work: &Work) -> Option<Bins> {
        let centres = work.boxes.iter().fold(Bounds::NOTHING, |all, item| all.with(item.centre()));
        let axis = centres.longest_axis();
        let scale = BINS as f32 / centres.extents()[axis];
        if !(scale > 0.0 && scale.is_finite()) {
            return None;
        }
        let start = centres.lower[axis];
        let mut bins = Bins { axis, start, scale, boxes: [Bounds::NOTHING; BINS], counts: [0; BINS] };
        for item in &*work.boxes {
            let bin = bins.bin(item);
            bins.boxes[bin] = bins.boxes[bin].union(item);
            bins.counts[bin] += 1;
        }
        Some(bins)
    }

    fn bin(&self, item: &Bounds) -> usize {
        let place = (item.lower[self.axis] + item.upper[self.axis] - self.start) * self.scale;
        (place as i32).clamp(0, BINS as i32 - 1) as usize
    }

    /// The bin that starts the right side of the cheapest division: the sum over both sides of
    /// surface times items is least; of equals, the one that leaves the most items on its smaller
    /// side; of these the first. None where a surface is more than f32 can hold.
    fn cheapest(&self) -> Option<usize> {
        let mut right_costs = [0.0f32; BINS];
        let (mut around, mut count) = (Bounds::NOTHING, 0);
        for bin in (1..BINS).rev() {
            if self.counts[bin] == 0 {
                right_costs[bin] = right_costs[(bin + 1) % BINS];
                continue;
            }
            around = around.union(&self.boxes[bin]);
            count += self.counts[bin];
            right_costs[bin] = around.area() * count as f32;
        }
        let total = count + self.counts[0];
        let (mut best, mut best_cost, mut best_smaller) = (None, f32::INFINITY, 0);
        let (mut around, mut count) = (Bounds::NOTHING, 0);
        for (bin, right_cost) in right_costs.into_iter().enumerate().skip(1) {
            if self.counts[bin - 1] == 0 {
                continue;
            }
            around = around.union(&self.boxes[bin - 1]);
            count += self.counts[bin - 1];
            let cost = around.area() * count as f32 + right_cost;
            let smaller = count.min(total - count);
            if cost < best_cost || cost == best_cost && smaller > best_smaller {
                (best, best_cost, best_smaller) = (Some(bin), cost, smaller);
            }
        }
        best.filter(|_| best_smaller > 0)
    }
}

fn by_area(work: Work) -> Sides {
    let Some(bins) = Bins::of(&work) else { return in_the_middle(work) };
    let Some(split) = bins.cheapest() else { return in_the_middle(work) };
    let (left_bins, right_bins) = bins.boxes.split_at(split);
    let count = bins.counts[..split].iter().sum::<u32>() as usize;
    let boxes = [Bounds::around(left_bins), Bounds::around(right_bins)];
    let (left, right) = work.partition(count, |_, item| bins.bin(item) < split);
    [(left, boxes[0]), (right, boxes[1])]
}

/// Halves by the centres along an axis; of equal centres, lower numbers go left.
pub fn by_median(work: Work, axis: usize) -> Sides {
    let half = work.count() / 2;
    let mut keys: Vec<u64> = work.boxes.iter().enumerate().map(|(k, item)| key(item.centre()[axis], k)).collect();
    let (_, &mut median, _) = keys.select_nth_unstable(half);
    let (left, right) = work.partition(half, |k, item| key(item.centre()[axis], k) < median);
    with_boxes(left, right)
}

/// A number that orders as the centre, then as the place.
fn key(centre: f32, place: usize) -> u64 {
    let bits = centre.to_bits();
    let ordered = if bits >> 31 == 0 { bits | 1 << 31 } else { !bits };
    u64::from(ordered) << 32 | place as u64
}

fn in_the_middle(work: Work) -> Sides {
    let half = work.count() / 2;
    let (left, right) = work.cut(half);
    with_boxes(left, right)
}

fn with_boxes<'a>(left: Work<'a>, right: Work<'a>) -> Sides<'a> {
    let (left_box, right_box) = (left.bounds(), right.bounds());
    [(left, left_box), (right, right_box)]
}
