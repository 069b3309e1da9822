//! What does a kernel become, and what does it cost, side by side in a browser (`kc explore`)?
//!
//! - [`wish`]: what a page asks for. [`panes`], [`counters`], [`machine`]: what it gets.
//!   [`findings`]: what is wrong, with places and repairs.
//! - [`worker`]: the processes that make it, which may die or be late. [`server`]: who may ask;
//!   [`http`]: in which words. [`page`]: the texts that a browser reads.
//!
//! A page is served to this machine alone, under an address that nobody can guess. It loads nothing
//! from elsewhere. A static copy is the same page with its answers in it.

mod counters;
mod findings;
mod http;
mod machine;
mod page;
mod panes;
mod server;
mod wish;
mod worker;

pub use counters::Compile;
pub use page::static_page;
pub use server::{Server, Token};
pub use wish::{LaunchWish, Part, Wish};
pub use worker::{Workers, serve};
