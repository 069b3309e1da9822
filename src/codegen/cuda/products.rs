//! Products of tiles by a GPU's instructions for matrices, in CUDA text: `mma.sync` behind a C++
//! template, of which each product is an instance. Fragments, patches and the order of sums are
//! those of PTX (`codegen/llvm/tensor.rs`), so that both have the same bits.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use crate::ir::{Function, Op, Part, Product, Unit, ValueId};

const TEMPLATE: &str = include_str!("products/tile_product.cuh");
const HALVES: &str = include_str!("products/halves.cuh");
const HALVES_UNIT: &str = include_str!("products/halves_unit.cuh");
const TF32_UNIT: &str = include_str!("products/tf32_unit.cuh");
const TF32_PAIR_UNIT: &str = include_str!("products/tf32_pair_unit.cuh");
const F64_UNIT: &str = include_str!("products/f64_unit.cuh");

/// The products of a text, whatever part of them is done where.
#[derive(Clone, Default)]
pub struct Products(BTreeSet<Instance>);

#[derive(Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Instance {
    unit: usize,
    size: [u32; 3],
    turned: [bool; 2],
    patch: [u32; 2],
}

impl Products {
    /// What a product is called in the text, such as `product_f16_64_64_32_nt`. The last letters
    /// say which factors are transposed, as in BLAS: the second one.
    pub fn name(&mut self, product: &Product) -> String {
        let unit = Unit::ALL.iter().position(|unit| *unit == product.unit).unwrap_or_default();
        let instance = Instance { unit, size: product.size, turned: product.turned, patch: product.patch() };
        let name = instance.name();
        self.0.insert(instance);
        name
    }

    pub fn add(&mut self, other: &Products) {
        self.0.extend(other.0.iter().cloned());
    }

    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The template, the instructions that it needs, and its instances.
    pub fn write(&self, out: &mut String) {
        let units: BTreeSet<usize> = self.0.iter().map(|instance| instance.unit).collect();
        let units: Vec<Unit> = units.into_iter().map(|at| Unit::ALL[at]).collect();
        if units.iter().any(|unit| is_of_halves(*unit)) {
            let _ = write!(out, "\n{HALVES}");
        }
        for unit in units {
            let _ = write!(out, "\n{}", unit_text(unit));
        }
        let _ = write!(out, "\n{TEMPLATE}\n");
        for instance in &self.0 {
            instance.write(out);
        }
    }
}

impl Instance {
    fn unit(&self) -> Unit {
        Unit::ALL[self.unit]
    }

    fn name(&self) -> String {
        let [rows, columns, inner] = self.size;
        let [a, b] = self.turned.map(|turned| if turned { 't' } else { 'n' });
        format!("product_{}_{rows}_{columns}_{inner}_{a}{b}", self.unit().name())
    }

    fn write(&self, out: &mut String) {
        let ([rows, columns, inner], [down, across], [a, b]) = (self.size, self.patch, self.turned);
        let (unit, name) = (self.unit().name(), self.name());
        let _ = writeln!(
            out,
            "typedef tile_product<mma_{unit}, {rows}, {columns}, {inner}, {down}, {across}, {a}, {b}> {name};"
        );
    }
}

/// Whether a tile is a factor of a product that reads 16 bytes of its rows at once.
pub fn reads_rows(function: &Function, tile: ValueId) -> bool {
    let mut reads = false;
    function.walk(function.entry, &mut |_, inst| {
        let Op::Product(product, operands) = &inst.op else { return };
        reads |= product.part.has_factors() && is_of_halves(product.unit) && operands[1..].contains(&tile);
    });
    reads
}

/// The function of the template that does a part.
pub fn function(part: Part) -> &'static str {
    match part {
        Part::Set => "set",
        Part::Add => "add",
        Part::Take => "take",
        Part::Keep => "keep",
        Part::Put => "put",
    }
}

fn is_of_halves(unit: Unit) -> bool {
    matches!(unit, Unit::F16 | Unit::F16Short | Unit::Bf16)
}

fn unit_text(unit: Unit) -> String {
    let halves = |format: &str| {
        let [_, _, depth] = unit.fragment();
        HALVES_UNIT.replace("UNIT", unit.name()).replace("FORMAT", format).replace("DEEP", &depth.to_string())
    };
    match unit {
        Unit::F16 | Unit::F16Short => halves("f16"),
        Unit::Bf16 => halves("bf16"),
        Unit::Tf32 => TF32_UNIT.to_string(),
        Unit::Tf32Pair => TF32_PAIR_UNIT.to_string(),
        Unit::F64 => F64_UNIT.to_string(),
    }
}
