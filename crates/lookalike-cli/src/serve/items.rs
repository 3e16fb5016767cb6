//! `/v1/items/{id}`: one item. `POST /v1/items`: many.

use std::sync::Arc;

use axum::Json;
use axum::extract::rejection::PathRejection;
use axum::extract::{Path, State};
use serde::{Deserialize, Serialize};
use utoipa::ToSchema;

use super::body::{JsonBody, LineBody};
use super::content::{Given, GivenId};
use super::problem::Problem;
use super::state::Service;
use super::writer::Operation;

/// An item of the index.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct ItemAnswer {
    id: String,
    /// The number of the write that brought it.
    sequence: u64,
    /// Milliseconds since 1970.
    time: u64,
    /// How many different shingles it has.
    shingles: u64,
    /// Its text, if the index stores texts.
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
}

/// An item to be added, or to take the place of the one with its id.
#[derive(Debug, Deserialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(super) struct NewItem {
    /// A text, or the members of a set.
    text: Given,
    /// Milliseconds since 1970; now by default.
    time: Option<u64>,
}

/// A line of a bulk body. Other fields than these are of no interest.
#[derive(Debug, Deserialize, ToSchema)]
pub(super) struct NewLine {
    id: GivenId,
    /// A text, or the members of a set.
    text: Given,
    /// Milliseconds since 1970; now by default.
    time: Option<u64>,
}

/// A write that is on disk.
#[derive(Debug, Serialize, ToSchema)]
pub(super) struct WriteAnswer {
    /// How many items were written or removed.
    items: u64,
    /// The number of the last write in the index.
    sequence: u64,
}

type Id = Result<Path<String>, PathRejection>;

fn decoded(id: Id) -> Result<String, Problem> {
    let Path(id) =
        id.map_err(|_| Problem::bad_request("the id in the address is not UTF-8; percent-encode it as such"))?;
    if id.is_empty() { Err(Problem::bad_request("the address has no id; write /v1/items/ID")) } else { Ok(id) }
}

/// An item of the index.
#[utoipa::path(get, path = "/v1/items/{id}", tag = "items", params(("id" = String, Path, description = "Its id")), responses(
    (status = 200, description = "The item", body = ItemAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn get_item(State(service): State<Arc<Service>>, id: Id) -> Result<Json<ItemAnswer>, Problem> {
    let id = decoded(id)?;
    let snapshot = service.snapshot()?;
    let work = move || {
        let item = snapshot.get(&id)?.ok_or_else(|| unknown(&id))?;
        let lookalike::Item { id, sequence, time, shingles, text, .. } = item;
        Ok(ItemAnswer { id, sequence, time, shingles, text })
    };
    service.work(work).await.map(Json)
}

/// Adds an item, or puts it in the place of the one with this id. It is on disk when the answer comes.
#[utoipa::path(put, path = "/v1/items/{id}", tag = "items", params(("id" = String, Path, description = "Its id")),
    request_body = NewItem, responses(
    (status = 200, description = "It is stored", body = WriteAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn put_item(
    State(service): State<Arc<Service>>,
    id: Id,
    JsonBody(item): JsonBody<NewItem>,
) -> Result<Json<WriteAnswer>, Problem> {
    let id = decoded(id)?;
    let writer = service.served()?.writer()?;
    let insert = Operation::Insert { id, content: item.text.into(), time: item.time };
    let written = writer.write(vec![insert]).await?;
    Ok(Json(WriteAnswer { items: 1, sequence: written.sequence }))
}

/// Removes an item. It is gone for good when the answer comes.
#[utoipa::path(delete, path = "/v1/items/{id}", tag = "items", params(("id" = String, Path, description = "Its id")), responses(
    (status = 200, description = "It is removed", body = WriteAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn delete_item(State(service): State<Arc<Service>>, id: Id) -> Result<Json<WriteAnswer>, Problem> {
    let id = decoded(id)?;
    let writer = service.served()?.writer()?;
    let written = writer.write(vec![Operation::Remove { id: id.clone() }]).await?;
    if written.removed == 0 {
        return Err(unknown(&id));
    }
    Ok(Json(WriteAnswer { items: written.removed, sequence: written.sequence }))
}

/// Adds many items: one JSON object a line, with id and text. All are on disk when the answer comes, or none: a bad line is
/// named, and nothing of the body is kept.
#[utoipa::path(post, path = "/v1/items", tag = "items",
    request_body(content = NewLine, content_type = "application/x-ndjson", description = "One such object a line"), responses(
    (status = 200, description = "They are stored", body = WriteAnswer),
    (status = "default", description = "Why not", body = Problem, content_type = "application/problem+json"),
))]
pub(super) async fn post_items(
    State(service): State<Arc<Service>>,
    lines: LineBody,
) -> Result<Json<WriteAnswer>, Problem> {
    let writer = service.served()?.writer()?;
    let mut operations = Vec::new();
    let take = |line: NewLine| {
        operations.push(Operation::Insert { id: line.id.into_id()?, content: line.text.into(), time: line.time });
        Ok(())
    };
    lines.for_each(service.limits.body, take).await?;
    let items = operations.len() as u64;
    if items == 0 {
        return Err(Problem::bad_request("the body has no item; send one JSON object a line, with id and text"));
    }
    let written = writer.write(operations).await?;
    Ok(Json(WriteAnswer { items, sequence: written.sequence }))
}

fn unknown(id: &str) -> Problem {
    Problem::not_found(format!("no item has the id {id:?}"))
}
