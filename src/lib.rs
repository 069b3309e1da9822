//! kc compiles GPU kernels written in a Python subset (source-compatible with NVIDIA Warp's kernel language).
//!
//! Data flows one way; each stage is one folder with one output type:
//!
//! ```text
//! source.py -- syntax --> Parsed -- check --> Checked -- lower --> ir::Module -- passes --> ir::Module -- codegen --> artefacts
//! ```
//!
//! | folder | question it answers |
//! |---|---|
//! | [`source`] | where is this text? |
//! | [`diag`] | what is wrong, and how is it said? |
//! | [`types`] | what data do kernels work on? |
//! | [`abi`] | how do arguments lie in memory? |
//! | [`syntax`] | what did the user write? |
//! | [`library`] | which built-ins are there? |
//! | [`check`] | what does it mean? |
//! | [`ir`] | what is to be computed, exactly? |
//! | [`analysis`] | what is true of IR, whatever the input? |
//! | [`lower`] | how does meaning become IR? |
//! | [`passes`] | how is IR simplified? |
//! | [`autodiff`] | what is the gradient of a kernel? |
//! | [`codegen`] | how does IR become PTX, CUDA text, host code, headers? |
//! | [`run`] | how is a kernel executed? |
//! | [`driver`] | in what order do the stages run? |
//! | [`dataset`] | how are verified kernels made in bulk? |
//! | [`ide`] | what does an editor want to know about a place in a file? |
//! | [`lsp`] | how is that said in the Language Server Protocol? |
//! | [`cli`] | what can the user ask for? |

pub mod abi;
pub mod analysis;
pub mod autodiff;
pub mod check;
pub mod cli;
pub mod codegen;
pub mod dataset;
pub mod diag;
pub mod driver;
pub mod ide;
pub mod ids;
pub mod ir;
pub mod library;
pub mod lower;
pub mod lsp;
mod memo;
pub mod passes;
pub mod run;
pub mod source;
pub mod syntax;
pub mod types;
