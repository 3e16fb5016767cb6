//! Weighted MinHash: consistent sampling after Ioffe, in the arithmetic of 32 bits that datasketch uses, so that the same
//! draws give the same samples.

use numpy::{PyArray2, PyArrayMethods, PyReadonlyArray1, PyReadonlyArray2};
use pyo3::exceptions::{PyOverflowError, PyValueError};
use pyo3::prelude::*;

use super::kernel;

/// Which of the two formulas of datasketch: they sample alike, but not the same.
#[derive(Clone, Copy, PartialEq)]
enum Formula {
    /// For one vector.
    Single,
    /// For many.
    Many,
}

/// The draws of one sample for the dimensions that have a weight.
#[derive(Clone, Copy)]
struct Draws<'a> {
    rs: &'a [f32],
    log_cs: &'a [f32],
    betas: &'a [f32],
}

/// Memory that all samples of a vector share.
#[derive(Default)]
struct Scratch {
    taken: [Vec<f32>; 3],
    levels: Vec<f32>,
    log_as: Vec<f32>,
}

impl Scratch {
    /// Which of these dimensions is sampled, and its level; nothing if no weight counts. The draws are of all dimensions.
    fn sample(
        &mut self,
        draws: Draws<'_>,
        dimensions: &[usize],
        logs: &[f32],
        formula: Formula,
    ) -> Option<(usize, f32)> {
        let Self { taken: [rs, log_cs, betas], levels, log_as } = self;
        let mut draws = draws;
        if dimensions.len() != draws.rs.len() {
            for (taken, all) in [(&mut *rs, draws.rs), (&mut *log_cs, draws.log_cs), (&mut *betas, draws.betas)] {
                taken.clear();
                taken.extend(dimensions.iter().map(|dimension| all[*dimension]));
            }
            draws = Draws { rs, log_cs, betas };
        }
        levels.resize(logs.len(), 0.0);
        log_as.resize(logs.len(), 0.0);
        let is_one_of_many = formula == Formula::Many;
        kernel::weighted_levels(logs, draws.rs, draws.log_cs, draws.betas, is_one_of_many, levels, log_as);
        let least = least_of(log_as);
        let at = log_as.iter().position(|log_a| *log_a == least)?;
        Some((dimensions[at], levels[at]))
    }
}

/// The least of some numbers; what is none, because a weight was below zero, does not count.
fn least_of(numbers: &[f32]) -> f32 {
    const LANES: usize = 16;
    let lesser = |number: f32, other: f32| if number < other { number } else { other };
    let mut least = [f32::INFINITY; LANES];
    let (whole, rest) = numbers.as_chunks::<LANES>();
    for lanes in whole {
        for lane in 0..LANES {
            least[lane] = lesser(lanes[lane], least[lane]);
        }
    }
    least.iter().chain(rest).fold(f32::INFINITY, |least, number| lesser(*number, least))
}

/// The samples of one vector: the dimensions with a weight, and the logarithms of these weights, give a dimension and a level
/// for each sample.
#[pyfunction]
#[pyo3(signature = (rs, log_cs, betas, dimensions, logs, is_one_of_many))]
pub(super) fn weighted_samples<'py>(
    py: Python<'py>,
    rs: PyReadonlyArray2<'py, f32>,
    log_cs: PyReadonlyArray2<'py, f32>,
    betas: PyReadonlyArray2<'py, f32>,
    dimensions: PyReadonlyArray1<'py, i64>,
    logs: PyReadonlyArray1<'py, f32>,
    is_one_of_many: bool,
) -> PyResult<Bound<'py, PyArray2<i64>>> {
    let formula = if is_one_of_many { Formula::Many } else { Formula::Single };
    let (samples, width) = (rs.as_array().nrows(), rs.as_array().ncols());
    let dimensions: Vec<usize> = dimensions.as_slice()?.iter().map(|dimension| *dimension as usize).collect();
    let (rs, log_cs, betas, logs) = (rs.as_slice()?, log_cs.as_slice()?, betas.as_slice()?, logs.as_slice()?);
    if dimensions.iter().any(|dimension| *dimension >= width) || rs.len() != log_cs.len() || rs.len() != betas.len() {
        return Err(PyValueError::new_err("the draws of this generator do not fit the vector; make another generator"));
    }
    let found: Vec<Option<(usize, f32)>> = py.detach(|| {
        let mut scratch = Scratch::default();
        (0..samples)
            .map(|at| {
                let row = at * width..(at + 1) * width;
                let draws = Draws { rs: &rs[row.clone()], log_cs: &log_cs[row.clone()], betas: &betas[row] };
                scratch.sample(draws, &dimensions, logs, formula)
            })
            .collect()
    });
    let mut values = Vec::with_capacity(samples * 2);
    for sample in found {
        let (dimension, level) = sample
            .ok_or_else(|| PyValueError::new_err("no weight of the vector is positive: there is nothing to sample"))?;
        if !level.is_finite() {
            return Err(PyOverflowError::new_err("a weight of the vector is infinite; weights must be finite"));
        }
        values.extend([dimension as i64, level as i64]);
    }
    numpy::PyArray1::from_vec(py, values).reshape([samples, 2])
}
