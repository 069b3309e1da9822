//! How do the warps of a block multiply matrices? By `mma.sync` on fragments, which `ldmatrix`
//! reads from shared memory where elements have 16 bits. Warp `w` of `W` has the patches `w`,
//! `w + W`, ... of the result; a block without a whole warp adds element by element.
//!
//! Fragments lie in registers as the PTX ISA manual draws them ("Matrix fragments for mma.m16n8k16"
//! and the like): thread `4 g + t` of a warp has rows `g` and `g + 8` of the first factor, column
//! `g` of the second, and columns `2 t` and `2 t + 1` of the result.

use smallvec::smallvec;

use super::builder::{Attribute, AttributeLoc, FloatPredicate, IntPredicate, Val};
use super::lower::{Frame, Lower, Scalars};
use crate::ir::{Part, Product, Unit, ValueId};
use crate::types::{Element, Layout, Scalar, Type};

/// The address space of a block's memory.
const SHARED: u16 = 3;

/// The bytes that one instruction copies.
const BYTES: u32 = 16;

/// A tile as a matrix.
#[derive(Clone, Copy)]
struct Matrix<'ctx> {
    data: Val<'ctx>,
    scalar: Scalar,
    /// Bytes from one row of the tile to the next.
    pitch: u64,
    /// Columns of the matrix are rows of the tile.
    turned: bool,
}

/// Where the running thread is in its block.
#[derive(Clone, Copy)]
struct BlockPosition<'ctx> {
    /// Its number in the block, and the threads of the block.
    number: Val<'ctx>,
    threads: Val<'ctx>,
    /// The number of its warp, and the whole warps of the block.
    warp: Val<'ctx>,
    warps: Val<'ctx>,
    /// Its number in the warp, and the two parts of that.
    lane: Val<'ctx>,
    group: Val<'ctx>,
    within: Val<'ctx>,
}

