//! How is a launch cut into pieces for the workers of the host?

use super::pool;
use crate::abi::LaunchBounds;

/// Threads per piece of a launch: enough pieces to keep `workers` busy, whole rows where that is
/// possible, and never fewer than `smallest`.
pub fn chunk(bounds: &LaunchBounds, workers: usize, smallest: u64) -> u64 {
    let piece = (bounds.size / (workers.max(1) as u64 * 8)).max(smallest);
    whole_rows(bounds, piece, |piece, row| piece / row * row)
}

/// Threads per worker where each has its own part of a launch, in whole rows where that is
/// possible.
pub fn part(bounds: &LaunchBounds, workers: usize) -> u64 {
    let piece = bounds.size.div_ceil(workers.max(1) as u64).max(1);
    whole_rows(bounds, piece, |piece, row| piece.div_ceil(row) * row)
}

/// A launch in pieces that run side by side, each of whole rows (threads with one first
/// coordinate), without the last `gap` threads of each but the last; what is left out runs after
/// them.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Cut {
    pub piece: u64,
    /// Threads between two pieces.
    pub gap: u64,
    /// Threads before the first piece.
    pub head: u64,
    pub size: u64,
}

/// What lies between pieces is at most this part of them.
const PIECES_TO_GAPS: u64 = 8;

impl Cut {
    /// About so many pieces, and no more, between which rows of so many lie. None where there is
    /// only one.
    pub fn new(bounds: &LaunchBounds, pieces: u64, smallest: u64, gap: u32, head: u32) -> Option<Cut> {
        let rows = u64::from(bounds.shape[0]);
        let row = bounds.size.checked_div(rows).filter(|&row| row > 0)?;
        let (gap, head) = (u64::from(gap), u64::from(head));
        let least = smallest.div_ceil(row).max(gap * PIECES_TO_GAPS).max(head * PIECES_TO_GAPS);
        let piece = rows.div_ceil(pieces.max(1)).max(least);
        (piece < rows).then(|| Cut { piece: piece * row, gap: gap * row, head: head * row, size: bounds.size })
    }

    pub fn count(&self) -> u64 {
        self.size.div_ceil(self.piece)
    }

    /// The threads of a piece.
    pub fn piece(&self, n: u64) -> (u64, u64) {
        let begin = if n == 0 { self.head } else { n * self.piece };
        let end = (n + 1) * self.piece;
        (begin, if end < self.size { end - self.gap } else { self.size })
    }

    /// The threads between a piece and the next one.
    pub fn gap(&self, n: u64) -> (u64, u64) {
        let end = (n + 1) * self.piece;
        (end - self.gap, end)
    }
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

    #[test]
    fn a_cut_launch_runs_each_thread_once_and_pieces_stay_apart() {
        for shape in [&[100u32][..], &[1000, 3], &[17, 40], &[64, 2, 2], &[4096]] {
            for (pieces, smallest, gap, head) in
                [(2, 1, 0, 0), (2, 1, 1, 0), (4, 1, 2, 1), (64, 64, 1, 3), (7, 500, 0, 2)]
            {
                let bounds = LaunchBounds::new(shape).expect("a small launch");
                let Some(cut) = Cut::new(&bounds, pieces, smallest, gap, head) else { continue };
                let row = bounds.size / u64::from(shape[0]);
                assert!(cut.count() > 1 && cut.count() <= pieces);
                let mut runs = vec![0; bounds.size as usize];
                let mut run = |(begin, end): (u64, u64)| (begin..end).for_each(|n| runs[n as usize] += 1);
                run((0, cut.head));
                for n in 0..cut.count() {
                    run(cut.piece(n));
                    if n + 1 < cut.count() {
                        assert_eq!(cut.piece(n + 1).0 - cut.piece(n).1, u64::from(gap) * row);
                        assert!(cut.gap(n).0 == cut.piece(n).1 && cut.piece(n).0 < cut.piece(n).1);
                        run(cut.gap(n));
                    }
                }
                assert_eq!(runs, vec![1; bounds.size as usize], "{shape:?}, {cut:?}");
            }
        }
        let bounds = |shape: &[u32]| LaunchBounds::new(shape).expect("a small launch");
        assert_eq!(Cut::new(&bounds(&[1, 1000]), 2, 1, 0, 0), None);
        assert_eq!(Cut::new(&bounds(&[8, 1000]), 2, 1, 1, 0), None, "gaps as wide as pieces");
        assert_eq!(Cut::new(&bounds(&[0]), 2, 1, 0, 0), None);
    }
}
