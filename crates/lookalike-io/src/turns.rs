//! Whose turn it is with which input: several inputs are open at once, each in one thread's hands at a time.

use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};

/// The inputs that are handed around, each with a `T` that says how far it was read.
///
/// Whoever asks gets the earliest input that is in nobody's hands, and begins another only if there is none. So no more
/// inputs are open than threads ask at the same time, one thread alone gets everything in input order, and nothing but
/// taking and giving back happens under the lock.
pub(crate) struct Turns<T: Default> {
    state: Mutex<State<T>>,
    /// Told when an input was given back or has ended.
    changed: Condvar,
}

struct State<T> {
    /// Inputs that were begun and have not ended, in input order. Those without a `T` are in a thread's hands.
    begun: Vec<(usize, Option<T>)>,
    /// The first input that nobody has begun.
    next: usize,
    /// The first input that is not handed out any more.
    end: usize,
}

/// One thread's turn with an input. Dropped without being given back, also by a panic, it is the input's last.
pub(crate) struct Turn<'a, T: Default> {
    /// Which input it is.
    pub(crate) input: usize,
    /// How far it was read.
    pub(crate) reading: T,
    comes_back: bool,
    turns: &'a Turns<T>,
}

impl<T: Default> Turns<T> {
    /// Turns with so many inputs, none of them begun.
    pub(crate) fn new(inputs: usize) -> Self {
        let state = State { begun: Vec::new(), next: 0, end: inputs };
        Self { state: Mutex::new(state), changed: Condvar::new() }
    }

    /// The next turn, waited for if all that is left is in other hands; `None` at the end.
    pub(crate) fn take(&self) -> Option<Turn<'_, T>> {
        let mut state = self.lock();
        loop {
            if let Some((input, reading)) =
                state.begun.iter_mut().find_map(|(input, reading)| Some((*input, reading.take()?)))
            {
                return Some(Turn { input, reading, comes_back: false, turns: self });
            }
            if state.next < state.end {
                let input = state.next;
                state.next += 1;
                state.begun.push((input, None));
                return Some(Turn { input, reading: T::default(), comes_back: false, turns: self });
            }
            if state.begun.iter().all(|(input, _)| *input >= state.end) {
                return None;
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Gives no more turns with this input or one behind it. Those before it go on: what they hold comes first.
    pub(crate) fn end_before(&self, input: usize) {
        let mut state = self.lock();
        let end = state.end.min(input);
        state.end = end;
        state.begun.retain(|(input, reading)| *input < end || reading.is_none());
        self.changed.notify_all();
    }

    fn lock(&self) -> MutexGuard<'_, State<T>> {
        // Nothing that can panic happens under the lock.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<T: Default> Turn<'_, T> {
    /// Leaves the input to whoever asks next.
    pub(crate) fn give_back(mut self) {
        self.comes_back = true;
    }
}

impl<T: Default> Drop for Turn<'_, T> {
    fn drop(&mut self) {
        let mut state = self.turns.lock();
        let Some(at) = state.begun.iter().position(|(input, _)| *input == self.input) else { return };
        if self.comes_back && self.input < state.end {
            state.begun[at].1 = Some(std::mem::take(&mut self.reading));
            self.turns.changed.notify_one();
        } else {
            state.begun.remove(at);
            self.turns.changed.notify_all();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_thread_gets_one_input_after_the_other() {
        let turns = Turns::<u32>::new(2);
        let mut seen = Vec::new();
        while let Some(mut turn) = turns.take() {
            seen.push((turn.input, turn.reading));
            turn.reading += 1;
            if turn.reading < 3 {
                turn.give_back();
            }
        }
        assert_eq!(seen, [(0, 0), (0, 1), (0, 2), (1, 0), (1, 1), (1, 2)]);
    }

    #[test]
    fn an_input_is_begun_only_while_the_others_are_in_hands() {
        let turns = Turns::<u32>::new(9);
        let (first, second) = (turns.take().unwrap(), turns.take().unwrap());
        assert_eq!((first.input, second.input), (0, 1));
        second.give_back();
        let again = turns.take().unwrap();
        assert_eq!(again.input, 1);
        first.give_back();
        assert_eq!(turns.take().unwrap().input, 0);
    }

    #[test]
    fn what_is_before_the_end_goes_on() {
        let turns = Turns::<u32>::new(9);
        let (first, second, third) = (turns.take().unwrap(), turns.take().unwrap(), turns.take().unwrap());
        third.give_back();
        turns.end_before(1);
        second.give_back();
        std::thread::scope(|scope| {
            // Waits, since the first input may come back.
            let waiting = scope.spawn(|| turns.take().map(|turn| turn.input));
            first.give_back();
            assert_eq!(waiting.join().unwrap(), Some(0));
        });
        assert!(turns.take().is_none(), "the last turn was not given back");
    }

    #[test]
    fn a_panic_leaves_nobody_waiting() {
        let turns = Turns::<u32>::new(1);
        std::thread::scope(|scope| {
            let failing = scope.spawn(|| {
                let _turn = turns.take().unwrap();
                panic!("on purpose");
            });
            assert!(failing.join().is_err());
        });
        assert!(turns.take().is_none());
    }
}
