//! What does a kernel become? PTX, CUDA C++, IR and backward code as texts, with the source line of
//! each of their lines.

/// What can be looked at.
#[derive(Clone, Copy, PartialEq, Eq, Hash, Debug)]
pub enum View {
    Ptx,
    Cuda,
    Ir,
    /// CUDA C++ of the backward kernel.
    Adjoint,
}

impl View {
    pub const ALL: [View; 4] = [View::Ptx, View::Cuda, View::Ir, View::Adjoint];

    /// The word for it in commands and addresses.
    pub fn name(self) -> &'static str {
        match self {
            View::Ptx => "ptx",
            View::Cuda => "cuda",
            View::Ir => "ir",
            View::Adjoint => "adjoint",
        }
    }

    /// What a person reads above a kernel.
    pub fn title(self) -> &'static str {
        match self {
            View::Ptx => "PTX",
            View::Cuda => "CUDA",
            View::Ir => "IR",
            View::Adjoint => "adjoint",
        }
    }

    /// The ending of a file that holds it.
    pub fn extension(self) -> &'static str {
        match self {
            View::Ptx => "ptx",
            View::Cuda | View::Adjoint => "cu",
            View::Ir => "ir",
        }
    }

    pub fn from_name(name: &str) -> Option<View> {
        View::ALL.into_iter().find(|view| view.name() == name)
    }
}
