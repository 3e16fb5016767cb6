//! Writes a made-up corpus: `generate KIND RECORDS SEED FILE`, KIND being one of [`Kind`].

use std::fs::File;
use std::io::BufWriter;

use anyhow::{Context, Result, anyhow, bail};
use benchmarks::corpus::{Corpus, Kind};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [kind, records, seed, file] = arguments.as_slice() else {
        bail!(
            "write: generate KIND RECORDS SEED FILE, KIND being natural, plain, copies, boilerplate, chain, short or huge"
        );
    };
    let kind: Kind = kind.parse().map_err(|error| anyhow!("{error}"))?;
    let records = records.parse().with_context(|| format!("{records} is no number of records"))?;
    let seed = seed.parse().with_context(|| format!("{seed} is no seed"))?;
    // A corpus that is only half written must not be taken for a whole one.
    let unfinished = format!("{file}.tmp");
    let out = File::create(&unfinished).with_context(|| format!("cannot write {unfinished}"))?;
    Corpus::new(kind, records, seed).write(BufWriter::new(out))?;
    std::fs::rename(&unfinished, file).with_context(|| format!("cannot write {file}"))
}
