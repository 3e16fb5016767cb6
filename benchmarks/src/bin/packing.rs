//! Compression alone, on one thread, at the level that `lookalike` writes with: `packing pack FILE TARGET`, whose ending
//! says how, or `packing unpack FILE`, into nothing.

use std::fs::File;
use std::io::{self, BufReader, BufWriter, Read, Write};

use anyhow::{Context, Result, bail};

fn main() -> Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let open = |path: &str| File::open(path).with_context(|| format!("cannot read {path}"));
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["pack", path, target] => {
            let mut source = open(path)?;
            let out = BufWriter::new(File::create(target).with_context(|| format!("cannot write {target}"))?);
            if target.ends_with(".gz") {
                let mut encoder = flate2::write::GzEncoder::new(out, flate2::Compression::default());
                io::copy(&mut source, &mut encoder)?;
                encoder.finish()?.flush()?;
            } else {
                let mut encoder = zstd::Encoder::new(out, zstd::DEFAULT_COMPRESSION_LEVEL)?;
                io::copy(&mut source, &mut encoder)?;
                encoder.finish()?.flush()?;
            }
        }
        ["unpack", path] => {
            let source = BufReader::with_capacity(1 << 17, open(path)?);
            let mut decoder: Box<dyn Read> = if path.ends_with(".gz") {
                Box::new(flate2::bufread::MultiGzDecoder::new(source))
            } else {
                Box::new(zstd::Decoder::with_buffer(source)?)
            };
            let mut buffer = vec![0; 1 << 19];
            while decoder.read(&mut buffer)? > 0 {}
        }
        _ => bail!("write: packing pack FILE TARGET, or packing unpack FILE"),
    }
    Ok(())
}
