//! The description of the service is kept in docs/openapi.json, for those who make clients from it.

use std::path::Path;

use serde_json::Value;

use crate::server::Folder;

/// Writes the file anew instead of comparing it.
const UPDATE: &str = "LOOKALIKE_UPDATE";

#[test]
fn the_description_is_the_one_that_is_kept() {
    let server = Folder::new().serve("");
    let given = format!("{:#}\n", server.get("/openapi.json").done());
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/openapi.json");
    if std::env::var_os(UPDATE).is_some() {
        std::fs::write(&path, &given).unwrap();
    }
    let kept = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        given == kept,
        "docs/openapi.json is not what the service gives; if that is right, run this test with {UPDATE}=1"
    );
}

#[test]
fn every_address_of_the_interface_is_described() {
    let server = Folder::new().serve("");
    let description = server.get("/openapi.json").done();
    for (path, methods) in [
        ("/v1/query", &["post"][..]),
        ("/v1/compare", &["post"]),
        ("/v1/items", &["post"]),
        ("/v1/items/{id}", &["get", "put", "delete"]),
        ("/v1/index", &["get"]),
        ("/v1/plan", &["get"]),
        ("/", &["get"]),
        ("/healthz", &["get"]),
        ("/readyz", &["get"]),
        ("/metrics", &["get"]),
    ] {
        for method in methods {
            assert!(description["paths"][path][method].is_object(), "{method} {path} is not described");
        }
    }
    // Every type that is referred to is there.
    let mut references = Vec::new();
    collect(&description, &mut references);
    assert!(!references.is_empty());
    for reference in references {
        let pointer = reference.trim_start_matches('#');
        assert!(description.pointer(pointer).is_some(), "{reference} leads nowhere");
    }
}

fn collect(value: &Value, references: &mut Vec<String>) {
    match value {
        Value::Object(members) => {
            references.extend(members.get("$ref").and_then(Value::as_str).map(str::to_owned));
            members.values().for_each(|member| collect(member, references));
        }
        Value::Array(elements) => elements.iter().for_each(|element| collect(element, references)),
        _ => {}
    }
}
