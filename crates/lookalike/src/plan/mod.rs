//! Settings, checked and resolved. An invalid plan cannot exist; a plan says what it will do.

mod curve;
mod tune;

use std::fmt;
use std::sync::Arc;

pub use curve::Scheme;

use crate::error::{Error, Result};
use crate::fingerprint::{LISTED_WHOLE, Selection};
use crate::hash::{combine, hash_bytes};
use crate::settings::{Bands, Grouping, Measure, Normalize, Settings, Shingles, Step, Verify};
use crate::shingle::Shingler;
use crate::sketch::SlotWidth;

/// The version of everything that hashes: tokens, shingles, sketches and band keys. Part of every fingerprint.
pub const SKETCH_VERSION: u32 = 2;

/// How candidates are found.
#[derive(Clone, Copy, Debug, PartialEq)]
#[non_exhaustive]
pub enum Method {
    /// By the keys of their sketches.
    Sketches(Scheme),
    /// By inverted lists of all elements: nothing is missed.
    InvertedLists,
    /// By inverted lists of selected shingles, for containment. Sets, which have no order, are listed whole.
    Fingerprints(Selection),
}

/// Which members of a bucket are compared: a pure function of its members.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BucketRule {
    /// In buckets of up to so many classes of identical records, every pair is compared.
    pub every_pair_up_to: usize,
    /// In larger ones, each class is compared with so many: the first in keep order.
    pub first: usize,
}

impl BucketRule {
    /// How many of a bucket's members are compared with all that follow them.
    pub(crate) fn lefts(self, members: usize) -> usize {
        if members > self.every_pair_up_to { self.first } else { members }
    }
}

/// The bucket rule of every plan.
const BUCKET_RULE: BucketRule = BucketRule { every_pair_up_to: 2_000, first: 50 };

/// The most hashes that can be asked for.
const MOST_HASHES: u32 = 65_536;

/// The length of text that the probability of meeting by fingerprints is told for.
const TYPICAL_TOKENS: usize = 200;

/// What a run will do: settings that have been checked, with everything decided that they left open.
#[derive(Clone, Debug, PartialEq)]
pub struct Plan {
    settings: Settings,
    normalize: Normalize,
    method: Method,
    /// Shingles that carry no weight, sorted.
    ignored: Arc<[u64]>,
}

impl Plan {
    pub(crate) fn new(settings: Settings) -> Result<Self> {
        let threshold = settings.threshold;
        if !(threshold > 0.0 && threshold <= 1.0) {
            return Err(Error::setting(format!("the threshold {threshold} is out of range"))
                .advise("choose one above 0 and up to 1, such as 0.8"));
        }
        let recall = settings.recall;
        if !(recall > 0.0 && recall < 1.0) {
            return Err(Error::setting(format!("the recall {recall} is out of range"))
                .advise("choose one above 0 and below 1, such as 0.99; for 1 use --exact"));
        }
        if settings.hashes.is_some_and(|hashes| !(1..=MOST_HASHES).contains(&hashes)) {
            return Err(Error::setting("the number of hashes is out of range")
                .advise(format!("choose one from 1 to {MOST_HASHES}")));
        }
        let normalize = settings.normalize.unwrap_or_else(|| settings.shingles.default_normalize());
        let method = Self::choose_method(&settings)?;
        Ok(Self { settings, normalize, method, ignored: Arc::default() })
    }

    fn choose_method(settings: &Settings) -> Result<Method> {
        // Windows are over consecutive shingles, each of which could be shared.
        let has_order = !settings.bag && settings.shingles.step() == 1;
        if settings.fingerprints.is_some() && (settings.exact || settings.measure != Measure::Containment || !has_order)
        {
            return Err(Error::setting(
                "fingerprints are selected for containment only, without --exact, --bag or a step",
            )
            .advise("leave --fingerprints out, or add --measure containment"));
        }
        let lists = settings.exact || settings.measure == Measure::Containment;
        if lists {
            let reason =
                if settings.exact { "--exact uses no sketches" } else { "containment is found without sketches" };
            let refused = [
                (settings.bands.is_some(), "--bands"),
                (settings.hashes.is_some(), "--hashes"),
                (settings.verify != Verify::Exact, "--verify"),
            ];
            if let Some((_, flag)) = refused.iter().find(|(given, _)| *given) {
                return Err(
                    Error::setting(format!("{reason}, so {flag} has no meaning")).advise(format!("leave {flag} out"))
                );
            }
            return Ok(if settings.exact || !has_order {
                Method::InvertedLists
            } else {
                Method::Fingerprints(settings.fingerprints.unwrap_or_default())
            });
        }
        let Some(bands) = settings.bands else {
            return tune::choose(settings.threshold, settings.recall, settings.hashes).map(Method::Sketches);
        };
        let slots = match bands {
            Bands::Disjoint { bands, rows } => settings.hashes.unwrap_or(bands.saturating_mul(rows)),
            // As many as the keys would need one after another, up to a common size: enough to draw from.
            Bands::Random { keys, rows } => settings.hashes.unwrap_or(keys.saturating_mul(rows).min(128).max(rows)),
        };
        let needed = match bands {
            Bands::Disjoint { bands, rows } => bands.saturating_mul(rows),
            Bands::Random { rows, .. } => rows,
        };
        if needed > slots || slots > MOST_HASHES {
            return Err(Error::setting(format!(
                "{bands} needs {needed} hashes, and there are {}",
                slots.min(MOST_HASHES)
            ))
            .advise("allow more with --hashes, or choose fewer bands or rows"));
        }
        Ok(Method::Sketches(tune::given(bands, slots, settings.threshold)))
    }

