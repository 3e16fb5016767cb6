//! Where a field path leads in a Parquet schema.

use std::ops::Range;

use arrow_schema::{DataType, Fields};
use parquet::schema::types::TypePtr;

use crate::options::FieldPath;

/// A column, maybe inside structs.
#[derive(Debug, PartialEq)]
pub(super) struct Column {
    /// The names from the outside in.
    pub(super) names: Vec<String>,
    /// The leaves of the Parquet schema that it is made of.
    pub(super) leaves: Range<usize>,
}

/// Finds a column. A name that contains the dots itself goes before one that the dots reach into.
pub(super) fn find(fields: &Fields, types: &[TypePtr], path: &FieldPath) -> Option<Column> {
    find_inside(fields, types, 0, path.as_str())
}

fn find_inside(fields: &Fields, types: &[TypePtr], first_leaf: usize, path: &str) -> Option<Column> {
    let with_leaves = || {
        fields.iter().zip(types).scan(first_leaf, |next_leaf, (field, kind)| {
            let start = *next_leaf;
            *next_leaf += leaf_count(kind);
            Some((field, kind, start..*next_leaf))
        })
    };
    if let Some((field, _, leaves)) = with_leaves().find(|(field, _, _)| field.name() == path) {
        return Some(Column { names: vec![field.name().clone()], leaves });
    }
    with_leaves().find_map(|(field, kind, leaves)| {
        let rest = path.strip_prefix(field.name().as_str())?.strip_prefix('.')?;
        let DataType::Struct(inner) = field.data_type() else { return None };
        let mut column = find_inside(inner, kind.get_fields(), leaves.start, rest)?;
        column.names.insert(0, field.name().clone());
        Some(column)
    })
}

/// Whether another column has the same name in the same place.
pub(super) fn has_namesake(fields: &Fields, column: &Column) -> bool {
    let mut fields = fields;
    column.names.iter().any(|name| {
        let mut called_so = fields.iter().filter(|field| field.name() == name);
        if let Some(DataType::Struct(inner)) = called_so.next().map(|field| field.data_type()) {
            fields = inner;
        }
        called_so.next().is_some()
    })
}

fn leaf_count(kind: &TypePtr) -> usize {
    if kind.is_primitive() { 1 } else { kind.get_fields().iter().map(leaf_count).sum() }
}

/// The columns as a user would name them, for an error message.
pub(super) fn names(fields: &Fields) -> Vec<String> {
    let mut names = Vec::new();
    for field in fields {
        match field.data_type() {
            DataType::Struct(inner) => {
                names.extend(self::names(inner).into_iter().map(|name| format!("{}.{name}", field.name())));
            }
            _ => names.push(field.name().clone()),
        }
    }
    names
}
