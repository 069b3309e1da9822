//! Which launches is nobody sure of yet? The driver reports a fault of a launch at some later call:
//! that error names the launches since the last wait.

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use cudarc::driver::result::DriverError;
use cudarc::driver::sys::CUresult as E;

use super::driver::words;
use crate::run::{Fail, messages};

/// A GPU and a stream of it.
pub type Queue = (i32, u64);

/// What an error says of a launch: it is put into words only then.
#[derive(Clone, PartialEq, Eq)]
pub enum About {
    /// The kernel, its threads, and those of a block.
    Kernel(Arc<str>, u64, u32),
    /// Work of another kind.
    Words(String),
}

impl fmt::Display for About {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            About::Kernel(name, threads, block) => write!(f, "`{name}` ({threads} threads in blocks of {block})"),
            About::Words(words) => f.write_str(words),
        }
    }
}

/// So many launches of a stream are remembered.
const MOST: usize = 8;

static LAUNCHES: Mutex<BTreeMap<Queue, VecDeque<About>>> = Mutex::new(BTreeMap::new());

fn launches() -> MutexGuard<'static, BTreeMap<Queue, VecDeque<About>>> {
    LAUNCHES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A launch was put behind the work of a stream.
pub fn note(queue: Queue, about: About) {
    let mut launches = launches();
    let list = launches.entry(queue).or_default();
    if list.len() == MOST {
        list.pop_front();
    }
    if list.back() != Some(&about) {
        list.push_back(about);
    }
}

/// A launch failed at once: it is remembered where no other one may be at fault.
pub fn note_first(queue: Queue, about: About) {
    let mut launches = launches();
    if launches.keys().all(|(ordinal, _)| *ordinal != queue.0) {
        launches.entry(queue).or_default().push_back(about);
    }
}

/// All work of a stream, or of a GPU, is done.
pub fn waited(ordinal: i32, stream: Option<u64>) {
    launches().retain(|&(of, at), _| of != ordinal || stream.is_some_and(|stream| stream != at));
}

/// What an error says that is a launch's fault. None: it is another error.
pub fn meaning(error: DriverError) -> Option<&'static str> {
    Some(match error.0 {
        E::CUDA_ERROR_ILLEGAL_ADDRESS | E::CUDA_ERROR_MISALIGNED_ADDRESS | E::CUDA_ERROR_INVALID_ADDRESS_SPACE => {
            "a thread on the GPU touched memory that is not an array's"
        }
        E::CUDA_ERROR_ASSERT | E::CUDA_ERROR_LAUNCH_FAILED | E::CUDA_ERROR_ILLEGAL_INSTRUCTION => {
            "an assertion failed or a thread stopped on the GPU"
        }
        E::CUDA_ERROR_LAUNCH_TIMEOUT => "the GPU stopped the kernel because it ran too long",
        _ => return None,
    })
}

/// Whether an error is the fault of a launch, known or not.
pub fn is_fault(error: DriverError) -> bool {
    meaning(error).is_some()
}

/// The error for a fault of a launch that nobody waited for; `behind`: the launch that the driver
/// said it at, which did not run.
pub fn fault(ordinal: i32, error: DriverError, behind: Option<&About>) -> Fail {
    let what = meaning(error).unwrap_or("a launch on the GPU failed");
    let launches = launches();
    let own = launches.iter().filter(|((of, _), _)| *of == ordinal);
    let names: Vec<String> = own.flat_map(|(_, list)| list.iter().map(About::to_string)).collect();
    let which = match &names[..] {
        [] => behind.map_or_else(
            || "a launch that kc did not make".to_string(),
            |own| format!("the launch of {own}, or one before"),
        ),
        [one] => format!("the launch of {one}"),
        list => format!("one of the launches since the last wait: {}", list.join(", ")),
    };
    let fault = messages::gpu_fault(format!("{what}, in {which}"), &words(error));
    Box::new(fault.help(
        "this process cannot use the GPU any more: start it again; with `KC_CHECKED=1` every index is tested, and `kc gpu` finds the thread",
    ))
}
