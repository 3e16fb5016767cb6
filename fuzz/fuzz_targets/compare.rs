//! Any two texts under any settings: similarities between 0 and 1, and passages that lie inside the texts.
#![no_main]

use libfuzzer_sys::fuzz_target;
use lookalike::{Normalize, Settings, Shingles, Step};

fuzz_target!(|input: (u8, u8, &str, &str)| {
    let (kind, bits, left, right) = input;
    let shingles = [Shingles::words(5), Shingles::words(1), Shingles::chars(3), Shingles::Lines][kind as usize % 4];
    let taken = Step::NAMES.iter().enumerate().filter(|(at, _)| bits >> at & 1 == 1);
    let steps = taken.fold(Normalize::NONE, |steps, (_, (_, step))| steps.with(*step));
    let plan = Settings::new(0.8).exact(true).shingles(shingles).normalize(steps).plan().expect("sound settings");
    let comparison = plan.compare(left, right);
    assert!((0.0..=1.0).contains(&comparison.jaccard()));
    for passage in &comparison.passages {
        assert!(left.get(passage.left.clone()).is_some() && right.get(passage.right.clone()).is_some());
    }
});
