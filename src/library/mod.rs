//! The built-in library: the entries of `stdlib/`.
