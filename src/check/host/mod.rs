//! What does the host code around kernels say about them: what they capture, and for which types
//! they are launched?

mod launch_check;
pub(super) mod launches;
pub(super) mod nest;
pub(super) mod overload;
pub(super) mod values;
