//! Work on several things at once that can fail.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use anyhow::Result;

/// Does `work` for each of the items, on all threads. Returns what came of them, in order, or the error of the earliest
/// that failed; none is begun after an error.
///
/// A thread that finds no item left is free for what the others have to share.
pub(crate) fn try_each<T: Sync, R: Send>(items: &[T], work: impl Fn(usize, &T) -> Result<R> + Sync) -> Result<Vec<R>> {
    let next = AtomicUsize::new(0);
    let done = Mutex::new(Vec::with_capacity(items.len()));
    rayon::broadcast(|_| {
        // Items are begun in order: when one fails, all before it are done or in other hands, and get done.
        while let Some((at, item)) = items.iter().enumerate().nth(next.fetch_add(1, Ordering::Relaxed)) {
            let result = work(at, item);
            if result.is_err() {
                next.store(items.len(), Ordering::Relaxed);
            }
            done.lock().unwrap_or_else(PoisonError::into_inner).push((at, result));
        }
    });
    let mut done = done.into_inner().unwrap_or_else(PoisonError::into_inner);
    done.sort_unstable_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_come_in_order_and_of_errors_the_earliest() {
        let items: Vec<usize> = (0..100).collect();
        let doubled = try_each(&items, |at, item| Ok(at + item)).unwrap();
        assert_eq!(doubled, items.iter().map(|item| 2 * item).collect::<Vec<_>>());
        for _ in 0..20 {
            let failed = try_each(&items, |_, item| if *item >= 7 { Err(anyhow::anyhow!("{item}")) } else { Ok(()) });
            assert_eq!(failed.unwrap_err().to_string(), "7");
        }
        assert!(try_each(&[], |_, item: &usize| Ok(*item)).unwrap().is_empty());
    }
}
