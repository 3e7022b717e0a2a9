//! The binding with which Python measures reuse distances.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;

use crate::reuse::{Access, measure};

/// Numbers of the sample: its shift, accesses by group and class, first accesses by group, distinct pages by group and stretch.
type Numbers = (u32, Vec<Vec<u64>>, Vec<u64>, Vec<Vec<u64>>);

/// Measures the reuse distances of accesses to pages. `first`, `pages` and `stretch` are the bytes of arrays of int64 of the same
/// length: the first page of each access, the number of its pages, and its stretch of time below `stretches`. The sample has about
/// `most` accesses to single pages at most. Raises `ValueError` if a value is negative or an array has another length.
#[pyfunction]
pub fn reuse_distances(
    py: Python<'_>,
    first: &[u8],
    pages: &[u8],
    stretch: &[u8],
    stretches: usize,
    most: u64,
) -> PyResult<Numbers> {
    if first.len() != pages.len() || first.len() != stretch.len() {
        return Err(PyValueError::new_err("the arrays have different lengths"));
    }
    if numbers(first).chain(numbers(pages)).chain(numbers(stretch)).any(|number| number > i64::MAX as u64)
        || numbers(stretch).any(|number| number >= stretches as u64)
    {
        return Err(PyValueError::new_err("a number is negative, or a stretch is not below their number"));
    }
    let accesses = numbers(first).zip(numbers(pages)).zip(numbers(stretch)).map(|((first, pages), stretch)| Access {
        first,
        pages,
        stretch: usize::try_from(stretch).unwrap_or(usize::MAX),
    });
    let found = py.detach(|| measure(accesses, stretches, most));
    Ok((found.shift, found.again.iter().map(|group| group.to_vec()).collect(), found.first, found.distinct))
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> + Clone {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes")))
}
