//! Which items belong to a subtree while it is built? A range of each of some arrays, which can be
//! cut in two for two threads.

use super::bounds::Bounds;

/// Items in ascending order of their numbers, and room of the same size to sort them into.
pub struct Work<'a> {
    /// Where the range starts in the order of leaves.
    pub first: u32,
    pub boxes: &'a mut [Bounds],
    pub ids: &'a mut [i32],
    spare_boxes: &'a mut [Bounds],
    spare_ids: &'a mut [i32],
    /// Where leaves write the numbers of their items.
    order: &'a mut [i32],
}

impl<'a> Work<'a> {
    pub fn new(
        boxes: &'a mut [Bounds],
        ids: &'a mut [i32],
        spare_boxes: &'a mut [Bounds],
        spare_ids: &'a mut [i32],
        order: &'a mut [i32],
    ) -> Work<'a> {
        Work { first: 0, boxes, ids, spare_boxes, spare_ids, order }
    }

    pub fn count(&self) -> usize {
        self.boxes.len()
    }

    /// One behind the last place in the order of leaves.
    pub fn end(&self) -> u32 {
        self.first + self.count() as u32
    }

    pub fn bounds(&self) -> Bounds {
        Bounds::around(&*self.boxes)
    }

    /// Writes the items into the order of leaves.
    pub fn finish(self) {
        self.order.copy_from_slice(self.ids);
    }

    /// The first `count` items, and the others.
    pub fn cut(self, count: usize) -> (Work<'a>, Work<'a>) {
        let (boxes, right_boxes) = self.boxes.split_at_mut(count);
        let (ids, right_ids) = self.ids.split_at_mut(count);
        let (spare_boxes, right_spare_boxes) = self.spare_boxes.split_at_mut(count);
        let (spare_ids, right_spare_ids) = self.spare_ids.split_at_mut(count);
        let (order, right_order) = self.order.split_at_mut(count);
        let right = Work {
            first: self.first + count as u32,
            boxes: right_boxes,
            ids: right_ids,
            spare_boxes: right_spare_boxes,
            spare_ids: right_spare_ids,
            order: right_order,
        };
        (Work { first: self.first, boxes, ids, spare_boxes, spare_ids, order }, right)
    }

    /// The `count` items for which `goes_left` holds, and the others, each in their order.
    pub fn partition(self, count: usize, goes_left: impl Fn(usize, &Bounds) -> bool) -> (Work<'a>, Work<'a>) {
        let (mut left, mut right) = (0, count);
        for (k, (item, &id)) in self.boxes.iter().zip(&*self.ids).enumerate() {
            let chosen = goes_left(k, item);
            let at = if chosen { left } else { right };
            self.spare_boxes[at] = *item;
            self.spare_ids[at] = id;
            left += usize::from(chosen);
            right += usize::from(!chosen);
        }
        self.swap().cut(count)
    }

    fn swap(self) -> Work<'a> {
        Work { boxes: self.spare_boxes, ids: self.spare_ids, spare_boxes: self.boxes, spare_ids: self.ids, ..self }
    }
}
