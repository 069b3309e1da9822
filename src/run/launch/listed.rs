//! Which array is `1,2,3` or `[[1, 2], [3, 4]]`?

use super::Number;
use super::flags::parse_number;
use crate::types::{ArrayType, Type};

/// The extents of a list of lists, and its numbers in their order. None: it is no list of numbers,
/// or its rows differ in length.
pub(super) fn parse(text: &str) -> Option<(Vec<u32>, Vec<Number>)> {
    let text = text.trim();
    let mut numbers = Vec::new();
    let shape = match text.starts_with('[') {
        true => nested(text, &mut numbers)?,
        false if text.contains(',') => row(text, &mut numbers)?,
        false => return None,
    };
    Some((shape, numbers))
}

/// `[a, b, ...]`, of numbers or of lists with the same extents.
fn nested(text: &str, numbers: &mut Vec<Number>) -> Option<Vec<u32>> {
    let inside = text.trim().strip_prefix('[')?.strip_suffix(']')?.trim();
    if inside.is_empty() {
        return Some(vec![0]);
    }
    if !inside.starts_with('[') {
        return row(inside, numbers);
    }
    let (mut depth, mut start, mut count) = (0_u32, 0, 0);
    let mut shape: Option<Vec<u32>> = None;
    for (at, byte) in inside.bytes().enumerate() {
        match byte {
            b'[' => depth += 1,
            b']' => depth = depth.checked_sub(1)?,
            _ => {}
        }
        let ends = at + 1 == inside.len();
        if depth == 0 && (byte == b',' || ends) {
            let part = &inside[start..if ends && byte != b',' { at + 1 } else { at }];
            start = at + 1;
            // As in Python, a comma may end the list.
            if ends && part.trim().is_empty() {
                break;
            }
            let inner = nested(part, numbers)?;
            if shape.get_or_insert_with(|| inner.clone()) != &inner {
                return None;
            }
            count += 1;
        }
    }
    if depth != 0 {
        return None;
    }
    let mut shape = shape?;
    shape.insert(0, count);
    Some(shape)
}

fn row(text: &str, numbers: &mut Vec<Number>) -> Option<Vec<u32>> {
    let text = text.trim();
    let text = text.strip_suffix(',').unwrap_or(text);
    let before = numbers.len();
    for part in text.split(',') {
        numbers.push(parse_number(part)?);
    }
    Some(vec![u32::try_from(numbers.len() - before).ok()?])
}

/// The extents of an array of this type that such a list is. The components of an element are the
/// last extents of the list, or one row of them; a plain row of numbers is a row of elements.
pub(super) fn shape(list: &[u32], ty: ArrayType) -> Option<Vec<u32>> {
    let element = Type::from(ty.element);
    let components: Vec<u32> = match element {
        Type::Scalar(_) => Vec::new(),
        Type::Mat(rows, columns, _) => vec![rows.into(), columns.into()],
        other => vec![other.scalar_count()?],
    };
    let count: u32 = components.iter().product();
    let dims = usize::from(ty.ndim);
    let whole = |components: &[u32]| {
        let shape = list.strip_suffix(components)?;
        (shape.len() == dims).then(|| shape.to_vec())
    };
    let by_row = || {
        let &[length] = list else { return None };
        (dims == 1 && length % count == 0).then(|| vec![length / count])
    };
    whole(&components).or_else(|| whole(&[count]).filter(|_| !components.is_empty())).or_else(by_row)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::types::{Element, Scalar};

    fn of(text: &str, element: Element, ndim: u8) -> Option<(Vec<u32>, usize)> {
        let (list, numbers) = parse(text)?;
        Some((shape(&list, ArrayType { element, ndim })?, numbers.len()))
    }

    #[test]
    fn lists_are_arrays() {
        let float = Element::Scalar(Scalar::F32);
        let vec2 = Element::Vec(2, Scalar::F32);
        let mat22 = Element::Mat(2, 2, Scalar::F32);
        for (text, element, ndim, expected) in [
            ("1,2,3", float, 1, Some((vec![3], 3))),
            ("[1, 2.5, -3e2,]", float, 1, Some((vec![3], 3))),
            ("[5]", float, 1, Some((vec![1], 1))),
            ("[]", float, 1, Some((vec![0], 0))),
            ("[[1,2],[3,4],[5,6]]", float, 2, Some((vec![3, 2], 6))),
            ("[[1,2],[3,4],[5,6]]", vec2, 1, Some((vec![3], 6))),
            ("1,2,3,4", vec2, 1, Some((vec![2], 4))),
            ("[[[1,2],[3,4]]]", mat22, 1, Some((vec![1], 4))),
            ("[[1,2,3,4]]", mat22, 1, Some((vec![1], 4))),
            ("[[[1,2],[3,4]]]", float, 3, Some((vec![1, 2, 2], 4))),
            ("1,2,3", vec2, 1, None),
            ("1,2,3", float, 2, None),
            ("[[1,2],[3]]", float, 2, None),
            ("[[1,2],3]", float, 2, None),
            ("[1,2", float, 1, None),
            ("[1,,2]", float, 1, None),
            ("[1,x]", float, 1, None),
            ("1", float, 1, None),
        ] {
            assert_eq!(of(text, element, ndim), expected, "{text}");
        }
    }
}
