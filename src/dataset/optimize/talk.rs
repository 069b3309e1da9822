//! What is said of an optimisation, turn by turn? Somebody shows a program and its counters, and
//! gets the reason and the faster program; then its counters, and the next one.

use super::Version;
use crate::dataset::random::Random;

/// Words before a program that is slow.
const ASK: [&str; 5] = [
    "This is right, but slow on a GPU. Make it faster.",
    "Please optimise this kernel. Its results are to stay the same.",
    "What costs most in this kernel, and how is it avoided?",
    "The profiler says this. What would you change?",
    "Make this kernel faster without changing what it computes.",
];

/// Words between the steps.
const MORE: [&str; 4] =
    ["Is there more?", "Better. What is next?", "That helped. Anything else?", "Counted again, as below. Go on."];

/// The turns, from the user's to the assistant's, from the slowest version to the fastest.
pub fn turns(kernel: &str, versions: &[Version], random: &mut Random) -> Vec<String> {
    let (ask, more) = (*random.pick(&ASK), *random.pick(&MORE));
    let mut out = Vec::new();
    for (n, pair) in versions.windows(2).enumerate() {
        let [slow, fast] = pair else { continue };
        let counters = counters(kernel, slow);
        out.push(match n {
            0 => format!("{ask}\n\n{}\n\n{counters}", block(&slow.text)),
            _ => format!("{more}\n\n{counters}"),
        });
        let reason = fast.change.as_ref().map_or("", |change| change.reason.as_str());
        let mut letters = reason.chars();
        let first = letters.next().map_or(String::new(), |letter| letter.to_uppercase().collect());
        out.push(format!("{first}{}.\n\n{}", letters.as_str(), block(&fast.text)));
    }
    out
}

/// The threads of the launches of a version.
pub fn launches(version: &Version, times: &str, and: &str) -> String {
    let one = |threads: &Vec<u32>| threads.iter().map(u32::to_string).collect::<Vec<_>>().join(times);
    version.counted.launches.iter().map(one).collect::<Vec<_>>().join(and)
}

/// What the simulator counted, in words.
pub fn counters(kernel: &str, version: &Version) -> String {
    let mut more = String::new();
    match version.metric("atomic_requests") {
        0 => {}
        1 => more += ", 1 of atomics",
        requests => more += &format!(", {requests} of atomics"),
    }
    if version.counted.shared > 0 {
        more += &format!(", {} bytes of shared memory in a block", version.counted.shared);
    }
    if let Some(registers) = version.counted.registers {
        more += &format!(", {registers} registers of a thread");
    }
    let launched = match version.counted.launches.len() {
        1 => String::new(),
        launches => format!("{launches} launches, "),
    };
    format!(
        "`{kernel}` on {launched}{} threads: {} instructions of warps, {} requests to load and {} to store{more}, {} sectors of 32 bytes in global memory.",
        launches(version, " x ", ", then "),
        version.metric("warp_insts"),
        version.metric("load_requests"),
        version.metric("store_requests"),
        version.metric("sectors"),
    )
}

fn block(text: &str) -> String {
    format!("```python\n{}\n```", text.trim_end())
}
