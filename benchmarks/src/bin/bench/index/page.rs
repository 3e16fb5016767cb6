//! The page that is kept of an index's measurement.

use std::fmt::Write;
use std::path::Path;
use std::time::Duration;

use anyhow::Result;
use benchmarks::definition::{Definition, IndexMeasures};

use super::Measured;
use super::asked::{FIRST_COPY, FIRST_UNSEEN};
use super::engines::EngineIndex;
use super::latency::Latencies;
use super::service::Served;
use crate::accuracy::Accuracy;
use crate::record::{columns, heading, megabytes_of};

/// What is aimed at.
const MOST_BUILD_OVER_PAIRS: f64 = 1.5;
const LONGEST_OPEN: Duration = Duration::from_secs(1);
const LONGEST_QUERY: Duration = Duration::from_millis(1);
const LEAST_TEXT_RATE_RATIO: f64 = 20.0;
const LEAST_SKETCH_RATE_RATIO: f64 = 1.0;

pub(super) fn write(
    definition: &Definition,
    measures: &IndexMeasures,
    corpus: &Path,
    measured: &Measured,
) -> Result<String> {
    let megabytes = megabytes_of(corpus)?;
    let mut page = heading(definition, megabytes)?;
    writeln!(
        page,
        "- asked about: {} texts, half of them new copies of records at a similarity of 0.7 to 1, half unseen; {} pairs of a text\n  \
         and a record are alike, says `pairs --exact`",
        measured.asked, measured.answers
    )?;
    add_targets(&mut page, measured)?;
    add_build(&mut page, definition, megabytes, measured)?;
    add_searches(&mut page, measured)?;
    add_commits(&mut page, measures, measured)?;
    add_services(&mut page, measures, measured)?;
    add_engines(&mut page, measured)?;
    Ok(page)
}

fn add_targets(page: &mut String, measured: &Measured) -> Result<()> {
    page.push_str("\n## Targets\n\n| | aimed at | measured | |\n|---|---:|---:|---|\n");
    let mut add = |what: &str, aim: String, told: String, is_met: bool| {
        writeln!(page, "| {what} | {aim} | {told} | {} |", if is_met { "met" } else { "missed" })
    };
    let built = &measured.built;
    let ratio = built.build.wall() / built.pairs.wall();
    let most = MOST_BUILD_OVER_PAIRS;
    add("wall of `index build` / `pairs -o`", format!("≤ {most}"), format!("{ratio:.2}"), ratio <= most)?;
    let open = built.open.longest();
    add(
        "open",
        format!("< {} ms", milliseconds(LONGEST_OPEN)),
        format!("{} ms", milliseconds(open)),
        open < LONGEST_OPEN,
    )?;
    let text = &measured.searches.text;
    let p99 = text.times.quantile(0.99);
    add(
        "query p99, text given",
        format!("< {} µs", microseconds(LONGEST_QUERY)),
        format!("{} µs", microseconds(p99)),
        p99 < LONGEST_QUERY,
    )?;
    for engine in &measured.engines.measured {
        let name = &engine.name;
        let (rate, least) = (text.times.rate() / engine.text.rate(), LEAST_TEXT_RATE_RATIO);
        add(&format!("queries/s, text given / {name}"), format!("≥ {least}"), format!("{rate:.1}"), rate >= least)?;
        let (rate, least) = (measured.searches.sketch.times.rate() / engine.sketch.rate(), LEAST_SKETCH_RATE_RATIO);
        add(&format!("queries/s, sketch given / {name}"), format!("≥ {least}"), format!("{rate:.1}"), rate >= least)?;
        let (own, other) = (text.accuracy.recall(), engine.accuracy.recall());
        add(&format!("recall, text given, above {name}"), format!("> {other:.4}"), format!("{own:.4}"), own > other)?;
    }
    Ok(())
}

fn add_build(page: &mut String, definition: &Definition, megabytes: f64, measured: &Measured) -> Result<()> {
    let built = &measured.built;
    writeln!(
        page,
        "\n## Building and opening\n\nThe programs take turns, {} runs each; the best counts, the spread is (worst − best) / best.\n",
        definition.runs
    )?;
    page.push_str(
        "| program | threads | wall s | spread | CPU s | MB/s | peak MB | wall / pairs | CPU / pairs |\n\
         |---|---:|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    for timing in [&built.pairs, &built.build] {
        writeln!(
            page,
            "| {} | {} | {} | {:.2} | {:.2} |",
            timing.name,
            timing.threads,
            columns(timing, megabytes),
            timing.wall() / built.pairs.wall(),
            timing.cpu() / built.pairs.cpu()
        )?;
    }
    let info = &built.info;
    writeln!(
        page,
        "\n- on disk: {:.1} MB in {} segments, {:.0} bytes an item\n- opens in {} ms (the longest of {}, files in memory)",
        info.bytes as f64 / 1e6,
        info.segments,
        info.bytes as f64 / info.items as f64,
        milliseconds(built.open.longest()),
        built.open.len()
    )?;
    Ok(())
}

fn add_searches(page: &mut String, measured: &Measured) -> Result<()> {
    page.push_str(
        "\n## Queries in the process\n\nOne thread, warm, the best of three passes. With the text given, it is cut, sketched and looked up, and every answer is\n\
         verified exactly. With the sketch given, similarities are estimates.\n\n\
         | given | asked about | p50 µs | p99 µs | max µs | queries/s | recall | precision |\n\
         |---|---|---:|---:|---:|---:|---:|---:|\n",
    );
    let searches = &measured.searches;
    for (given, searched) in [("text", &searches.text), ("sketch", &searches.sketch)] {
        let (times, told) = (&searched.times, shares(&searched.accuracy));
        writeln!(page, "| {given} | all | {} | {:.0} | {told} |", in_microseconds(times), times.rate())?;
        for (what, first) in [("copies", FIRST_COPY), ("unseen", FIRST_UNSEEN)] {
            let times = times.every_other(first);
            writeln!(page, "| {given} | {what} | {} | {:.0} | – | – |", in_microseconds(&times), times.rate())?;
        }
    }
    Ok(())
}

