//! How are arrays read from and written to the `.npy` format (NumPy Enhancement Proposal 1 and its
//! versions 2 and 3)?
//!
//! Nothing in a header is believed: a read takes no more memory than the bytes that are really
//! there, plus a small constant. Every error is the second half of a message whose first half names
//! the file.

use std::io::{Read, Write};

use crate::types::Scalar;

const MAGIC: &[u8; 6] = b"\x93NUMPY";

/// NumPy itself refuses headers above 10,000 characters by default.
const MAX_HEADER_BYTES: u32 = 1 << 16;

/// More dimensions than any kernel array with its component shape has.
const MAX_RANK: usize = 32;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    Bool,
    Int,
    UInt,
    Float,
    /// `V`: bytes without meaning; bfloat16 arrays of other programs come as two of them.
    Raw,
}

/// What is before the data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    pub kind: Kind,
    /// Bytes of one scalar: 1, 2, 4 or 8.
    pub item: u32,
    pub big_endian: bool,
    /// The first dimension is the fastest in the file.
    pub fortran_order: bool,
    pub shape: Vec<u64>,
}

impl Header {
    /// The type as NumPy writes it, without byte order: `f4`.
    pub fn type_name(&self) -> String {
        let letter = match self.kind {
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::Raw => 'V',
        };
        format!("{letter}{}", self.item)
    }

    /// Bytes of the data; None when that overflows.
    pub fn data_bytes(&self) -> Option<u64> {
        // An extent of 0 makes the array empty whatever the others say.
        if self.shape.contains(&0) {
            return Some(0);
        }
        self.shape.iter().try_fold(u64::from(self.item), |n, &d| n.checked_mul(d))
    }

    /// Can this type stand for `scalar` in an array file?
    pub fn holds(&self, scalar: Scalar) -> bool {
        let kinds: &[Kind] = match scalar {
            Scalar::Bool => &[Kind::Bool, Kind::UInt],
            Scalar::BF16 => &[Kind::UInt, Kind::Raw],
            s if s.is_float() => &[Kind::Float],
            s if s.is_signed_int() => &[Kind::Int],
            _ => &[Kind::UInt],
        };
        self.item == scalar.size() && kinds.contains(&self.kind)
    }
}

/// An array in memory: row major, in the byte order of this machine.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Array {
    pub header: Header,
    pub bytes: Vec<u8>,
}

/// The type under which kc stores a scalar, with byte order: `<f4`.
pub fn descr(scalar: Scalar) -> &'static str {
    match scalar {
        Scalar::Bool | Scalar::U8 => "|u1",
        Scalar::I8 => "|i1",
        Scalar::I16 => "<i2",
        Scalar::I32 => "<i4",
        Scalar::I64 => "<i8",
        Scalar::U16 | Scalar::BF16 => "<u2",
        Scalar::U32 => "<u4",
        Scalar::U64 => "<u8",
        Scalar::F16 => "<f2",
        Scalar::F32 => "<f4",
        Scalar::F64 => "<f8",
    }
}

/// Reads a header, leaving `input` at the first byte of the data.
pub fn read_header(input: &mut impl Read) -> Result<Header, String> {
    let cut = |e: std::io::Error| match e.kind() {
        std::io::ErrorKind::UnexpectedEof => "is truncated inside the .npy header".to_string(),
        _ => format!("cannot be read: {e}"),
    };
    let mut start = [0; 8];
    input.read_exact(&mut start).map_err(cut)?;
    if &start[..6] != MAGIC {
        return Err("is not a .npy array (its first bytes are not \\x93NUMPY)".to_string());
    }
    let length = match start[6] {
        1 => {
            let mut n = [0; 2];
            input.read_exact(&mut n).map_err(cut)?;
            u32::from(u16::from_le_bytes(n))
        }
        2 | 3 => {
            let mut n = [0; 4];
            input.read_exact(&mut n).map_err(cut)?;
            u32::from_le_bytes(n)
        }
        other => return Err(format!("has the unknown .npy version {other}")),
    };
    if length > MAX_HEADER_BYTES {
        return Err(format!("has a .npy header of {length} bytes, more than {MAX_HEADER_BYTES}"));
    }
    let mut text = vec![0; length as usize];
    input.read_exact(&mut text).map_err(cut)?;
    let text = std::str::from_utf8(&text).map_err(|_| "has a .npy header that is not text".to_string())?;
    HeaderParser { rest: text }.parse()
}

