//! What the benchmark programs share: made-up corpora, and what a process has used.

pub mod corpus;
pub mod definition;
pub mod random;
pub mod resources;
pub mod vocabulary;
