//! Promise 10: a sketch carries magic, version and a fingerprint of its settings, and refuses to mix.

use lookalike::{Damage, Measure, Mismatch, Normalize, Plan, Settings, Shingles, Sketch, hash_item};

fn plan() -> Plan {
    Settings::new(0.8).plan().unwrap()
}

const TEXT: &str = "the quick brown fox jumps over the lazy dog";

#[test]
fn promise_10_a_sketch_survives_its_bytes() {
    for sketch in [plan().sketch_text(TEXT).unwrap(), plan().sketch_text("").unwrap()] {
        assert_eq!(Sketch::from_bytes(&sketch.to_bytes()), Ok(sketch));
    }
}

#[test]
fn promise_10_every_damage_is_an_error() {
    let bytes = plan().sketch_text(TEXT).unwrap().to_bytes();
    for length in 0..bytes.len() {
        assert!(matches!(Sketch::from_bytes(&bytes[..length]), Err(Damage::Length { .. })), "cut to {length}");
    }
    assert!(matches!(Sketch::from_bytes(&[&bytes[..], &[0]].concat()), Err(Damage::Length { .. })));
    for at in 0..bytes.len() {
        for bit in 0..8 {
            let mut damaged = bytes.clone();
            damaged[at] ^= 1 << bit;
            let error = Sketch::from_bytes(&damaged).expect_err("a changed bit goes unnoticed");
            match at {
                0..8 => assert_eq!(error, Damage::Magic),
                8..12 => assert!(matches!(error, Damage::Version(_)), "{error}"),
                12..16 => assert!(matches!(error, Damage::Length { .. }), "{error}"),
                _ => assert_eq!(error, Damage::Checksum),
            }
        }
    }
    assert_eq!(Sketch::from_bytes(b"{\"text\": 1}"), Err(Damage::Magic));
}

#[test]
fn promise_10_sketches_of_other_settings_do_not_mix() {
    let sketch = plan().sketch_text(TEXT).unwrap();
    let same = Settings::new(0.8).group(lookalike::Grouping::Connected).plan().unwrap().sketch_text(TEXT).unwrap();
    assert_eq!(sketch.similarity(&same), Ok(1.0));
    for settings in [
        Settings::new(0.8).seed(2),
        Settings::new(0.8).bag(true),
        Settings::new(0.8).shingles(Shingles::words(4)),
        Settings::new(0.8).shingles("words:5/2".parse().unwrap()),
        Settings::new(0.8).shingles(Shingles::chars(5)),
        Settings::new(0.8).normalize(Normalize::NONE),
    ] {
        let plan = settings.plan().unwrap();
        let other = plan.sketch_text(TEXT).unwrap();
        let mismatch = Mismatch::Settings { left: sketch.fingerprint(), right: plan.fingerprint() };
        assert_eq!(sketch.similarity(&other), Err(mismatch));
        assert_eq!(sketch.clone().merge(&other), Err(mismatch));
        assert!(plan.band_keys(&sketch).is_err());
    }
    let other = Settings::new(0.8).hashes(128).plan().unwrap().sketch_text(TEXT).unwrap();
    let error = sketch.similarity(&other).unwrap_err();
    assert_eq!(error, Mismatch::Slots { left: sketch.slots().len(), right: 128 });
    assert!(error.to_string().contains("other 128;"), "{error}");
}

#[test]
fn promise_10_plans_without_sketches_make_none() {
    for settings in [Settings::new(0.8).exact(true), Settings::new(0.8).measure(Measure::Containment)] {
        let plan = settings.plan().unwrap();
        assert!(plan.sketch_text(TEXT).is_err() && plan.sketch_set(&[1]).is_err());
    }
}

#[test]
fn a_sketch_estimates_and_merges() {
    let plan = Settings::new(0.8).hashes(1024).plan().unwrap();
    let items: Vec<u64> = (0..300u32).map(|item| hash_item(&item.to_le_bytes())).collect();
    let (left, right) = (plan.sketch_set(&items[..200]).unwrap(), plan.sketch_set(&items[100..]).unwrap());
    let estimate = left.similarity(&right).unwrap();
    assert!((estimate - 1.0 / 3.0).abs() < 4.0 * (2.0f64 / 9.0 / 1024.0).sqrt(), "{estimate}");
    let mut both = left.clone();
    both.merge(&right).unwrap();
    assert_eq!(both, plan.sketch_set(&items).unwrap());
}

#[test]
fn the_sketch_of_nothing_is_alike_to_nothing() {
    let (nothing, something) = (plan().sketch_text("?!").unwrap(), plan().sketch_text(TEXT).unwrap());
    assert!(nothing.is_empty() && !something.is_empty());
    assert_eq!(nothing.similarity(&nothing), Ok(0.0));
    assert_eq!(nothing.similarity(&something), Ok(0.0));
    let mut merged = nothing.clone();
    merged.merge(&something).unwrap();
    assert_eq!(merged, something);
}
