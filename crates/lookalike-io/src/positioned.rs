//! The lines that start in a given part of a plain file, read from the middle: whoever asks needs no lock and no
//! knowledge of what comes before.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use memchr::memchr;

use crate::chunk::Chunk;
use crate::stream::Cut;

/// Bytes read at first to find the end of the last line.
const TAIL_BYTES: usize = 16 << 10;

/// Fills a chunk with the lines that start in the `index`-th part, of `part_bytes` each, of a file of `size` bytes.
///
/// Where blank lines are no records, those behind the last line are counted to it, however far they reach.
pub(crate) fn read_part(
    file: &File,
    size: u64,
    index: u64,
    part_bytes: usize,
    cut: Cut,
    chunk: &mut Chunk,
) -> io::Result<()> {
    let begin = index * part_bytes as u64;
    let end = size.min(begin + part_bytes as u64);
    chunk.file_bytes = end - begin;
    // The byte before tells whether a line starts at the very beginning.
    let origin = begin.saturating_sub(1);
    let buffer = &mut chunk.buffer;
    let mut filled = (end - origin) as usize;
    extend_to(buffer, filled);
    file.read_exact_at(&mut buffer[..filled], origin)?;
    let first = if begin == 0 { Some(0) } else { memchr(b'\n', &buffer[..filled]).map(|found| found + 1) };
    let Some(first) = first.filter(|first| *first < filled) else {
        return Ok(());
    };
    let mut searched = filled - 1;
    let mut tail_bytes = TAIL_BYTES;
    let last = loop {
        if let Some(found) = memchr(b'\n', &buffer[searched..filled]) {
            break searched + found + 1;
        }
        if origin + filled as u64 == size {
            break filled;
        }
        searched = filled;
        // Doubled each time, so that a very long line is not read in very many steps.
        let more = (size - origin - filled as u64).min(tail_bytes as u64) as usize;
        tail_bytes *= 2;
        extend_to(buffer, filled + more);
        file.read_exact_at(&mut buffer[filled..filled + more], origin + filled as u64)?;
        filled += more;
    };
    chunk.position = origin + first as u64;
    chunk.range = first..last;
    if cut == Cut::FilledLines && chunk.bytes().iter().any(|byte| !is_blank(*byte)) {
        chunk.trailing = blank_bytes(file, origin + last as u64, size)?;
    }
    Ok(())
}

/// How many bytes from `start`, a line's start, on are blank lines.
fn blank_bytes(file: &File, start: u64, size: u64) -> io::Result<u64> {
    let mut block = [0; 512];
    let (mut at, mut line) = (start, start);
    while at < size {
        let count = (size - at).min(block.len() as u64) as usize;
        file.read_exact_at(&mut block[..count], at)?;
        for byte in &block[..count] {
            at += 1;
            match byte {
                b'\n' => line = at,
                byte if is_blank(*byte) => {}
                _ => return Ok(line - start),
            }
        }
    }
    Ok(size - start)
}

fn is_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\r' | b'\n')
}

/// Makes room without clearing what will be overwritten.
fn extend_to(buffer: &mut Vec<u8>, length: usize) {
    if buffer.len() < length {
        buffer.resize(length, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_is_in_the_part_where_it_starts() {
        let content = format!("a\n{}\n\n \nlast", "b".repeat(100_000));
        let mut file = tempfile::tempfile().unwrap();
        io::Write::write_all(&mut file, content.as_bytes()).unwrap();
        let size = content.len() as u64;
        let mut chunk = Chunk::default();
        let mut lines = Vec::new();
        for index in 0..size.div_ceil(64) {
            chunk.begin(0, index);
            read_part(&file, size, index, 64, Cut::FilledLines, &mut chunk).unwrap();
            if !chunk.bytes().iter().all(|byte| is_blank(*byte)) {
                lines.push((chunk.position, chunk.bytes().len() as u64, chunk.trailing));
            }
        }
        // The blank lines behind the long one are counted to it although they start in a later part, where a parser
        // passes over them.
        assert_eq!(lines, [(0, 100_003, 3), (100_003, 7, 0)]);
        assert!(read_part(&file, size + 1, 0, 1 << 20, Cut::Lines, &mut chunk).is_err(), "a file that shrank");
    }
}
