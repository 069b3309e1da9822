//! What kinds of kernels are there? The categories that users choose from.

use super::tree::Kind;

macro_rules! categories {
    ($($name:ident $text:literal $depth:literal $size:literal;)*) => {
        #[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
        pub enum Category { $($name),* }

        impl Category {
            pub const ALL: &'static [Category] = &[$(Category::$name),*];

            /// As users write it.
            pub fn name(self) -> &'static str {
                match self { $(Category::$name => $text),* }
            }

            /// The control-flow depth that its kernels have at least.
            pub fn depth(self) -> u32 {
                match self { $(Category::$name => $depth),* }
            }

            /// The statements that its kernels have at least.
            pub fn size(self) -> usize {
                match self { $(Category::$name => $size),* }
            }

            pub fn from_name(name: &str) -> Option<Category> {
                Category::ALL.iter().copied().find(|c| c.name() == name)
            }
        }
    };
}

categories! {
    Arithmetic "arithmetic" 0 1;
    Vector "vector" 0 1;
    Matrix "matrix" 0 1;
    ControlFlow "control_flow" 1 4;
    Math "math" 0 1;
    Atomic "atomic" 0 1;
    NestedLoop "nested_loop" 2 6;
    MultiCondition "multi_condition" 1 5;
    Combined "combined" 1 8;
    ScalarParam "scalar_param" 0 1;
    Loop "loop" 1 4;
    Conditional "conditional" 1 3;
    Quaternion "quaternion" 0 1;
    Struct "struct" 0 2;
    Function "function" 0 1;
    While "while" 1 4;
    Gather "gather" 0 1;
    Stencil "stencil" 0 1;
    Reduction "reduction" 0 2;
    Random "random" 0 2;
    Grid "grid" 0 1;
    Sparse "sparse" 1 3;
    Integer "integer" 0 1;
}

impl Category {
    /// What its kernels compute with, the likelier the more often it is here.
    pub fn kinds(self) -> &'static [Kind] {
        use Kind::*;
        match self {
            Category::Vector => &[Vec(3), Vec(3), Vec(2), Vec(4), Direction, Float],
            Category::Matrix => &[Mat(3), Mat(3), Mat(2), Mat(4), Vec(3), Float],
            Category::Math => &[Float, Float, Signed, Unit, Positive],
            Category::Quaternion => &[Quat, Transform, Vec(3), Spatial, Direction, Quat],
            Category::Integer => &[Int, Int, Int, Float],
            Category::Combined => &[Float, Vec(3), Mat(3), Int, Unit, Vec(2), Quat],
            Category::Arithmetic | Category::ScalarParam => &[Float, Float, Float, Positive, Int],
            Category::Sparse | Category::Stencil => &[Float, Float, Float, Vec(3)],
            _ => &[Float, Float, Float, Vec(3), Vec(2), Positive, Int, Unit],
        }
    }
}
