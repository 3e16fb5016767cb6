//! Texts that are alike, and one that is not.

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
