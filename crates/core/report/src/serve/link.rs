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

pub fn run(name: &str) -> String {
    format!("/run/{}", encoded(name))
}

pub fn files(name: &str) -> String {
    format!("/files/{}", encoded(name))
}

pub fn file(name: &str, file: &str) -> String {
    let parts: Vec<_> = file.split('/').map(encoded).collect();
    format!("/files/{}/{}", encoded(name), parts.join("/"))
}

pub fn live(name: &str) -> String {
    format!("/live/{}", encoded(name))
}

pub fn events(name: &str, after: u32) -> String {
    format!("/events/{}?after={after}", encoded(name))
}
