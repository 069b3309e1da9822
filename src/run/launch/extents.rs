//! How large do made-up arrays have to be? The kernel is tried: an access beyond an end tells which
//! array is too small, in which dimension, and by how much.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::{Argument, ArgumentKind, ArrayArgument, Launch};
use crate::ir::interp::{Trap, TrapKind};
use crate::run::args::Arguments;

/// So often arrays may grow for one way of filling them: each at first to where the access was,
/// then twofold.
pub(super) const TRIES: usize = 64;

/// The arrays of a launch that grow until it runs.
pub(super) struct Extents {
    /// Elements that all arrays may have together.
    most: u64,
    /// The first extent of each dimension that grew, by the name of its array.
    grown: HashMap<(String, usize), u32>,
}

impl Extents {
    /// `most`: elements that all arrays may have together; or four times as many as they begin
    /// with, if that is more.
    pub fn of(launch: &Launch, most: u64) -> Extents {
        Extents { most: most.max(elements(launch).saturating_mul(4)), grown: HashMap::new() }
    }

    /// Makes the array larger that an access was beyond the end of. False: it is none, or would be
    /// too large.
    pub fn grow(&mut self, launch: &mut Launch, arguments: &Arguments, trap: &Trap) -> bool {
        let (TrapKind::OutOfBounds, true) = (trap.kind, trap.index >= trap.extent) else { return false };
        let (Some(key), Ok(index)) = (arguments.array_at(trap.array), u32::try_from(trap.index)) else { return false };
        let Some(shape) = array_of(&mut launch.args, key).and_then(|array| array.shape.as_mut()) else { return false };
        // A row of an array has the array's later dimensions: the one of that extent is meant.
        let Some(dim) = (trap.dim as usize..shape.len()).find(|&k| i64::from(shape[k]) == trap.extent) else {
            return false;
        };
        let old = shape[dim];
        let enough = index.saturating_add(1);
        let mut roomy = enough;
        match self.grown.entry((key.to_string(), dim)) {
            Entry::Vacant(place) => drop(place.insert(old)),
            // One element more for each thread would take as many tries as there are threads.
            Entry::Occupied(first) => {
                let mut twofold = (*first.get()).max(1);
                while twofold <= old {
                    twofold = twofold.saturating_mul(2);
                }
                roomy = roomy.max(twofold);
            }
        }
        // No more than there is room for.
        set(launch, key, dim, 1);
        let more = elements(launch);
        set(launch, key, dim, 0);
        let others = elements(launch);
        let room = self.most.saturating_sub(others) / (more - others).max(1);
        let new = u64::from(roomy).min(room).min(i32::MAX as u64) as u32;
        set(launch, key, dim, if new >= enough { new } else { old });
        new >= enough
    }
}

/// What is wrong with an access outside of an array.
pub(super) fn outside(arguments: &Arguments, trap: &Trap) -> String {
    match arguments.array_at(trap.array) {
        Some(key) => {
            format!(
                "index {} is out of bounds for dimension {} of `{key}` with extent {}",
                trap.index, trap.dim, trap.extent
            )
        }
        None => trap.message.clone(),
    }
}

/// Elements of all arrays.
fn elements(launch: &Launch) -> u64 {
    fn of(argument: &Argument) -> u64 {
        match &argument.kind {
            ArgumentKind::Value { .. } => 0,
            ArgumentKind::Array(array) => {
                let extents = array.shape.iter().flatten();
                extents.fold(1, |all: u64, &n| all.saturating_mul(n.into()))
            }
            ArgumentKind::Struct { fields, .. } | ArgumentKind::Engine { fields, .. } => {
                fields.iter().map(of).fold(0, u64::saturating_add)
            }
        }
    }
    launch.args.iter().map(of).fold(0, u64::saturating_add)
}

fn set(launch: &mut Launch, key: &str, dim: usize, extent: u32) {
    let shape = array_of(&mut launch.args, key).and_then(|array| array.shape.as_mut());
    if let Some(place) = shape.and_then(|shape| shape.get_mut(dim)) {
        *place = extent;
    }
}

/// The array argument that is stored under a name.
fn array_of<'l>(args: &'l mut [Argument], key: &str) -> Option<&'l mut ArrayArgument> {
    args.iter_mut().find_map(|argument| match &mut argument.kind {
        ArgumentKind::Value { .. } => None,
        ArgumentKind::Array(array) => array.data.as_ref().is_some_and(|data| data.key == key).then_some(array),
        ArgumentKind::Struct { fields, .. } | ArgumentKind::Engine { fields, .. } => array_of(fields, key),
    })
}