/// Reads the data after a header. `available` is the number of bytes that can at most be there.
pub fn read_data(input: &mut impl Read, header: Header, available: u64) -> Result<Array, String> {
    let wanted = header.data_bytes().filter(|&n| n <= available && usize::try_from(n).is_ok()).ok_or_else(|| {
        let n = header.data_bytes().map_or("more than 2^64".to_string(), |n| n.to_string());
        format!("is truncated: its header asks for {n} bytes of data and at most {available} are there")
    })?;
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(wanted as usize).map_err(|_| format!("needs {wanted} bytes of memory"))?;
    input.by_ref().take(wanted).read_to_end(&mut bytes).map_err(|e| format!("cannot be read: {e}"))?;
    if bytes.len() as u64 != wanted {
        let there = bytes.len();
        return Err(format!("is truncated: its header asks for {wanted} bytes of data and {there} are there"));
    }
    // Reading on to the end also makes an archive verify its checksum.
    let more = input.read(&mut [0]).map_err(|e| format!("cannot be read: {e}"))?;
    if more != 0 {
        return Err("has more bytes than its header says".to_string());
    }
    if header.big_endian && header.item > 1 {
        bytes.chunks_exact_mut(header.item as usize).for_each(<[u8]>::reverse);
    }
    if header.fortran_order && header.shape.len() > 1 {
        bytes = to_row_major(&bytes, header.item as usize, &header.shape);
    }
    Ok(Array { header, bytes })
}

/// Reorders column-major data. `bytes` holds exactly the elements of `shape`.
fn to_row_major(bytes: &[u8], item: usize, shape: &[u64]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    let mut index = vec![0u64; shape.len()];
    for _ in 0..bytes.len() / item {
        let at = index.iter().zip(shape).rev().fold(0u64, |at, (&i, &n)| at * n + i) as usize * item;
        out.extend_from_slice(&bytes[at..at + item]);
        for (i, &n) in index.iter_mut().zip(shape).rev() {
            *i += 1;
            if *i < n {
                break;
            }
            *i = 0;
        }
    }
    out
}

/// Writes an array of row-major `bytes` in version 1.0 of the format.
pub fn write(output: &mut impl Write, descr: &str, shape: &[u64], bytes: &[u8]) -> std::io::Result<()> {
    let extents: String = match shape {
        [one] => format!("{one},"),
        many => many.iter().map(u64::to_string).collect::<Vec<_>>().join(", "),
    };
    let mut text = format!("{{'descr': '{descr}', 'fortran_order': False, 'shape': ({extents}), }}");
    // The data starts at a multiple of 64 bytes, and the header ends in a line break.
    let unpadded = MAGIC.len() + 4 + text.len() + 1;
    text.extend(std::iter::repeat_n(' ', unpadded.next_multiple_of(64) - unpadded));
    text.push('\n');
    output.write_all(MAGIC)?;
    output.write_all(&[1, 0])?;
    output.write_all(&(text.len() as u16).to_le_bytes())?;
    output.write_all(text.as_bytes())?;
    output.write_all(bytes)
}

/// The header's Python dictionary of three members.
struct HeaderParser<'a> {
    rest: &'a str,
}

