//! Texts that are alike, and others that are not.

use std::fmt::Write;

/// 18 words: 14 shingles of five.
pub(crate) const FERRY: &str =
    "the ferry leaves the old harbour at seven and reaches the island before the first market stalls open";
/// [`FERRY`] with another last word: 13 of 15 shingles are shared, 0.866667.
pub(crate) const LATE_FERRY: &str =
    "the ferry leaves the old harbour at seven and reaches the island before the first market stalls close";
/// Shares nothing with the others.
pub(crate) const LIBRARY: &str =
    "our library lends paper maps of every valley in the county and asks only that walkers bring them back dry";

/// One JSON record a line.
pub(crate) fn jsonl(records: &[(&str, &str)]) -> String {
    records.iter().map(|(id, text)| format!("{}\n", serde_json::json!({"id": id, "text": text}))).collect()
}

/// Numbers that look random and are the same everywhere (splitmix64).
pub(crate) struct Numbers(pub(crate) u64);

impl Numbers {
    pub(crate) fn below(&mut self, bound: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        (mixed ^ (mixed >> 31)) % bound
    }
}

/// Records of which about half are an earlier one with up to three words changed.
pub(crate) fn corpus(records: u64) -> String {
    let mut numbers = Numbers(7);
    let mut texts: Vec<Vec<u64>> = Vec::new();
    let mut lines = String::new();
    for id in 0..records {
        let mut words: Vec<u64> = if id > 0 && numbers.below(2) == 0 {
            texts[numbers.below(id) as usize].clone()
        } else {
            (0..20 + numbers.below(60)).map(|_| numbers.below(500)).collect()
        };
        for _ in 0..numbers.below(4) {
            let at = numbers.below(words.len() as u64) as usize;
            words[at] = numbers.below(500);
        }
        let text: Vec<String> = words.iter().map(|word| format!("w{word}")).collect();
        writeln!(lines, "{{\"id\":{id},\"text\":\"{}\",\"score\":{}}}", text.join(" "), numbers.below(9)).unwrap();
        texts.push(words);
    }
    lines
}

/// Whether the tests may take long.
pub(crate) fn is_long() -> bool {
    std::env::var_os("LOOKALIKE_LONG").is_some_and(|value| value == "1")
}
