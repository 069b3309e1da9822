//! What does `vprintf` print? Its format and the buffer of its arguments lie in memory; each
//! argument at its natural alignment.

use super::code::Print;
use super::machine::{Machine, lanes};
use super::memory::{read, write};
use super::value::LANES;
use super::warp::Warp;
use super::windows::resolve;
use crate::ir::Const;
use crate::ir::interp::format::format;
use crate::ptx::Space;
use crate::types::Scalar;

/// What all threads print is kept up to this.
const MOST_BYTES: usize = 64 << 20;
/// A text in memory without an end.
const LONGEST: usize = 1 << 16;

/// Prints for some lanes.
pub fn print(machine: &mut Machine, warp: &mut Warp, print: &Print, mask: u32) {
    for lane in lanes(mask) {
        let text = text(machine, warp, print.format, lane);
        let values = parameter(machine, warp, print.values, 8, lane);
        let (made, count) = formatted(machine, warp, &text, values, lane);
        if let Some(at) = print.result {
            let place = place(machine, at, lane);
            write(&mut warp.handed, place, 4, count);
        }
        if machine.printed_bytes + made.len() <= MOST_BYTES {
            machine.printed_bytes += made.len();
            let thread = u64::from(warp.id) * LANES as u64 + lane as u64;
            machine.printed.push((thread, made));
        }
    }
}

fn place(machine: &Machine, at: u32, lane: usize) -> usize {
    lane * machine.code.call_bytes as usize + (at - machine.code.param_bytes) as usize
}

/// A parameter of the call.
pub fn parameter(machine: &Machine, warp: &Warp, at: u32, bytes: u32, lane: usize) -> u64 {
    read(&warp.handed, place(machine, at, lane), bytes)
}

/// The text that a parameter of a call points to.
pub fn text(machine: &Machine, warp: &Warp, at: u32, lane: usize) -> String {
    string(machine, warp, parameter(machine, warp, at, 8, lane), lane)
}

fn string(machine: &Machine, warp: &Warp, address: u64, lane: usize) -> String {
    let mut bytes = Vec::new();
    while let Some(byte) = value(machine, warp, address + bytes.len() as u64, 1, lane).filter(|&byte| byte != 0) {
        bytes.push(byte as u8);
        if bytes.len() >= LONGEST {
            break;
        }
    }
    String::from_utf8_lossy(&bytes).into_owned()
}

/// A number in memory; None: there is no such place.
fn value(machine: &Machine, warp: &Warp, address: u64, bytes: u32, lane: usize) -> Option<u64> {
    match resolve(address) {
        (Space::Local, at) => {
            let size = machine.code.local_bytes as usize;
            let fits =
                usize::try_from(at).ok().filter(|at| at.checked_add(bytes as usize).is_some_and(|end| end <= size));
            fits.map(|at| read(&warp.local, lane * size + at, bytes))
        }
        (Space::Global, at) => {
            machine.memory.piece(at, bytes.into(), false, &mut 0)?;
            Some(read(&machine.memory.bytes, machine.memory.offset(at), bytes))
        }
        _ => None,
    }
}

fn number(scalar: Scalar, bits: u64) -> Const {
    Const { scalar, bits, named: None }
}

/// The text, and how many arguments it shows.
fn formatted(machine: &Machine, warp: &Warp, text: &str, values: u64, lane: usize) -> (Vec<u8>, u64) {
    let mut made = Vec::with_capacity(text.len() + 16);
    let (mut at, mut count, mut rest) = (values, 0, text);
    let mut next = |bytes: u64| {
        at = at.next_multiple_of(bytes);
        let found = value(machine, warp, at, bytes as u32, lane).unwrap_or(0);
        at += bytes;
        found
    };
    while let Some(start) = rest.find('%') {
        made.extend_from_slice(&rest.as_bytes()[..start]);
        let directive = &rest[start..];
        let is_head = |c: char| c.is_ascii_digit() || "-+ #0.*hljztL".contains(c);
        let Some((length, letter)) = directive.char_indices().skip(1).find(|(_, c)| !is_head(*c)) else {
            rest = directive;
            break;
        };
        let whole = &directive[..length + letter.len_utf8()];
        rest = &directive[whole.len()..];
        let mut args = Vec::new();
        for _ in whole.matches('*') {
            args.push(number(Scalar::I32, next(4)));
        }
        let long = whole.contains("ll") || whole.contains('l') || whole.contains('j') || whole.contains('z');
        match letter {
            'd' | 'i' if long => args.push(number(Scalar::I64, next(8))),
            'd' | 'i' => args.push(number(Scalar::I32, next(4))),
            'u' | 'x' | 'X' | 'o' if long => args.push(number(Scalar::U64, next(8))),
            'u' | 'x' | 'X' | 'o' => args.push(number(Scalar::U32, next(4))),
            'c' => args.push(number(Scalar::U8, next(4) & 0xff)),
            'f' | 'F' | 'e' | 'E' | 'g' | 'G' | 'a' => args.push(number(Scalar::F64, next(8))),
            'p' => {
                count += 1;
                made.extend_from_slice(format!("{:#x}", next(8)).as_bytes());
                continue;
            }
            's' => {
                count += 1;
                let text = string(machine, warp, next(8), lane);
                let precision = whole.split_once('.').and_then(|(_, p)| p.trim_end_matches('s').parse::<usize>().ok());
                let text: String = text.chars().take(precision.unwrap_or(usize::MAX)).collect();
                let width = whole.split('.').next().unwrap_or("").trim_matches(|c: char| !c.is_ascii_digit());
                let fill = " ".repeat(width.parse::<usize>().unwrap_or(0).saturating_sub(text.chars().count()));
                let left = whole.contains('-');
                let shown = if left { format!("{text}{fill}") } else { format!("{fill}{text}") };
                made.extend_from_slice(shown.as_bytes());
                continue;
            }
            _ => {}
        }
        count += u64::from(letter != '%');
        made.extend_from_slice(format(whole, &args).as_bytes());
    }
    made.extend_from_slice(rest.as_bytes());
    (made, count)
}
