//! What is a program, for everything that comes after its making? Its text, and how its kernels are
//! launched one after the other, at any of three sizes.

use super::launch::Contents;
use crate::run::launch::EngineKind;

/// A program and the launches that make sense for it.
#[derive(Clone, Debug, Default)]
pub struct Plan {
    /// The program as a Python file.
    pub text: String,
    /// What extents are reported in.
    pub symbols: Vec<Symbol>,
    /// In the order of their launches.
    pub steps: Vec<Step>,
    /// Functions of plain Python that compute the same in another way, each by itself: kernels of
    /// one thread in [`Plan::reference_text`], in their order.
    pub references: Vec<Step>,
    /// The text of the references as kernels, to be put behind `text`.
    pub reference_text: String,
    /// The arrays that the references write: what the kernels leave in them is compared.
    pub expected: Vec<String>,
    /// Arrays whose elements may come in any order.
    pub unordered: Vec<String>,
    /// What arrays hold before the first launch, where that is not drawn: for one seed or the
    /// other.
    pub recorded: Vec<Contents>,
}

impl Plan {
    /// Whether it has one size alone.
    pub fn is_fixed(&self) -> bool {
        !self.recorded.is_empty()
    }
}

/// A named number, and its value at each [`Scale`](super::launch::Scale).
#[derive(Clone, PartialEq, Debug)]
pub struct Symbol {
    pub name: String,
    pub values: [u32; 3],
}

/// The launch of a kernel.
#[derive(Clone, Debug)]
pub struct Step {
    pub kernel: String,
    pub dims: Vec<Extent>,
    /// The kernel lets threads above its extents return: the launch is rounded up to multiples of
    /// this.
    pub block: Option<Vec<u32>>,
    pub params: Vec<Param>,
    /// Parameters that get an array of another name, or a number.
    pub bound: Vec<(String, String)>,
}

impl Step {
    /// The array that a parameter gets: launches share arrays of one name.
    pub fn array_of<'a>(&'a self, param: &'a str) -> &'a str {
        self.bound.iter().find(|(name, _)| name == param).map_or(param, |(_, array)| array)
    }
}

/// An extent or a count, in terms of the plan's symbols.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Extent {
    Fixed(u32),
    /// The value of a symbol, times and plus something.
    Axis {
        axis: usize,
        times: u32,
        plus: u32,
    },
}

impl Extent {
    pub fn axis(axis: usize) -> Extent {
        Extent::Axis { axis, times: 1, plus: 0 }
    }

    /// Its value where the symbols have these.
    pub fn of(self, values: &[u32]) -> u32 {
        match self {
            Extent::Fixed(n) => n,
            Extent::Axis { axis, times, plus } => values.get(axis).copied().unwrap_or(1) * times + plus,
        }
    }

    /// The same in words: `2 * dim0 + 1`.
    pub fn text(self, symbols: &[Symbol]) -> String {
        match self {
            Extent::Fixed(n) => n.to_string(),
            Extent::Axis { axis, times, plus } => {
                let name = symbols.get(axis).map_or("1", |symbol| symbol.name.as_str());
                let scaled = match times {
                    1 => name.to_string(),
                    _ if name.contains(' ') => format!("{times} * ({name})"),
                    _ => format!("{times} * {name}"),
                };
                if plus == 0 { scaled } else { format!("{scaled} + {plus}") }
            }
        }
    }
}

/// What a launch passes for a parameter.
#[derive(Clone, Debug)]
pub enum Given {
    /// Uniform in `[low, high]`, component by component.
    Array {
        shape: Vec<Extent>,
        content: Content,
    },
    Float(Vec<f64>),
    Int(i64),
    Bool(bool),
    Count(Extent),
    Struct(Vec<(String, Given)>),
    /// One that is built for the launch: its fields in launch files, with arrays of the program, by
    /// their names, and numbers.
    Engine {
        kind: EngineKind,
        parts: Vec<(&'static str, Param)>,
    },
}

/// The contents of an array before the first launch.
#[derive(Clone, Copy, PartialEq, Debug)]
pub enum Content {
    Zero,
    /// Everywhere this.
    Full(f64),
    /// Multiples of 1/256.
    Between(f64, f64),
    /// The same, in ascending order.
    Sorted(f64, f64),
    /// Random numbers, scaled to length 1.
    Normal,
    /// Normally distributed, with this mean and this standard deviation.
    Gauss(f64, f64),
    /// Rotations: rows of an orthogonal matrix, or a translation and a unit quaternion.
    Rotation,
    /// Integers from 0 up to below an extent.
    Below(Extent),
    /// Integers from -1, which means none, up to below an extent.
    Maybe(Extent),
    /// 0, then non-decreasing up to the extent given.
    Offsets(Extent),
    /// 0, then in equal steps up to the extent given.
    Rows(Extent),
    /// Element n is n.
    Range,
    /// The same, shuffled.
    Permutation,
    /// Numbers of a tree's nodes: element n is a number not far below n, or -1 for a root.
    Tree,
    /// Component c of element n is n + c, modulo the extent: neighbours in a ring, all different.
    Ring(Extent),
    /// Corners of triangles, three for each: triangle n has n, n + 1 and n + 2, modulo the extent.
    Strip(Extent),
}

#[derive(Clone, Debug)]
pub struct Param {
    pub name: String,
    /// The annotation.
    pub ty: String,
    pub given: Given,
}
