//! Links between the pages of a server: names of runs become parts of paths.

use std::fmt::Write;

/// Text as one part of a path or one value of a query: letters, digits, `-`, `_` and `.` stay.
pub fn encoded(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for byte in text.bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' => out.push(byte.into()),
            _ => {
                let _ = write!(out, "%{byte:02X}");
            }
        }
    }
    out
}

/// The page of a run.
pub fn run(name: &str) -> String {
    format!("/run/{}", encoded(name))
}

/// The files of a run.
pub fn files(name: &str) -> String {
    format!("/files/{}", encoded(name))
}

/// One file of a run.
pub fn file(name: &str, file: &str) -> String {
    let parts: Vec<_> = file.split('/').map(encoded).collect();
    format!("/files/{}/{}", encoded(name), parts.join("/"))
}

/// The page that follows a run.
pub fn live(name: &str) -> String {
    format!("/live/{}", encoded(name))
}

/// What happens in a run, as a stream, after a trial.
pub fn events(name: &str, after: u32) -> String {
    format!("/events/{}?after={after}", encoded(name))
}

/// Two cells, or the choice of them.
pub fn cells(a: &str, b: &str) -> String {
    format!("/cells?a={}&b={}", encoded(a), encoded(b))
}
