//! Executing kernels: launch files, arguments, the host, later the GPU.
