//! Kept records leave as they came, in every format and wrapping.

use crate::folder::Folder;
use crate::packing::{gunzip, gzip, unzstd, warc_record, write_parquet, zstd};
use crate::texts::{FERRY, LATE_FERRY, LIBRARY, jsonl};

/// A file whose second record is a near-duplicate of its first, in pieces: what is before the records, the records.
struct Example {
    name: &'static str,
    head: String,
    records: [String; 3],
    flags: &'static str,
}

impl Example {
    fn content(&self) -> String {
        format!("{}{}", self.head, self.records.concat())
    }

    fn kept(&self) -> String {
        format!("{}{}{}", self.head, self.records[0], self.records[2])
    }

    /// The file without the near-duplicate: nothing of it can be dropped.
    fn unique(&self) -> String {
        self.kept()
    }
}

fn examples() -> Vec<Example> {
    let example = |name, flags, head: &str, records| Example { name, flags, head: head.into(), records };
    vec![
        // Blanks, escapes and the order of members stay as they are, and the last line stays open.
        example(
            "in.jsonl",
            "",
            "",
            [
                format!("{{ \"text\" :\"{FERRY}\",\"caf\\u00e9\": [1,  2.50], \"id\":\"a\" }}\r\n"),
                format!("{{\"id\":\"b\",\"text\":\"{LATE_FERRY}\"}}\n"),
                format!("{{\"id\":\"c\",\"text\":\"{LIBRARY}\"}}"),
            ],
        ),
        // A byte-order mark, quotes that need not be, a newline and a comma inside quotes.
        example(
            "in.csv",
            "",
            "\u{feff}id,\"text\",note\r\n",
            [
                format!("a,{FERRY},\"two\r\nlines, and \"\"quotes\"\"\"\r\n"),
                format!("b,\"{LATE_FERRY}\",\r\n"),
                format!("\"c\",\"{LIBRARY}\n\",x\r\n"),
            ],
        ),
        example(
            "in.tsv",
            "",
            "text\tid\n",
            [format!("{FERRY}\ta\n"), format!("{LATE_FERRY}\tb\n"), format!("\"{LIBRARY}\t\"\tc\n")],
        ),
        example(
            "in.txt",
            "--input-format lines",
            "",
            [format!("{FERRY}\r\n"), format!("{LATE_FERRY}\n"), format!("  {LIBRARY}")],
        ),
        example(
            "in.sets",
            "-t 0.75",
            "",
            ["pears plums  nuts oats\n".into(), "oats pears nuts\n".into(), "rye\tsalt \n".into()],
        ),
        example(
            "in.warc",
            "",
            "WARC/1.0\r\nWARC-Type: warcinfo\r\nWARC-Record-ID: <urn:info>\r\nContent-Length: 3\r\n\r\na:b\r\n\r\n",
            [warc_record("a", FERRY), warc_record("b", LATE_FERRY), warc_record("c", LIBRARY)],
        ),
    ]
}

#[test]
fn kept_records_leave_byte_for_byte() {
    for example in examples() {
        let folder = Folder::with(example.name, example.content());
        let before = folder.read(example.name);
        folder.done(&format!("dedup {} -o out {}", example.name, example.flags));
        assert_eq!(folder.text("out"), example.kept(), "{}", example.name);
        assert_eq!(folder.names(), [example.name, "out"], "nothing else is left");
        assert_eq!(folder.read(example.name), before, "the input stays");
        let to_stdout = folder.done(&format!("dedup {} {}", example.name, example.flags));
        assert_eq!(to_stdout.text(), example.kept(), "{} to standard output", example.name);
    }
}

#[test]
fn nothing_dropped_is_the_same_file() {
    for example in examples() {
        for (name, content) in [
            (example.name.to_owned(), example.unique().into_bytes()),
            (format!("{}.empty", example.name), example.head.clone().into_bytes()),
        ] {
            let folder = Folder::with(&name, &content);
            let format = example.name.strip_prefix("in.").unwrap().replace("txt", "lines");
            folder.done(&format!("dedup {name} -o out --input-format {format} {}", example.flags));
            assert_eq!(folder.read("out"), content, "{name}");
        }
    }
}

#[test]
fn compressed_inputs_of_every_format() {
    for example in examples() {
        let content = example.content().into_bytes();
        let (first, second) = content.split_at(content.len() / 2);
        let name = example.name;
        let folder = Folder::with(&format!("{name}.gz"), [gzip(first), gzip(b""), gzip(second)].concat());
        folder.write(&format!("{name}.zst"), [zstd(first), zstd(second)].concat());
        folder.done(&format!("dedup {name}.gz -o out.gz {}", example.flags));
        folder.done(&format!("dedup {name}.zst -o out.zst {}", example.flags));
        assert_eq!(String::from_utf8(gunzip(&folder.read("out.gz"))).unwrap(), example.kept(), "{name}.gz");
        assert_eq!(String::from_utf8(unzstd(&folder.read("out.zst"))).unwrap(), example.kept(), "{name}.zst");
    }
}

#[test]
fn the_name_of_the_output_decides_its_compression() {
    let records = jsonl(&[("a", FERRY), ("b", LATE_FERRY), ("c", LIBRARY)]);
    let kept = jsonl(&[("a", FERRY), ("c", LIBRARY)]).into_bytes();
    let folder = Folder::with("in.jsonl", &records);
    // Told by its first bytes, whatever the name says.
    folder.write("packed.jsonl", gzip(records.as_bytes()));
    for input in ["in.jsonl", "packed.jsonl"] {
        folder.done(&format!("dedup {input} -o out.jsonl"));
        folder.done(&format!("dedup {input} -o out.jsonl.gz"));
        folder.done(&format!("dedup {input} -o out.jsonl.zst"));
        assert_eq!(folder.read("out.jsonl"), kept, "from {input}");
        assert_eq!(gunzip(&folder.read("out.jsonl.gz")), kept, "from {input}");
        assert_eq!(unzstd(&folder.read("out.jsonl.zst")), kept, "from {input}");
    }
}

