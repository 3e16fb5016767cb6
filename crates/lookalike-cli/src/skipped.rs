//! Bad records that were left out, as `--on-error skip` asks for: counted and listed, so that nothing is lost in silence.

use anyhow::{Result, bail};

use crate::names::Records;
use crate::progress::Progress;

/// So many are listed one by one.
const LISTED: usize = 20;

/// What is wrong with each record that was left out, and where it stands. The advice to leave it out is not among it: that is
/// what was done.
pub(crate) fn skipped(records: &Records) -> Vec<String> {
    records.bad().map(|bad| bad.error.without_advice()).collect()
}

/// Lists on stderr what was left out; `all` says where every one is told, if it is.
pub(crate) fn list(skipped: &[String], all: &str, progress: &Progress) {
    for skipped in skipped.iter().take(LISTED) {
        progress.say(&format!("skipped: {skipped}"));
    }
    if skipped.len() > LISTED {
        progress.say(&format!("skipped: {} more{all}", skipped.len() - LISTED));
    }
}

/// Refuses records of which none is good: that can only be a mistake.
pub(crate) fn refuse_if_all(records: &Records, is_none_good: bool) -> Result<()> {
    let mut bad = records.bad();
    match (bad.next(), bad.count()) {
        (Some(only), 0) if is_none_good => bail!("the only record cannot be used: {}", only.error),
        (Some(first), others) if is_none_good => {
            bail!("none of the {} records can be used; the first: {}", others + 1, first.error)
        }
        _ => Ok(()),
    }
}
