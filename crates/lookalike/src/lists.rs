//! Many short lists in two flat vectors.

/// For each number from 0 up, a list of values.
#[derive(Clone, Debug)]
pub(crate) struct Lists<T> {
    ends: Vec<usize>,
    values: Vec<T>,
}

impl<T: Copy + Default> Lists<T> {
    /// `count` lists of these (list, value) entries, the values of a list in the order in which they come. Entries are
    /// gone through twice: once to count them, once to place them.
    pub(crate) fn new<I: Iterator<Item = (u32, T)>>(count: usize, entries: impl Fn() -> I) -> Self {
        // Two places ahead at first: summed up, each list's start stands one place ahead, from where it moves to its end.
        let mut ends = vec![0usize; count + 2];
        for (list, _) in entries() {
            ends[list as usize + 2] += 1;
        }
        for list in 2..ends.len() {
            ends[list] += ends[list - 1];
        }
        let mut values = vec![T::default(); ends[count + 1]];
        for (list, value) in entries() {
            let next = &mut ends[list as usize + 1];
            values[*next] = value;
            *next += 1;
        }
        ends.truncate(count + 1);
        Self { ends, values }
    }

    /// How many lists there are.
    pub(crate) fn len(&self) -> usize {
        self.ends.len() - 1
    }

    /// What they take.
    pub(crate) fn bytes(&self) -> u64 {
        (size_of_val(&self.ends[..]) + size_of_val(&self.values[..])) as u64
    }

    /// The values of one list.
    #[inline]
    pub(crate) fn of(&self, list: u32) -> &[T] {
        &self.values[self.ends[list as usize]..self.ends[list as usize + 1]]
    }
}
