//! IR to CUDA C++ text.
