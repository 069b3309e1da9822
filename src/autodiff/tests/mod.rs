//! Gradients of small kernels against finite differences.
