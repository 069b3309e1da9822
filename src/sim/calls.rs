//! How do lanes call functions, and come back? The lanes that call go on in the function, on top of
//! the entry in which they wait to go on after the call. What is handed over lies in memory of each
//! lane, where the caller and the function have places of their own.

use super::code::{Call, Code, Copied, NOWHERE, Op, PointerCall};
use super::findings::What;
use super::machine::{Machine, advance, lanes};
use super::warp::{Entry, Split, Warp};
use super::{memory, print};

impl Machine<'_> {
    pub fn call(&mut self, warp: &mut Warp, split: &mut Split, call: &Call, pc: u32, active: u32) {
        advance(split, pc);
        self.enter(warp, split, call, pc, active);
    }

    /// The lanes of each function that is pointed to call it, one function after the other.
    pub fn call_pointer(&mut self, warp: &mut Warp, split: &mut Split, call: &PointerCall, pc: u32, active: u32) {
        advance(split, pc);
        let pointers = warp.regs[call.pointer as usize];
        let mut rest = active;
        while rest != 0 {
            let first = rest.trailing_zeros();
            let address = pointers[first as usize];
            let same: u32 = lanes(rest).filter(|&lane| pointers[lane] == address).map(|lane| 1 << lane).sum();
            rest &= !same;
            let Some((_, found)) = call.calls.iter().find(|(known, _)| *known == address) else {
                self.findings.add(What::NoFunction(address), pc, warp.thread(first));
                return;
            };
            self.enter(warp, split, found, pc, same);
        }
    }

    /// Each lane gets memory of its own, or 0 where there is no more.
    pub fn allocate(&mut self, warp: &mut Warp, [size, result]: [u32; 2], active: u32) {
        for lane in lanes(active) {
            let bytes = print::parameter(self, warp, size, 8, lane);
            let start = self.memory.allocate(bytes);
            if let Some(start) = start {
                self.history.forget(self.memory.offset(start), bytes as usize);
            }
            let at = lane * self.code.call_bytes as usize + result.saturating_sub(self.code.param_bytes) as usize;
            memory::write(&mut warp.handed, at, 8, start.unwrap_or(0));
        }
    }

    pub fn give_back(&mut self, warp: &Warp, address: u32, pc: u32, active: u32) {
        for lane in lanes(active) {
            let start = print::parameter(self, warp, address, 8, lane);
            if start != 0 && !self.memory.release(start) {
                self.findings.add(What::NotAllocated(start), pc, warp.thread(lane as u32));
            }
        }
    }

    fn enter(&mut self, warp: &mut Warp, split: &mut Split, call: &Call, pc: u32, lanes: u32) {
        // A function has one set of registers.
        let is_running = |entry: &Entry| entry.mask & lanes != 0 && (call.target..call.end).contains(&entry.pc);
        if self.code.has_pointer_calls && split.stack.iter().any(is_running) {
            let what = "a function that calls itself through a pointer".to_string();
            self.findings.add(What::Unknown(what), pc, warp.thread(lanes.trailing_zeros()));
            return;
        }
        copy(warp, self.code, lanes, &call.given);
        if lanes != 0 {
            split.stack.push(Entry { mask: lanes, pc: call.target, meet: NOWHERE, call: pc });
        }
    }

    /// Brings back what a function gives, at the call that it returns to.
    pub fn returned(&mut self, warp: &mut Warp, pc: u32, lanes: u32) {
        let call = match self.code.insts.get(pc as usize).map(|inst| &inst.op) {
            Some(Op::Call(call)) => Some(&**call),
            Some(Op::CallPointer(call)) => {
                let pointers = &warp.regs[call.pointer as usize];
                let address = pointers.get(lanes.trailing_zeros() as usize);
                call.calls.iter().find(|(known, _)| Some(known) == address).map(|(_, call)| call)
            }
            _ => None,
        };
        if let Some(call) = call {
            copy(warp, self.code, lanes, &call.returned);
        }
    }
}

/// Copies what a call hands over, between places that count from the start of all parameters.
fn copy(warp: &mut Warp, code: &Code, mask: u32, list: &[Copied]) {
    let (start, size) = (code.param_bytes, code.call_bytes as usize);
    for copied in list {
        for lane in lanes(mask) {
            let at = |place: u32| lane * size + place.saturating_sub(start) as usize;
            let (from, to) = (at(copied.from), at(copied.to));
            warp.handed.copy_within(from..from + copied.bytes as usize, to);
        }
    }
}
