//! `cargo xtask test`: everything that must hold before a change goes in.

use anyhow::{Result, bail};

use crate::step::{Steps, cargo};
use crate::{CannotRun, lint, long_record, python};

/// What the tests read to know that they may take long.
const LONG: &str = "LOOKALIKE_LONG";

pub(crate) fn run(arguments: &[String]) -> Result<()> {
    let long = match arguments {
        [] => false,
        [flag] if flag == "--long" => true,
        [unknown, ..] => bail!(CannotRun(format!("test takes --long and nothing else, not {unknown}"))),
    };
    let mut steps = Steps::default();
    let begun = python::begin_tests(&mut steps)?;
    lint::add_steps(&mut steps)?;
    let mut tests = cargo(&["test", "--workspace"]);
    if long {
        tests.env(LONG, "1");
    } else {
        tests.env_remove(LONG);
    }
    steps.run_tests(if long { "tests, full counts" } else { "tests" }, &mut tests)?;
    python::test(&mut steps, begun)?;
    if long {
        long_record::write(&steps)?;
    }
    steps.print_summary();
    Ok(())
}
