//! What `lookalike.datasketch` is made of: the sketches and indexes of datasketch 2, with the same numbers, computed here.

mod band_index;
mod bulk;
mod byte_elements;
mod compression;
mod elements;
mod forest;
mod hashing;
mod kernel;
mod learned;
mod minhash;
mod scheme;
mod signature;
mod tables;
mod tuning;
mod weighted;

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

/// The hash of bytes by a function that is known here by name.
#[pyfunction]
fn hash_known(name: &str, data: &Bound<'_, PyBytes>) -> PyResult<u64> {
    let known = hashing::Known::named(name)
        .ok_or_else(|| PyValueError::new_err(format!("\"{name}\" is no hash function that is known here")))?;
    Ok(known.hash(data.as_bytes()))
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<scheme::Permutations>()?;
    module.add_class::<minhash::MinHashState>()?;
    module.add_class::<band_index::BandIndex>()?;
    module.add_class::<forest::PrefixForest>()?;
    module.add_function(wrap_pyfunction!(bulk::minhash_bulk, module)?)?;
    module.add_function(wrap_pyfunction!(tuning::best_bands, module)?)?;
    module.add_function(wrap_pyfunction!(tuning::best_partitions, module)?)?;
    module.add_function(wrap_pyfunction!(weighted::weighted_samples, module)?)?;
    module.add_function(wrap_pyfunction!(hash_known, module)?)
}
