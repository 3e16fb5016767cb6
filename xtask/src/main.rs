//! The project command list: `cargo xtask`.

fn main() {}
