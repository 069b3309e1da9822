//! Into which vectors and matrices does a local array fall?

use crate::ir::{Path, Step};
use crate::types::{LocalArrayType, StructTable, Type};

/// One value of a promoted array: a part of each of its elements.
#[derive(Clone, PartialEq, Eq, Debug)]
pub(super) struct Part {
    /// From the element to the part: fixed steps.
    pub path: Path,
    /// `vec(n)` for a scalar part, `mat(n, c)` for a vector.
    pub ty: Type,
}

/// The parts of an array, in order; or why it can't be split.
pub(super) fn parts(array: LocalArrayType, structs: &StructTable, max_scalars: u64) -> Result<Vec<Part>, &'static str> {
    const TOO_LARGE: &str = "too large to be kept in values";
    if array.is_empty() {
        return Err("empty");
    }
    let count = u16::try_from(array.len()).map_err(|_| TOO_LARGE)?;
    let mut all = Vec::new();
    collect(Path::new(), array.element.into(), count, structs, &mut all)?;
    let scalars: u64 = all.iter().map(|part| u64::from(part.ty.scalar_count().unwrap_or(1))).sum();
    if scalars > max_scalars { Err(TOO_LARGE) } else { Ok(all) }
}

fn collect(path: Path, ty: Type, n: u16, structs: &StructTable, all: &mut Vec<Part>) -> Result<(), &'static str> {
    let whole = match ty {
        Type::Scalar(s) => Type::Vec(n, s),
        Type::Vec(c, s) => Type::Mat(n, c, s),
        Type::Array(_) | Type::Local(_) => return Err("one of structs that hold arrays"),
        _ => {
            for step in 0..ty.step_count(structs) {
                let mut deeper = path.clone();
                deeper.push(Step::At(step));
                let part = ty.step(Some(step), structs).ok_or("of an unknown form")?;
                collect(deeper, part, n, structs, all)?;
            }
            return Ok(());
        }
    };
    all.push(Part { path, ty: whole });
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Element, Scalar};

    #[test]
    fn elements_fall_into_scalars_and_vectors() {
        let array = |element| LocalArrayType { element, shape: [3, 2, 1, 1], ndim: 2, block: false };
        let types = |element| {
            let parts = parts(array(element), &StructTable::new(), 100).expect("it splits");
            parts.into_iter().map(|part| (part.path.into_vec(), part.ty)).collect::<Vec<_>>()
        };
        let s = Scalar::F32;
        assert_eq!(types(Element::Scalar(s)), [(vec![], Type::Vec(6, s))]);
        assert_eq!(types(Element::Vec(3, s)), [(vec![], Type::Mat(6, 3, s))]);
        let row = |n| (vec![Step::At(n)], Type::Mat(6, 5, s));
        assert_eq!(types(Element::Mat(2, 5, s)), [row(0), row(1)]);
        assert_eq!(types(Element::Quat(s)).len(), 4);
        // p as one vector, q in four scalars.
        assert_eq!(types(Element::Transform(s)).len(), 5);
        assert!(parts(array(Element::Mat(5, 5, s)), &StructTable::new(), 100).is_err());
        let empty = LocalArrayType { element: Element::Scalar(s), shape: [0, 1, 1, 1], ndim: 1, block: false };
        assert!(parts(empty, &StructTable::new(), 100).is_err());
    }
}