#[test]
fn standard_input_to_standard_output() {
    let records = jsonl(&[("a", FERRY), ("b", LATE_FERRY), ("c", LIBRARY)]);
    let kept = jsonl(&[("a", FERRY), ("c", LIBRARY)]).into_bytes();
    let folder = Folder::new();
    assert_eq!(folder.run_with_stdin("dedup", records.as_bytes()).stdout, kept);
    assert_eq!(folder.run_with_stdin("dedup -", records.as_bytes()).stdout, kept);
    // Whoever wants it compressed says so with a name, or pipes it on.
    assert_eq!(folder.run_with_stdin("dedup", &gzip(records.as_bytes())).stdout, kept);
    assert_eq!(folder.run_with_stdin("dedup", &zstd(records.as_bytes())).stdout, kept);
    assert!(folder.names().is_empty(), "the copy of standard input is left: {:?}", folder.names());
    folder.write("packed.jsonl.gz", gzip(records.as_bytes()));
    folder.write("plain.jsonl", jsonl(&[("d", LIBRARY)]));
    assert_eq!(folder.done("dedup packed.jsonl.gz plain.jsonl --id none").stdout, kept, "one after the other");
    std::fs::remove_file(folder.path("packed.jsonl.gz")).unwrap();
    std::fs::remove_file(folder.path("plain.jsonl")).unwrap();
    folder.run_with_stdin("dedup -o out.jsonl", records.as_bytes());
    assert_eq!(folder.read("out.jsonl"), kept);
    assert_eq!(folder.names(), ["out.jsonl"]);
}

#[test]
fn parquet_keeps_its_rows() {
    let folder = Folder::new();
    write_parquet(&folder.path("in.parquet"), &[("a", FERRY), ("b", LATE_FERRY), ("c", LIBRARY)]);
    folder.done("dedup in.parquet -o out.parquet --dropped dropped.tsv");
    assert_eq!(folder.text("dropped.tsv"), "b\ta\t0.866667\n");
    // Every pair of the output has the similarity 0 or 1 to the original rows: the same values, none more.
    folder.write("kept.jsonl", jsonl(&[("a2", FERRY), ("c2", LIBRARY)]));
    let pairs = folder.done("pairs out.parquet kept.jsonl -t 1");
    assert_eq!(pairs.text(), "a\ta2\t1.000000\nc\tc2\t1.000000\n");
    let counts: serde_json::Value = serde_json::from_str(&folder.done("dedup out.parquet -n --json").stderr).unwrap();
    assert_eq!((&counts["records"], &counts["dropped"]), (&2.into(), &0.into()));
}

#[test]
fn a_folder_keeps_its_paths_formats_and_compression() {
    let folder = Folder::with("in/b/first.jsonl", jsonl(&[("a", FERRY), ("b", LIBRARY)]));
    folder.write("in/b/second.jsonl.gz", gzip(jsonl(&[("c", LATE_FERRY), ("d", "short")]).as_bytes()));
    folder.write("in/z/all.jsonl.zst", zstd(jsonl(&[("e", LATE_FERRY)]).as_bytes()));
    folder.write("in/z/skip.bin", "not a record");
    folder.done("dedup in -o out");
    assert_eq!(folder.read("out/b/first.jsonl"), folder.read("in/b/first.jsonl"));
    assert_eq!(gunzip(&folder.read("out/b/second.jsonl.gz")), jsonl(&[("d", "short")]).into_bytes());
    assert_eq!(unzstd(&folder.read("out/z/all.jsonl.zst")), b"", "a file without kept records is still a file");
    let out: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with("out")).collect();
    let files = ["out/", "out/b/", "out/b/first.jsonl", "out/b/second.jsonl.gz", "out/z/", "out/z/all.jsonl.zst"];
    assert_eq!(out, files);
}

#[test]
fn text_files_are_kept_or_left_out_whole() {
    let page = |text: &str| format!("<html><head><title></title><script>x()</script></head><p>{text}</p></html>");
    let folder = Folder::with("in/a.txt", format!("{FERRY}\n"));
    folder.write("in/b.html", page(LATE_FERRY));
    folder.write("in/sub/c.html", page(LIBRARY));
    folder.write("in/sub/d.txt.gz", gzip(LIBRARY.as_bytes()));
    folder.done("dedup in -o out");
    let out: Vec<String> = folder.names().into_iter().filter(|name| name.starts_with("out")).collect();
    assert_eq!(out, ["out/", "out/a.txt", "out/sub/", "out/sub/c.html"]);
    assert_eq!(folder.text("out/a.txt"), format!("{FERRY}\n"));
    assert_eq!(folder.text("out/sub/c.html"), page(LIBRARY));
}

#[test]
fn several_inputs_follow_each_other_on_standard_output() {
    let folder = Folder::with("one.csv", format!("id,text\na,{FERRY}"));
    folder.write("two.csv", "id,text\n");
    folder.write("three.csv", format!("id,text\nb,{LATE_FERRY}\nc,{LIBRARY}\n"));
    let run = folder.done("dedup one.csv two.csv three.csv");
    assert_eq!(run.text(), format!("id,text\na,{FERRY}\nc,{LIBRARY}\n"), "one header, and lines that end");
    // The order of the arguments is the order of the records.
    let run = folder.done("dedup three.csv one.csv");
    assert_eq!(run.text(), format!("id,text\nb,{LATE_FERRY}\nc,{LIBRARY}\n"));
}
