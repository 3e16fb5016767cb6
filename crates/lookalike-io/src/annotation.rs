//! What `--annotate` says of a record.

/// A record's part in its group, as added to the record.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The id of the group's keeper.
    pub group: String,
    /// What the record is in its group, such as the keeper or a look-alike of it.
    pub role: &'static str,
    /// How many records the group has.
    pub size: u64,
    /// How alike the record is to its keeper; none for the keeper itself.
    pub similarity: Option<f64>,
}
