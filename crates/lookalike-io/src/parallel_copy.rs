//! Plain files are copied by all threads at once: where every kept byte goes is known before any is read.

use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

use rayon::prelude::*;

use crate::parsed::RawSpan;

/// Bytes that are written at once: few enough to be still in the cache when they are written.
const PIECE_BYTES: u64 = 1 << 18;

/// Consecutive stretches of the source that go to one place, one after another.
struct Piece {
    stretches: Vec<RawSpan>,
    to: u64,
    length: u64,
}

/// Copies the first `length` bytes of `source`, but for what is left out, to the beginning of `target`.
pub(crate) fn copy_all_but(
    source: &File,
    length: u64,
    left_out: impl Iterator<Item = RawSpan>,
    target: &File,
) -> io::Result<()> {
    pieces(length, left_out).par_iter().try_for_each_init(Vec::new, |buffer, piece| {
        buffer.resize(piece.length as usize, 0);
        let mut at = 0;
        for stretch in &piece.stretches {
            let end = at + stretch.length as usize;
            source.read_exact_at(&mut buffer[at..end], stretch.position)?;
            at = end;
        }
        target.write_all_at(buffer, piece.to)
    })
}

/// What is to be copied, cut into pieces of about equal size.
fn pieces(length: u64, left_out: impl Iterator<Item = RawSpan>) -> Vec<Piece> {
    let mut pieces: Vec<Piece> = Vec::new();
    let mut add = |mut position: u64, end: u64| {
        while position < end {
            let room = pieces.last().map_or(0, |piece| PIECE_BYTES - piece.length);
            if room == 0 {
                let to = pieces.last().map_or(0, |piece| piece.to + piece.length);
                pieces.push(Piece { stretches: Vec::new(), to, length: 0 });
                continue;
            }
            let length = room.min(end - position);
            if let Some(piece) = pieces.last_mut() {
                piece.stretches.push(RawSpan { position, length });
                piece.length += length;
            }
            position += length;
        }
    };
    let mut position = 0;
    for span in left_out {
        add(position, span.position);
        position = span.position + span.length;
    }
    add(position, length);
    pieces
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pieces_hold_everything_but_what_is_left_out() {
        let length = 5 * PIECE_BYTES + 17;
        let left_out: Vec<RawSpan> = (0..2000).map(|at| RawSpan { position: at * 601, length: at % 7 * 50 }).collect();
        let pieces = pieces(length, left_out.iter().copied());
        let (mut to, mut copied) = (0, vec![false; length as usize]);
        for piece in &pieces {
            assert_eq!(piece.to, to);
            assert_eq!(piece.stretches.iter().map(|stretch| stretch.length).sum::<u64>(), piece.length);
            to += piece.length;
            for stretch in &piece.stretches {
                copied[stretch.position as usize..][..stretch.length as usize].fill(true);
            }
        }
        for span in left_out {
            assert!(copied[span.position as usize..][..span.length as usize].iter().all(|copied| !copied));
        }
        assert_eq!(copied.iter().filter(|copied| **copied).count() as u64, to);
    }
}
