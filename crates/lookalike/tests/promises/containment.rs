//! Excerpts are found in what they were taken from, at any ratio of sizes, with their exact containment.

use lookalike::{Measure, Settings};

use crate::families::containment;
use crate::random::Random;

const WORDS: usize = 2_000;
const THRESHOLD: f64 = 0.5;

fn word(random: &mut Random) -> String {
    format!("w{}", random.below(50_000))
}

/// Part of a document: its first two thirds are verbatim, and at least 12 + 2 words; of the rest every third word is changed.
fn excerpt(document: &str, share: f64, random: &mut Random) -> String {
    let words: Vec<&str> = document.split(' ').collect();
    let length = (share * words.len() as f64) as usize;
    let from = random.below(words.len() - length);
    let verbatim = (2 * length / 3).max(14);
    let copied = words[from..from + length]
        .iter()
        .enumerate()
        .map(|(at, copied)| if at >= verbatim && at % 3 == 0 { word(random) } else { (*copied).to_string() });
    copied.collect::<Vec<_>>().join(" ")
}

#[test]
fn excerpts_are_found_among_many_records_with_their_exact_containment() {
    let is_long = std::env::var_os("LOOKALIKE_LONG").is_some_and(|value| value == "1");
    let others = if is_long { 100_000 } else { 5_000 };
    let mut random = Random::new(17);
    let mut text = |words: usize| (0..words).map(|_| word(&mut random)).collect::<Vec<_>>().join(" ");
    let mut texts: Vec<String> = (0..others).map(|other| text(40 + other % 160)).collect();
    let documents: Vec<String> = (0..40).map(|_| text(WORDS)).collect();
    // Documents and excerpts stand among the other records.
    let mut planted = Vec::new();
    for (at, document) in documents.iter().enumerate() {
        let place = at * others / documents.len();
        texts[place] = document.clone();
        for (nth, share) in [0.01, 0.05, 0.2].into_iter().enumerate() {
            texts[place + 7 * (nth + 1)] = excerpt(document, share, &mut random);
            planted.push((place + 7 * (nth + 1), place));
        }
    }
    let plan = Settings::new(THRESHOLD).measure(Measure::Containment).plan().unwrap();
    let found = plan.run(&texts).unwrap();
    let mut recalled = 0;
    for pair in found.pairs() {
        assert_eq!(pair.similarity, containment(&texts[pair.left], &texts[pair.right], 5));
        recalled += usize::from(planted.contains(&(pair.left, pair.right)));
    }
    let alike =
        |(excerpt, document): &&(usize, usize)| containment(&texts[*excerpt], &texts[*document], 5) >= THRESHOLD;
    let expected = planted.iter().filter(alike).count();
    assert_eq!(expected, planted.len(), "every excerpt is alike enough to be found");
    assert!(recalled as f64 >= 0.99 * expected as f64, "{recalled} of {expected}");
}