    /// The settings that the plan was made from.
    pub fn settings(&self) -> &Settings {
        &self.settings
    }

    /// What is made equal before shingling.
    pub fn normalize(&self) -> Normalize {
        self.normalize
    }

    /// What cuts records into shingles for this plan; one a thread.
    pub fn shingler(&self) -> Shingler {
        Shingler::new(self.settings.shingles, self.normalize, self.settings.bag).ignoring(Arc::clone(&self.ignored))
    }

    /// What gives the elements by which records are verified, whoever supplies them; one a thread. Shingles, unless
    /// texts are verified by their edits: then characters, in their order.
    pub fn supplier(&self) -> Shingler {
        match self.settings.verify {
            Verify::Edit => Shingler::new(Shingles::chars(1), self.normalize.with(Step::Space), false),
            _ => self.shingler(),
        }
    }

    /// The same plan, for which these shingles, as [`Plan::shingler`] gives them without `bag`, are in no record: templates,
    /// licences, menus. A record that consists of them is empty.
    ///
    /// ```
    /// use lookalike::Settings;
    ///
    /// let plan = Settings::new(0.8).plan()?;
    /// let mut menu = Vec::new();
    /// plan.shingler().append_text("home news sports weather about us contact", &mut menu);
    /// let plan = plan.ignoring(menu);
    /// let found = plan.run(["home news sports weather about us contact one two", "home news sports weather about us contact"])?;
    /// assert_eq!((found.pairs().count(), found.summary().empty), (0, 1));
    /// # Ok::<(), lookalike::Error>(())
    /// ```
    pub fn ignoring(&self, mut shingles: Vec<u64>) -> Self {
        shingles.extend_from_slice(&self.ignored);
        shingles.sort_unstable();
        shingles.dedup();
        Self { ignored: shingles.into(), ..self.clone() }
    }

    /// A fingerprint of what carries no weight, if there is such.
    fn ignored_fingerprint(&self) -> Option<u64> {
        (!self.ignored.is_empty()).then(|| combine(&self.ignored))
    }

    /// How candidates are found.
    pub fn method(&self) -> Method {
        self.method
    }

    /// Which members of a bucket are compared.
    pub fn bucket_rule(&self) -> BucketRule {
        BUCKET_RULE
    }

    /// The probability that a pair of this similarity is found, filters included. For fingerprints: of a text of 200 tokens
    /// with changed words here and there.
    pub fn finds(&self, similarity: f64) -> f64 {
        match (&self.method, self.settings.verify) {
            (Method::InvertedLists, _) => 1.0,
            (Method::Fingerprints(selection), _) => {
                selection.meets(similarity, self.settings.shingles.k(), TYPICAL_TOKENS)
            }
            (Method::Sketches(scheme), Verify::Exact) => scheme.finds(similarity),
            (Method::Sketches(scheme), Verify::Off | Verify::Edit) => scheme.meets(similarity),
            (Method::Sketches(scheme), Verify::Estimate) => {
                // The division that the run does; a product may round to the other side of a whole number.
                let reaches =
                    |agreeing: &u32| f64::from(*agreeing) / f64::from(scheme.slots) >= self.settings.threshold;
                let least = (0..scheme.slots).find(reaches).unwrap_or(scheme.slots);
                Scheme { least_agreement: least, ..*scheme }.finds(similarity)
            }
        }
    }

