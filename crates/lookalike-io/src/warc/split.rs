//! A WARC stream cut into pieces of whole records, so that many threads can parse them.

use std::io::{self, BufRead, BufReader, Read};

use super::record::{Fields, block_length, check_version_line};

/// A header longer than this is no header but damage; real ones have a few hundred bytes.
const MAX_HEADER_BYTES: u64 = 1 << 20;

/// The largest record that a raw length of 32 bits can describe, its header and line ends counted too.
const MAX_BLOCK_BYTES: u64 = u32::MAX as u64 - 2 * MAX_HEADER_BYTES;

/// Cuts a decompressed WARC stream between records.
pub struct WarcChunks {
    reader: BufReader<Box<dyn Read + Send>>,
    /// Bytes taken from the stream.
    offset: u64,
    /// Damage found after whole records: they are handed out first.
    damage: Option<io::Error>,
}

impl WarcChunks {
    /// Starts at the beginning of a decompressed stream.
    pub fn new(reader: Box<dyn Read + Send>) -> Self {
        Self { reader: BufReader::with_capacity(1 << 18, reader), offset: 0, damage: None }
    }

    /// Appends whole records to `out` until at least `target_bytes` are there, and says whether it appended any bytes:
    /// `false` is the end.
    ///
    /// # Errors
    /// What the reader reports; and, of kind [`io::ErrorKind::InvalidData`], a record that is cut short or none, by its
    /// byte offset. The records before it are handed out first.
    pub fn next_piece(&mut self, target_bytes: usize, out: &mut Vec<u8>) -> io::Result<bool> {
        let start = out.len();
        if self.offset == 0 {
            self.take_line_ends(out)?;
        }
        while self.damage.is_none() && out.len() - start < target_bytes.max(1) {
            let whole = out.len();
            match self.take_record(out) {
                Ok(true) => {}
                Ok(false) => break,
                Err(error) => {
                    out.truncate(whole);
                    self.damage = Some(error);
                }
            }
        }
        match self.damage.take() {
            Some(damage) if out.len() == start => Err(damage),
            damage => {
                self.damage = damage;
                Ok(out.len() > start)
            }
        }
    }

    /// Appends one record, or says that there is none left.
    fn take_record(&mut self, out: &mut Vec<u8>) -> io::Result<bool> {
        let record_offset = self.offset;
        let damaged = |what: &str| damaged_record(record_offset, what);
        let start = out.len();
        loop {
            let line_start = out.len();
            let left = MAX_HEADER_BYTES - (line_start - start) as u64;
            let length = (&mut self.reader).take(left).read_until(b'\n', out)?;
            self.offset += length as u64;
            if length == 0 && line_start == start {
                return Ok(false);
            }
            if line_start == start {
                check_version_line(&out[start..]).map_err(|what| damaged(&what))?;
            }
            if out.last() != Some(&b'\n') || length == 0 {
                return Err(damaged("its header does not end"));
            }
            if matches!(&out[line_start..], b"\n" | b"\r\n") {
                break;
            }
        }
        let promised = block_length(&Fields::after_first_line(&out[start..])).map_err(|what| damaged(&what))?;
        if promised > MAX_BLOCK_BYTES {
            return Err(damaged(&format!("its header promises {promised} bytes, and records end at 4 GiB here")));
        }
        // The promise is not trusted with an allocation: memory grows with what is there.
        let followed = (&mut self.reader).take(promised).read_to_end(out)? as u64;
        self.offset += followed;
        if followed < promised {
            return Err(damaged(&format!("its header promises {promised} bytes, and only {followed} follow")));
        }
        self.take_line_ends(out)?;
        Ok(true)
    }

    fn take_line_ends(&mut self, out: &mut Vec<u8>) -> io::Result<()> {
        loop {
            let buffered = self.reader.fill_buf()?;
            let count = buffered.iter().take_while(|byte| matches!(byte, b'\r' | b'\n')).count();
            if count == 0 {
                return Ok(());
            }
            out.extend_from_slice(&buffered[..count]);
            self.reader.consume(count);
            self.offset += count as u64;
        }
    }
}

