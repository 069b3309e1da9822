//! How do points get into the order of their cells? By a stable sort. Many points are sorted in two
//! steps that stay in cache: chunks of points into buckets of neighbouring cells, then each bucket
//! by cell. Few points are sorted by comparison, so that most cells stay untouched.

use rayon::prelude::*;

/// Points that are sorted into buckets together.
const CHUNK: usize = 1 << 16;

/// At most this many buckets: their ends are what a chunk writes to at once.
const BUCKETS: usize = 1 << 10;

/// Where points are few: less than one in this many cells.
const FEW: usize = 64;

/// The arrays of a grid.
#[derive(Clone, Debug, Default)]
pub struct Sorted {
    /// For each point, in order of cells: its cell, its number, its key.
    pub cells: Vec<i32>,
    pub ids: Vec<i32>,
    pub keys: Vec<u64>,
    /// For each cell: the range of `ids`; 0 and 0 where it is empty.
    pub starts: Vec<i32>,
    pub ends: Vec<i32>,
}

/// A point with its cell.
type Pair = (i32, i32);

/// The pairs of some points by bucket; within a bucket in their order.
struct Chunk {
    pairs: Vec<Pair>,
    /// The number of pairs before each bucket, and of all.
    before: Vec<u32>,
}

/// A bucket's part of the arrays.
struct Bucket<'a> {
    number: usize,
    /// The number of points before it.
    first: i32,
    cells: &'a mut [i32],
    ids: &'a mut [i32],
    starts: &'a mut [i32],
    ends: &'a mut [i32],
}

impl Sorted {
    pub fn new(cells: usize) -> Sorted {
        Sorted { starts: vec![0; cells], ends: vec![0; cells], ..Sorted::default() }
    }

    /// Forgets all points.
    pub fn clear(&mut self) {
        for &cell in &self.cells {
            (self.starts[cell as usize], self.ends[cell as usize]) = (0, 0);
        }
        self.cells.clear();
        self.ids.clear();
        self.keys.clear();
    }

    /// Sorts `count` points by cell, then group as an unsigned number, then number. `groups` has
    /// one for each point.
    pub fn sort(&mut self, count: usize, cell: impl Fn(usize) -> i32 + Sync, groups: Option<&[i32]>) {
        let order = groups.map(order_by_group);
        let point = |place: usize| order.as_ref().map_or(place as i32, |order| order[place]);
        let pair = |place: usize| (cell(point(place) as usize), point(place));
        if count < self.starts.len() / FEW {
            self.clear();
            self.sort_few((0..count).map(pair).collect());
        } else {
            self.sort_many(count, pair);
        }
        self.keys.clear();
        if let Some(groups) = groups {
            let key = |(&cell, &id): (&i32, &i32)| (cell as u64) << 32 | u64::from(groups[id as usize] as u32);
            self.keys.extend(self.cells.iter().zip(&self.ids).map(key));
        }
    }

    fn sort_few(&mut self, mut pairs: Vec<Pair>) {
        pairs.sort_by_key(|&(cell, _)| cell);
        let mut first = 0;
        for of_cell in pairs.chunk_by(|a, b| a.0 == b.0) {
            let cell = of_cell[0].0 as usize;
            self.starts[cell] = first;
            first += of_cell.len() as i32;
            self.ends[cell] = first;
        }
        self.cells.extend(pairs.iter().map(|&(cell, _)| cell));
        self.ids.extend(pairs.iter().map(|&(_, id)| id));
    }

    fn sort_many(&mut self, count: usize, pair: impl Fn(usize) -> Pair + Sync) {
        let mut shift = 0;
        while self.starts.len() >> shift > BUCKETS {
            shift += 1;
        }
        let buckets = self.starts.len().div_ceil(1 << shift);
        let places = (0..count).into_par_iter().step_by(CHUNK);
        let chunks: Vec<Chunk> =
            places.map(|first| Chunk::new(first..count.min(first + CHUNK), buckets, shift, &pair)).collect();
        self.cells.resize(count, 0);
        self.ids.resize(count, 0);
        let parts = self.cut(&chunks, shift);
        parts.into_par_iter().with_min_len(16).for_each(|bucket| bucket.sort(&chunks, shift));
    }

