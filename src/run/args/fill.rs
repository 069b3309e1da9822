//! What is in an array that comes from no file?

use super::elements::Leaf;
use super::{literal, random};
use crate::diag::counted;
use crate::run::launch::{Fill, Literal, Number};
use crate::types::Scalar;

/// Contents made up for one leaf.
pub struct FillValues<'a> {
    fill: &'a Fill,
    scalar: Scalar,
    /// The bits of every component, where they do not depend on the element.
    constant: Vec<u64>,
    components: usize,
}

impl<'a> FillValues<'a> {
    /// The error completes "argument x: ...".
    pub fn new(fill: &'a Fill, leaf: &Leaf) -> std::result::Result<Self, String> {
        let components = leaf.shape.iter().product::<u64>() as usize;
        let constant = match fill {
            Fill::Value(Literal::One(n)) => vec![literal::bits(*n, leaf.scalar)?; components],
            Fill::Value(Literal::Many(list)) if list.len() == components => {
                list.iter().map(|&n| literal::bits(n, leaf.scalar)).collect::<std::result::Result<_, _>>()?
            }
            Fill::Value(Literal::Many(list)) => {
                return Err(format!(
                    "{} for an element of {}",
                    counted(list.len(), "number"),
                    counted(components, "component")
                ));
            }
            Fill::Range | Fill::Random(_) | Fill::List(_) => Vec::new(),
        };
        Ok(FillValues { fill, scalar: leaf.scalar, constant, components })
    }

    /// Writes element `number`.
    pub fn write(&self, number: u64, out: &mut [u8]) -> std::result::Result<(), String> {
        let size = self.scalar.size() as usize;
        for (k, out) in out.chunks_exact_mut(size).enumerate() {
            let bits = match self.fill {
                Fill::Value(_) => self.constant[k],
                Fill::Range => literal::bits(Number::Int(number.into()), self.scalar)?,
                Fill::List(list) => {
                    let at = number * self.components as u64 + k as u64;
                    let at = at.checked_rem(list.len() as u64).ok_or("an empty list of numbers")?;
                    literal::bits(list[at as usize], self.scalar)?
                }
                Fill::Random(seed) => {
                    let word = random::nth(*seed, number * self.components as u64 + k as u64);
                    let number = match self.scalar {
                        Scalar::Bool => Number::Bool(word >> 63 == 1),
                        // Fewer bits for narrow floats, so that rounding never reaches 1.
                        Scalar::F16 | Scalar::BF16 => Number::Float((word >> 56) as f64 / 256.0),
                        s if s.is_float() => Number::Float((word >> 40) as f64 / (1u64 << 24) as f64),
                        _ => Number::Int((word % 100).into()),
                    };
                    literal::bits(number, self.scalar)?
                }
            };
            literal::store(bits, self.scalar, out);
        }
        Ok(())
    }
}
