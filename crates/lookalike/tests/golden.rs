//! docs/sketch.md is what stored sketches depend on: its golden vectors are held against the engine, and against the
//! reference in Python beside it.

use std::path::Path;
use std::process::Command;

use lookalike::{Settings, Shingler, Sketch, hash_item};
use serde::{Deserialize, Serialize};

/// One line of the specification's vectors.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Vector {
    shingles: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    normalize: Option<String>,
    bag: bool,
    seed: u64,
    bands: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    text: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    set: Option<Vec<String>>,
    elements: Vec<String>,
    slots: Vec<u32>,
    keys: Vec<String>,
    bytes: String,
}

impl Vector {
    /// The same question with the engine's answer.
    fn answered(&self) -> (Self, Sketch) {
        let mut settings = Settings::new(0.8)
            .shingles(self.shingles.parse().unwrap())
            .bag(self.bag)
            .seed(self.seed)
            .hashes(self.slots.len() as u32)
            .bands(self.bands.parse().unwrap());
        settings.normalize = self.normalize.as_ref().map(|steps| steps.parse().unwrap());
        let plan = settings.clone().plan().unwrap();
        let mut elements = Vec::new();
        let sketch = match (&self.text, &self.set) {
            (Some(text), None) => {
                Shingler::new(settings.shingles, plan.normalize(), self.bag).append_text(text, &mut elements);
                plan.sketch_text(text).unwrap()
            }
            (None, Some(items)) => {
                elements.extend(items.iter().map(|item| hash_item(item.as_bytes())));
                plan.sketch_set(&elements).unwrap()
            }
            _ => panic!("a vector is a text or a set: {self:?}"),
        };
        elements.sort_unstable();
        elements.dedup();
        let hexadecimal = |words: Vec<u64>| words.iter().map(|word| format!("{word:016x}")).collect();
        let answered = Self {
            elements: hexadecimal(elements),
            slots: sketch.slots().to_vec(),
            keys: hexadecimal(plan.band_keys(&sketch).unwrap()),
            bytes: sketch.to_bytes().iter().map(|byte| format!("{byte:02x}")).collect(),
            ..self.clone()
        };
        (answered, sketch)
    }
}

fn documents() -> std::path::PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs")
}

/// The vectors of the specification.
fn vectors() -> Vec<Vector> {
    let page = std::fs::read_to_string(documents().join("sketch.md")).unwrap();
    let (_, block) = page.split_once("```json\n").expect("a block of vectors");
    let (block, _) = block.split_once("```").expect("the end of the block");
    block.lines().map(|line| serde_json::from_str(line).unwrap_or_else(|error| panic!("{error}: {line}"))).collect()
}

#[test]
fn the_engine_makes_the_golden_vectors() {
    let vectors = vectors();
    let answered: Vec<(Vector, Sketch)> = vectors.iter().map(Vector::answered).collect();
    let differing: Vec<String> = vectors
        .iter()
        .zip(&answered)
        .filter(|(vector, (answer, _))| *vector != answer)
        .map(|(_, (answer, _))| serde_json::to_string(answer).unwrap())
        .collect();
    assert!(differing.is_empty(), "the engine says otherwise:\n{}", differing.join("\n"));
    for (vector, (_, sketch)) in vectors.iter().zip(answered) {
        let bytes: Vec<u8> = (0..vector.bytes.len())
            .step_by(2)
            .map(|at| u8::from_str_radix(&vector.bytes[at..at + 2], 16).unwrap())
            .collect();
        assert_eq!(Sketch::from_bytes(&bytes), Ok(sketch));
    }
}

/// Every part of the specification has a vector.
#[test]
fn the_golden_vectors_cover_the_specification() {
    let vectors = vectors();
    type Question = (&'static str, fn(&Vector) -> bool);
    let covered: [Question; 11] = [
        ("words", |vector| vector.shingles == "words:5"),
        ("characters", |vector| vector.shingles.starts_with("chars")),
        ("lines", |vector| vector.shingles == "lines"),
        ("a step", |vector| vector.shingles.contains('/')),
        ("a bag", |vector| vector.bag),
        ("a set", |vector| vector.set.is_some()),
        ("other steps of normalisation", |vector| vector.normalize.is_some()),
        ("random keys", |vector| vector.bands.starts_with("random")),
        ("another seed", |vector| vector.seed != 1),
        ("an empty record", |vector| vector.elements.is_empty()),
        ("slots that elements fell into beside others", |vector| {
            let [some, others] = [true, false].map(|fell| vector.slots.iter().any(|slot| (slot >> 31 == 0) == fell));
            some && others
        }),
    ];
    for (what, covers) in covered {
        assert!(vectors.iter().any(covers), "no vector with {what}");
    }
}

/// The reference in Python agrees, where there is a Python to run it.
#[test]
fn the_python_reference_makes_the_golden_vectors() {
    let mut python = Command::new("python3");
    python.arg(documents().join("sketch_reference.py")).arg(documents().join("sketch.md"));
    let Ok(output) = python.output() else { return };
    let (said, complaint) = (String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr));
    assert!(output.status.success(), "{complaint}");
    assert!(said.starts_with(&format!("{} sketches agree", vectors().len())), "{said}");
}