fn damaged_record(offset: u64, what: &str) -> io::Error {
    let message = format!(
        "the WARC record at byte {offset} is damaged: {what}; fetch the file again, or cut it off before that byte"
    );
    io::Error::new(io::ErrorKind::InvalidData, message)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::super::record::raw_records;
    use super::*;

    /// The pieces, and the message of the error that ended them.
    fn pieces(stream: &[u8], target_bytes: usize) -> (Vec<Vec<u8>>, Option<String>) {
        let mut chunks = WarcChunks::new(Box::new(io::Cursor::new(stream.to_vec())));
        let mut pieces = Vec::new();
        loop {
            let mut piece = Vec::new();
            match chunks.next_piece(target_bytes, &mut piece) {
                Ok(true) => pieces.push(piece),
                Ok(false) => return (pieces, None),
                Err(error) => return (pieces, Some(error.to_string())),
            }
        }
    }

    fn record(block: &str) -> String {
        format!("WARC/1.0\r\nWARC-Type: resource\r\nContent-Length: {}\r\n\r\n{block}\r\n\r\n", block.len())
    }

    #[test]
    fn pieces_hold_whole_records_and_every_byte() {
        let records = [record("one"), record(""), record("\r\n\r\nWARC/1.0\r\n\r\n"), record("four")];
        let stream = records.concat().into_bytes();
        for target_bytes in [0, 1, 60, 150, 10_000] {
            let (pieces, error) = pieces(&stream, target_bytes);
            assert_eq!((pieces.concat(), error), (stream.clone(), None));
            for piece in &pieces {
                assert!(raw_records(piece).all(|record| record.is_ok()));
            }
        }
        assert_eq!(pieces(&stream, 1).0.len(), 4);
        assert_eq!(pieces(b"", 1), (vec![], None));
        assert_eq!(pieces(b"\r\n", 1), (vec![b"\r\n".to_vec()], None));
    }

    #[test]
    fn damage_is_told_after_the_records_before_it() {
        let good = record("one");
        let cases = [
            ("WARC/1.0\r\nContent-Length: 5\r\n\r\nab", "promises 5 bytes, and only 2 follow"),
            ("WARC/1.0\r\nContent-Length: 5\r\n", "does not end"),
            ("WARC/1.0\r\nContent-Length: many\r\n\r\n", "\"many\", which is no number"),
            ("WARC/1.0\r\n\r\n", "no Content-Length"),
            ("<html>", "does not begin with WARC/"),
            ("WARC/1.0\r\nContent-Length: 99999999999\r\n\r\n", "records end at 4 GiB"),
        ];
        for (damage, message) in cases {
            let (pieces, error) = pieces(format!("{good}{damage}").as_bytes(), 1 << 20);
            assert_eq!(pieces.concat(), good.as_bytes());
            let error = error.expect("damage is an error");
            assert!(error.contains(message) && error.contains(&format!("byte {}", good.len())), "{error}");
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_split_or_refused_and_the_target_does_not_matter(
            parts in proptest::collection::vec(
                prop_oneof![
                    any::<Vec<u8>>(),
                    "[a-z\r\n]{0,20}".prop_map(|block| record(&block).into_bytes()),
                    Just(b"WARC/1.0\r\n".to_vec()),
                    Just(b"Content-Length: 3\r\n\r\n".to_vec()),
                ],
                0..8,
            ),
            target_bytes in 0_usize..300,
        ) {
            let stream = parts.concat();
            let (small, small_error) = pieces(&stream, target_bytes);
            let (large, large_error) = pieces(&stream, usize::MAX);
            prop_assert_eq!(small.concat(), large.concat());
            prop_assert_eq!(small_error, large_error);
            for piece in small {
                prop_assert!(raw_records(&piece).all(|record| record.is_ok()));
            }
        }
    }
}
