//! A page's visible text: what a reader of the page would see, without its markup.
//!
//! A tokenizer by the HTML standard drives this; no tree is built, so that time is linear and memory flat whatever
//! the nesting. Left out: comments, the title (shown on the tab, not on the page), scripts, styles, templates, and what
//! browsers put in the place of features that they have (`noscript`, `iframe`, `noembed`, `noframes`). What a style
//! sheet or a script hides is not known here and stays, as do the options of a list and the text of an input area.
//!
//! White space is what a browser makes of it: runs of it are one blank, except in `pre`; block elements stand on lines
//! of their own, and inline elements join what they touch.

use html5gum::emitters::Emitter;
use html5gum::{Error, State, Tokenizer};

use crate::charset::{self, Markup};

/// Appends the visible text of an HTML page to `out`.
///
/// `declared_charset` is the encoding named by whoever sent the page, such as an HTTP header; see [`charset::decode`]
/// for what else is asked. Any bytes are a page: damaged markup is read as browsers read it.
pub fn visible_text(bytes: &[u8], declared_charset: Option<&str>, out: &mut String) {
    let page = charset::decode(bytes, declared_charset, Markup::Html);
    let mut page_text = PageText::default();
    let tokenizer = Tokenizer::new_with_emitter(page.as_ref(), &mut page_text);
    match tokenizer.finish() {
        Ok(()) => {}
        Err(never) => match never {},
    }
    out.push_str(&String::from_utf8_lossy(&page_text.text.bytes));
}

/// Takes the tokenizer's events and keeps the text.
#[derive(Default)]
struct PageText {
    text: FlowingText,
    tag: Tag,
    /// The element whose end alone ends the raw text that the tokenizer is in.
    raw_element: Vec<u8>,
    /// Inside an element whose content is raw and not shown, such as a script.
    in_hidden_raw_text: bool,
    open_templates: u32,
    /// Open `svg` and `math` elements, in which XML's rules hold.
    open_foreign: u32,
    open_preformatted: u32,
}

/// The tag being read.
#[derive(Default)]
struct Tag {
    name: Vec<u8>,
    is_end: bool,
    is_self_closing: bool,
}

impl PageText {
    fn begin_tag(&mut self, is_end: bool) {
        self.tag.name.clear();
        self.tag.is_end = is_end;
        self.tag.is_self_closing = false;
    }

    fn open_element(&mut self) -> Option<State> {
        let is_empty_xml_element = self.open_foreign > 0 && self.tag.is_self_closing;
        match self.tag.name.as_slice() {
            _ if is_empty_xml_element => return None,
            b"template" => self.open_templates += 1,
            b"svg" | b"math" if !self.tag.is_self_closing => self.open_foreign += 1,
            b"pre" | b"textarea" | b"listing" | b"xmp" => self.open_preformatted += 1,
            _ => {}
        }
        let (state, is_shown) = match self.tag.name.as_slice() {
            b"script" => (State::ScriptData, false),
            b"style" | b"iframe" | b"noembed" | b"noframes" | b"noscript" => (State::RawText, false),
            b"title" => (State::RcData, false),
            b"textarea" => (State::RcData, true),
            b"xmp" => (State::RawText, true),
            b"plaintext" => (State::PlainText, true),
            _ => return None,
        };
        self.in_hidden_raw_text = !is_shown;
        self.raw_element.clone_from(&self.tag.name);
        Some(state)
    }

    fn close_element(&mut self) {
        // In raw text, the only end tag that the tokenizer reports is the one that ends it.
        self.in_hidden_raw_text = false;
        let open = match self.tag.name.as_slice() {
            b"template" => &mut self.open_templates,
            b"svg" | b"math" => &mut self.open_foreign,
            b"pre" | b"textarea" | b"listing" | b"xmp" => &mut self.open_preformatted,
            _ => return,
        };
        *open = open.saturating_sub(1);
    }
}

impl Emitter for &mut PageText {
    type Token = std::convert::Infallible;

    fn emit_string(&mut self, characters: &[u8]) {
        if self.in_hidden_raw_text || self.open_templates > 0 {
            return;
        }
        if self.open_preformatted > 0 {
            self.text.push_preformatted(characters);
        } else {
            self.text.push(characters);
        }
    }

