//! The program as its users meet it: the real binary, run in folders of its own.

mod folder;
mod packing;
mod texts;

mod annotated;
mod bad_input;
mod boilerplate;
mod cases;
mod comparing;
mod conduct;
mod configuration;
mod determinism;
mod formats;
mod indexing;
mod interruption;
mod lists;
mod outputs;
mod reports;
mod selection;
mod sourcing;
mod stages;
