//! Runs a reader on several threads: those of the pool, which do everything else too.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use crate::chunk::Chunk;
use crate::error::Error;
use crate::parsed::Parsed;
use crate::source::Reader;

/// Reads everything with `threads` threads, each with a state of its own that `make_state` makes and `take` is given
/// with every chunk that the thread parsed. Returns the states.
///
/// The chunks come to `take` in no particular order; [`Chunk::order`] tells theirs. After an
/// error only what comes before it is still read; of several, the one of the earliest chunk is returned, so that the same
/// input gives the same error. Once `cancel` is set the reading ends with [`Error::cancelled`].
pub fn read_all<S, E, M, T>(
    reader: &Reader,
    threads: usize,
    cancel: &AtomicBool,
    make_state: M,
    take: T,
) -> Result<Vec<S>, E>
where
    S: Send,
    E: From<Error> + Send,
    M: Fn() -> S + Sync,
    T: Fn(&mut S, &Chunk, &mut Parsed) -> Result<(), E> + Sync,
{
    let earliest: Mutex<Option<(u64, E)>> = Mutex::new(None);
    let work = || {
        let mut state = make_state();
        let (mut chunk, mut parsed) = (Chunk::default(), Parsed::default());
        while !cancel.load(Ordering::Relaxed) {
            let taken = match reader.next_chunk(&mut chunk) {
                Ok(false) => break,
                Ok(true) => reader
                    .parse(&chunk, &mut parsed)
                    .map_err(E::from)
                    .and_then(|()| take(&mut state, &chunk, &mut parsed)),
                Err(error) => Err(E::from(error)),
            };
            if let Err(error) = taken {
                // The chunks of an input are handed out in order: those before this one are done or in other hands, and
                // get done. Inputs before it may have more, which may hold an earlier error.
                reader.end_before(chunk.input);
                let mut earliest = earliest.lock().unwrap_or_else(PoisonError::into_inner);
                if earliest.as_ref().is_none_or(|(order, _)| chunk.order < *order) {
                    *earliest = Some((chunk.order, error));
                }
            }
        }
        state
    };
    let states = on_threads(threads, work);
    match earliest.into_inner().unwrap_or_else(PoisonError::into_inner) {
        Some((_, error)) => Err(error),
        None if cancel.load(Ordering::Relaxed) => Err(Error::cancelled().into()),
        None => Ok(states),
    }
}

/// Does the same work on this thread and on others of the pool, `threads` in all, and gives what came of each. A thread that comes
/// late, when there is nothing left to do, gives what comes of that.
pub(crate) fn on_threads<S: Send>(threads: usize, work: impl Fn() -> S + Sync) -> Vec<S> {
    if threads <= 1 {
        // The pool may not be there yet, and is not wanted for this.
        return vec![work()];
    }
    let others = Mutex::new(Vec::new());
    let mut states = rayon::in_place_scope(|scope| {
        for _ in 1..threads {
            scope.spawn(|_| {
                let state = work();
                others.lock().unwrap_or_else(PoisonError::into_inner).push(state);
            });
        }
        vec![work()]
    });
    states.append(&mut others.into_inner().unwrap_or_else(PoisonError::into_inner));
    states
}
