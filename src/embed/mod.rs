//! How does a Rust program compile kernels and call them?
//!
//! | file | question it answers |
//! |---|---|
//! | `element` | which Rust types lie in memory as a kernel's do? |
//! | `arg` | what can a kernel be called with? |
//! | `bind` | what does a kernel receive of that? |
//! | `module` | what comes of a source file? |
//! | `kernel` | how is a kernel launched? |
//! | `derivative` | how are its derivatives? |
//! | `second` | and those of its gradients? |
//! | `resident` | how does either run where a GPU's arrays are? |
//! | `reports` | what did threads there print, and do wrong? |
//! | `mirror` | where does a gradient there keep what it writes down? |
//! | `record` | how is a launch kept as a launch file? |
//! | `watch` | which runs of a gradient may be made again? |
//! | `error` | why did something not work? |
//!
//! What a user needs of it is at the root of the crate.

#![deny(rustdoc::private_intra_doc_links)]
#![warn(missing_docs)]

mod arg;
mod bind;
mod derivative;
mod element;
mod error;
mod kernel;
mod messages;
mod mirror;
mod module;
mod record;
mod reports;
mod resident;
mod second;
mod watch;

#[cfg(test)]
mod tests;

pub use arg::{Arg, Dim};
pub use bind::{Bound, Extent, Param, Place, Signature};
pub use derivative::{Form, Gradient, ParameterGradient, Part, Seen};
pub use element::{Element, Kind, StructKind};
pub use error::{Error, Location};
pub use kernel::{Kernel, Outcome, Warning};
pub use module::{Finding, Given, Module};
pub use record::{Recorded, is_recording, start_recording, stop_recording};
pub use reports::{printed, told};
pub use resident::{On, Queue};
