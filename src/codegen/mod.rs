//! IR to artefacts.

pub mod blocks;
pub mod cuda;
pub mod header;
pub mod linkage;
pub mod llvm;
pub mod meta;
pub mod prints;
pub mod privatization;
pub mod rust;
pub mod shadow;
pub mod sites;
