//! May a launch go on? A program that kc is a part of can be asked while one runs: Python is, about
//! Ctrl-C.

use std::sync::OnceLock;
use std::time::{Duration, Instant};

static ASK: OnceLock<fn() -> bool> = OnceLock::new();

/// Has `ask` called from time to time on threads that launch; it says whether the launch is to end:
/// then threads of it have not run, and whoever asked knows. Only the first `ask` counts.
pub fn ask_during_launches(ask: fn() -> bool) {
    ASK.get_or_init(|| ask);
}

/// Between two questions: nobody waits longer for the end, and asking costs nothing beside it.
const PERIOD: Duration = Duration::from_millis(50);

/// When to ask next.
pub struct Watch {
    ask: fn() -> bool,
    last: Instant,
}

impl Watch {
    /// None: nobody wants to be asked.
    pub fn begin() -> Option<Watch> {
        ASK.get().map(|&ask| Watch { ask, last: Instant::now() })
    }

    /// Whether the launch is to end; asks if it is time.
    pub fn says_stop(&mut self) -> bool {
        let now = Instant::now();
        if now - self.last < PERIOD {
            return false;
        }
        self.last = now;
        (self.ask)()
    }
}
