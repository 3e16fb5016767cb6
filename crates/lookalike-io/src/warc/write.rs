//! Raw records back into a `.warc.gz`.

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;

/// Compresses every record as a gzip member of its own, as readers of `.warc.gz` expect: an index can then point at
/// the middle of a file.
///
/// The bytes depend on the records alone: no time and no name is written.
pub struct RecordGzWriter<W: Write> {
    out: W,
}

impl<W: Write> RecordGzWriter<W> {
    /// Writes to `out`.
    pub fn new(out: W) -> Self {
        Self { out }
    }

    /// Writes one raw record: its header, its block and the line ends after it.
    pub fn write_record(&mut self, raw: &[u8]) -> io::Result<()> {
        let mut member = GzEncoder::new(&mut self.out, Compression::default());
        member.write_all(raw)?;
        member.finish()?;
        Ok(())
    }

    /// Writes a stretch of raw bytes that holds any number of whole records. Line ends before the first record become
    /// part of its member; what is no WARC record becomes one member.
    pub fn write_records(&mut self, stretch: &[u8]) -> io::Result<()> {
        let mut written = 0;
        for record in super::record::raw_records(stretch).map_while(Result::ok) {
            self.write_record(&stretch[written..record.range.end])?;
            written = record.range.end;
        }
        if written < stretch.len() { self.write_record(&stretch[written..]) } else { Ok(()) }
    }

    /// Gives the output back.
    pub fn into_inner(self) -> W {
        self.out
    }
}

#[cfg(test)]
mod tests {
    use std::io::Read;

    use flate2::bufread::GzDecoder;

    use super::*;

    #[test]
    fn every_record_is_a_member() -> io::Result<()> {
        let records =
            ["WARC/1.0\r\nContent-Length: 1\r\n\r\nx\r\n\r\n", "WARC/1.0\r\nContent-Length: 2\r\n\r\nyz\r\n\r\n"];
        let mut writer = RecordGzWriter::new(Vec::new());
        writer.write_records(records.concat().as_bytes())?;
        writer.write_record(records[0].as_bytes())?;
        let compressed = writer.into_inner();
        let mut rest = compressed.as_slice();
        for expected in [records[0], records[1], records[0]] {
            let mut member = String::new();
            GzDecoder::new(&mut rest).read_to_string(&mut member)?;
            assert_eq!(member, expected);
        }
        assert!(rest.is_empty());
        Ok(())
    }
}
