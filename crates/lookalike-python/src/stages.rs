//! The stages one at a time, on Arrow columns. Spark's numbers have a sign: keys and identities are carried bit by bit in
//! signed columns, where only equality matters; ranks are never negative.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, Int64Builder, ListBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{Float64Type, Int32Type, Int64Type};
use arrow_array::{Array, ArrayRef, BooleanArray, Float64Array, Int64Array, ListArray};
use arrow_schema::DataType;
use lookalike::stages::{self, BucketMember, RankedEdge, SketchedRows, least_of_components};
use lookalike::{Shape, hash_item};
use pyo3::exceptions::PyTypeError;
use pyo3::prelude::*;
use pyo3_arrow::PyArray;

use crate::contents::Column;
use crate::decides::NO_VALUE;
use crate::errors::OrRaise;
use crate::plan::Plan;
use crate::table::Table;

/// A column of whole numbers.
struct Longs(ArrayRef);

impl Longs {
    fn of(column: PyArray) -> PyResult<Self> {
        let (array, field) = column.into_inner();
        match field.data_type() {
            DataType::Int64 => Ok(Self(array)),
            other => Err(PyTypeError::new_err(format!("a column of {other} holds no 64-bit integers"))),
        }
    }

    fn get(&self, row: usize) -> u64 {
        self.0.as_primitive::<Int64Type>().value(row) as u64
    }

    fn get_if_any(&self, row: usize) -> Option<u64> {
        (!self.0.is_null(row)).then(|| self.get(row))
    }

    fn len(&self) -> usize {
        self.0.len()
    }
}

/// A column of lists of whole numbers.
struct LongLists(ListArray);

impl LongLists {
    fn of(column: PyArray) -> PyResult<Self> {
        let (array, field) = column.into_inner();
        let lists = array.as_list_opt::<i32>().filter(|lists| *lists.values().data_type() == DataType::Int64);
        let wrong = || PyTypeError::new_err(format!("a column of {} holds no lists of integers", field.data_type()));
        lists.cloned().map(Self).ok_or_else(wrong)
    }

    fn fill(&self, row: usize, list: &mut Vec<u64>) {
        list.clear();
        let offsets = self.0.value_offsets();
        let values = self.0.values().as_primitive::<Int64Type>().values();
        list.extend(values[offsets[row] as usize..offsets[row + 1] as usize].iter().map(|value| *value as u64));
    }
}

/// A column of whole numbers out of ranks, or of what only has its bits in common with them.
fn longs(values: impl Iterator<Item = u64>) -> ArrayRef {
    Arc::new(Int64Array::from_iter_values(values.map(|value| value as i64)))
}

/// The upper and the lower half of an identity.
fn halves(identity: u128) -> (u64, u64) {
    ((identity >> 64) as u64, identity as u64)
}

/// Texts or sets → what stands for them.
#[pyclass(module = "lookalike._native", name = "RowSketcher")]
struct RowSketcher {
    sketcher: stages::RowSketcher,
    rows: SketchedRows,
}

#[pymethods]
impl RowSketcher {
    #[new]
    fn new(py: Python<'_>, plan: &Plan) -> PyResult<Self> {
        Ok(Self { sketcher: plan.0.row_sketcher().or_raise(py)?, rows: SketchedRows::default() })
    }

    /// A row for each record: is_empty, length, high, low, slots, keys.
    #[pyo3(signature = (records, within=None))]
    fn sketch(
        &mut self,
        py: Python<'_>,
        records: &Bound<'_, PyAny>,
        within: Option<&Bound<'_, PyAny>>,
    ) -> PyResult<Table> {
        let (records, within) = (Column::of(records)?, within.map(hash_within).transpose()?);
        let contents = records.contents()?;
        py.detach(|| {
            self.rows = SketchedRows::default();
            for (row, content) in contents.iter().enumerate() {
                let within = within.as_ref().map_or(0, |within| within[row]);
                self.sketcher.append(*content, within, &mut self.rows);
            }
        });
        table_of(&self.rows)
    }
}

/// The hashes of the values that records must share; nothing is a value of its own.
fn hash_within(column: &Bound<'_, PyAny>) -> PyResult<Vec<u64>> {
    let (array, field) = column.extract::<PyArray>()?.into_inner();
    let hash = |value: Option<&str>| value.map_or(NO_VALUE, |value| hash_item(value.as_bytes()));
    match field.data_type() {
        DataType::Utf8 => Ok(array.as_string::<i32>().iter().map(hash).collect()),
        DataType::LargeUtf8 => Ok(array.as_string::<i64>().iter().map(hash).collect()),
        other => Err(PyTypeError::new_err(format!("a column of {other} holds no texts"))),
    }
}

