//! The binding with which Python runs storage pools in simulated time.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::model::Parameters;
use crate::pools::{Array, Counts, Group, Layout, Metadata, Outcome, Pool, Record, Settings, complete, depend, run};

/// Begins, ends, whether it is a write, first page and number of pages of each request, as the bytes of arrays of int64.
type Columns<'py> = [Bound<'py, PyBytes>; 5];
/// Times at which each request was ready, started and done, as the bytes of arrays of int64.
type Times<'py> = [Bound<'py, PyBytes>; 3];
/// Reads, read bytes, writes and written bytes of each device of the data, the metadata and the tier.
type Served = [Vec<[u64; 4]>; 3];

/// Equal devices with a layout. There are either copies or parities, and the other number is 0.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct GroupSpec {
    devices: u64,
    chunk_bytes: u64,
    copies: u64,
    parities: u64,
    parameters: Parameters,
}

impl GroupSpec {
    fn group(&self) -> PyResult<Group> {
        let layout = if self.copies > 0 { Layout::Copies(self.copies) } else { Layout::Parities(self.parities) };
        let fits = match layout {
            Layout::Copies(copies) => self.devices >= copies && self.devices.is_multiple_of(copies),
            Layout::Parities(parities) => parities > 0 && self.devices > parities,
        };
        if !fits || self.chunk_bytes == 0 {
            return Err(PyValueError::new_err("the devices do not fit their layout"));
        }
        Ok(Group::new(Array { devices: self.devices, chunk_bytes: self.chunk_bytes, layout }, &self.parameters))
    }
}

/// Puts before each read the writes that create the pages which no request has written. Returns the columns of all requests, and
/// whether each was inserted. Raises `ValueError` if the columns differ in length, requests are not in the order of their begins,
/// or one ends before it begins.
#[pyfunction]
pub fn complete_workload<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<[Bound<'py, PyBytes>; 6]> {
    let records = records(&columns)?;
    let found = py.detach(|| complete(records.into_iter()));
    let column = |value: fn(&Record) -> u64| bytes(py, found.iter().map(value));
    Ok([
        column(|record| record.begin_ns),
        column(|record| record.end_ns),
        column(|record| u64::from(record.is_write)),
        column(|record| record.page),
        column(|record| record.pages),
        column(|record| u64::from(record.is_inserted)),
    ])
}

/// Finds which request each request waited for. Returns two columns of numbers from 1 on, in which 0 stands for none: the request
/// that ended last before, and the one with the highest number that had ended. Raises `ValueError` as `complete_workload` does.
#[pyfunction]
pub fn find_dependencies<'py>(py: Python<'py>, columns: Columns<'py>) -> PyResult<[Bound<'py, PyBytes>; 2]> {
    let records = records(&columns)?;
    let found = py.detach(|| depend(&records));
    Ok([found.last_ended, found.highest].map(|numbers| bytes(py, numbers.into_iter().map(u64::from))))
}

/// The devices of a pool, and the number of segments that its tier holds.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
pub struct PoolSpec {
    data: GroupSpec,
    metadata: Option<GroupSpec>,
    is_metadata_on_tier: bool,
    tier: Option<GroupSpec>,
    tier_segments: u64,
}

impl PoolSpec {
    fn pool(&self) -> PyResult<Pool> {
        let metadata = match &self.metadata {
            Some(spec) => Metadata::Own(spec.group()?),
            None if self.is_metadata_on_tier => Metadata::OnTier,
            None => Metadata::None,
        };
        let tier = self.tier.as_ref().map(GroupSpec::group).transpose()?;
        Ok(Pool::new(self.data.group()?, metadata, tier.map(|group| (group, self.tier_segments))))
    }
}

/// Runs requests on a pool. Returns the times of each request, the numbers of reads, first writes and later writes of segments and
/// of splits, what each device served, and how many segments left the tier. Raises `ValueError` if columns do not fit each other,
/// a dependency is not an earlier request, the queue has no room, or devices do not fit their layout.
#[pyfunction]
pub fn run_pool<'py>(
    py: Python<'py>,
    columns: Columns<'py>,
    dependencies: &[u8],
    pool: PoolSpec,
    settings: Settings,
) -> PyResult<(Times<'py>, [u64; 4], Served, u64)> {
    let records = records(&columns)?;
    let known: Option<Vec<u32>> = numbers(dependencies)
        .enumerate()
        .map(|(number, dependency)| u32::try_from(dependency).ok().filter(|&one| one as usize <= number))
        .collect();
    let known = known.filter(|known| known.len() == records.len() && settings.queue_depth > 0);
    let known = known.ok_or_else(|| PyValueError::new_err("every request needs a dependency that comes before it, or 0"))?;
    let pool = pool.pool()?;
    let (outcomes, counts, pool) = py.detach(|| run(&records, &known, pool, settings));
    let column = |value: fn(&Outcome) -> u64| bytes(py, outcomes.iter().map(value));
    let times = [column(|one| one.ready_ns), column(|one| one.started_ns), column(|one| one.done_ns)];
    let Counts { reads, prewrites, postwrites, splits } = counts;
    Ok((times, [reads, prewrites, postwrites, splits], pool.served(), pool.moved()))
}

fn records(columns: &Columns<'_>) -> PyResult<Vec<Record>> {
    let wrong = || PyValueError::new_err("requests must be in the order of their begins, and have columns that fit each other");
    let columns = columns.each_ref().map(PyBytesMethods::as_bytes);
    if columns.iter().any(|column| column.len() != columns[0].len()) {
        return Err(wrong());
    }
    let [begins, ends, writes, pages, counts] = columns.map(numbers);
    let records: Vec<_> = begins
        .zip(ends)
        .zip(writes)
        .zip(pages)
        .zip(counts)
        .map(|((((begin_ns, end_ns), is_write), page), pages)| Record {
            begin_ns,
            end_ns,
            is_write: is_write != 0,
            page,
            pages,
            is_inserted: false,
        })
        .collect();
    let is_fine = |record: &Record| {
        record.begin_ns <= record.end_ns
            && i64::try_from(record.end_ns).is_ok()
            && record.page <= 1 << 50
            && record.pages <= 1 << 20
    };
    if records.iter().all(is_fine) && records.is_sorted_by_key(|record| record.begin_ns) && records.len() < u32::MAX as usize {
        Ok(records)
    } else {
        Err(wrong())
    }
}

fn numbers(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|chunk| u64::from_le_bytes(chunk.try_into().expect("a chunk has eight bytes")))
}

fn bytes(py: Python<'_>, numbers: impl Iterator<Item = u64>) -> Bound<'_, PyBytes> {
    let mut found = Vec::with_capacity(8 * numbers.size_hint().0);
    numbers.for_each(|number| found.extend_from_slice(&number.to_le_bytes()));
    PyBytes::new(py, &found)
}
