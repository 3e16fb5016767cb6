//! What an item is made of, as requests give it.

use lookalike::{Content, hash_item};
use serde::Deserialize;
use utoipa::ToSchema;

use super::problem::Problem;

/// A text; or a set, as the list of its members.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "text must be a string, or a list of strings, whole numbers and booleans")]
pub(super) enum Given {
    /// A text, to be normalised and cut into shingles.
    Text(String),
    /// The members of a set; 7 and "7" are the same.
    Set(Vec<Member>),
}

/// A member of a set.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged)]
pub(super) enum Member {
    Text(String),
    Number(i64),
    Boolean(bool),
}

/// The content of an item, which can wait for its turn.
#[derive(Debug)]
pub(super) enum OwnContent {
    Text(String),
    Set(Vec<u64>),
}

impl OwnContent {
    pub(super) fn as_content(&self) -> Content<'_> {
        match self {
            Self::Text(text) => Content::Text(text),
            Self::Set(members) => Content::Set(members),
        }
    }
}

impl From<Given> for OwnContent {
    fn from(given: Given) -> Self {
        let hash = |member: &Member| match member {
            Member::Text(text) => hash_item(text.as_bytes()),
            Member::Number(number) => hash_item(number.to_string().as_bytes()),
            Member::Boolean(truth) => hash_item(truth.to_string().as_bytes()),
        };
        match given {
            Given::Text(text) => Self::Text(text),
            Given::Set(members) => Self::Set(members.iter().map(hash).collect()),
        }
    }
}

/// The id of an item.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(untagged, expecting = "id must be a string or a whole number")]
pub(super) enum GivenId {
    Text(String),
    Number(i64),
}

impl GivenId {
    /// The id as the index knows it.
    pub(super) fn into_id(self) -> Result<String, Problem> {
        let id = match self {
            Self::Text(text) => text,
            Self::Number(number) => number.to_string(),
        };
        if id.is_empty() { Err(Problem::bad_request("the id is empty; give the item one")) } else { Ok(id) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(json: &str) -> Option<OwnContent> {
        serde_json::from_str::<Given>(json).ok().map(OwnContent::from)
    }

    #[test]
    fn lists_are_sets_whose_members_are_their_characters() {
        let Some(OwnContent::Set(members)) = content(r#"["7", 7, true, "true", -1]"#) else { panic!("it is a set") };
        assert!(members[0] == members[1] && members[2] == members[3]);
        assert_eq!(members[4], hash_item(b"-1"));
        assert!(matches!(content("\"7\""), Some(OwnContent::Text(text)) if text == "7"));
        for refused in ["7", "null", "{}", "[[1]]", "[1.5]", "[null]"] {
            assert!(content(refused).is_none(), "{refused}");
        }
    }
}
