//! group: pairs → groups, each with its keeper.

mod anchored;
mod connected;
mod early;
mod keep;

pub(crate) use anchored::anchored;
pub(crate) use connected::connected;
pub(crate) use early::EarlyDecisions;
pub use early::{Decided, Hear};
pub(crate) use keep::keep_order;

use crate::error::Result;
use crate::work::{Checkpoint, WorkFile, WorkWriter};

/// Who is kept for whom. Records are called by their index in input order.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Assignment {
    /// For each record its keeper; a keeper is its own.
    pub(crate) keeper_of: Vec<u32>,
    /// For each record, how alike it is to its keeper.
    pub(crate) similarity: Vec<f64>,
}

impl Checkpoint for Assignment {
    fn save(&self, writer: &mut WorkWriter) -> Result<()> {
        writer.column(&self.keeper_of)?;
        writer.column(&self.similarity)
    }

    fn load(file: &WorkFile) -> Result<Self> {
        Ok(Self { keeper_of: file.column(0)?, similarity: file.column(1)? })
    }
}

impl Assignment {
    /// Everybody is kept.
    fn alone(records: usize) -> Self {
        Self { keeper_of: (0..records as u32).collect(), similarity: vec![1.0; records] }
    }
}
