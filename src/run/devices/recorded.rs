//! What does compiled code mean that recorded an error? Its number of a place is looked up in the
//! table of the module ([`Sites`]).

use super::{Trap, TrapKind};
use crate::abi::HostStatus;
use crate::codegen::sites::{SiteKind, Sites};
use crate::source::{FileId, Span};

/// The fields that [`HostStatus`] and [`DeviceStatus`](crate::abi::DeviceStatus) share.
#[derive(Clone, Copy, Debug)]
pub struct Recorded {
    pub kind: u32,
    pub site: u32,
    pub dim: u32,
    pub extent: i32,
    pub index: i64,
}

impl Recorded {
    /// The error of a thread.
    pub fn trap(&self, sites: &Sites, thread: u64) -> Trap {
        let site = sites.get(self.site);
        let description = site.map(|s| s.description.clone()).unwrap_or_default();
        let kind = match self.kind {
            HostStatus::OUT_OF_BOUNDS if site.is_some_and(|site| site.kind == SiteKind::Component) => {
                TrapKind::Component {
                    name: Some(description).filter(|name| !name.is_empty()),
                    index: self.index,
                    count: self.extent.into(),
                }
            }
            HostStatus::OUT_OF_BOUNDS => TrapKind::OutOfBounds {
                array: Some(description).filter(|name| !name.is_empty()),
                dim: self.dim,
                index: self.index,
                extent: self.extent.into(),
            },
            _ => TrapKind::Assert { message: description },
        };
        let nowhere = Span::new(FileId(0), 0, 0);
        Trap { kind, span: site.map_or(nowhere, |s| s.span), thread }
    }
}
