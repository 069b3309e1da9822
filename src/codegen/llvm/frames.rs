//! How much of the stack does a thread need that calls an entry of an object? LLVM says how large
//! the frame of each function is, and calls say which frames there are at once.

use std::collections::{BTreeMap, HashMap};

use super::builder::{Attribute, AttributeLoc, Func, Llvm};

/// With this attribute LLVM says of each function whose frame is larger how large it is.
const TOLD_ABOVE: (&str, &str) = ("warn-stack-size", "0");

/// What LLVM says has this between the place and the size.
const TOLD: &str = "stack frame size (";

/// The return address, and the frame's place at a multiple of the largest vector.
const BESIDE_FRAME: u64 = 8 + 64;

/// A function that calls none may use so many bytes below its frame.
const RED_ZONE: u64 = 128;

/// Asks LLVM for the size of each frame.
pub fn ask(ll: &Llvm) {
    for function in ll.defined() {
        ll.add_attribute(function, AttributeLoc::Function, Attribute::Text(TOLD_ABOVE.0, TOLD_ABOVE.1));
    }
}

/// The bytes of the stack that each entry of a module needs, by its name, at most. Functions of the
/// C library and callbacks come on top. `answers`: what LLVM said when it made code.
pub fn of_entries(ll: &Llvm, answers: &[String]) -> BTreeMap<String, u64> {
    // k.py:3:0: stack frame size (N) exceeds limit (0) in function 'NAME'
    let told = answers.iter().filter_map(|text| {
        let (bytes, rest) = text.split_once(TOLD)?.1.split_once(')')?;
        Some((rest.split('\'').nth(1)?.to_string(), bytes.parse().ok()?))
    });
    let mut frames = Frames { own: told.collect(), whole: HashMap::new() };
    let entries = ll.defined().into_iter().filter(|&function| ll.is_external(function));
    entries.map(|entry| (ll.name_of(entry), frames.whole(ll, entry).next_multiple_of(16))).collect()
}

struct Frames {
    /// Of functions alone, by name; those that are missing have none.
    own: HashMap<String, u64>,
    /// With all that they call, as far as that is known.
    whole: HashMap<String, u64>,
}

impl Frames {
    /// Of a function that, as all do (E0405), never calls itself.
    fn whole<'ctx>(&mut self, ll: &Llvm<'ctx>, function: Func<'ctx>) -> u64 {
        let name = ll.name_of(function);
        if let Some(&whole) = self.whole.get(&name) {
            return whole;
        }
        let own = self.own.get(&name).copied().unwrap_or(0);
        let below = ll.callees(function).into_iter().map(|callee| self.whole(ll, callee)).max();
        let whole = own.saturating_add(BESIDE_FRAME).saturating_add(below.unwrap_or(RED_ZONE));
        self.whole.insert(name, whole);
        whole
    }
}
