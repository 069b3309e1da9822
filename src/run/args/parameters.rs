//! Which floats does a launch give by value, and what are their gradients?

use super::Arguments;
use super::literal;
use crate::abi::{FloatArgument, float_arguments};
use crate::ir::{Const, Function};
use crate::types::{Scalar, StructTable, Type};

/// A number, vector or matrix of floats that is given by value: a parameter, or a field of one.
#[derive(Clone, Debug)]
pub struct FloatParameter {
    /// `s`, or `p.k` inside a struct argument.
    pub key: String,
    pub place: FloatArgument,
    /// Of each of its scalars: the sum over all threads. None: not computed. (For forward mode: the
    /// tangents.)
    pub gradient: Option<Vec<f64>>,
}

impl FloatParameter {
    /// The type of its scalars.
    pub fn scalar(&self) -> Scalar {
        self.place.ty.scalar_part().unwrap_or(Scalar::F64)
    }

    /// The shape of its components, as NumPy sees it.
    pub fn shape(&self) -> Vec<u64> {
        match self.place.ty {
            Type::Scalar(_) => Vec::new(),
            Type::Mat(rows, columns, _) => vec![rows.into(), columns.into()],
            _ => vec![self.place.scalars().into()],
        }
    }
}

/// What `kernel` is given by value, without gradients yet.
pub fn float_parameters(kernel: &Function, structs: &StructTable) -> Vec<FloatParameter> {
    let types: Vec<Type> = kernel.params().iter().map(|&p| kernel.ty(p)).collect();
    let parameter = |place: FloatArgument| FloatParameter {
        key: format!("{}{}", kernel.param_name(place.param), place.suffix),
        place,
        gradient: None,
    };
    float_arguments(&types, structs).into_iter().map(parameter).collect()
}

impl Arguments {
    /// The scalars of a parameter.
    pub fn parameter(&self, parameter: &FloatParameter) -> Vec<f64> {
        let scalar = parameter.scalar();
        let bytes =
            self.bytes_at(parameter.place.offset, parameter.place.scalars() * scalar.size()).unwrap_or_default();
        bytes.chunks_exact(scalar.size() as usize).map(|bytes| literal::to_f64(bytes, scalar)).collect()
    }

    /// Writes them; each is rounded to its type.
    pub fn set_parameter(&mut self, parameter: &FloatParameter, values: &[f64]) {
        store(self.block.bytes_mut(), parameter.place.offset, parameter.scalar(), values);
    }

    /// No result depends on a parameter.
    pub fn clear_parameter_gradients(&mut self) {
        for parameter in &mut self.parameters {
            parameter.gradient = Some(vec![0.0; parameter.place.scalars() as usize]);
        }
    }

    /// Takes over what a backward entry has added up, in the order of [`float_arguments`].
    pub fn set_parameter_gradients(&mut self, sums: &[f64]) {
        for parameter in &mut self.parameters {
            let first = parameter.place.slot as usize;
            parameter.gradient = sums.get(first..first + parameter.place.scalars() as usize).map(<[f64]>::to_vec);
        }
    }
}

/// Writes scalars one after the other from a byte on.
pub(super) fn store(block: &mut [u8], offset: u32, scalar: Scalar, values: &[f64]) {
    let size = scalar.size() as usize;
    let places = block[offset as usize..].chunks_exact_mut(size);
    for (&value, place) in values.iter().zip(places) {
        literal::store(Const::float(scalar, value).bits, scalar, place);
    }
}
