//! The program `lookalike`.

fn main() {}
