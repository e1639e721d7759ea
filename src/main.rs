//! The `driftd` program.

fn main() {}