fn table_of(rows: &SketchedRows) -> PyResult<Table> {
    let records = rows.shapes.len();
    let (mut slots, mut keys) = (BinaryBuilder::new(), ListBuilder::new(Int64Builder::new()));
    let width = |all: usize| all.checked_div(records).unwrap_or(0);
    let (slots_each, keys_each) = (width(rows.slots.len()), width(rows.keys.len()));
    for record in 0..records {
        slots.append_value(&rows.slots[record * slots_each..(record + 1) * slots_each]);
        for key in &rows.keys[record * keys_each..(record + 1) * keys_each] {
            keys.values().append_value(*key as i64);
        }
        keys.append(true);
    }
    let is_empty = rows.shapes.iter().map(|shape| Some(*shape == Shape::Empty));
    Table::new(
        ["is_empty", "length", "high", "low", "slots", "keys"],
        [
            Arc::new(is_empty.collect::<BooleanArray>()),
            longs(rows.lengths.iter().copied()),
            longs(rows.identities.iter().map(|identity| halves(*identity).0)),
            longs(rows.identities.iter().map(|identity| halves(*identity).1)),
            Arc::new(slots.finish()),
            Arc::new(keys.finish()),
        ],
    )
}

/// Members of buckets, by key, then rank → pairs that pass the filter.
#[pyclass(module = "lookalike._native", name = "BucketComparer")]
struct BucketComparer(stages::BucketComparer);

#[pymethods]
impl BucketComparer {
    #[new]
    fn new(py: Python<'_>, plan: &Plan) -> PyResult<Self> {
        plan.0.bucket_comparer().or_raise(py).map(Self)
    }

    /// Takes the next members, and gives the pairs among them and those before that pass: left, right.
    fn push(
        &mut self,
        py: Python<'_>,
        bucket: PyArray,
        rank: PyArray,
        slots: PyArray,
        keys: PyArray,
        leads: PyArray,
    ) -> PyResult<Table> {
        let (bucket, rank, keys, leads) =
            (Longs::of(bucket)?, Longs::of(rank)?, LongLists::of(keys)?, LongLists::of(leads)?);
        let (slots, field) = slots.into_inner();
        if *field.data_type() != DataType::Binary {
            return Err(PyTypeError::new_err(format!("a column of {} holds no slots", field.data_type())));
        }
        let pairs = py.detach(|| {
            let mut pairs = Vec::new();
            let (mut its_keys, mut its_leads) = (Vec::new(), Vec::new());
            for row in 0..bucket.len() {
                keys.fill(row, &mut its_keys);
                leads.fill(row, &mut its_leads);
                let member = BucketMember {
                    key: bucket.get(row),
                    rank: rank.get(row),
                    slots: slots.as_binary::<i32>().value(row),
                    keys: &its_keys,
                    leads: &its_leads,
                };
                self.0.push(member, |left, right| pairs.push((left, right)));
            }
            pairs
        });
        table_of_pairs(&pairs)
    }
}

fn table_of_pairs(pairs: &[(u64, u64)]) -> PyResult<Table> {
    let (left, right) = (pairs.iter().map(|pair| pair.0), pairs.iter().map(|pair| pair.1));
    Table::new(["left", "right"], [longs(left), longs(right)])
}

/// Pairs and their records → the pairs that are alike.
#[pyclass(module = "lookalike._native", name = "PairVerifier")]
struct PairVerifier {
    verifier: stages::PairVerifier,
    least: f64,
    task: Option<i32>,
}

/// A record whose pairs have it on the left; all of a task come before the others.
const HELD: i32 = 0;

#[pymethods]
impl PairVerifier {
    #[new]
    fn new(plan: &Plan, least: f64) -> Self {
        Self { verifier: plan.0.pair_verifier(), least, task: None }
    }

