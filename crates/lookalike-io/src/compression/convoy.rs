//! Parcels that are compressed at the same time and leave in the order in which they came.

use std::collections::VecDeque;
use std::io;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use super::Compression;
use super::parcel::Parcel;

/// Parcels that may be on their way for every thread: one that is compressed, and one that waits so that nobody is idle.
const PARCELS_PER_THREAD: usize = 2;

/// Parcels that are on their way in all convoys together: memory is bounded however many files are written at once.
static ON_THEIR_WAY: AtomicUsize = AtomicUsize::new(0);

/// Parcels on their way to one file.
///
/// The threads are those of rayon's pool. Whoever sends helps: instead of waiting for a parcel that nobody has begun it
/// compresses it itself, so a convoy needs no other thread, and never waits for a thread that waits for it.
pub(super) struct Convoy {
    compression: Compression,
    parcels: VecDeque<Sent>,
}

/// A parcel on its way, and the place that it takes there.
struct Sent {
    shared: Arc<Shared>,
    _place: Place,
}

/// What whoever sent a parcel shares with whoever compresses it.
struct Shared {
    state: Mutex<State>,
    packed: Condvar,
}

enum State {
    Waiting(Parcel),
    InHands,
    Packed(io::Result<Parcel>),
}

impl Convoy {
    pub(super) fn new(compression: Compression) -> Self {
        Self { compression, parcels: VecDeque::new() }
    }

    /// Sends a parcel off. First it hands the oldest ones to `unload`, if there is no room for another.
    pub(super) fn send(
        &mut self,
        mut parcel: Parcel,
        mut unload: impl FnMut(Parcel) -> io::Result<()>,
    ) -> io::Result<()> {
        let place = loop {
            if let Some(place) = Place::take() {
                break place;
            }
            match self.arrive()? {
                Some(oldest) => unload(oldest)?,
                None => {
                    // All places are taken by other convoys, or there is no other thread.
                    parcel.pack(self.compression)?;
                    return unload(parcel);
                }
            }
        };
        let shared = Arc::new(Shared { state: Mutex::new(State::Waiting(parcel)), packed: Condvar::new() });
        self.parcels.push_back(Sent { shared: Arc::clone(&shared), _place: place });
        let compression = self.compression;
        rayon::spawn(move || {
            shared.pack(compression);
        });
        // What has arrived meanwhile makes room for others.
        while self.parcels.front().is_some_and(|oldest| oldest.shared.is_packed()) {
            if let Some(oldest) = self.arrive()? {
                unload(oldest)?;
            }
        }
        Ok(())
    }

    /// The oldest parcel, compressed; `None` if there is none.
    pub(super) fn arrive(&mut self) -> io::Result<Option<Parcel>> {
        let Some(oldest) = self.parcels.pop_front() else { return Ok(None) };
        oldest.shared.pack(self.compression);
        // While another thread is busy with it, the next ones that nobody has begun are compressed here.
        while !oldest.shared.is_packed() && self.parcels.iter().any(|next| next.shared.pack(self.compression)) {}
        oldest.shared.wait().map(Some)
    }
}

/// A place among the parcels that are on their way, taken until it is dropped.
struct Place;

impl Place {
    /// A place, if there is one. A thread alone has none to share with.
    fn take() -> Option<Self> {
        let threads = rayon::current_num_threads();
        let places = if threads > 1 { PARCELS_PER_THREAD * threads } else { 0 };
        let next = |taken| (taken < places).then_some(taken + 1);
        ON_THEIR_WAY.fetch_update(Ordering::Relaxed, Ordering::Relaxed, next).ok().map(|_| Self)
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        ON_THEIR_WAY.fetch_sub(1, Ordering::Relaxed);
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        // Nothing that can panic happens under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn is_packed(&self) -> bool {
        matches!(*self.lock(), State::Packed(_))
    }

    /// Compresses the parcel, unless somebody has begun already: then false.
    fn pack(&self, compression: Compression) -> bool {
        let mut parcel = {
            let mut state = self.lock();
            match std::mem::replace(&mut *state, State::InHands) {
                State::Waiting(parcel) => parcel,
                other => {
                    *state = other;
                    return false;
                }
            }
        };
        let packed = parcel.pack(compression).map(|()| parcel);
        *self.lock() = State::Packed(packed);
        self.packed.notify_all();
        true
    }

    /// The parcel, once it is compressed.
    fn wait(&self) -> io::Result<Parcel> {
        let mut state = self.lock();
        loop {
            match std::mem::replace(&mut *state, State::InHands) {
                State::Packed(packed) => return packed,
                other => *state = other,
            }
            state = self.packed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sends parcels of one block each, and returns the packed bytes in the order in which they arrived.
    fn convoy(threads: usize, compression: Compression, count: usize) -> Vec<u8> {
        let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
        pool.scope(|_| {
            let (mut convoy, mut arrived) = (Convoy::new(compression), Vec::new());
            for number in 0..count {
                let content = format!("{number} ").repeat(10_000 * (number % 3) + 1).into_bytes();
                let parcel = Parcel { ends: vec![content.len() / 2, content.len()], content, packed: Vec::new() };
                let unload = |parcel: Parcel| {
                    arrived.extend(parcel.packed);
                    Ok(())
                };
                convoy.send(parcel, unload).unwrap();
            }
            while let Some(parcel) = convoy.arrive().unwrap() {
                arrived.extend(parcel.packed);
            }
            arrived
        })
    }

    #[test]
    fn parcels_arrive_in_order_whoever_compresses_them() {
        for compression in [Compression::Gzip, Compression::Zstd] {
            let alone = convoy(1, compression, 40);
            for threads in [2, 3, 7] {
                assert!(convoy(threads, compression, 40) == alone, "{compression:?} on {threads} threads");
            }
        }
    }

    #[test]
    fn many_convoys_share_the_places() {
        let alone = convoy(1, Compression::Zstd, 20);
        let pool = rayon::ThreadPoolBuilder::new().num_threads(2).build().unwrap();
        let all = pool.broadcast(|_| (0..4).map(|_| convoy(2, Compression::Zstd, 20)).collect::<Vec<_>>());
        assert!(all.into_iter().flatten().all(|bytes| bytes == alone));
    }
}
