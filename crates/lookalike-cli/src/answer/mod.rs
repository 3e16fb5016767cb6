//! Answers that the command line and the service give in the same words.

mod comparison;
mod plan;
mod sources;

pub(crate) use comparison::{ComparisonAnswer, PassageAnswer, passages_of};
pub(crate) use plan::PlanAnswer;
pub(crate) use sources::SourcesAnswer;
