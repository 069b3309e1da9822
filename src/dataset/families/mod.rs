//! Which programs do people write? A library of algorithms, and how one of them becomes a program:
//! kernels that share arrays, a host program that launches and checks them, and the words for the
//! task.
//!
//! | file | question it answers |
//! |---|---|
//! | [`library`] | which algorithms are there, and how is their text read? |
//! | [`vary`] | how do two people write the same algorithm? |
//! | [`words`] | what do people call things? |
//! | [`names`] | what is everything in a program called? |
//! | [`code`] | how are lines of Python changed without changing what they mean? |
//! | [`program`] | what becomes of an algorithm and what goes with it? |
//! | [`batch`] | how does an algorithm of one system become one of many? |
//! | [`fuse`] | when is a small kernel a part of another one? |
//! | [`ladders`](mod@ladders) | how does a program become faster, step by step? |
//! | [`translations`] | what does the same in other languages? |
//! | [`dialect`] | which types and spellings does a program use? |
//! | [`habits`] | what does one person do in any program? |
//! | [`facts`] | what does the code do with its arrays, threads and borders? |
//! | [`claims`] | does the text say something that the code does not do? |
//! | [`ask`] | what would a person ask for? |
//! | [`print`] | how does a program look, with annotations, docstrings and comments? |
//! | [`engines`] | what is a mesh, a hash grid or the like in a program? |
//! | [`host`] | how is it launched and checked from Python? |
//! | [`forms`] | how is the host program built? |
//!
//! The algorithms are the `.py` files in `algorithms/`: Python with marks where people differ. Text
//! and not Rust, because what a kernel of a row looks like is then what one reads there, and a new
//! algorithm is one entry.

mod ask;
mod batch;
mod claims;
mod code;
mod dialect;
mod engines;
mod facts;
mod forms;
mod fuse;
mod habits;
mod host;
mod ladders;
pub mod library;
mod names;
mod print;
mod program;
mod translations;
mod vary;
mod words;

pub use ladders::{Rung, versions};
pub use library::{Family, Ladder, families, find, ladders};
pub use program::sample;

#[cfg(test)]
mod honest;
#[cfg(test)]
mod tests;
