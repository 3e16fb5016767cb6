//! Help, version and usage errors.

use std::io::Write;

use clap::error::ErrorKind;

/// Shows what the parser has to say. The first line of an error says what to do too, `hint` before the rest.
pub(super) fn show(error: &clap::Error, hint: &str) -> u8 {
    let is_help = error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand;
    // Nothing can be done about a closed stream.
    if error.use_stderr() && !is_help {
        let said = error.render().ansi().to_string();
        let _ = anstream::stderr().write_all(with_advice(&said, hint).as_bytes());
    } else {
        let _ = error.print();
    }
    if error.use_stderr() { 2 } else { 0 }
}

/// Joins the first paragraph into one line, and adds the advice to it.
fn with_advice(said: &str, hint: &str) -> String {
    // It tells of --help at its end too.
    let said = said.split_once("\n\nFor more information").map_or(said, |(said, _)| said).trim_end();
    let (first, rest) = said.split_once("\n\n").unwrap_or((said, ""));
    let first: Vec<&str> = first.lines().map(str::trim).collect();
    let rest = if rest.is_empty() { String::new() } else { format!("\n\n{rest}") };
    format!("{}; {hint}see --help for what can be typed{rest}\n", first.join(" "))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_says_what_to_do() {
        let said = "error: these are missing:\n  <LEFT>\n  <RIGHT>\n\nUsage: lookalike\n\nFor more information, try '--help'.\n";
        let shown = with_advice(said, "");
        assert_eq!(
            shown,
            "error: these are missing: <LEFT> <RIGHT>; see --help for what can be typed\n\nUsage: lookalike\n"
        );
    }
}
