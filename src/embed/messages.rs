//! What does the interface for Rust say? Each function makes one finding.

use crate::diag::{Code, Diagnostic};

/// An argument does not fit its parameter; `what` says why, as the code does.
pub(super) fn argument(code: Code, name: &str, kernel: &str, what: &str) -> Diagnostic {
    Diagnostic::new(code, format!("argument `{name}` of kernel `{kernel}`: {what}"))
}

/// A compilation failed and found nothing.
pub(super) fn no_reason() -> Diagnostic {
    Diagnostic::new(Code::E0999, "kc refused without a reason")
}

/// PTX is asked for an architecture that kc does not know.
pub(super) fn no_architecture(arch: &str, known: &str) -> Diagnostic {
    Diagnostic::new(Code::E1012, format!("there is no architecture `{arch}`; kc knows {known}"))
}

/// A text is asked of a module without kernels.
pub(super) fn no_kernels(path: &str) -> Diagnostic {
    Diagnostic::new(Code::E0908, format!("{path} has no kernels"))
}

/// A derivative in forward mode is asked of a kernel that has none.
pub(super) fn no_forward_mode(kernel: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Code::E1103, format!("kernel `{kernel}` has no derivative in forward mode: {why}"))
}

/// A second derivative is asked of a kernel that has none.
pub(super) fn no_second_derivative(kernel: &str, why: &str) -> Diagnostic {
    Diagnostic::new(Code::E1103, format!("kernel `{kernel}` has no second derivatives: {why}"))
}
