//! The page, in a real browser.

use serde_json::json;

use crate::devtools::Browser;
use crate::server::{FERRY, Folder, LATE_FERRY, LIBRARY};

const DESKTOP: (u32, u32) = (1280, 900);
const PHONE: (u32, u32) = (360, 740);

/// A text that would show if it ever became part of the page.
const SCRIPT: &str = "<script>document.title = 'taken over'</script><img src=x onerror=\"document.title = 'taken over'\"> \
                      and then some quite ordinary words that follow it & stay";

#[test]
fn pasted_texts_find_their_look_alikes() {
    let folder = Folder::with_index(&[("late", LATE_FERRY), ("library", LIBRARY)]);
    let server = folder.serve("news.idx");
    let Some(mut browser) = Browser::open(&format!("http://{}/", server.address), DESKTOP) else { return };
    browser.wait_for("document.querySelector('#about-index').textContent.startsWith('2 items in the index')");
    browser.click("#search-text");
    browser.paste(FERRY);
    browser.click("#search-form button");
    browser.wait_for("document.querySelector('#search-results li')");
    assert_eq!(browser.evaluate("document.querySelectorAll('#search-results li').length"), 1);
    let shown = browser.text("document.querySelector('#search-results li').innerText");
    assert!(shown.contains("late") && shown.contains("86.7 % alike") && shown.contains("1 shared passage"), "{shown}");
    let marked =
        browser.evaluate("[...document.querySelectorAll('#search-results mark')].map((mark) => mark.textContent)");
    let shared = FERRY.strip_suffix(" open").unwrap();
    assert_eq!(marked, json!([shared, shared]), "the passage stands out on both sides");
    let is_visible = "[...document.querySelectorAll('mark')].every((mark) => mark.checkVisibility() && \
                      getComputedStyle(mark).backgroundColor !== getComputedStyle(mark.parentElement).backgroundColor)";
    assert_eq!(browser.evaluate(is_visible), true);
    let status = browser.text("document.querySelector('#search-status').textContent");
    assert!(status.starts_with("1 look-alike, best first."), "{status}");

    // Another text, of which nothing is known.
    browser.evaluate("document.querySelector('#search-text').value = ''");
    browser.click("#search-text");
    browser.paste("nobody has ever written these words down in this order before today");
    browser.click("#search-form button");
    browser.wait_for("document.querySelector('#search-status').textContent.startsWith('Nothing in the index')");
    assert_eq!(browser.evaluate("document.querySelectorAll('#search-results li').length"), 0);
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn what_looks_like_html_stays_text() {
    let folder = Folder::with_index(&[(SCRIPT, SCRIPT)]);
    let server = folder.serve("news.idx");
    let Some(mut browser) = Browser::open(&format!("http://{}/", server.address), DESKTOP) else { return };
    browser.click("#search-text");
    browser.paste(SCRIPT);
    browser.click("#search-form button");
    browser.wait_for("document.querySelector('#search-results mark')");
    assert_eq!(browser.text("document.querySelector('#search-results h2').textContent"), SCRIPT);
    for side in 1..=2 {
        let text =
            format!("document.querySelector('#search-results .sides > div:nth-child({side}) .text').textContent");
        assert_eq!(browser.text(&text), SCRIPT);
    }
    assert_eq!(browser.evaluate("document.querySelectorAll('main script, main img').length"), 0);
    assert_eq!(browser.text("document.title"), "lookalike");
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn two_texts_are_compared_by_keyboard_alone() {
    let server = Folder::new().serve("");
    let Some(mut browser) = Browser::open(&format!("http://{}/#compare", server.address), DESKTOP) else { return };
    browser.evaluate("document.querySelector('nav a:last-child').focus()");
    browser.press("Tab");
    assert_eq!(browser.text("document.activeElement.id"), "compare-left");
    browser.paste(&format!("𝄞 «{FERRY}»"));
    browser.press("Tab");
    browser.paste(&format!("He said that {LATE_FERRY}."));
    browser.press("Tab");
    browser.press("Tab");
    let focus = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.text(focus), "solid", "the focus is to be seen");
    browser.press("Enter");
    browser.wait_for("!document.querySelector('#compare-result').hidden");
    let shared = FERRY.strip_suffix(" open").unwrap();
    let marked =
        browser.evaluate("[...document.querySelectorAll('#compare-texts mark')].map((mark) => mark.textContent)");
    assert_eq!(marked, json!([shared, shared]), "characters beyond the first plane do not shift the passage");
    let figures = browser.text("document.querySelector('#compare-figures').innerText");
    // 13 shingles are shared; the left text has one more in front and the last, the right one three in front and the last.
    assert!(figures.contains("Jaccard similarity") && figures.contains("13 of "), "{figures}");
    // The other side answers to what is focused on this one.
    browser.press("Tab");
    browser.wait_for("document.querySelectorAll('#compare-texts mark.same').length === 2");
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn sliders_move_the_curve() {
    let server = Folder::new().serve("");
    let Some(mut browser) = Browser::open(&format!("http://{}/#curve", server.address), DESKTOP) else { return };
    browser.wait_for("document.querySelector('#curve-line')");
    let line = "document.querySelector('#curve-line').getAttribute('d')";
    let caption = "document.querySelector('#curve-caption').textContent";
    let (first, words) = (browser.text(line), browser.text(caption));
    assert!(
        words.contains("of the pairs at 0.80") && words.contains("are found") && words.contains("missed"),
        "{words}"
    );

    browser.evaluate("document.querySelector('#curve-threshold').focus()");
    for _ in 0..10 {
        browser.press("ArrowLeft");
    }
    browser.wait_for("document.querySelector('#curve-caption').textContent.includes('of the pairs at 0.70')");
    let second = browser.text(line);
    assert_ne!(first, second, "another threshold has another curve");

    browser.evaluate("document.querySelector('#curve-recall').focus()");
    browser.press("ArrowLeft");
    browser.wait_for(&format!("document.querySelector('#curve-line').getAttribute('d') !== {second:?}"));
    let third = browser.text(line);

    // Fewer bands find fewer pairs; the sliders say so as they move.
    browser.evaluate("document.querySelector('#curve-bands').focus()");
    browser.press("ArrowLeft");
    browser.wait_for(&format!("document.querySelector('#curve-line').getAttribute('d') !== {third:?}"));
    assert_eq!(browser.evaluate("document.querySelector('#curve-own').checked"), true);
    let bands = browser.text("document.querySelector('#curve-bands-shown').textContent");
    assert!(browser.text(caption).starts_with(&format!("{bands} bands of ")));
    assert_eq!(browser.complaints, [""; 0]);
}

#[test]
fn a_phone_has_room_for_it() {
    let folder = Folder::with_index(&[("a-very-long-id-without-any-blank-".repeat(8).as_str(), LATE_FERRY)]);
    let server = folder.serve("news.idx");
    for part in ["search", "compare", "curve"] {
        let Some(mut browser) = Browser::open(&format!("http://{}/#{part}", server.address), PHONE) else { return };
        match part {
            "search" => {
                browser.click("#search-text");
                browser.paste(FERRY);
                browser.click("#search-form button");
                browser.wait_for("document.querySelector('#search-results mark')");
            }
            "curve" => browser.wait_for("document.querySelector('#curve-line')"),
            _ => {}
        }
        let overflow = browser.evaluate("document.documentElement.scrollWidth - innerWidth");
        assert!(overflow.as_i64().unwrap() <= 0, "{part} is {overflow} pixels too wide");
        let unnamed = "[...document.querySelectorAll('input, select, textarea')].filter((field) => !field.labels.length).map((field) => field.id)";
        assert_eq!(browser.evaluate(unnamed), json!([]), "fields without a label");
    }
}

#[test]
fn a_token_is_asked_for_where_one_is_needed() {
    let folder = Folder::with_index(&[("late", LATE_FERRY)]);
    folder.write("tokens", "a-token-of-some-length");
    let server = folder.serve("news.idx --token-file tokens --private");
    let Some(mut browser) = Browser::open(&format!("http://{}/", server.address), DESKTOP) else { return };
    browser.wait_for("!document.querySelector('#token-form').hidden");
    browser.click("#token");
    browser.paste("a-token-of-some-length");
    browser.press("Enter");
    browser.wait_for("document.querySelector('#about-index').textContent.startsWith('1 item in the index')");
    browser.click("#search-text");
    browser.paste(FERRY);
    browser.click("#search-form button");
    browser.wait_for("document.querySelector('#search-results mark')");
}

#[test]
fn without_an_index_the_page_says_so() {
    let server = Folder::new().serve("");
    let Some(mut browser) = Browser::open(&format!("http://{}/", server.address), DESKTOP) else { return };
    browser.wait_for("document.querySelector('#about-index').textContent.includes('lookalike serve INDEX')");
    assert_eq!(browser.evaluate("document.querySelector('#search-form button').disabled"), true);
}