    fn emit_current_tag(&mut self) -> Option<State> {
        if stands_on_its_own_line(&self.tag.name) {
            self.text.break_line();
        }
        if self.tag.is_end {
            self.close_element();
            None
        } else {
            self.open_element()
        }
    }

    fn init_start_tag(&mut self) {
        self.begin_tag(false);
    }

    fn init_end_tag(&mut self) {
        self.begin_tag(true);
    }

    fn push_tag_name(&mut self, name: &[u8]) {
        self.tag.name.extend_from_slice(name);
    }

    fn set_self_closing(&mut self) {
        self.tag.is_self_closing = true;
    }

    fn current_is_appropriate_end_tag_token(&mut self) -> bool {
        self.tag.is_end && self.tag.name == self.raw_element
    }

    fn adjusted_current_node_present_but_not_in_html_namespace(&mut self) -> bool {
        self.open_foreign > 0
    }

    #[inline]
    fn should_emit_errors(&mut self) -> bool {
        false
    }

    fn pop_token(&mut self) -> Option<Self::Token> {
        None
    }

    // Attributes, comments and document types hold nothing that is seen on the page.
    fn set_last_start_tag(&mut self, _: Option<&[u8]>) {}
    fn emit_eof(&mut self) {}
    fn emit_error(&mut self, _: Error) {}
    fn init_comment(&mut self) {}
    fn emit_current_comment(&mut self) {}
    fn emit_current_doctype(&mut self) {}
    fn set_force_quirks(&mut self) {}
    fn push_comment(&mut self, _: &[u8]) {}
    fn push_doctype_name(&mut self, _: &[u8]) {}
    fn init_doctype(&mut self) {}
    fn init_attribute(&mut self) {}
    fn push_attribute_name(&mut self, _: &[u8]) {}
    fn push_attribute_value(&mut self, _: &[u8]) {}
    fn set_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn set_doctype_system_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_public_identifier(&mut self, _: &[u8]) {}
    fn push_doctype_system_identifier(&mut self, _: &[u8]) {}
}

/// Whether an element separates the words before, in and after it: the elements that browsers lay out as blocks, cells
/// or controls.
fn stands_on_its_own_line(element: &[u8]) -> bool {
    matches!(
        element,
        b"address"
            | b"article"
            | b"aside"
            | b"blockquote"
            | b"body"
            | b"br"
            | b"button"
            | b"caption"
            | b"center"
            | b"dd"
            | b"details"
            | b"dialog"
            | b"dir"
            | b"div"
            | b"dl"
            | b"dt"
            | b"fieldset"
            | b"figcaption"
            | b"figure"
            | b"footer"
            | b"form"
            | b"h1"
            | b"h2"
            | b"h3"
            | b"h4"
            | b"h5"
            | b"h6"
            | b"head"
            | b"header"
            | b"hgroup"
            | b"hr"
            | b"html"
            | b"iframe"
            | b"legend"
            | b"li"
            | b"listing"
            | b"main"
            | b"menu"
            | b"nav"
            | b"ol"
            | b"optgroup"
            | b"option"
            | b"p"
            | b"plaintext"
            | b"pre"
            | b"search"
            | b"section"
            | b"select"
            | b"summary"
            | b"svg"
            | b"table"
            | b"tbody"
            | b"td"
            | b"textarea"
            | b"tfoot"
            | b"th"
            | b"thead"
            | b"tr"
            | b"ul"
            | b"video"
            | b"xmp"
    )
}

/// Text that is laid out as a browser does: white space between words counts only as the gap it makes.
#[derive(Default)]
struct FlowingText {
    bytes: Vec<u8>,
    gap: Gap,
}

/// What separates the text so far from what comes next; nothing is written before the first word or after the last.
#[derive(Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
enum Gap {
    #[default]
    None,
    Blank,
    Line,
}

impl FlowingText {
    /// Adds characters of which any run of white space is one blank.
    fn push(&mut self, characters: &[u8]) {
        let mut rest = characters;
        loop {
            let blanks = rest.iter().position(|byte| !is_html_blank(*byte)).unwrap_or(rest.len());
            if blanks > 0 {
                self.gap = self.gap.max(Gap::Blank);
                rest = &rest[blanks..];
            }
            if rest.is_empty() {
                return;
            }
            let word = rest.iter().position(|byte| is_html_blank(*byte)).unwrap_or(rest.len());
            self.close_gap();
            self.bytes.extend_from_slice(&rest[..word]);
            rest = &rest[word..];
        }
    }

