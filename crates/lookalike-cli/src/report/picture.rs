//! Pictures for the report, as SVG: colours come from the page, so that they suit the dark too.

use lookalike::Plan;

const LEFT: f64 = 56.0;
const WIDE: f64 = 560.0;
const RIGHT: f64 = LEFT + WIDE;

/// The S-curve, and under it how alike the pairs of this data are.
pub(super) fn curve_and_histogram(plan: &Plan, histogram: &[u64]) -> String {
    const CURVE: (f64, f64) = (20.0, 180.0);
    const BARS: (f64, f64) = (230.0, 120.0);
    let x = |similarity: f64| LEFT + similarity * WIDE;
    let threshold = plan.settings().threshold;
    let y = |probability: f64| CURVE.0 + (1.0 - probability) * CURVE.1;
    let points: Vec<String> = (0..=200)
        .map(|step| f64::from(step) / 200.0)
        .map(|similarity| format!("{:.1},{:.1}", x(similarity), y(plan.finds(similarity))))
        .collect();
    let mut inside = String::new();
    for tenth in 0..=10 {
        let value = f64::from(tenth) / 10.0;
        inside += &format!(
            "<path class=\"grid\" d=\"M{0:.1} {1}V{2}M{0:.1} {3}V{4}\"/><text x=\"{0:.1}\" y=\"{5}\" text-anchor=\"middle\">\
             {value:.1}</text>",
            x(value),
            CURVE.0,
            CURVE.0 + CURVE.1,
            BARS.0,
            BARS.0 + BARS.1,
            BARS.0 + BARS.1 + 18.0,
        );
    }
    for half in 0..=2 {
        let value = f64::from(half) / 2.0;
        inside += &format!(
            "<path class=\"grid\" d=\"M{LEFT} {0:.1}H{RIGHT}\"/><text x=\"{1}\" y=\"{2:.1}\" text-anchor=\"end\">{3:.0} %</text>",
            y(value),
            LEFT - 8.0,
            y(value) + 4.0,
            100.0 * value,
        );
    }
    // Counts differ by powers of ten, so their bars grow by them.
    let height = |count: u64| ((count + 1) as f64).log10();
    let most = histogram.iter().copied().max().unwrap_or(0);
    let wide = WIDE / histogram.len().max(1) as f64;
    for (at, count) in histogram.iter().enumerate().filter(|(_, count)| **count > 0) {
        let high = BARS.1 * height(*count) / height(most).max(1e-9);
        let from = at as f64 / histogram.len() as f64;
        let class = if from + 1e-9 >= threshold { "found" } else { "below" };
        inside += &format!(
            "<rect class=\"{class}\" x=\"{:.1}\" y=\"{:.1}\" width=\"{:.1}\" height=\"{high:.1}\"><title>{from:.2} to {:.2}: \
             {count} pairs</title></rect>",
            x(from) + 0.5,
            BARS.0 + BARS.1 - high,
            wide - 1.0,
            from + 1.0 / histogram.len() as f64,
        );
    }
    format!(
        "<svg viewBox=\"0 0 640 372\" role=\"img\" aria-label=\"The probability with which a pair is found, by its similarity, \
         and how many pairs of each similarity were seen\">{inside}<path class=\"threshold\" d=\"M{at:.1} {top}V{bottom}\"/>\
         <polyline class=\"curve\" points=\"{curve}\"/><text x=\"{LEFT}\" y=\"12\">probability of being found</text>\
         <text x=\"{LEFT}\" y=\"222\">pairs of this data, up to {most} in a bar (logarithmic)</text></svg>",
        at = x(threshold),
        top = CURVE.0,
        bottom = BARS.0 + BARS.1,
        curve = points.join(" "),
    )
}

/// Bars with a label before and a count behind each; the lengths are logarithmic.
pub(super) fn bars(rows: &[(String, u64)]) -> String {
    const HIGH: usize = 24;
    let most = rows.iter().map(|(_, count)| *count).max().unwrap_or(0);
    let length = |count: u64| ((count + 1) as f64).log10() / ((most + 1) as f64).log10().max(1e-9);
    let mut inside = String::new();
    for (at, (label, count)) in rows.iter().enumerate() {
        let top = at * HIGH;
        let wide = 400.0 * length(*count);
        inside += &format!(
            "<text x=\"130\" y=\"{0}\" text-anchor=\"end\">{label}</text><rect class=\"found\" x=\"138\" y=\"{1}\" \
             width=\"{wide:.1}\" height=\"16\"/><text x=\"{2:.1}\" y=\"{0}\">{count}</text>",
            top + 16,
            top + 4,
            144.0 + wide,
        );
    }
    format!(
        "<svg viewBox=\"0 0 640 {}\" role=\"img\" aria-label=\"How many groups have which size\">{inside}</svg>",
        rows.len() * HIGH
    )
}
