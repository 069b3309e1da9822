//! May a launch go on? A program that kc is a part of can be asked while one runs: Python is, about
//! Ctrl-C.

use std::time::{Duration, Instant};

/// Between two questions: nobody waits longer for the end, and asking costs nothing beside it.
const PERIOD: Duration = Duration::from_millis(50);

/// When to ask next.
pub struct Watch {
    ask: fn() -> bool,
    last: Instant,
}

impl Watch {
    /// With [`Job::stop`](super::Job::stop). None: nobody wants to be asked.
    pub fn begin(stop: Option<fn() -> bool>) -> Option<Watch> {
        stop.map(|ask| Watch { ask, last: Instant::now() })
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