impl<'a, 'ctx> Lower<'_, 'a, 'ctx> {
    /// A product, or a part of one (rule 22 of the IR).
    pub fn product(&mut self, frame: &Frame<'a, 'ctx>, product: &Product, operands: &[ValueId]) -> Scalars<'ctx> {
        let ll = self.ll;
        let result = self.matrix(frame, operands[0], false);
        let factors = product.part.has_factors().then(|| {
            let [left, right] = product.turned;
            [self.matrix(frame, operands[1], left), self.matrix(frame, operands[2], right)]
        });
        let given = match operands.last() {
            Some(&given) if product.part.is_given() => frame.get(given).clone(),
            _ => self.zeros(product.kept()),
        };
        let place = self.place_in_block();
        if !self.target.is_gpu() {
            // A block of one thread.
            if let Some(factors) = factors {
                self.by_elements(product, result, factors, place);
            }
            return given;
        }
        // Or LLVM would move the instructions, which all threads of a warp come to, under other
        // conditions.
        ll.add_attribute(self.into.function, AttributeLoc::Function, Attribute::Flag("convergent"));
        let [rows, columns] = product.patches();
        let patches = ll.const_i32((rows * columns) as i32);
        let whole = ll.icmp(IntPredicate::ULT, place.warp, place.warps);
        let has_patch = ll.and(whole, ll.icmp(IntPredicate::ULT, place.warp, patches));
        match (product.part, factors) {
            (Part::Take, _) => self.when(Some(has_patch), |lower| lower.read_patch(product, result, place.warp, place)),
            (Part::Put, _) => {
                self.when(Some(has_patch), |lower| {
                    lower.write_patch(product, result, place.warp, place, &given);
                    Scalars::new()
                });
                Scalars::new()
            }
            (Part::Keep, Some(factors)) => {
                let sums =
                    self.when(Some(has_patch), |lower| lower.multiply(product, factors, place.warp, place, given));
                let rest = ll.add(place.warp, place.warps);
                self.in_memory(product, result, factors, rest, whole, place);
                sums
            }
            (Part::Set | Part::Add, Some(factors)) => {
                self.in_memory(product, result, factors, place.warp, whole, place);
                Scalars::new()
            }
            (Part::Set | Part::Add | Part::Keep, None) => given,
        }
    }

    /// The patches from `first` on that the thread's warp has, from memory to memory; or elements,
    /// where there is no warp.
    fn in_memory(
        &mut self,
        product: &Product,
        result: Matrix<'ctx>,
        factors: [Matrix<'ctx>; 2],
        first: Val<'ctx>,
        whole: Val<'ctx>,
        place: BlockPosition<'ctx>,
    ) {
        let ll = self.ll;
        let [rows, columns] = product.patches();
        let patches = ll.const_i32((rows * columns) as i32);
        // Where a warp has one patch at most, there are no more for it.
        self.when(Some(whole), |lower| {
            lower.turns([first, patches, place.warps], Scalars::new(), |lower, patch, _| {
                let before = match product.part {
                    Part::Set => lower.zeros(product.kept()),
                    _ => lower.read_patch(product, result, patch, place),
                };
                let sums = lower.multiply(product, factors, patch, place, before);
                lower.write_patch(product, result, patch, place, &sums);
                Scalars::new()
            });
            Scalars::new()
        });
        let none = ll.eq(place.warps, ll.const_i32(0));
        self.when(Some(none), |lower| {
            lower.by_elements(product, result, factors, place);
            Scalars::new()
        });
    }

    fn matrix(&self, frame: &Frame<'a, 'ctx>, array: ValueId, turned: bool) -> Matrix<'ctx> {
        let (ll, data) = (self.ll, frame.scalar(array));
        let data = if self.target.is_gpu() { ll.addrspacecast(data, ll.ptr(SHARED)) } else { data };
        let (scalar, columns) = match frame.ty(array) {
            Type::Local(ty) => (Type::from(ty.element).as_scalar().unwrap_or(Scalar::F32), ty.shape[1]),
            _ => (Scalar::F32, 0),
        };
        let size = Layout::of_element(Element::Scalar(scalar), &self.ir.structs).size;
        Matrix { data, scalar, pitch: u64::from(columns) * u64::from(size), turned }
    }

    fn place_in_block(&self) -> BlockPosition<'ctx> {
        let (ll, number, threads) = (self.ll, self.lane(), self.thread.block_dim);
        let c = |n| ll.const_i32(n);
        let lane = ll.and(number, c(31));
        BlockPosition {
            number,
            threads,
            warp: ll.lshr(number, c(5)),
            warps: ll.lshr(threads, c(5)),
            lane,
            group: ll.lshr(lane, c(2)),
            within: ll.and(lane, c(3)),
        }
    }

    /// `for at in range(start, end, step)`, carrying values.
    fn turns(
        &mut self,
        [start, end, step]: [Val<'ctx>; 3],
        carried: Scalars<'ctx>,
        body: impl FnOnce(&mut Self, Val<'ctx>, Scalars<'ctx>) -> Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let before = ll.current_block();
        let [head, inside, done] = ["turns", "turn", "turned"].map(|name| ll.block(self.into.function, name));
        ll.br(head);
        ll.position_at_end(head);
        let at = ll.phi(ll.i32());
        ll.add_incoming(at, start, before);
        let phis: Scalars = carried.iter().map(|value| ll.phi(ll.ty(*value))).collect();
        phis.iter().zip(&carried).for_each(|(phi, value)| ll.add_incoming(*phi, *value, before));
        ll.cond_br(ll.icmp(IntPredicate::ULT, at, end), inside, done);
        ll.position_at_end(inside);
        let next = body(self, at, phis.clone());
        let after = ll.add(at, step);
        let latch = ll.current_block();
        ll.add_incoming(at, after, latch);
        phis.iter().zip(&next).for_each(|(phi, value)| ll.add_incoming(*phi, *value, latch));
        ll.br(head);
        ll.position_at_end(done);
        phis
    }

    /// Copies a part of an array into a tile (rule 23 of the IR): 16 bytes at once, by instructions
    /// that nobody waits for before the next barrier, where the rows of the array lie so; else
    /// element by element.
    pub fn copy(&mut self, frame: &Frame<'a, 'ctx>, [rows, columns]: [u32; 2], operands: &[ValueId]) {
        let (ll, tile) = (self.ll, self.matrix(frame, operands[0], false));
        let parts = self.array(frame, operands[1]);
        let (size, place) = (tile.scalar.size(), self.place_in_block());
        let wide = |value| ll.sext(value, ll.i64());
        let [down, right] = [0, 1].map(|dim| wide(parts.strides[dim]));
        let [row, column] = [operands[2], operands[3]].map(|index| wide(frame.scalar(index)));
        let start = ll.offset(parts.data, ll.add(ll.mul(row, down), ll.mul(column, right)));
        let c = |n: u32| ll.const_i32(n as i32);
        let by_elements = |lower: &mut Self| {
            lower.turns([place.number, c(rows * columns), place.threads], Scalars::new(), |lower, number, _| {
                let (row, column) = (ll.udiv(number, c(columns)), ll.urem(number, c(columns)));
                let at = ll.add(ll.mul(wide(row), down), ll.mul(wide(column), right));
                let value = ll.load(lower.ops.memory_ty(tile.scalar), ll.offset(start, at), size);
                ll.store(value, lower.at(tile, row, column), size);
                Scalars::new()
            });
        };
        let in_row = columns * size / BYTES;
        if !self.target.is_gpu() || columns * size % BYTES != 0 || tile.pitch % u64::from(BYTES) != 0 {
            return by_elements(self);
        }
        let bits = ll.or(ll.ptr_to_int(start, ll.i64()), down);
        let aligned = ll.eq(ll.and(bits, ll.const_i64(i64::from(BYTES) - 1)), ll.const_i64(0));
        let dense = ll.eq(right, ll.const_i64(size.into()));
        self.either(
            ll.and(aligned, dense),
            |lower| {
                lower.turns([place.number, c(rows * in_row), place.threads], Scalars::new(), |lower, number, _| {
                    let (row, part) = (ll.udiv(number, c(in_row)), ll.urem(number, c(in_row)));
                    let at = ll.add(ll.mul(wide(row), down), ll.mul(wide(part), ll.const_i64(BYTES.into())));
                    let to = lower.at(tile, row, ll.mul(part, c(BYTES / size)));
                    ll.effect_intrinsic("llvm.nvvm.cp.async.cg.shared.global.16", &[to, ll.offset(start, at)]);
                    Scalars::new()
                });
            },
            by_elements,
        );
    }

    // Elements

    /// The address of an element; row and column are i32.
    fn at(&self, matrix: Matrix<'ctx>, row: Val<'ctx>, column: Val<'ctx>) -> Val<'ctx> {
        let ll = self.ll;
        let (row, column) = if matrix.turned { (column, row) } else { (row, column) };
        let start = ll.element(matrix.data, ll.bytes(matrix.pitch), row);
        ll.element(start, ll.bytes(u64::from(matrix.scalar.size())), column)
    }

    fn read_element(&self, matrix: Matrix<'ctx>, row: Val<'ctx>, column: Val<'ctx>) -> Val<'ctx> {
        let (ll, scalar) = (self.ll, matrix.scalar);
        self.ops.decode(scalar, ll.load(self.ops.memory_ty(scalar), self.at(matrix, row, column), scalar.size()))
    }

    fn write_element(&self, matrix: Matrix<'ctx>, row: Val<'ctx>, column: Val<'ctx>, value: Val<'ctx>) {
        let scalar = matrix.scalar;
        self.ll.store(self.ops.encode(scalar, value), self.at(matrix, row, column), scalar.size());
    }

    fn plus(&self, value: Val<'ctx>, more: u32) -> Val<'ctx> {
        if more == 0 { value } else { self.ll.add(value, self.ll.const_i32(more as i32)) }
    }

    /// Each thread has elements, and adds up their products by `fma`.
    fn by_elements(
        &mut self,
        product: &Product,
        result: Matrix<'ctx>,
        factors: [Matrix<'ctx>; 2],
        place: BlockPosition<'ctx>,
    ) {
        let ll = self.ll;
        let [rows, columns, inner] = product.size.map(|n| ll.const_i32(n as i32));
        let sums = product.unit.sums();
        self.turns([place.number, ll.mul(rows, columns), place.threads], Scalars::new(), |lower, number, _| {
            let (row, column) = (ll.udiv(number, columns), ll.urem(number, columns));
            let before = match product.part {
                Part::Set => lower.ops.zero(sums),
                _ => lower.ops.cast(result.scalar, sums, lower.read_element(result, row, column)),
            };
            let one = ll.const_i32(1);
            let sum = lower.turns([ll.const_i32(0), inner, one], smallvec![before], |lower, l, sum| {
                let [a, b] = [lower.read_element(factors[0], row, l), lower.read_element(factors[1], l, column)];
                let [a, b] = [(a, factors[0]), (b, factors[1])].map(|(v, m)| lower.ops.cast(m.scalar, sums, v));
                smallvec![lower.ops.fma(sums, a, b, sum[0])]
            });
            lower.write_element(result, row, column, lower.ops.cast(sums, result.scalar, sum[0]));
            Scalars::new()
        });
    }

    // Patches

    /// The first row and column of a patch.
    fn corner(&self, product: &Product, patch: Val<'ctx>) -> [Val<'ctx>; 2] {
        let ll = self.ll;
        let ([_, columns], [down, across], [row, column, _]) =
            (product.patches(), product.patch(), product.unit.fragment());
        let columns = ll.const_i32(columns as i32);
        let size = |n: u32| ll.const_i32(n as i32);
        [ll.mul(ll.udiv(patch, columns), size(down * row)), ll.mul(ll.urem(patch, columns), size(across * column))]
    }

    /// The elements that the thread has of a patch, in the order of its registers.
    fn elements(&self, product: &Product, patch: Val<'ctx>, place: BlockPosition<'ctx>) -> Vec<[Val<'ctx>; 2]> {
        let ll = self.ll;
        let ([down, across], [row, column, _]) = (product.patch(), product.unit.fragment());
        let [first_row, first_column] = self.corner(product, patch);
        let own_row = ll.add(first_row, place.group);
        let own_column = ll.add(first_column, ll.shl(place.within, ll.const_i32(1)));
        let mut elements = Vec::new();
        for (i, j) in (0..down).flat_map(|i| (0..across).map(move |j| (i, j))) {
            for n in 0..product.elements() {
                let (row, column) = (i * row + n / 2 * 8, j * column + n % 2);
                elements.push([self.plus(own_row, row), self.plus(own_column, column)]);
            }
        }
        elements
    }

    fn read_patch(
        &mut self,
        product: &Product,
        result: Matrix<'ctx>,
        patch: Val<'ctx>,
        place: BlockPosition<'ctx>,
    ) -> Scalars<'ctx> {
        let elements = self.elements(product, patch, place);
        let read = |[row, column]: [Val<'ctx>; 2]| {
            self.ops.cast(result.scalar, product.unit.sums(), self.read_element(result, row, column))
        };
        elements.into_iter().map(read).collect()
    }

    fn write_patch(
        &mut self,
        product: &Product,
        result: Matrix<'ctx>,
        patch: Val<'ctx>,
        place: BlockPosition<'ctx>,
        values: &Scalars<'ctx>,
    ) {
        for ([row, column], value) in self.elements(product, patch, place).into_iter().zip(values) {
            self.write_element(result, row, column, self.ops.cast(product.unit.sums(), result.scalar, *value));
        }
    }

    /// Adds the products for a patch.
    fn multiply(
        &mut self,
        product: &Product,
        factors: [Matrix<'ctx>; 2],
        patch: Val<'ctx>,
        place: BlockPosition<'ctx>,
        sums: Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let corner = self.corner(product, patch);
        let ([_, _, depth], [_, _, inner]) = (product.unit.fragment(), product.size);
        let steps = inner / depth * depth;
        let c = |n: u32| ll.const_i32(n as i32);
        let mut sums = self.turns([c(0), c(steps), c(depth)], sums, |lower, l, sums| {
            lower.step(product, factors, corner, l, depth, place, sums)
        });
        if steps < inner {
            sums = self.step(product, factors, corner, c(steps), inner - steps, place, sums);
        }
        sums
    }

    /// Adds the products of `depth` columns of the first factor and as many rows of the second.
    #[expect(clippy::too_many_arguments, reason = "where a step stands in a product")]
    fn step(
        &mut self,
        product: &Product,
        [left, right]: [Matrix<'ctx>; 2],
        [first_row, first_column]: [Val<'ctx>; 2],
        l: Val<'ctx>,
        depth: u32,
        place: BlockPosition<'ctx>,
        mut sums: Scalars<'ctx>,
    ) -> Scalars<'ctx> {
        let ([down, across], [row, column, _]) = (product.patch(), product.unit.fragment());
        let unit = product.unit;
        let lefts: Vec<_> =
            (0..down).map(|i| self.left(product, left, [self.plus(first_row, i * row), l], depth, place)).collect();
        let rights = self.rights(product, right, [l, first_column], across, depth, place);
        debug_assert_eq!(rights.len() as u32, across);
        let count = product.elements() as usize;
        for (i, j) in (0..down as usize).flat_map(|i| (0..across as usize).map(move |j| (i, j))) {
            let at = (i * across as usize + j) * count;
            for (a, b) in lefts[i].iter().zip(&rights[j]) {
                let made = self.mma(unit, depth, a, b, &sums[at..at + count]);
                sums[at..at + count].copy_from_slice(&made);
            }
        }
        debug_assert_eq!(column, 8);
        sums
    }

    // Fragments

    /// The registers of a fragment of the first factor: a list for each product that is made of it.
    fn left(
        &self,
        product: &Product,
        matrix: Matrix<'ctx>,
        [row, l]: [Val<'ctx>; 2],
        depth: u32,
        place: BlockPosition<'ctx>,
    ) -> Vec<Scalars<'ctx>> {
        let (ll, unit) = (self.ll, product.unit);
        match unit {
            Unit::F16 | Unit::F16Short | Unit::Bf16 => {
                // Blocks of 8 x 8: down, then to the right.
                let count = if depth == 16 { 4 } else { 2 };
                let [down, right] = [self.bit(place, 3), self.bit(place, 4)];
                let start = [ll.add(row, down), if count == 4 { ll.add(l, right) } else { l }];
                vec![self.load_matrix(matrix, start, place, count, matrix.turned)]
            }
            Unit::Tf32 | Unit::Tf32Pair => {
                let (row, inner) = (ll.add(row, place.group), self.inner(product, l, place));
                let at = [(0, 0), (8, 0), (0, 1), (8, 1)].map(|(i, k)| [self.plus(row, i), inner[k]]);
                self.rounded(unit, matrix, &at)
            }
            Unit::F64 => vec![smallvec![self.read_element(matrix, ll.add(row, place.group), ll.add(l, place.within))]],
        }
    }

    /// The same of `across` fragments of the second factor, side by side.
    fn rights(
        &self,
        product: &Product,
        matrix: Matrix<'ctx>,
        [l, column]: [Val<'ctx>; 2],
        across: u32,
        depth: u32,
        place: BlockPosition<'ctx>,
    ) -> Vec<Vec<Scalars<'ctx>>> {
        let (ll, unit) = (self.ll, product.unit);
        let mut made: Vec<Vec<Scalars>> = Vec::new();
        while (made.len() as u32) < across {
            let column = self.plus(column, 8 * made.len() as u32);
            match unit {
                Unit::F16 | Unit::F16Short | Unit::Bf16 => {
                    // Two fragments at once, where there are two.
                    let (pair, deep) = (made.len() as u32 + 2 <= across, depth == 16);
                    let bits = [self.bit(place, 3), self.bit(place, 4)];
                    let (inward, aside) = match (deep, pair) {
                        (true, true) => (Some(bits[0]), Some(bits[1])),
                        (true, false) => (Some(bits[0]), None),
                        (false, true) => (None, Some(bits[0])),
                        (false, false) => (None, None),
                    };
                    let plus = |value, more: Option<Val<'ctx>>| more.map_or(value, |more| ll.add(value, more));
                    let count = (1 + usize::from(deep)) * (1 + usize::from(pair));
                    // Threads have columns of this factor, as they have rows of the first.
                    let start = [plus(l, inward), plus(column, aside)];
                    let loaded = self.load_matrix(matrix, start, place, count, !matrix.turned);
                    let each = 1 + usize::from(deep);
                    made.extend(loaded.chunks(each).map(|part| vec![Scalars::from_slice(part)]));
                }
                Unit::Tf32 | Unit::Tf32Pair => {
                    let column = ll.add(column, place.group);
                    let at = self.inner(product, l, place).map(|l| [l, column]);
                    made.push(self.rounded(unit, matrix, &at));
                }
                Unit::F64 => {
                    let value = self.read_element(matrix, ll.add(l, place.within), ll.add(column, place.group));
                    made.push(vec![smallvec![value]]);
                }
            }
        }
        made
    }

    /// What a thread has of the inner index in a step of eight ([`Product::in_pairs`]).
    fn inner(&self, product: &Product, l: Val<'ctx>, place: BlockPosition<'ctx>) -> [Val<'ctx>; 2] {
        let ll = self.ll;
        let pairs = product.in_pairs();
        let own = if pairs { ll.shl(place.within, ll.const_i32(1)) } else { place.within };
        let first = ll.add(l, own);
        [first, self.plus(first, if pairs { 1 } else { 4 })]
    }

    /// 8 in the threads of a warp in which this bit of their number is set.
    fn bit(&self, place: BlockPosition<'ctx>, bit: u32) -> Val<'ctx> {
        let ll = self.ll;
        let shifted = if bit > 3 { ll.lshr(place.lane, ll.const_i32(bit as i32 - 3)) } else { place.lane };
        ll.and(shifted, ll.const_i32(8))
    }

    /// `ldmatrix`: each thread names 16 bytes, a row of 8 halves as the tile has it, that begin in
    /// the block `start` (row, column of the matrix). `trans`: threads get columns of what lies in
    /// memory.
    fn load_matrix(
        &self,
        matrix: Matrix<'ctx>,
        [row, column]: [Val<'ctx>; 2],
        place: BlockPosition<'ctx>,
        count: usize,
        trans: bool,
    ) -> Scalars<'ctx> {
        let ll = self.ll;
        let own = ll.and(place.lane, ll.const_i32(7));
        let (row, column) = if matrix.turned { (row, ll.add(column, own)) } else { (ll.add(row, own), column) };
        let address = self.at(matrix, row, column);
        let name = match (count, trans) {
            (1, false) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.b16",
            (1, true) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x1.trans.b16",
            (2, false) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.b16",
            (2, true) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x2.trans.b16",
            (_, false) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.b16",
            (_, true) => "llvm.nvvm.ldmatrix.sync.aligned.m8n8.x4.trans.b16",
        };
        let loaded = ll.intrinsic(name, &[ll.ptr(SHARED)], &[address]);
        match count {
            1 => smallvec![loaded],
            _ => (0..count as u32).map(|n| ll.extract_field(loaded, n)).collect(),
        }
    }

    /// Numbers as TensorFloat-32: rounded, or for two products, first of the bits that the first 11
    /// leave, then of those. A half float represents itself in both; an infinite one not in the
    /// first, where it may meet a zero.
    fn rounded(&self, unit: Unit, matrix: Matrix<'ctx>, at: &[[Val<'ctx>; 2]]) -> Vec<Scalars<'ctx>> {
        let ll = self.ll;
        let bits = |value| ll.bitcast(value, ll.i32());
        let values: Scalars = at.iter().map(|[row, column]| self.read_element(matrix, *row, *column)).collect();
        match unit {
            Unit::Tf32Pair if matrix.scalar != Scalar::F32 => {
                let (exponent, zero) = (ll.const_i32(0x7f80_0000), ll.const_i32(0));
                let finite = |value: &Val<'ctx>| {
                    let bits = bits(*value);
                    ll.select(ll.eq(ll.and(bits, exponent), exponent), zero, bits)
                };
                vec![values.iter().map(finite).collect(), values.into_iter().map(bits).collect()]
            }
            // Half floats have fewer bits than that.
            _ if matrix.scalar != Scalar::F32 => vec![values.into_iter().map(bits).collect()],
            Unit::Tf32Pair => {
                let kept = ll.const_i32(0xffff_e000_u32 as i32);
                let (mut large, mut small) = (Scalars::new(), Scalars::new());
                for value in values {
                    let high = ll.bitcast(ll.and(bits(value), kept), ll.f32());
                    // Of what is infinite nothing is left.
                    let same = ll.fcmp(FloatPredicate::OEQ, value, high);
                    let low = ll.select(same, ll.const_f32(0.0), ll.raw_fsub(value, high));
                    large.push(bits(high));
                    small.push(bits(low));
                }
                vec![small, large]
            }
            _ => vec![values.into_iter().map(|v| ll.intrinsic("llvm.nvvm.f2tf32.rna", &[], &[v])).collect()],
        }
    }

    /// `a b + c` of fragments.
    fn mma(&self, unit: Unit, depth: u32, a: &Scalars<'ctx>, b: &Scalars<'ctx>, c: &[Val<'ctx>]) -> Scalars<'ctx> {
        let ll = self.ll;
        let name = match (unit, depth) {
            (Unit::F16 | Unit::F16Short, 8) => "llvm.nvvm.mma.m16n8k8.row.col.f32.f32",
            (Unit::F16 | Unit::F16Short, _) => "llvm.nvvm.mma.m16n8k16.row.col.f32.f32",
            (Unit::Bf16, 8) => "llvm.nvvm.mma.m16n8k8.row.col.bf16",
            (Unit::Bf16, _) => "llvm.nvvm.mma.m16n8k16.row.col.bf16",
            (Unit::Tf32 | Unit::Tf32Pair, _) => "llvm.nvvm.mma.m16n8k8.row.col.tf32",
            (Unit::F64, _) => "llvm.nvvm.mma.m8n8k4.row.col.f64",
        };
        let halves = matches!(unit, Unit::F16 | Unit::F16Short);
        let operand = |value: &Val<'ctx>| if halves { ll.half_pair(*value) } else { *value };
        let mut args: Scalars = a.iter().chain(b).map(operand).collect();
        args.extend(c.iter().copied());
        let made = ll.matrix_intrinsic(name, &args);
        (0..c.len() as u32).map(|n| ll.extract_field(made, n)).collect()
    }
}
