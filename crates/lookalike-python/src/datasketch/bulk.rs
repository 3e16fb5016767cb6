//! Sketches of many sets at once, on all cores.

use std::ops::Range;
use std::thread;

use pyo3::prelude::*;
use pyo3::types::{PyIterator, PyList};

use super::byte_elements::{ByteElements, Sequence};
use super::elements::{HashFunction, lower_alone};
use super::hashing::Known;
use super::minhash::{MinHashState, Values};
use super::scheme::{Numbers, Permutations};

/// Elements of all sets that are taken together.
const AT_ONCE: usize = 1 << 16;
/// With fewer elements, starting a thread costs more than it gives.
const WORTH_A_THREAD: usize = 1 << 12;

/// One sketch of `made_class` for each set, like `empty` but for what is added.
#[pyfunction]
pub(super) fn minhash_bulk<'py>(
    empty: &Bound<'py, MinHashState>,
    made_class: &Bound<'py, PyAny>,
    sets: &Bound<'py, PyAny>,
) -> PyResult<Bound<'py, PyList>> {
    let py = empty.py();
    let (hash, permutations) = MinHashState::means_of_update(empty)?;
    let permutations = permutations.get();
    let made = PyList::empty(py);
    let add = |lowered: Option<Numbers>| -> PyResult<()> {
        let sketch = made_class.call_method1(pyo3::intern!(py, "__new__"), (made_class,))?;
        MinHashState::copy_into(empty, sketch.cast::<MinHashState>()?)?;
        if let Some(lowered) = lowered {
            sketch.cast::<MinHashState>()?.borrow_mut().values = Values::Own(lowered);
        }
        made.append(sketch)
    };
    let Some(known) = hash.known else {
        for set in sets.try_iter()? {
            add(hash.lower_by_all(permutations, &set?)?)?;
        }
        return Ok(made);
    };
    let mut sets = sets.try_iter()?;
    loop {
        let Gathered { elements, ends, odd } = gather(&hash, permutations, &mut sets)?;
        if ends.is_empty() && odd.is_none() {
            return Ok(made);
        }
        let mut start = 0;
        let sets: Vec<Range<usize>> = ends.iter().map(|end| std::mem::replace(&mut start, *end)..*end).collect();
        for lowered in py.detach(|| sketch_all(known, permutations, &elements, &sets))? {
            add(lowered)?;
        }
        if let Some(lowered) = odd {
            add(lowered)?;
        }
    }
}

/// The elements of some sets, one after the other.
struct Gathered {
    elements: ByteElements,
    /// Where each set ends.
    ends: Vec<usize>,
    /// What a set came to that holds something else than bytes. It comes after the others.
    odd: Option<Option<Numbers>>,
}

fn gather(hash: &HashFunction, permutations: &Permutations, sets: &mut Bound<'_, PyIterator>) -> PyResult<Gathered> {
    let mut gathered = Gathered { elements: ByteElements::default(), ends: Vec::new(), odd: None };
    for set in sets {
        let mut set = set?;
        // An array of numpy stays one: its elements are no objects yet.
        if Sequence::of(&set).is_none() && !set.hasattr(pyo3::intern!(set.py(), "dtype"))? {
            set = set.py().get_type::<PyList>().call1((set,))?;
        }
        let before = gathered.elements.len();
        let is_taken = Sequence::of(&set).is_some_and(|sequence| {
            let taken = gathered.elements.take(&sequence, 0..usize::MAX);
            taken == sequence.len()
        });
        if !is_taken {
            gathered.elements.truncate(before);
            gathered.odd = Some(hash.lower_by_all(permutations, &set)?);
            break;
        }
        gathered.ends.push(gathered.elements.len());
        if gathered.elements.len() >= AT_ONCE || gathered.ends.len() >= AT_ONCE {
            break;
        }
    }
    Ok(gathered)
}

/// Sketches the sets, in parts of about as many elements. Threads are started for it and end with it: a pool of threads
/// would be lost to the children of a program that forks.
fn sketch_all(
    known: Known,
    permutations: &Permutations,
    elements: &ByteElements,
    sets: &[Range<usize>],
) -> PyResult<Vec<Option<Numbers>>> {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    let parts = cores.min(elements.len() / WORTH_A_THREAD).max(1);
    if parts == 1 {
        return sketch_some(known, permutations, elements, sets);
    }
    let (mut rest, mut cut) = (sets, Vec::new());
    for part in 1..=parts {
        let target = elements.len() / parts;
        let mut taken = 0;
        let count = if part == parts {
            rest.len()
        } else {
            rest.iter()
                .take_while(|set| {
                    taken += set.len();
                    taken <= target
                })
                .count()
        };
        let (some, others) = rest.split_at(count);
        cut.push(some);
        rest = others;
    }
    thread::scope(|scope| {
        let threads: Vec<_> =
            cut.into_iter().map(|some| scope.spawn(move || sketch_some(known, permutations, elements, some))).collect();
        let mut all = Vec::with_capacity(sets.len());
        for thread in threads {
            match thread.join() {
                Ok(some) => all.extend(some?),
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        Ok(all)
    })
}

fn sketch_some(
    known: Known,
    permutations: &Permutations,
    elements: &ByteElements,
    sets: &[Range<usize>],
) -> PyResult<Vec<Option<Numbers>>> {
    sets.iter()
        .map(|set| {
            if set.is_empty() {
                return Ok(None);
            }
            let mut slots = Numbers::empty(permutations.scheme(), permutations.len());
            lower_alone(known, permutations, elements.range(set.clone()), &mut slots)?;
            Ok(Some(slots))
        })
        .collect()
}
