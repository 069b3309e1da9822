//! How is a kernel that is PTX launched?

use std::path::Path;

use super::Direction;
use super::read::{FileJson, Reader};
use crate::diag::Code;
use crate::run::Result;

/// The most shared memory that a block of today's GPUs can have (CUDA programming guide, "compute
/// capabilities": 9.0).
pub const MAX_SHARED_BYTES: u64 = 227 << 10;

/// The blocks of a launch.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GridOfBlocks {
    pub grid: [u32; 3],
    pub block: [u32; 3],
    /// Shared memory beyond what the kernel declares.
    pub shared_bytes: u32,
}

impl Reader<'_> {
    /// The grid of a source that is PTX.
    pub fn grid(&self, json: &FileJson, direction: Direction) -> Result<Option<GridOfBlocks>> {
        let of_ptx = [
            ("entry", json.entry.is_some()),
            ("grid", json.grid.is_some()),
            ("block", json.block.is_some()),
            ("shared_bytes", json.shared_bytes.is_some()),
        ];
        if Path::new(&json.source).extension().is_none_or(|extension| extension != "ptx") {
            return match of_ptx.iter().find(|(_, there)| *there) {
                Some((member, _)) => {
                    Err(self.fail(Code::E1001, format!("`{member}` belongs to a source that is PTX (`.ptx`)")))
                }
                None => Ok(None),
            };
        }
        if direction != Direction::Forward {
            return Err(self.fail(Code::E1103, "a kernel that is PTX has no gradient"));
        }
        if json.kernel.is_some() && json.entry.is_some() {
            return Err(self.fail(Code::E1001, "`kernel` and `entry` say the same"));
        }
        let extents = |member: &str, list: &Option<Vec<serde_json::Number>>, most: [u32; 3]| {
            let list = list.as_ref().ok_or_else(|| self.fail(Code::E1001, format!("`{member}` is missing")))?;
            let found = self.extents(member, list)?;
            let mut all = [1; 3];
            if found.is_empty() || found.len() > all.len() {
                return Err(self.fail(Code::E1006, format!("{member} has {} extents, expected 1 to 3", found.len())));
            }
            all[..found.len()].copy_from_slice(&found);
            match all.iter().zip(most).find(|(n, most)| **n == 0 || **n > *most) {
                Some((n, most)) => {
                    Err(self.fail(Code::E1006, format!("{member} has the extent {n}, expected 1 to {most}")))
                }
                None => Ok(all),
            }
        };
        let grid = extents("grid", &json.grid, [i32::MAX as u32, 65_535, 65_535])?;
        let block = extents("block", &json.block, [1024, 1024, 64])?;
        if block.iter().product::<u32>() > 1024 {
            return Err(self.fail(
                Code::E1006,
                format!("block has {} threads, expected 1 to 1024", block.iter().product::<u32>()),
            ));
        }
        if grid.iter().map(|&n| u64::from(n)).product::<u64>() > u32::MAX.into() {
            return Err(self.fail(Code::E1006, "the grid has more than 2^32 blocks"));
        }
        let shared_bytes = match &json.shared_bytes {
            None => 0,
            Some(n) => match n.as_u64() {
                Some(n) if n <= MAX_SHARED_BYTES => n as u32,
                _ => {
                    let message = format!("shared_bytes is {n}, expected 0 to {MAX_SHARED_BYTES}");
                    return Err(self.fail(Code::E1006, message));
                }
            },
        };
        Ok(Some(GridOfBlocks { grid, block, shared_bytes }))
    }
}