    /// The probability that a pair of this similarity becomes a candidate: the S-curve of the bands alone.
    pub fn compares(&self, similarity: f64) -> f64 {
        match &self.method {
            Method::Sketches(scheme) => scheme.meets(similarity),
            Method::InvertedLists => 1.0,
            Method::Fingerprints(_) => self.finds(similarity),
        }
    }

    /// Bytes that are kept of a record's content: its fingerprints, its sketch and its keys. In memory, or in a work file.
    pub fn sketch_bytes(&self) -> u64 {
        const FINGERPRINTS: u64 = 24;
        match &self.method {
            Method::Sketches(scheme) => {
                let slots = u64::from(scheme.slots) * self.slot_width().bytes() as u64;
                FINGERPRINTS + slots + 4 * u64::from(scheme.bands.keys())
            }
            Method::InvertedLists | Method::Fingerprints(_) => FINGERPRINTS,
        }
    }

    /// How much of a slot is kept of records that are compared with each other.
    pub(crate) fn slot_width(&self) -> SlotWidth {
        match self.settings.verify {
            Verify::Exact | Verify::Edit => SlotWidth::One,
            Verify::Estimate | Verify::Off => SlotWidth::Two,
        }
    }

    /// A fingerprint of everything that decides what a sketch means: sketches with different ones do not mix.
    pub fn fingerprint(&self) -> u64 {
        let slots = match &self.method {
            Method::Sketches(scheme) => scheme.slots,
            Method::InvertedLists | Method::Fingerprints(_) => 0,
        };
        let settings = &self.settings;
        let ignored =
            self.ignored_fingerprint().map_or_else(String::new, |ignored| format!("; ignored {ignored:016x}"));
        hash_bytes(
            format!(
                "lookalike sketch {SKETCH_VERSION}; {}; {}; bag {}; {slots} slots; seed {}{ignored}",
                self.normalize, settings.shingles, settings.bag, settings.seed
            )
            .as_bytes(),
        )
    }

    /// The promises that these settings give up, in words; none by default.
    pub fn gives_up(&self) -> Vec<&'static str> {
        let mut given_up = Vec::new();
        if self.settings.bands.is_some() && self.finds(self.settings.threshold) < self.settings.recall {
            given_up.push("the bands that were chosen find pairs at the threshold less often than the recall says");
        }
        match self.settings.verify {
            Verify::Exact => {}
            Verify::Estimate => given_up.push("similarities are estimates: pairs below the threshold are reported too"),
            Verify::Edit => given_up.push(
                "recall is promised for shared shingles, not for edits: pairs that share fewer may be missed, however few \
                 edits they need",
            ),
            Verify::Off => given_up.push("candidates are not checked: pairs far below the threshold are reported too"),
        }
        if self.settings.group == Grouping::Connected {
            given_up.push("groups are chains: a record can be dropped for a keeper that is not alike to it");
        }
        given_up
    }
}

