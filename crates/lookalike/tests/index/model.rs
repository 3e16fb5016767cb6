//! An index as a map in memory, with nothing clever: what the real one must equal.

use std::collections::BTreeMap;

use lookalike::verify::{containment, jaccard};
use lookalike::{Content, Measure, Method, Plan};

/// An item of the model.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    set: Vec<u64>,
    /// The lower halves of the MinHash values, and the upper halves of the keys.
    slots: Vec<u16>,
    keys: Vec<u32>,
    /// Which write it was, to tell the older of two.
    write: u64,
}

/// An index as a map.
#[derive(Clone, Debug)]
pub(crate) struct Model {
    plan: Plan,
    pub(crate) items: BTreeMap<String, Item>,
    writes: u64,
}

impl Model {
    pub(crate) fn new(plan: &Plan) -> Self {
        Self { plan: plan.clone(), items: BTreeMap::new(), writes: 0 }
    }

    fn item(&self, text: &str) -> Item {
        let mut set = Vec::new();
        self.plan.shingler().append_text(text, &mut set);
        set.sort_unstable();
        set.dedup();
        let (mut slots, mut keys) = (Vec::new(), Vec::new());
        if let (Method::Sketches(_), false) = (self.plan.method(), set.is_empty()) {
            let sketch = self.plan.sketch_text(text).unwrap();
            slots = sketch.slots().iter().map(|slot| *slot as u16).collect();
            keys = self.plan.band_keys(&sketch).unwrap().iter().map(|key| (key >> 32) as u32).collect();
        }
        Item { set, slots, keys, write: self.writes }
    }

    pub(crate) fn insert(&mut self, id: &str, text: &str) {
        self.writes += 1;
        let item = self.item(text);
        self.items.insert(id.into(), item);
    }

    pub(crate) fn remove(&mut self, id: &str) -> bool {
        self.items.remove(id).is_some()
    }

    /// The items that are alike, best first, among equals the oldest first.
    pub(crate) fn query(&self, content: Content<'_>, threshold: f64) -> Vec<(String, f64)> {
        let Content::Text(text) = content else { panic!("the model asks about texts") };
        let asked = self.item(text);
        let mut found: Vec<(&String, f64, u64)> = Vec::new();
        for (id, item) in &self.items {
            if let Method::Sketches(scheme) = self.plan.method() {
                let agreeing = item.slots.iter().zip(&asked.slots).filter(|(left, right)| left == right).count();
                let shares = item.keys.iter().any(|key| asked.keys.contains(key));
                let least = if threshold >= self.plan.settings().threshold { scheme.least_agreement } else { 0 };
                if !shares || agreeing < least as usize {
                    continue;
                }
            }
            let similarity = match self.plan.settings().measure {
                Measure::Jaccard => jaccard(&asked.set, &item.set),
                Measure::Containment => containment(&asked.set, &item.set),
            };
            if similarity > 0.0 && similarity >= threshold {
                found.push((id, similarity, item.write));
            }
        }
        found.sort_by(|left, right| right.1.total_cmp(&left.1).then(left.2.cmp(&right.2)));
        found.into_iter().map(|(id, similarity, _)| (id.clone(), similarity)).collect()
    }
}