    /// Takes the next rows and gives the pairs that are alike: left, right, similarity.
    ///
    /// Rows come by task, kind, rank and left. They are records to be held (kind 0), records to be compared with those (kind
    /// 1, without left), and after each of the latter the lefts of its pairs (kind 1).
    #[expect(clippy::too_many_arguments, reason = "they are columns")]
    fn push(
        &mut self,
        py: Python<'_>,
        task: PyArray,
        kind: PyArray,
        rank: PyArray,
        left: PyArray,
        high: PyArray,
        low: PyArray,
        within: &Bound<'_, PyAny>,
        records: PyArray,
    ) -> PyResult<Table> {
        let (task, kind) = (ints(task)?, ints(kind)?);
        let (rank, left, high, low) = (Longs::of(rank)?, Longs::of(left)?, Longs::of(high)?, Longs::of(low)?);
        let within = if within.is_none() { None } else { Some(hash_within(within)?) };
        let records = Column::of_nullable(records)?;
        let contents = records.contents()?;
        let verified = py.detach(|| {
            let mut verified = Vec::new();
            for (row, content) in contents.iter().enumerate() {
                if self.task != Some(task.value(row)) {
                    self.task = Some(task.value(row));
                    self.verifier.clear();
                }
                if let Some(left) = left.get_if_any(row) {
                    let similarity = self.verifier.similarity(left)?;
                    if similarity >= self.least {
                        verified.push((left, rank.get(row), similarity));
                    }
                    continue;
                }
                let identity = u128::from(high.get(row)) << 64 | u128::from(low.get(row));
                let within = within.as_ref().map_or(0, |within| within[row]);
                if kind.value(row) == HELD {
                    self.verifier.hold(rank.get(row), *content, within, identity)?;
                } else {
                    self.verifier.let_pass(*content, within, identity)?;
                }
            }
            Ok(verified)
        });
        table_of_triples(["left", "right", "similarity"], &verified.or_raise(py)?)
    }
}

fn ints(column: PyArray) -> PyResult<arrow_array::Int32Array> {
    let (array, field) = column.into_inner();
    let wrong = || PyTypeError::new_err(format!("a column of {} holds no 32-bit integers", field.data_type()));
    array.as_primitive_opt::<Int32Type>().cloned().ok_or_else(wrong)
}

fn table_of_triples(names: [&'static str; 3], rows: &[(u64, u64, f64)]) -> PyResult<Table> {
    let similarity = Float64Array::from_iter_values(rows.iter().map(|row| row.2));
    Table::new(names, [longs(rows.iter().map(|row| row.0)), longs(rows.iter().map(|row| row.1)), Arc::new(similarity)])
}

/// Verified pairs and the records of their classes → who is kept for whom.
#[pyclass(module = "lookalike._native", name = "Grouper")]
struct Grouper {
    plan: lookalike::Plan,
    members: Vec<(u64, u64)>,
    edges: Vec<RankedEdge>,
}

#[pymethods]
impl Grouper {
    #[new]
    fn new(plan: &Plan) -> Self {
        Self { plan: plan.0.clone(), members: Vec::new(), edges: Vec::new() }
    }

    /// Takes rows: pairs with their similarity, and, without one, records with those that stand for them.
    fn push(&mut self, left: PyArray, right: PyArray, similarity: PyArray) -> PyResult<()> {
        let (left, right) = (Longs::of(left)?, Longs::of(right)?);
        let (similarity, field) = similarity.into_inner();
        let Some(similarity) = similarity.as_primitive_opt::<Float64Type>() else {
            return Err(PyTypeError::new_err(format!("a column of {} holds no similarities", field.data_type())));
        };
        for (row, similarity) in similarity.iter().enumerate() {
            let (left, right) = (left.get(row), right.get(row));
            match similarity {
                Some(similarity) => self.edges.push(RankedEdge { left, right, similarity }),
                None => self.members.push((left, right)),
            }
        }
        Ok(())
    }

    /// Every record that is dropped: rank, keeper, similarity.
    fn dropped(&mut self, py: Python<'_>) -> PyResult<Table> {
        let dropped = py.detach(|| self.plan.group_ranked(&mut self.members, &self.edges)).or_raise(py)?;
        let rows: Vec<_> = dropped.iter().map(|dropped| (dropped.rank, dropped.keeper, dropped.similarity)).collect();
        table_of_triples(["rank", "keeper", "similarity"], &rows)
    }

    /// For every record of the pairs, the least one of its component: rank, component.
    fn components(&self) -> PyResult<Table> {
        let found = least_of_components(self.edges.iter().map(|edge| (edge.left, edge.right)));
        let (rank, least) = (found.iter().map(|row| row.0), found.iter().map(|row| row.1));
        Table::new(["rank", "component"], [longs(rank), longs(least)])
    }
}

pub(crate) fn register(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add_class::<RowSketcher>()?;
    module.add_class::<BucketComparer>()?;
    module.add_class::<PairVerifier>()?;
    module.add_class::<Grouper>()
}