    /// Adds characters whose white space is kept.
    fn push_preformatted(&mut self, characters: &[u8]) {
        self.close_gap();
        self.bytes.extend_from_slice(characters);
    }

    /// What comes next stands on a new line.
    fn break_line(&mut self) {
        self.gap = Gap::Line;
    }

    fn close_gap(&mut self) {
        match std::mem::take(&mut self.gap) {
            _ if self.bytes.is_empty() => {}
            Gap::None => {}
            Gap::Blank => self.bytes.push(b' '),
            Gap::Line => self.bytes.push(b'\n'),
        }
    }
}

/// The white space of HTML; a no-break space is none.
fn is_html_blank(byte: u8) -> bool {
    matches!(byte, b' ' | b'\n' | b'\t' | b'\r' | b'\x0c')
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn seen(page: &str) -> String {
        let mut text = String::new();
        visible_text(page.as_bytes(), None, &mut text);
        text
    }

    #[test]
    fn blocks_part_words_and_inline_elements_do_not() {
        assert_eq!(seen("<p>one<b>and</b>one<p>two  \n three<br>four"), "oneandone\ntwo three\nfour");
        assert_eq!(seen("<table><tr><td>a<td>b</table>c <i>d</i> e"), "a\nb\nc d e");
        assert_eq!(seen("<ul><li>x</li>\n <li>y</li></ul>"), "x\ny");
    }

    #[test]
    fn what_is_not_on_the_page_is_left_out() {
        let page = "<!DOCTYPE html><html><head><title>tab</title><style>p{}</style><script>if(a<b)'<p>no</p>'</script>\
                    </head><body>a<!-- no <b>no</b> --><template>no<template>no</template>no</template>b\
                    <noscript><p>no</p></noscript><iframe>no</iframe><svg><title/><style/><text>c</text></svg>";
        assert_eq!(seen(page), "ab\nc");
    }

    #[test]
    fn a_page_without_body_or_head_is_read_whole() {
        assert_eq!(seen("just words"), "just words");
        assert_eq!(seen("<title>t</title>words &amp; more<b"), "words & more");
        assert_eq!(seen(""), "");
    }

    #[test]
    fn entities_are_decoded() {
        assert_eq!(
            seen("&lt;p&gt; caf&eacute; &#x4e2d;&#25991; &copy AT&T &nosuch; a&nbsp;b"),
            "<p> café 中文 © AT&T &nosuch; a\u{a0}b"
        );
    }

    #[test]
    fn preformatted_text_keeps_its_lines() {
        assert_eq!(seen("a<pre>x\n  y</pre>b<textarea>one\ntwo</textarea>"), "a\nx\n  y\nb\none\ntwo");
    }

    #[test]
    fn the_text_is_appended() {
        let mut text = String::from("before|");
        visible_text(b"<p>caf\xe9", Some("latin1"), &mut text);
        assert_eq!(text, "before|café");
    }

    #[test]
    fn a_million_open_elements_are_no_trouble() {
        for element in ["<div>", "<template>", "<svg>", "<pre>", "<b", "<!--", "</p", "<a b='", "&#"] {
            seen(&element.repeat(1_000_000));
        }
    }

    proptest! {
        #[test]
        fn any_bytes_are_a_page(bytes: Vec<u8>, charset in proptest::option::of("[a-z0-9-]{0,12}")) {
            let mut text = String::new();
            visible_text(&bytes, charset.as_deref(), &mut text);
        }

        #[test]
        fn any_soup_is_a_page(pieces in proptest::collection::vec(
            prop::sample::select(vec![
                "<", ">", "</", "/>", "script", "title", "svg", "<![CDATA[", "]]>", "<!--", "-->", "&", "&am", "p", " ",
                "\r", "\0", "é", "中", "'", "=", "<pre>", "<template>", "<plaintext>", "<textarea>", "</textarea>", "\u{feff}",
            ]),
            0..60,
        )) {
            let page = pieces.concat();
            let text = seen(&page);
            let is_damaged = text.contains(char::REPLACEMENT_CHARACTER);
            prop_assert!(!is_damaged || page.contains('\0') || page.contains("&#"));
        }
    }
}