    /// The buckets, each with the room for its points and its cells.
    fn cut(&mut self, chunks: &[Chunk], shift: usize) -> Vec<Bucket<'_>> {
        let (mut cells, mut ids, mut first) = (&mut self.cells[..], &mut self.ids[..], 0);
        let ranges = self.starts.chunks_mut(1 << shift).zip(self.ends.chunks_mut(1 << shift));
        let buckets = ranges.enumerate().map(|(number, (starts, ends))| {
            let count: usize = chunks.iter().map(|chunk| chunk.bucket(number).len()).sum();
            let (own_cells, other_cells) = std::mem::take(&mut cells).split_at_mut(count);
            let (own_ids, other_ids) = std::mem::take(&mut ids).split_at_mut(count);
            (cells, ids) = (other_cells, other_ids);
            first += count as i32;
            Bucket { number, first: first - count as i32, cells: own_cells, ids: own_ids, starts, ends }
        });
        buckets.collect()
    }
}

impl Chunk {
    fn new(places: std::ops::Range<usize>, buckets: usize, shift: usize, pair: impl Fn(usize) -> Pair) -> Chunk {
        let unsorted: Vec<Pair> = places.map(pair).collect();
        let mut before = vec![0; buckets + 1];
        for &(cell, _) in &unsorted {
            before[(cell as usize >> shift) + 1] += 1;
        }
        for bucket in 0..buckets {
            before[bucket + 1] += before[bucket];
        }
        let mut next = before.clone();
        let mut pairs = vec![(0, 0); unsorted.len()];
        for &pair in &unsorted {
            let next = &mut next[pair.0 as usize >> shift];
            pairs[*next as usize] = pair;
            *next += 1;
        }
        Chunk { pairs, before }
    }

    fn bucket(&self, number: usize) -> &[Pair] {
        &self.pairs[self.before[number] as usize..self.before[number + 1] as usize]
    }
}

impl Bucket<'_> {
    /// A counting sort.
    fn sort(self, chunks: &[Chunk], shift: usize) {
        let first_cell = (self.number << shift) as i32;
        let pairs = || chunks.iter().flat_map(|chunk| chunk.bucket(self.number));
        self.starts.fill(0);
        self.ends.fill(0);
        for (cell, _) in pairs() {
            self.ends[(cell - first_cell) as usize] += 1;
        }
        let mut next = self.first;
        for (start, end) in self.starts.iter_mut().zip(&mut *self.ends).filter(|(_, end)| **end > 0) {
            *start = next;
            next += *end;
            *end = *start;
        }
        for &(cell, id) in pairs() {
            let end = &mut self.ends[(cell - first_cell) as usize];
            let place = (*end - self.first) as usize;
            (self.cells[place], self.ids[place]) = (cell, id);
            *end += 1;
        }
    }
}

/// Numbers of points, by group as an unsigned number, then ascending.
fn order_by_group(groups: &[i32]) -> Vec<i32> {
    const SPAN: u32 = 1 << 16;
    let (least, most) = groups.iter().fold((u32::MAX, 0), |(a, b), &group| (a.min(group as u32), b.max(group as u32)));
    if groups.is_empty() || most - least >= SPAN {
        let mut order: Vec<i32> = (0..groups.len() as i32).collect();
        order.par_sort_by_key(|&id| groups[id as usize] as u32);
        return order;
    }
    let mut next = vec![0u32; (most - least) as usize + 2];
    for &group in groups {
        next[(group as u32 - least) as usize + 1] += 1;
    }
    for k in 1..next.len() {
        next[k] += next[k - 1];
    }
    let mut order = vec![0; groups.len()];
    for (id, &group) in groups.iter().enumerate() {
        let place = &mut next[(group as u32 - least) as usize];
        order[*place as usize] = id as i32;
        *place += 1;
    }
    order
}
