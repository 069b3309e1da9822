//! IR to PTX and host code through LLVM.
