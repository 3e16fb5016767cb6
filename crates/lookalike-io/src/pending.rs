//! Stand-ins for formats that this build does not have: the reader refuses them before it calls anything here.

use crate::error::{Error, Result};
use crate::options::Format;

/// An error if a format cannot be read yet.
pub(crate) fn check(format: Format) -> Result<()> {
    match format {
        Format::Html | Format::Parquet | Format::Warc => Err(not_built(format)),
        _ => Ok(()),
    }
}

fn not_built(format: Format) -> Error {
    Error::new(format!("the format {format} is not built yet"))
}

pub(crate) mod html {
    pub(crate) fn visible_text(_bytes: &[u8], _declared_charset: Option<&str>, _out: &mut String) {}
}

pub(crate) mod warc {
    use super::*;
    use crate::options::ReadOptions;
    use crate::parsed::Parsed;
    use std::io::{self, Read};
    use std::path::Path;

    pub(crate) struct WarcChunks;

    impl WarcChunks {
        pub(crate) fn new(_reader: Box<dyn Read + Send>) -> Self {
            Self
        }

        pub(crate) fn next_piece(&mut self, _target_bytes: usize, _out: &mut Vec<u8>) -> io::Result<bool> {
            Ok(false)
        }
    }

    pub(crate) fn parse_piece(
        _bytes: &[u8],
        _base_position: u64,
        _input: usize,
        _path: &Path,
        _options: &ReadOptions,
        _parsed: &mut Parsed,
    ) -> Result<()> {
        Err(not_built(Format::Warc))
    }
}

pub(crate) mod parquet {
    use super::*;
    use crate::annotation::Annotation;
    use crate::options::ReadOptions;
    use crate::parsed::Parsed;
    use std::io::Write;
    use std::path::Path;

    #[derive(Debug)]
    pub(crate) struct ParquetFile;

    impl ParquetFile {
        pub(crate) fn open(_path: &Path) -> Result<Self> {
            Err(not_built(Format::Parquet))
        }

        pub(crate) fn row_groups(&self) -> usize {
            0
        }

        pub(crate) fn parse_row_group(
            &self,
            _row_group: usize,
            _input: usize,
            _options: &ReadOptions,
            _parsed: &mut Parsed,
        ) -> Result<()> {
            Err(not_built(Format::Parquet))
        }
    }

    pub(crate) fn rewrite(
        _path: &Path,
        _kept_rows: &[u64],
        _out: &mut (dyn Write + Send),
        _annotations: Option<&mut dyn Iterator<Item = Annotation>>,
    ) -> Result<()> {
        Err(not_built(Format::Parquet))
    }
}
