//! IR to artefacts.

pub mod abi;
pub mod cuda;
pub mod llvm;
