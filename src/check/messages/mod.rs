//! What does `check` say? Each function makes one finding, or adds to one, from spans, names and
//! types as text; which case it is, is decided where it is found.
//!
//! | file | subject |
//! |---|---|
//! | `names` | what is not defined, imported, or part of the kernel language |
//! | `types` | types that are written, and those that do not fit together |
//! | `values` | what is no value in a kernel, and what is computed while compiling |
//! | `indices` | indices, slices, and what is unpacked |
//! | `statements` | loops, assignments, results of functions |
//! | `calls` | calls: which arguments do not fit their parameters |
//! | `builtins` | calls of built-ins that are no tile operations |
//! | `gradients` | custom gradients and `wp.grad` |
//! | `tiles` | how tiles are assigned, passed and mapped |
//! | `tile_arguments` | the arguments of tile operations |
//! | `tile_shapes` | the shapes, axes and indices of tiles |
//! | `host` | host code: launches, and types for generic kernels |
//! | `details` | labels and notes that some cases add |
//! | `repairs` | what some cases offer: a help, a fix |
//! | `type_repairs` | what is offered where types do not fit |
//! | `lint_repairs` | what lints offer |
//! | `lints` | what compiles and is probably not meant |

pub(super) mod builtins;
pub(super) mod calls;
pub(super) mod details;
pub(super) mod gradients;
pub(super) mod host;
pub(super) mod indices;
pub(super) mod lint_repairs;
pub(super) mod lints;
pub(super) mod names;
pub(super) mod repairs;
pub(super) mod statements;
pub(super) mod tile_arguments;
pub(super) mod tile_shapes;
pub(super) mod tiles;
pub(super) mod type_repairs;
pub(super) mod types;
pub(super) mod values;
