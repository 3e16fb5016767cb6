//! What is told about a record where all are kept and annotated.

/// What a record is among its look-alikes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Role {
    /// The one of its group that stays.
    Keeper,
    /// One that would be dropped for its group's keeper.
    Duplicate,
    /// Alike to no other.
    Unique,
}

impl Role {
    /// The role's name in an output.
    pub fn name(self) -> &'static str {
        match self {
            Self::Keeper => "keeper",
            Self::Duplicate => "duplicate",
            Self::Unique => "unique",
        }
    }
}

/// What is told about one record.
#[derive(Clone, Debug, PartialEq)]
pub struct Annotation {
    /// The group it belongs to: the id of its keeper.
    pub group: String,
    /// What it is there.
    pub role: Role,
    /// How many records the group has.
    pub size: u64,
    /// How alike it is to its keeper; 1 for the keeper itself.
    pub similarity: f64,
}
