//! `--annotate`: every record stays, and says what it is.

use crate::folder::Folder;
use crate::texts::{FERRY, LATE_FERRY, LIBRARY};

#[test]
fn json_objects_get_a_member() {
    let folder = Folder::with(
        "in.jsonl",
        format!(
            "{{\"id\":\"a\",  \"text\":\"{FERRY}\"}}\n{{\"text\":\"{LIBRARY}\",\"id\":\"b\"}} \r\n{{\"id\":\"c\",\"text\":\"{LATE_FERRY}\"}}"
        ),
    );
    let run = folder.done("dedup in.jsonl --annotate");
    assert_eq!(
        run.text(),
        format!(
            "{{\"id\":\"a\",  \"text\":\"{FERRY}\",\"lookalike\":{{\"group\":\"a\",\"role\":\"keeper\",\"size\":2,\"similarity\":1}}}}\n\
             {{\"text\":\"{LIBRARY}\",\"id\":\"b\",\"lookalike\":{{\"group\":\"b\",\"role\":\"unique\",\"size\":1,\"similarity\":1}}}} \r\n\
             {{\"id\":\"c\",\"text\":\"{LATE_FERRY}\",\"lookalike\":{{\"group\":\"a\",\"role\":\"duplicate\",\"size\":2,\"similarity\":0.8666666666666667}}}}"
        )
    );
}

#[test]
fn tables_get_four_columns() {
    let folder = Folder::with(
        "in.csv",
        format!("id,text,note\r\na,{FERRY},\"x\ny\"\r\nb,{LIBRARY},\r\nc,{LATE_FERRY},\"z\"\r\n"),
    );
    folder.done("dedup in.csv --annotate -o out.csv");
    assert_eq!(
        folder.text("out.csv"),
        format!(
            "id,text,note,lookalike_group,lookalike_role,lookalike_size,lookalike_similarity\r\n\
             a,{FERRY},\"x\ny\",a,keeper,2,1\r\nb,{LIBRARY},,b,unique,1,1\r\n\
             c,{LATE_FERRY},\"z\",a,duplicate,2,0.8666666666666667\r\n"
        )
    );
    // What was annotated is a table like any other.
    let run = folder.done("dedup out.csv --text lookalike_role --shingles words:1 --id id");
    assert_eq!(run.text().lines().count(), 5, "{}", run.text());
}
