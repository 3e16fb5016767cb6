//! The index: what it answers, what it survives, and what it refuses.

mod containment;
mod damage;
mod durability;
mod equality;
mod loading;
mod model;
mod old_files;
#[path = "../random/mod.rs"]
mod random;
mod use_of_it;

/// Whether the tests may take long.
pub(crate) fn is_long() -> bool {
    std::env::var_os("LOOKALIKE_LONG").is_some_and(|value| value == "1")
}