fn add_commits(page: &mut String, measures: &IndexMeasures, measured: &Measured) -> Result<()> {
    let commits = &measured.commits;
    writeln!(
        page,
        "\n## Writes\n\nNew items, in the process, into the index that was built. Every commit is on disk before the next insert.\n\n\
         | | times | p50 µs | p99 µs | max µs |\n|---|---:|---:|---:|---:|"
    )?;
    let rows = [
        ("insert and commit of one item".to_string(), &commits.single),
        ("4,096 bytes appended to a file and synced, by themselves".to_string(), &commits.disk),
        (format!("commit of {} items", measures.commit_every), &commits.batch_commits),
    ];
    for (what, times) in rows {
        writeln!(page, "| {what} | {} | {} |", times.len(), in_microseconds(times))?;
    }
    let (info, seconds) = (&commits.info, commits.batches_took.as_secs_f64());
    writeln!(
        page,
        "\n- {} items with a commit every {}: {:.0} items/s; the longest commit took {} ms, the longest insert {} ms\n\
         - afterwards {} items in {} segments, {:.1} MB with {:.1} MB of log; opens in {} ms",
        measures.inserts,
        measures.commit_every,
        measures.inserts as f64 / seconds,
        milliseconds(commits.batch_commits.longest()),
        milliseconds(commits.longest_insert),
        info.items,
        info.segments,
        info.bytes as f64 / 1e6,
        info.log_bytes as f64 / 1e6,
        milliseconds(commits.open.longest())
    )?;
    Ok(())
}

fn add_services(page: &mut String, measures: &IndexMeasures, measured: &Measured) -> Result<()> {
    let services = &measured.services;
    writeln!(
        page,
        "\n## Service\n\n`lookalike serve` on loopback, {} connections that each send one query after the other for {} s; they run on the same\n\
         machine. The writer puts one item after the other and waits until each is on disk.\n\n\
         | | requests/s | p50 ms | p99 ms | max ms | recall | precision |\n|---|---:|---:|---:|---:|---:|---:|",
        measures.connections, measures.service_seconds
    )?;
    let mut add = |what: &str, rate: f64, times: &Latencies, told: &str| {
        writeln!(
            page,
            "| {what} | {rate:.0} | {} | {} | {} | {told} |",
            milliseconds(times.quantile(0.5)),
            milliseconds(times.quantile(0.99)),
            milliseconds(times.longest())
        )
    };
    let rate = |served: &Served, times: &Latencies| times.len() as f64 / served.seconds;
    let (reading, beside) = (&services.reading, &services.beside_writer);
    add("queries", rate(reading, &reading.times), &reading.times, &shares(&reading.accuracy))?;
    add("queries beside a writer", rate(beside, &beside.times), &beside.times, &shares(&beside.accuracy))?;
    add("the writer", rate(beside, &services.writes), &services.writes, "– | –")?;
    Ok(())
}

fn add_engines(page: &mut String, measured: &Measured) -> Result<()> {
    page.push_str(
        "\n## Other libraries\n\nOne thread, warm, the same records and texts; the best of three passes over the texts, or one if it takes over ten\n\
         seconds. Recall and precision are of the records that were inserted, against `pairs --exact`.\n\n\
         | | items | items/s, text given | items/s, sketch given |\n|---|---:|---:|---:|\n",
    );
    let engines = &measured.engines;
    for engine in &engines.measured {
        let (items, inserting) = (engine.items as f64, engine.inserting_seconds);
        let text_rate = items / (engine.sketching_seconds + inserting);
        writeln!(page, "| {} | {} | {text_rate:.0} | {:.0} |", engine.name, engine.items, items / inserting)?;
    }
    page.push_str(
        "\n| | given | items | p50 µs | p99 µs | max µs | queries/s | recall | precision |\n\
         |---|---|---:|---:|---:|---:|---:|---:|---:|\n",
    );
    let mut add = |name: &str, given: &str, items: u64, times: &Latencies, accuracy: &Accuracy| {
        let told = shares(accuracy);
        writeln!(page, "| {name} | {given} | {items} | {} | {:.0} | {told} |", in_microseconds(times), times.rate())
    };
    let (items, searches) = (measured.built.info.items, &measured.searches);
    add("lookalike", "text", items, &searches.text.times, &searches.text.accuracy)?;
    add("lookalike", "sketch", items, &searches.sketch.times, &searches.sketch.accuracy)?;
    for EngineIndex { name, items, text, sketch, accuracy, .. } in &engines.measured {
        add(name, "text", *items, text, accuracy)?;
        add(name, "sketch", *items, sketch, accuracy)?;
    }
    page.push('\n');
    for engine in &engines.measured {
        writeln!(page, "- {}: {}", engine.name, engine.told)?;
    }
    for why in &engines.left_out {
        writeln!(page, "- not measured: {why}")?;
    }
    Ok(())
}

fn in_microseconds(times: &Latencies) -> String {
    [times.quantile(0.5), times.quantile(0.99), times.longest()].map(microseconds).join(" | ")
}

fn microseconds(time: Duration) -> String {
    format!("{:.0}", time.as_secs_f64() * 1e6)
}

fn milliseconds(time: Duration) -> String {
    format!("{:.1}", time.as_secs_f64() * 1e3)
}

fn shares(accuracy: &Accuracy) -> String {
    format!("{:.4} | {:.4}", accuracy.recall(), accuracy.precision())
}