impl fmt::Display for Plan {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let settings = &self.settings;
        let threshold = settings.threshold;
        let (measure, alike) = match settings.measure {
            Measure::Jaccard if settings.verify == Verify::Edit => ("edit similarity", "1 − edits / the longer text"),
            Measure::Jaccard => ("Jaccard similarity", "shared shingles / all shingles of both"),
            Measure::Containment => ("containment", "shared shingles / shingles of the contained one"),
        };
        writeln!(formatter, "alike      {measure} ≥ {threshold} ({alike})")?;
        writeln!(formatter, "normalize  {}", self.normalize)?;
        write!(formatter, "shingle    {}{}", settings.shingles, if settings.bag { ", repeats counted" } else { "" })?;
        writeln!(
            formatter,
            "{}",
            match settings.shingles {
                Shingles::Words { .. } => {
                    " (a word is a run of letters, digits and _; in scripts without spaces, one character with its marks)"
                }
                _ => "",
            }
        )?;
        if let Some(fingerprint) = self.ignored_fingerprint() {
            writeln!(formatter, "ignore     {} shingles ({fingerprint:016x})", self.ignored.len())?;
        }
        match &self.method {
            Method::Sketches(scheme) => {
                let rule = self.bucket_rule();
                let unused = match scheme.bands {
                    Bands::Disjoint { bands, rows } if bands * rows < scheme.slots => {
                        format!(", {} of them for estimates only", scheme.slots - bands * rows)
                    }
                    _ => String::new(),
                };
                writeln!(formatter, "sketch     {} MinHash values, seed {}{unused}", scheme.slots, settings.seed)?;
                writeln!(
                    formatter,
                    "band       {}",
                    match scheme.bands {
                        Bands::Disjoint { bands, rows } => format!("{bands} bands × {rows} rows"),
                        Bands::Random { keys, rows } => format!("{keys} keys of {rows} random slots each"),
                    }
                )?;
                writeln!(
                    formatter,
                    "           buckets of up to {} classes: every pair; larger ones: each with the first {} in keep order",
                    rule.every_pair_up_to, rule.first
                )?;
                match settings.verify {
                    Verify::Exact => writeln!(
                        formatter,
                        "verify     exact; candidates that agree in fewer than {} of {} values are dropped before",
                        scheme.least_agreement, scheme.slots
                    )?,
                    Verify::Estimate => writeln!(formatter, "verify     by the estimate from the sketches")?,
                    Verify::Edit => {
                        writeln!(formatter, "verify     by edits: 1 − edits / the longer text, in characters")?
                    }
                    Verify::Off => writeln!(formatter, "verify     off")?,
                }
            }
            Method::InvertedLists => {
                writeln!(formatter, "sketch     none")?;
                writeln!(formatter, "band       none: inverted lists of all shingles, prefix and length filter")?;
                writeln!(formatter, "verify     exact")?;
            }
            Method::Fingerprints(selection) => {
                writeln!(formatter, "sketch     none")?;
                let selected = match selection {
                    Selection::Winnow(window) => format!("the least of every {window} consecutive shingles"),
                    Selection::Modulo(divisor) => format!("shingles that are 0 mod {divisor}"),
                };
                writeln!(
                    formatter,
                    "band       none: inverted lists of selected shingles ({selected}; all of up to {LISTED_WHOLE}, and of sets)"
                )?;
                writeln!(formatter, "verify     exact")?;
            }
        }
        let grouping = match settings.group {
            Grouping::Anchored => "anchored: every member is alike to its keeper",
            Grouping::Connected => "connected: every member is alike to some other",
        };
        writeln!(formatter, "group      {grouping}; keep {}", settings.keep)?;
        for promise in self.gives_up() {
            writeln!(formatter, "note       {promise}")?;
        }
        let finds = 100.0 * self.finds(threshold);
        let Method::Fingerprints(selection) = &self.method else {
            return write!(formatter, "finds      {finds:.2} % of pairs at {threshold}");
        };
        if let Some(tokens) = selection.sure_run(settings.shingles.k()) {
            writeln!(
                formatter,
                "finds      every pair with a verbatim run of at least {tokens} tokens, or a short text"
            )?;
        }
        write!(
            formatter,
            "           {finds:.2} % of pairs at {threshold} in texts of {TYPICAL_TOKENS} tokens with changes here and there"
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::settings::Shingles;

    #[test]
    fn impossible_settings_are_refused_with_advice() {
        let refused = [
            Settings::new(1.5),
            Settings::new(0.0),
            Settings::new(f64::NAN),
            Settings::new(0.8).recall(1.0),
            Settings::new(0.8).hashes(0),
            Settings::new(0.8).hashes(10).bands(Bands::Disjoint { bands: 16, rows: 6 }),
            Settings::new(0.8).exact(true).bands(Bands::Disjoint { bands: 16, rows: 6 }),
            Settings::new(0.8).measure(Measure::Containment).bands(Bands::Disjoint { bands: 16, rows: 6 }),
            Settings::new(0.8).bands(Bands::Disjoint { bands: 65_536, rows: 65_536 }),
        ];
        for settings in refused {
            let error = settings.clone().plan().expect_err(&format!("{settings:?}"));
            assert!(error.to_string().contains("; "), "{error}");
        }
    }

    #[test]
    fn the_plan_promises_what_was_asked() {
        for recall in [0.9, 0.99, 0.999] {
            let plan = Settings::new(0.7).recall(recall).plan().unwrap();
            assert!(plan.finds(0.7) >= recall);
            assert!(plan.to_string().contains(&format!("{:.2} % of pairs at 0.7", 100.0 * plan.finds(0.7))));
        }
        assert_eq!(Settings::new(0.7).exact(true).plan().unwrap().finds(0.7), 1.0);
    }

    #[test]
    fn fingerprints_tell_settings_apart() {
        let plan = |settings: Settings| settings.plan().unwrap().fingerprint();
        let plain = plan(Settings::new(0.8));
        assert_eq!(plain, plan(Settings::new(0.8).group(Grouping::Connected)));
        for other in [
            Settings::new(0.8).seed(2),
            Settings::new(0.8).bag(true),
            Settings::new(0.8).shingles(Shingles::words(4)),
            Settings::new(0.8).normalize(Normalize::NONE),
            Settings::new(0.8).hashes(128),
        ] {
            assert_ne!(plain, plan(other));
        }
    }
}
