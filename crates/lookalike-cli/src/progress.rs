//! What a person sees while the program works.

use std::io::{IsTerminal, Write};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressState, ProgressStyle};
use lookalike::{Stage, Watch};

use crate::arguments::{GlobalArguments, ShowProgress};
use crate::interrupt;

/// How long a stage must last between two lines, where progress is lines.
const BETWEEN_LINES: Duration = Duration::from_secs(1);

/// Shows progress on stderr, and tells the engine to stop when the user says so.
pub(crate) struct Progress {
    shows: Shows,
    started: Instant,
    records: AtomicU64,
    say_pairs: bool,
    is_quiet: bool,
    /// What was worth knowing so far, where it is to stand in a summary in JSON.
    notes: Option<Mutex<Vec<String>>>,
    /// The stage that is being done, where it is to be said what each did.
    current: Option<Mutex<Option<Doing>>>,
    says_reuse: bool,
    /// Parts of the work that an earlier attempt did: in all, and in the current stage.
    reused: AtomicU64,
    reused_in_stage: Mutex<Option<(Stage, u64)>>,
    /// Whether the run cannot succeed any more.
    has_failed: AtomicBool,
}

/// Whatever has found no summary to stand in is said.
impl Drop for Progress {
    fn drop(&mut self) {
        let notes = self.take_notes();
        notes.iter().filter(|_| !self.is_quiet).for_each(|note| self.say(&format!("note: {note}")));
    }
}

enum Shows {
    Nothing,
    Bar(ProgressBar),
    Lines { json: bool, state: Mutex<Lines> },
}

/// A stage that is being done.
struct Doing {
    stage: Stage,
    since: Instant,
    done: u64,
}

/// What the lines say next.
struct Lines {
    stage: Stage,
    done: u64,
    total: Option<u64>,
    last: Instant,
}

impl Progress {
    pub(crate) fn new(global: &GlobalArguments) -> Self {
        let is_terminal = std::io::stderr().is_terminal();
        let lines = |json| {
            let state = Lines { stage: Stage::Read, done: 0, total: None, last: Instant::now() };
            Shows::Lines { json, state: Mutex::new(state) }
        };
        let bar = || Shows::Bar(ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr_with_hz(10)));
        let shows = match global.progress {
            ShowProgress::Json => lines(true),
            ShowProgress::Never => Shows::Nothing,
            ShowProgress::Auto if global.quiet || !is_terminal => Shows::Nothing,
            ShowProgress::Always if !is_terminal => lines(false),
            ShowProgress::Auto | ShowProgress::Always => bar(),
        };
        Self {
            shows,
            started: Instant::now(),
            records: AtomicU64::new(0),
            say_pairs: false,
            is_quiet: global.quiet,
            notes: global.json.then(Mutex::default),
            current: global.verbose.then(Mutex::default),
            says_reuse: true,
            reused: AtomicU64::new(0),
            reused_in_stage: Mutex::new(None),
            has_failed: AtomicBool::new(false),
        }
    }

    /// Also says, before pairs are verified, how many there can be at most.
    pub(crate) fn saying_pairs(mut self, say_pairs: bool) -> Self {
        self.say_pairs = say_pairs;
        self
    }

    /// Does not say what is taken from earlier attempts, where that is the rule.
    pub(crate) fn expecting_reuse(mut self) -> Self {
        self.says_reuse = false;
        self
    }

    /// Tells everybody to stop: something was found for which the run cannot succeed.
    pub(crate) fn fail(&self) {
        self.has_failed.store(true, Ordering::Relaxed);
    }

    /// So many more records were read.
    pub(crate) fn count_records(&self, records: u64) {
        self.records.fetch_add(records, Ordering::Relaxed);
    }

    /// Seconds since the beginning.
    pub(crate) fn seconds(&self) -> f64 {
        self.started.elapsed().as_secs_f64()
    }

    /// Takes the bar off the terminal.
    pub(crate) fn finish(&self) {
        if let Shows::Bar(bar) = &self.shows {
            bar.finish_and_clear();
        }
        self.turn_to(None);
    }

    /// Says what the stage did that ends now, if that is wanted. A stage may begin several times.
    fn turn_to(&self, stage: Option<Stage>) {
        let Some(current) = &self.current else { return };
        let mut current = current.lock().unwrap_or_else(PoisonError::into_inner);
        if current.as_ref().map(|doing| doing.stage) == stage {
            return;
        }
        let next = stage.map(|stage| Doing { stage, since: Instant::now(), done: 0 });
        if let Some(Doing { stage, since, done }) = std::mem::replace(&mut *current, next) {
            let what = match stage {
                Stage::Read => {
                    format!(", {} records of {:.1} MB", self.records.load(Ordering::Relaxed), done as f64 / 1e6)
                }
                Stage::Band => format!(", {done} bands"),
                Stage::Verify => format!(", {done} pairs"),
                _ => String::new(),
            };
            self.say(&format!("{:<10} {:.2} s{what}", stage.to_string(), since.elapsed().as_secs_f64()));
        }
    }

    /// A line on stderr that does not disturb the bar.
    pub(crate) fn say(&self, line: &str) {
        let print = || {
            // Nothing can be done about a closed stderr.
            let _ = writeln!(anstream::stderr(), "{line}");
        };
        match &self.shows {
            Shows::Bar(bar) => bar.suspend(print),
            _ => print(),
        }
    }

    /// Says something that is worth knowing, unless nothing but errors is wanted. If there is a summary in JSON, it stands there.
    pub(crate) fn note(&self, note: &str) {
        match &self.notes {
            Some(notes) => notes.lock().unwrap_or_else(PoisonError::into_inner).push(note.to_owned()),
            None if self.is_quiet => {}
            None => self.say(&format!("note: {note}")),
        }
    }

    /// What is to stand in the summary; it is not said any more.
    pub(crate) fn take_notes(&self) -> Vec<String> {
        let take =
            |notes: &Mutex<Vec<String>>| std::mem::take(&mut *notes.lock().unwrap_or_else(PoisonError::into_inner));
        self.notes.as_ref().map(take).unwrap_or_default()
    }

    /// So many parts of the work were taken from an earlier attempt.
    pub(crate) fn count_reused(&self, parts: u64) {
        self.reused.fetch_add(parts, Ordering::Relaxed);
    }

    /// How many parts of the work were taken from an earlier attempt.
    pub(crate) fn reused(&self) -> u64 {
        self.reused.load(Ordering::Relaxed)
    }

    fn line(&self, json: bool, lines: &Lines) {
        let records = self.records.load(Ordering::Relaxed);
        let seconds = self.seconds();
        if json {
            let line = serde_json::json!({
                "stage": lines.stage.to_string(), "done": lines.done, "total": lines.total,
                "records": records, "seconds": (seconds * 1000.0).round() / 1000.0,
            });
            self.say(&line.to_string());
        } else {
            let share = match lines.total {
                Some(total) if total > 0 => format!(" {:3.0} %", 100.0 * lines.done as f64 / total as f64),
                _ => String::new(),
            };
            self.say(&format!("{}{share}, {records} records, {seconds:.1} s", lines.stage));
        }
    }
}

