//! Sessions at a terminal, word for word: what is typed, and what the program says.
//!
//! `TRYCMD=overwrite cargo test -p lookalike-cli --test sessions` writes down what it says now.

#[test]
fn sessions() {
    trycmd::TestCases::new().case("tests/sessions/*.md");
}
