//! The errors of an index: they name the file, and say what to do.

use std::io;
use std::path::Path;

use crate::error::{Error, ErrorKind};

pub(super) fn failed(message: String) -> Error {
    Error::new(ErrorKind::Index, message)
}

pub(super) fn damaged(path: &Path) -> Error {
    failed(format!("the index file {} is damaged", path.display()))
        .advise("restore it from a copy, or build the index again")
}

pub(super) fn unreadable(path: &Path, error: &io::Error) -> Error {
    failed(format!("cannot read the index file {} ({error})", path.display()))
}

pub(super) fn unwritable(path: &Path, error: &io::Error) -> Error {
    let advice = match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded => {
            "the disk is full: make room and try again; what was committed before is safe"
        }
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            "check the permissions; to query an index, reading is enough"
        }
        _ => "what was committed before is safe",
    };
    failed(format!("cannot write the index file {} ({error})", path.display())).advise(advice)
}
