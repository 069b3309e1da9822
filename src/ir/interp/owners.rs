//! Which thread stores to each element? Finds two threads that store to one.

use crate::ids::{IdMap, IdSet};
use crate::source::Span;

/// Watches the stores at some places of the source.
#[derive(Debug, Default)]
pub struct Owners {
    spans: IdSet<Span>,
    /// By address.
    first: IdMap<u64, u64>,
    /// The first two threads that met.
    pub clash: Option<Clash>,
}

/// Two threads that store to one element.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Clash {
    pub span: Span,
    /// Linear indices.
    pub threads: [u64; 2],
}

impl Owners {
    pub fn of(spans: impl Iterator<Item = Span>) -> Owners {
        Owners { spans: spans.collect(), ..Owners::default() }
    }

    pub(super) fn store(&mut self, address: u64, thread: u64, span: Span) {
        if !self.spans.contains(&span) {
            return;
        }
        let owner = *self.first.entry(address).or_insert(thread);
        if owner != thread {
            self.clash.get_or_insert(Clash { span, threads: [owner, thread] });
        }
    }
}