impl Watch for Progress {
    fn begin(&self, stage: Stage, total: Option<u64>) {
        let reused = self.reused_in_stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner).take();
        if let Some((stage, parts)) = reused.filter(|_| self.says_reuse) {
            self.note(&format!("{stage}: {parts} parts were there from the interrupted run"));
        }
        self.turn_to(Some(stage));
        match &self.shows {
            Shows::Nothing => {}
            Shows::Bar(bar) => {
                bar.reset();
                bar.set_style(style(stage, total));
                bar.set_prefix(stage.to_string());
                bar.set_length(total.unwrap_or(0));
                bar.enable_steady_tick(Duration::from_millis(100));
            }
            Shows::Lines { json, state } => {
                let mut lines = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                *lines = Lines { stage, done: 0, total, last: Instant::now() };
                self.line(*json, &lines);
            }
        }
    }

    fn advance(&self, done: u64) {
        if let Some(current) = &self.current
            && let Some(doing) = &mut *current.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
        {
            doing.done += done;
        }
        match &self.shows {
            Shows::Nothing => {}
            Shows::Bar(bar) => {
                bar.inc(done);
                let records = self.records.load(Ordering::Relaxed);
                bar.set_message(format!("{records} records, {:.0}/s", records as f64 / self.seconds().max(1e-3)));
            }
            Shows::Lines { json, state } => {
                let mut lines = state.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
                lines.done += done;
                if lines.last.elapsed() >= BETWEEN_LINES {
                    lines.last = Instant::now();
                    self.line(*json, &lines);
                }
            }
        }
    }

    fn reuse(&self, stage: Stage, parts: u64) {
        self.count_reused(parts);
        let mut reused = self.reused_in_stage.lock().unwrap_or_else(std::sync::PoisonError::into_inner);
        let before = reused.filter(|(before, _)| *before == stage).map_or(0, |(_, parts)| parts);
        *reused = Some((stage, before + parts));
    }

    fn expect_pairs(&self, at_most: u64) {
        if self.say_pairs {
            self.say(&format!("at most {at_most} pairs"));
        }
    }

    fn is_cancelled(&self) -> bool {
        interrupt::is_requested() || self.has_failed.load(Ordering::Relaxed)
    }
}

/// Reading is counted in bytes, everything else in things.
fn style(stage: Stage, total: Option<u64>) -> ProgressStyle {
    let template = match (stage, total) {
        (_, None) => "{prefix:>6} {spinner} {elapsed}  {msg}",
        (Stage::Read | Stage::Write, _) => {
            "{prefix:>6} {percent:>3} % {wide_bar} {binary_bytes_per_sec}, {eta} left  {msg}"
        }
        _ => "{prefix:>6} {percent:>3} % {wide_bar} {rate}, {eta} left  {msg}",
    };
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()).with_key(
        "rate",
        |state: &ProgressState, out: &mut dyn std::fmt::Write| {
            let _ = write!(out, "{:.0}/s", state.per_sec());
        },
    )
}
