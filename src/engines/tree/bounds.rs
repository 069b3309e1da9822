//! How are boxes united quickly? With four lanes, which compilers turn into vector instructions.

/// A box. The fourth lane of both corners is 0.
#[repr(C, align(16))]
#[derive(Clone, Copy, PartialEq, Debug)]
pub struct Bounds {
    pub lower: [f32; 4],
    pub upper: [f32; 4],
}

fn smaller(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| if b[k] < a[k] { b[k] } else { a[k] })
}

fn larger(a: [f32; 4], b: [f32; 4]) -> [f32; 4] {
    std::array::from_fn(|k| if b[k] > a[k] { b[k] } else { a[k] })
}

fn four([x, y, z]: [f32; 3]) -> [f32; 4] {
    [x, y, z, 0.0]
}

fn three([x, y, z, _]: [f32; 4]) -> [f32; 3] {
    [x, y, z]
}

impl Bounds {
    /// A box without a point: the union with it is the other box.
    pub const NOTHING: Bounds =
        Bounds { lower: [f32::MAX, f32::MAX, f32::MAX, 0.0], upper: [f32::MIN, f32::MIN, f32::MIN, 0.0] };

    pub fn new(lower: [f32; 3], upper: [f32; 3]) -> Bounds {
        Bounds { lower: four(lower), upper: four(upper) }
    }

    pub fn lower(&self) -> [f32; 3] {
        three(self.lower)
    }

    pub fn upper(&self) -> [f32; 3] {
        three(self.upper)
    }

    #[must_use]
    pub fn union(&self, other: &Bounds) -> Bounds {
        Bounds { lower: smaller(self.lower, other.lower), upper: larger(self.upper, other.upper) }
    }

    /// Grows to hold a point.
    #[must_use]
    pub fn with(&self, point: [f32; 4]) -> Bounds {
        Bounds { lower: smaller(self.lower, point), upper: larger(self.upper, point) }
    }

    /// Twice the centre.
    pub fn centre(&self) -> [f32; 4] {
        std::array::from_fn(|k| self.lower[k] + self.upper[k])
    }

    pub fn extents(&self) -> [f32; 3] {
        std::array::from_fn(|k| self.upper[k] - self.lower[k])
    }

    /// Half the surface.
    pub fn area(&self) -> f32 {
        let [x, y, z] = self.extents();
        x * y + x * z + y * z
    }

    /// The first of the axes along which the box is longest.
    pub fn longest_axis(&self) -> usize {
        let [x, y, z] = self.extents();
        if x >= y && x >= z {
            0
        } else if y >= z {
            1
        } else {
            2
        }
    }

    /// The smallest box around boxes.
    pub fn around<'a>(boxes: impl IntoIterator<Item = &'a Bounds>) -> Bounds {
        boxes.into_iter().fold(Bounds::NOTHING, |all, one| all.union(one))
    }
}
