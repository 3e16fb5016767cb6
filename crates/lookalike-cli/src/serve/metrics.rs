//! What is counted, for Prometheus.

use std::time::Duration;

use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::{Histogram, exponential_buckets};
use prometheus_client::registry::{Registry, Unit};

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    method: String,
    route: String,
    status: u16,
}

#[derive(Clone, Debug, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Route {
    route: String,
}

/// The counters, and where they are listed.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    seconds: Family<Route, Histogram>,
    under_way: Gauge,
    items: Gauge,
    commits: Counter,
    writes: Counter,
    failed_merges: Counter,
}

impl Metrics {
    pub(super) fn new() -> Self {
        let mut registry = Registry::with_prefix("lookalike");
        let requests = Family::default();
        registry.register("http_requests", "Requests that were answered", requests.clone());
        // From half a millisecond to half a minute.
        let seconds: Family<Route, Histogram> =
            Family::new_with_constructor(|| Histogram::new(exponential_buckets(0.0005, 2.0, 17)));
        registry.register_with_unit("http_request_duration", "Time to answer", Unit::Seconds, seconds.clone());
        let under_way = Gauge::default();
        registry.register("http_requests_under_way", "Requests that are being answered", under_way.clone());
        let items = Gauge::default();
        registry.register("index_items", "Items in the index", items.clone());
        let commits = Counter::default();
        registry.register("index_commits", "Commits to the index since the start", commits.clone());
        let writes = Counter::default();
        registry.register("index_writes", "Items written or removed since the start", writes.clone());
        let failed_merges = Counter::default();
        registry.register("index_failed_merges", "Merges that failed since the start", failed_merges.clone());
        Self { registry, requests, seconds, under_way, items, commits, writes, failed_merges }
    }

    /// A request has come; it counts as under way for as long as the answer is held.
    pub(super) fn began(&self) -> UnderWay {
        self.under_way.inc();
        UnderWay(self.under_way.clone())
    }

    /// A request was answered.
    pub(super) fn answered(&self, method: &str, route: &str, status: u16, time: Duration) {
        let answered = Answered { method: method.into(), route: route.into(), status };
        self.requests.get_or_create(&answered).inc();
        self.seconds.get_or_create(&Route { route: route.into() }).observe(time.as_secs_f64());
    }

    pub(super) fn has_items(&self, items: u64) {
        self.items.set(i64::try_from(items).unwrap_or(i64::MAX));
    }

    pub(super) fn committed(&self, writes: u64) {
        self.commits.inc();
        self.writes.inc_by(writes);
    }

    pub(super) fn merge_failed(&self) {
        self.failed_merges.inc();
    }

    /// All of it, as Prometheus reads it.
    pub(super) fn text(&self) -> Result<String, std::fmt::Error> {
        let mut text = String::new();
        prometheus_client::encoding::text::encode(&mut text, &self.registry)?;
        Ok(text)
    }
}

/// A request that is under way.
pub(super) struct UnderWay(Gauge);

impl Drop for UnderWay {
    fn drop(&mut self) {
        self.0.dec();
    }
}
