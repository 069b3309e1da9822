//! How is a launch cut into pieces for the workers of the host?

use super::pool;
use crate::abi::LaunchBounds;

/// Threads per piece of a launch: enough pieces to keep `workers` busy, whole rows where that is possible, and never fewer
/// than `smallest`.
pub fn chunk(bounds: &LaunchBounds, workers: usize, smallest: u64) -> u64 {
    let piece = (bounds.size / (workers.max(1) as u64 * 8)).max(smallest);
    whole_rows(bounds, piece, |piece, row| piece / row * row)
}

/// Threads per worker where each has its own part of a launch, in whole rows where that is possible.
pub fn part(bounds: &LaunchBounds, workers: usize) -> u64 {
    let piece = bounds.size.div_ceil(workers.max(1) as u64).max(1);
    whole_rows(bounds, piece, |piece, row| piece.div_ceil(row) * row)
}

fn whole_rows(bounds: &LaunchBounds, piece: u64, rounded: impl Fn(u64, u64) -> u64) -> u64 {
    let row = bounds.shape.iter().rev().map(|&n| u64::from(n)).find(|&n| n > 1).unwrap_or(1);
    if row <= piece { rounded(piece, row) } else { piece }
}

/// The workers that a launch on the host is worth: more than one if there are two pieces.
pub fn workers(bounds: &LaunchBounds, threads: usize, smallest: u64) -> usize {
    let workers = if threads == 0 { pool::cores() } else { threads };
    if bounds.size < smallest.saturating_mul(2) { 1 } else { workers }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_are_whole_rows_where_rows_are_short() {
        let bounds = |shape: &[u32]| LaunchBounds::new(shape).expect("a small launch");
        assert_eq!(chunk(&bounds(&[1000, 100]), 2, 2048) % 100, 0);
        assert_eq!(chunk(&bounds(&[4096]), 2, 64), 256);
        assert_eq!(workers(&bounds(&[4096]), 2, 2048), 2);
        assert_eq!(workers(&bounds(&[4095]), 2, 2048), 1);
        assert_eq!(workers(&bounds(&[1024]), 2, 128), 2);
        assert_eq!(part(&bounds(&[3, 10]), 2), 20);
    }
}
