//! Any bytes as an HTML page.
#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|page: &[u8]| {
    let mut text = String::new();
    lookalike_io::html::visible_text(page, None, &mut text);
});
