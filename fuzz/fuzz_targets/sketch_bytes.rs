//! Any bytes as a stored sketch: refused, or the same bytes again.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike::Sketch;

fuzz_target!(|bytes: &[u8]| {
    if let Ok(sketch) = Sketch::from_bytes(bytes) {
        assert_eq!(sketch.to_bytes(), bytes);
    }
});
