//! The service as its users meet it: the real program, asked over HTTP and through a real browser.

mod devtools;
mod http;
mod server;

mod access;
mod bad_input;
mod description;
mod index;
mod limits;
mod noise;
mod page;
mod report;
mod slow_readers;
mod stopping;
mod without_index;
