//! What does a kernel become? PTX, CUDA C++, IR and backward code as texts, with the source line of
//! each of their lines.

use crate::source::lined::Lined;

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

/// CUDA text without its forward kernel. None: there is no backward kernel.
pub fn backward(lined: &Lined, kernel: &str) -> Option<Lined> {
    let entry = format!("void {kernel}_cuda_kernel_backward(");
    let forward = format!("extern \"C\" __global__ void {kernel}_cuda_kernel_forward(");
    lined.text.contains(&entry).then(|| {
        let Some(start) = lined.text.lines().position(|line| line.starts_with(&forward)) else { return lined.clone() };
        // Up to its brace, and the blank line after it.
        let end = lined.text.lines().skip(start).position(|line| line == "}").map_or(start, |n| start + n + 1);
        let blank = lined.text.lines().nth(end).is_some_and(str::is_empty);
        lined.without(start..end + usize::from(blank))
    })
}
