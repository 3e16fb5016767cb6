//! Promises 2 and 3 where texts are verified by their edits.

use lookalike::{Bands, Content, Settings, Shingles, Verify};

use crate::families;

/// The table of edits, cell by cell, of the characters.
fn edit_similarity(left: &str, right: &str) -> f64 {
    let (left, right): (Vec<char>, Vec<char>) = (left.chars().collect(), right.chars().collect());
    let mut row: Vec<usize> = (0..=right.len()).collect();
    for (at, a) in left.iter().enumerate() {
        let mut before = std::mem::replace(&mut row[0], at + 1);
        for (j, b) in right.iter().enumerate() {
            let replaced = before + usize::from(a != b);
            before = row[j + 1];
            row[j + 1] = replaced.min(before + 1).min(row[j] + 1);
        }
    }
    1.0 - row[right.len()] as f64 / left.len().max(right.len()) as f64
}

#[test]
fn pairs_carry_their_edit_similarity() {
    let threshold = 0.9;
    let mut texts = families::draw(21, 20, 6, 40);
    // The same shingles in another order are another text.
    texts.push("one two three one two".into());
    texts.push("two three one two three".into());
    let bands = Bands::Random { keys: 400, rows: 1 };
    let settings = Settings::new(threshold).shingles(Shingles::words(2)).bands(bands).verify(Verify::Edit);
    let plan = settings.plan().unwrap();
    assert_eq!(plan.gives_up().len(), 1);
    let found = plan.run(&texts).unwrap();
    let mut expected = Vec::new();
    for (left, text) in texts.iter().enumerate() {
        for (right, other) in texts.iter().enumerate().skip(left + 1) {
            let similarity = edit_similarity(text, other);
            if similarity >= threshold {
                expected.push((left, right, similarity));
            }
            if right == left + 1 {
                assert_eq!(plan.similarity(Content::Text(text), Content::Text(other)), similarity);
            }
        }
    }
    let pairs: Vec<_> = found.pairs().map(|pair| (pair.left, pair.right, pair.similarity)).collect();
    assert!(expected.len() > 30 && expected.iter().any(|pair| pair.2 < 1.0), "{} pairs are no test", expected.len());
    assert_eq!(pairs, expected);
    for record in 0..texts.len() {
        if let Some((keeper, similarity)) = found.original_of(record) {
            assert!(found.is_kept(keeper) && similarity == edit_similarity(&texts[record], &texts[keeper]));
            assert!(similarity >= threshold);
        }
    }
    assert_eq!(
        found.at_threshold(0.95).unwrap().pairs().count(),
        expected.iter().filter(|pair| pair.2 >= 0.95).count()
    );
}
