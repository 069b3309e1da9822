//! The `kc` command.

fn main() {}
