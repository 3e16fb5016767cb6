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

/// What was drawn for one sample, for each dimension that has a weight; and what it comes to.
#[derive(Default)]
struct Draws {
    rs: Vec<f32>,
    log_cs: Vec<f32>,
    betas: Vec<f32>,
    levels: Vec<f32>,
    log_as: Vec<f32>,
}

impl Draws {
    /// Takes the draws of these dimensions out of rows for all.
    fn take(&mut self, dimensions: &[usize], rs: &[f32], log_cs: &[f32], betas: &[f32]) {
        for (own, all) in [(&mut self.rs, rs), (&mut self.log_cs, log_cs), (&mut self.betas, betas)] {
            own.clear();
            own.extend(dimensions.iter().map(|dimension| all[*dimension]));
        }
        self.levels.resize(dimensions.len(), 0.0);
        self.log_as.resize(dimensions.len(), 0.0);
    }

    /// Which of the dimensions is sampled, and its level; nothing if no weight counts.
    fn sample(&mut self, logs: &[f32], formula: Formula) -> Option<(usize, f32)> {
        let Self { rs, log_cs, betas, levels, log_as } = self;
        kernel::weighted_levels(logs, rs, log_cs, betas, formula == Formula::Many, levels, log_as);
        let mut least: Option<(f32, usize)> = None;
        for (at, log_a) in log_as.iter().enumerate() {
            if !log_a.is_nan() && least.is_none_or(|(before, _)| *log_a < before) {
                least = Some((*log_a, at));
            }
        }
        least.map(|(_, at)| (at, levels[at]))
    }
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
        let mut draws = Draws::default();
        (0..samples)
            .map(|at| {
                let row = at * width..(at + 1) * width;
                draws.take(&dimensions, &rs[row.clone()], &log_cs[row.clone()], &betas[row]);
                draws.sample(logs, formula).map(|(at, level)| (dimensions[at], level))
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
