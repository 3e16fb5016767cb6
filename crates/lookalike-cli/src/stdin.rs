//! Standard input that can be waited for without missing Ctrl-C.

use std::io::{self, Read};
use std::sync::mpsc::{Receiver, RecvTimeoutError, sync_channel};

use crate::interrupt::{self, PATIENCE};

/// Bytes read at once.
const PIECE_BYTES: usize = 1 << 18;
/// Pieces that wait to be taken.
const WAITING_PIECES: usize = 4;

/// Standard input, read by a thread of its own: a read cannot be called off, waiting for a thread can.
#[derive(Default)]
pub(crate) struct Stdin {
    pieces: Option<Receiver<io::Result<Vec<u8>>>>,
    piece: Vec<u8>,
    taken: usize,
}

impl Read for Stdin {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        // Started with the first read: whoever names no standard input must not take anything from it.
        let pieces = self.pieces.get_or_insert_with(read_ahead);
        while self.taken == self.piece.len() {
            match pieces.recv_timeout(PATIENCE) {
                Ok(piece) => (self.piece, self.taken) = (piece?, 0),
                Err(RecvTimeoutError::Disconnected) => return Ok(0),
                Err(RecvTimeoutError::Timeout) if interrupt::is_requested() => {
                    return Err(io::Error::other("interrupted"));
                }
                Err(RecvTimeoutError::Timeout) => {}
            }
        }
        let count = buffer.len().min(self.piece.len() - self.taken);
        buffer[..count].copy_from_slice(&self.piece[self.taken..][..count]);
        self.taken += count;
        Ok(count)
    }
}

fn read_ahead() -> Receiver<io::Result<Vec<u8>>> {
    let (sender, receiver) = sync_channel(WAITING_PIECES);
    std::thread::spawn(move || {
        let mut stdin = io::stdin().lock();
        loop {
            let mut piece = vec![0; PIECE_BYTES];
            let piece = match stdin.read(&mut piece) {
                Ok(0) => return,
                Ok(count) => {
                    piece.truncate(count);
                    Ok(piece)
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => Err(error),
            };
            let is_over = piece.is_err();
            if sender.send(piece).is_err() || is_over {
                return;
            }
        }
    });
    receiver
}
