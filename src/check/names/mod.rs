//! What do the names of a file mean, and what did someone mean who wrote a name that is not there?

mod bindings;
mod cascade;
mod constants;
mod decorators;
pub(super) mod foreign;
pub(super) mod habits;
mod headers;
pub(super) mod member;
pub(super) mod modules;
pub(super) mod parses;
pub(super) mod scope;
pub(super) mod suggest;
mod words;

pub(super) use cascade::quiet;
