//! What do clients hold? Numbers that are never followed as pointers: one that was destroyed, or
//! never was, is reported apart.

use std::collections::HashMap;

use crate::status::{Fail, Result, Status};

/// The things of one kind that clients hold, by their handles.
#[derive(Debug)]
pub struct Table<T> {
    /// What they are called: `stream`.
    what: &'static str,
    kind: u64,
    missing: Status,
    items: HashMap<u64, T>,
    next: u64,
}

/// Above all of user space and the devices' memory: no handle is an address.
const MARK: u64 = 0x6b63 << 44;

impl<T> Table<T> {
    /// `kind`: another number for each kind; `missing`: what a handle that is none gives.
    pub fn new(what: &'static str, kind: u64, missing: Status) -> Table<T> {
        Table { what, kind, missing, items: HashMap::new(), next: 1 }
    }

    pub fn add(&mut self, item: T) -> u64 {
        let handle = MARK | self.kind << 36 | self.next << 4;
        self.next += 1;
        self.items.insert(handle, item);
        handle
    }

    fn absent(&self, handle: u64) -> Fail {
        let Table { what, kind, next, .. } = self;
        let was = handle & !0xf_ffff_fff0 == MARK | kind << 36 && handle >> 4 & 0xffff_ffff < *next;
        self.missing.because(match handle {
            0 => format!("the {what} is null"),
            _ if was => format!("the {what} {handle:#x} was destroyed"),
            _ => format!("{handle:#x} is no {what}"),
        })
    }

    pub fn get(&self, handle: u64) -> Result<&T> {
        self.items.get(&handle).ok_or_else(|| self.absent(handle))
    }

    pub fn get_mut(&mut self, handle: u64) -> Result<&mut T> {
        match self.items.contains_key(&handle) {
            true => self.items.get_mut(&handle).ok_or_else(|| self.missing.into()),
            false => Err(self.absent(handle)),
        }
    }

    pub fn remove(&mut self, handle: u64) -> Result<T> {
        self.items.remove(&handle).ok_or_else(|| self.absent(handle))
    }

    pub fn has(&self, handle: u64) -> bool {
        self.items.contains_key(&handle)
    }

    pub fn iter(&self) -> impl Iterator<Item = (u64, &T)> {
        self.items.iter().map(|(&handle, item)| (handle, item))
    }

    pub fn iter_mut(&mut self) -> impl Iterator<Item = (u64, &mut T)> {
        self.items.iter_mut().map(|(&handle, item)| (handle, item))
    }
}