impl HeaderParser<'_> {
    fn parse(mut self) -> Result<Header, String> {
        let bad = || "has a malformed .npy header".to_string();
        let (mut descr, mut fortran, mut shape) = (None, None, None);
        self.expect('{').ok_or_else(bad)?;
        while self.expect('}').is_none() {
            let key = self.string().ok_or_else(bad)?;
            self.expect(':').ok_or_else(bad)?;
            match key.as_str() {
                "descr" if descr.is_none() => {
                    if self.rest.trim_start().starts_with('[') {
                        return Err("has a structured type, which kc does not read; store one array per field".into());
                    }
                    descr = Some(self.string().ok_or_else(bad)?);
                }
                "fortran_order" if fortran.is_none() => fortran = Some(self.boolean().ok_or_else(bad)?),
                "shape" if shape.is_none() => shape = Some(self.tuple().ok_or_else(bad)?),
                _ => return Err(bad()),
            }
            if self.expect(',').is_none() {
                self.expect('}').ok_or_else(bad)?;
                break;
            }
        }
        if !self.rest.trim().is_empty() {
            return Err(bad());
        }
        let (Some(descr), Some(fortran_order), Some(shape)) = (descr, fortran, shape) else { return Err(bad()) };
        let unsupported = || format!("has the type {:?}, which kc does not read", crate::run::shorten(&descr));
        let mut letters = descr.chars();
        let order = letters.next().ok_or_else(bad)?;
        let kind = match letters.next() {
            Some('b') => Kind::Bool,
            Some('i') => Kind::Int,
            Some('u') => Kind::UInt,
            Some('f') => Kind::Float,
            Some('V') => Kind::Raw,
            _ => return Err(unsupported()),
        };
        let item = letters.as_str();
        let item = match (kind, item) {
            (Kind::Int | Kind::UInt, "1" | "2" | "4" | "8") => item,
            (Kind::Float, "2" | "4" | "8") | (Kind::Bool, "1") | (Kind::Raw, "2") => item,
            _ => return Err(unsupported()),
        };
        let big_endian = match order {
            '>' => true,
            '<' | '|' | '=' => false,
            _ => return Err(unsupported()),
        };
        let item = item.parse().map_err(|_| bad())?;
        Ok(Header { kind, item, big_endian, fortran_order, shape })
    }

    fn expect(&mut self, c: char) -> Option<()> {
        self.rest = self.rest.trim_start().strip_prefix(c)?;
        Some(())
    }

    /// A quoted string without escapes.
    fn string(&mut self) -> Option<String> {
        let text = self.rest.trim_start();
        let quote = text.chars().next().filter(|c| matches!(c, '\'' | '"'))?;
        let (inside, after) = text[1..].split_once(quote)?;
        self.rest = after;
        (!inside.contains('\\')).then(|| inside.to_string())
    }

    fn boolean(&mut self) -> Option<bool> {
        let text = self.rest.trim_start();
        let (value, after) = match (text.strip_prefix("True"), text.strip_prefix("False")) {
            (Some(after), _) => (true, after),
            (_, Some(after)) => (false, after),
            _ => return None,
        };
        self.rest = after;
        Some(value)
    }

    fn tuple(&mut self) -> Option<Vec<u64>> {
        let mut extents = Vec::new();
        self.expect('(')?;
        while self.expect(')').is_none() {
            let text = self.rest.trim_start();
            let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
            let (number, after) = text.split_at(digits);
            extents.push(number.parse().ok()?);
            // Python 2 wrote long integers with an L.
            self.rest = after.strip_prefix('L').unwrap_or(after);
            if extents.len() > MAX_RANK {
                return None;
            }
            if self.expect(',').is_none() {
                self.expect(')')?;
                break;
            }
        }
        Some(extents)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    pub(crate) fn read(bytes: &[u8]) -> Result<Array, String> {
        let mut input = bytes;
        let header = read_header(&mut input)?;
        let available = input.len() as u64;
        read_data(&mut input, header, available)
    }

    fn file(dict: &str, data: &[u8]) -> Vec<u8> {
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((dict.len() as u16).to_le_bytes());
        bytes.extend(dict.as_bytes());
        bytes.extend(data);
        bytes
    }

    #[test]
    fn round_trip() {
        for (shape, n) in [(vec![], 1), (vec![3], 3), (vec![2, 3], 6), (vec![0, 7], 0)] {
            let data: Vec<u8> = (0..n * 4).collect();
            let mut out = Vec::new();
            write(&mut out, "<f4", &shape, &data).unwrap();
            assert_eq!((out.len() - data.len()) % 64, 0);
            let array = read(&out).unwrap();
            assert_eq!((array.header.shape, array.bytes, array.header.item), (shape, data, 4));
        }
    }

    #[test]
    fn byte_order_and_column_major() {
        let dict = "{'descr': '>i2', 'fortran_order': True, 'shape': (2, 3), }\n";
        // Columns (0, 3), (1, 4), (2, 5) of [[0, 1, 2], [3, 4, 5]].
        let array = read(&file(dict, &[0, 0, 0, 3, 0, 1, 0, 4, 0, 2, 0, 5])).unwrap();
        assert_eq!(array.bytes, [0, 0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 0]);
    }

    #[test]
    fn every_truncation_is_an_error() {
        let mut whole = Vec::new();
        write(&mut whole, "<i4", &[2, 2], &[7; 16]).unwrap();
        for n in 0..whole.len() {
            assert!(read(&whole[..n]).is_err(), "the first {n} bytes were accepted");
        }
        whole.push(0);
        assert!(read(&whole).is_err(), "a trailing byte was accepted");
    }

    #[test]
    fn absurd_headers_are_refused() {
        let shape = |s: &str| format!("{{'descr': '<f4', 'fortran_order': False, 'shape': {s}, }}");
        let descr = |d: &str| format!("{{'descr': {d}, 'fortran_order': False, 'shape': (1,), }}");
        let mut bad: Vec<String> = Vec::new();
        bad.extend(
            [
                "(18446744073709551615, 2)",
                "(99999999999999999999999,)",
                "(-1,)",
                "(1.5,)",
                "(1000000000000,)",
                "(1",
                "1",
                "((1,),)",
                "(,)",
                "None",
            ]
            .map(shape),
        );
        bad.push(shape(&format!("({})", "1,".repeat(40))));
        bad.extend(
            [
                "'<f3'",
                "'<c8'",
                "'|O'",
                "'<U4'",
                "'|S1'",
                "'<M8[s]'",
                "''",
                "'<'",
                "'é4'",
                "'<i16'",
                "'f4'",
                "4",
                "'<f4\\x00'",
                "[('a', '<f4'), ('b', '<i4')]",
                "None",
                "'<f4",
            ]
            .map(descr),
        );
        bad.extend(
            [
                "",
                "{",
                "{}",
                "{'descr': '<f4'}",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), } x",
                "{'descr': '<f4', 'fortran_order': 0, 'shape': (1,), }",
                "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': (1,), }",
                "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), 'more': 1}",
                "[1, 2, 3]",
            ]
            .map(String::from),
        );
        for dict in &bad {
            assert!(read(&file(dict, &[0; 4])).is_err(), "accepted {dict}");
        }
        let mut huge = b"\x93NUMPY\x02\x00".to_vec();
        huge.extend(u32::MAX.to_le_bytes());
        assert!(read(&huge).is_err());
        assert!(read(b"\x93NUMPY\x09\x00\x00\x00").is_err());
        assert!(read(b"PK\x03\x04 not an array").is_err());
    }

    #[test]
    fn types_match_scalars() {
        for scalar in Scalar::ALL {
            let mut out = Vec::new();
            write(&mut out, descr(scalar), &[1], &vec![0; scalar.size() as usize]).unwrap();
            let header = read(&out).unwrap().header;
            assert!(header.holds(scalar), "{}", scalar.name());
            let others = Scalar::ALL.into_iter().filter(|&s| header.holds(s)).count();
            assert!(others <= 2, "{} passes for {others} types", header.type_name());
        }
    }
}
