//! The program as its users meet it: the real binary, run in folders of its own.

mod folder;
mod packing;

mod bad_input;
