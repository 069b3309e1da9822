//! kc for Python: the half that is compiled. The other half is the package `kc` beside this crate;
//! users see only that.
//!
//! | file | question it answers |
//! |---|---|
//! | `kernel` | what is a kernel in Python, and how is it called? |
//! | `arguments` | which arrays are among a launch's arguments, and which of them are one? |
//! | `derivative` | how are its derivatives asked for? |
//! | `record` | how are launches kept in files? |
//! | `reverse` | how does `kernel.grad` run? |
//! | `tape` | how are launches recorded, and what of them is kept? |
//! | `adjoint` | where are the gradients of a tape's arrays? |
//! | `joined` | which arrays does the result of a backward run depend on? |
//! | `module` | what comes of a source text? |
//! | `bind` | what does a kernel receive of Python's objects? |
//! | `view` | where does an object have its numbers? |
//! | `memory` | what else is asked of an array's memory? |
//! | `engines` | what is a mesh, a tree of boxes or a hash grid? |
//! | `volumes` | how is a volume made, and asked? |
//! | `dlpack` | what do other libraries tell of their arrays? |
//! | `gpu` | and which of them are in the memory of a GPU? |
//! | `device` | which memory of a GPU does kc hold itself? |
//! | `far` | how are arrays there made, copied and shared? |
//! | `streams` | what are streams, events and graphs of a GPU? |
//! | `value` | what is a number, a vector or a matrix in Python? |
//! | `warp` | how does Warp launch a kernel of kc? |
//! | `buffer` | which objects show their memory? |
//! | `short` | how does `wp.launch` come to kc's code without Warp's own way there? |
//! | `xla` | how does XLA launch a kernel, as JAX compiles programs for it? |
//! | `xla_ffi` | how does XLA call? |
//! | `system` | which libraries of the system does the package need? |
//! | `error` | which exception is raised? |

mod adjoint;
mod arguments;
mod bind;
mod buffer;
mod derivative;
mod device;
mod dlpack;
mod engines;
mod error;
mod far;
mod gpu;
mod joined;
mod kernel;
mod memory;
mod module;
mod record;
mod reverse;
mod short;
mod streams;
#[cfg(all(target_os = "linux", target_env = "gnu"))]
mod system;
mod tape;
mod textures;
mod value;
mod view;
mod volumes;
mod warp;
mod xla;
mod xla_ffi;

use pyo3::prelude::*;

#[pymodule]
mod _native {
    #[pymodule_export]
    use super::adjoint::has_floats;
    #[pymodule_export]
    use super::arguments::Arguments;
    #[pymodule_export]
    use super::derivative::{gradient, is_alone, look, look_for, look_tangents, records, second, tangents};
    #[pymodule_export]
    use super::device::{
        Memory, address_of, are_checked, card_about, card_count, card_free, card_told, card_wait, cards_opened,
        check_launches, current_stream, of as memory_of, order_launches, pinned, stream_follow, use_stream,
    };
    #[pymodule_export]
    use super::dlpack::far_dlpack;
    #[pymodule_export]
    use super::engines::Engine;
    #[pymodule_export]
    use super::far::{
        far_adopt, far_clear, far_copy, far_empty, far_lent, far_like, far_prefetch, far_shared, far_view,
    };
    #[pymodule_export]
    use super::kernel::Kernel;
    #[pymodule_export]
    use super::memory::{describe, digest, overlapping};
    #[pymodule_export]
    use super::module::{
        Module, abandoned, builtins, check, command, compile, described, forked, kept_objects, version,
    };
    #[pymodule_export]
    use super::record::{recording_start, recording_stop};
    #[pymodule_export]
    use super::reverse::grad;
    #[pymodule_export]
    use super::short::Short;
    #[pymodule_export]
    use super::streams::{RawEvent, RawGraph, RawStream, capture_begin, capture_end, streams_follow};
    #[pymodule_export]
    use super::tape::{Tape, current};
    #[pymodule_export]
    use super::view::Array;
    #[pymodule_export]
    use super::volumes::{
        volume_bytes, volume_coordinates, volume_facts, volume_file, volume_grids, volume_of_grid, volume_of_points,
        volume_of_values, volume_rebuild,
    };
    #[pymodule_export]
    use super::warp::{WarpOnGpu, layout, warp_counts, warp_raise, warp_take};
    #[pymodule_export]
    use super::xla::{xla_block, xla_place, xla_plan};
    #[pymodule_export]
    use super::xla_ffi::xla_target;
}
