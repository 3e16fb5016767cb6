//! The S-curve: how probable it is that a pair of each similarity is compared.

use lookalike::Plan;

/// Columns and rows of the drawing in a terminal.
const WIDTH: usize = 61;
const HEIGHT: usize = 13;

/// The curve in characters, the threshold marked.
pub(crate) fn terminal(plan: &Plan) -> String {
    const LEVELS: [char; 9] = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let similarity_at = |column: usize| column as f64 / (WIDTH - 1) as f64;
    let threshold_column = (plan.settings().threshold * (WIDTH - 1) as f64).round() as usize;
    let mut drawing = String::new();
    for row in (0..HEIGHT).rev() {
        let label = match row {
            row if row + 1 == HEIGHT => "100 %",
            row if row == HEIGHT / 2 => " 50 %",
            0 => "  0 %",
            _ => "     ",
        };
        drawing += label;
        drawing += " │";
        for column in 0..WIDTH {
            let filled = plan.compares(similarity_at(column)) * HEIGHT as f64 - row as f64;
            let level = (filled.clamp(0.0, 1.0) * 8.0).round() as usize;
            let is_marked = column == threshold_column && level == 0;
            drawing.push(if is_marked { '┆' } else { LEVELS[level] });
        }
        drawing.push('\n');
    }
    drawing += "      └";
    drawing += &(0..WIDTH).map(|column| if column == threshold_column { '▲' } else { '─' }).collect::<String>();
    drawing += "\n       0    0.1   0.2   0.3   0.4   0.5   0.6   0.7   0.8   0.9    1\n";
    drawing += &format!(
        "       probability of being compared, by similarity; ▲ the threshold, {}: {:.2} % found\n",
        plan.settings().threshold,
        100.0 * plan.finds(plan.settings().threshold)
    );
    drawing
}

/// The curve as a picture of its own.
pub(crate) fn svg(plan: &Plan) -> String {
    const LEFT: f64 = 60.0;
    const TOP: f64 = 50.0;
    const WIDE: f64 = 500.0;
    const HIGH: f64 = 300.0;
    let x = |similarity: f64| LEFT + similarity * WIDE;
    let y = |probability: f64| TOP + (1.0 - probability) * HIGH;
    let threshold = plan.settings().threshold;
    let curve: Vec<String> = (0..=200)
        .map(|step| f64::from(step) / 200.0)
        .map(|similarity| format!("{:.1},{:.1}", x(similarity), y(plan.compares(similarity))))
        .collect();
    let mut ticks = String::new();
    for tenth in 0..=10 {
        let value = f64::from(tenth) / 10.0;
        let (across, up) = (x(value), y(value));
        ticks += &format!(
            "<text x=\"{across:.1}\" y=\"{:.1}\" text-anchor=\"middle\">{value:.1}</text>\n\
             <text x=\"{:.1}\" y=\"{:.1}\" text-anchor=\"end\">{:.0} %</text>\n\
             <path class=\"grid\" d=\"M{across:.1} {TOP}V{:.1}M{LEFT} {up:.1}H{:.1}\"/>\n",
            TOP + HIGH + 20.0,
            LEFT - 8.0,
            up + 4.0,
            100.0 * value,
            TOP + HIGH,
            LEFT + WIDE,
        );
    }
    format!(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 590 400\" font-family=\"sans-serif\" font-size=\"12\">\n\
         <style>text{{fill:#333}}.grid{{stroke:#ddd;fill:none}}.curve{{stroke:#0a6;stroke-width:3;fill:none}}\
         .threshold{{stroke:#c40;stroke-dasharray:4 3}}</style>\n\
         <rect width=\"590\" height=\"400\" fill=\"#fff\"/>\n\
         <text x=\"{LEFT}\" y=\"28\" font-size=\"16\">Probability of being compared, by similarity</text>\n\
         {ticks}<path class=\"threshold\" d=\"M{at:.1} {TOP}V{bottom:.1}\"/>\n\
         <text x=\"{at:.1}\" y=\"44\" text-anchor=\"middle\">{found:.2} % found at {threshold}</text>\n\
         <polyline class=\"curve\" points=\"{curve}\"/>\n</svg>\n",
        at = x(threshold),
        bottom = TOP + HIGH,
        found = 100.0 * plan.finds(threshold),
        curve = curve.join(" "),
    )
}
