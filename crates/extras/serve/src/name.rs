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

/// The text of a part, decoded once; `+` is a space in a query. Nothing where it is not UTF-8,
/// holds a control character (NUL too) or a broken percent sign.
pub fn decoded(text: &str, is_query: bool) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.as_bytes();
    while let [first, tail @ ..] = rest {
        rest = tail;
        match first {
            b'%' => {
                let digits = std::str::from_utf8(tail.get(..2)?).ok()?;
                let is_hex = digits.bytes().all(|b| b.is_ascii_hexdigit());
                bytes.push(u8::from_str_radix(digits, 16).ok().filter(|_| is_hex)?);
                rest = &tail[2..];
            }
            b'+' if is_query => bytes.push(b' '),
            other => bytes.push(*other),
        }
    }
    String::from_utf8(bytes).ok().filter(|text| !text.chars().any(char::is_control))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_encoded_reads_back() {
        for text in ["", "2026-11-21-quick", "a/b c", "100% +é&=?#", "../../etc/passwd"] {
            let link = encoded(text);
            assert!(!link.contains(['/', '&', '?', '#', ' ', '+', '"', '<']), "{link}");
            assert_eq!(decoded(&link, false).as_deref(), Some(text));
            assert_eq!(decoded(&link, true).as_deref(), Some(text));
        }
    }

    #[test]
    fn broken_text_is_nothing() {
        for text in ["%", "%1", "%+1", "%zz", "%00", "%0d", "%ff", "a\u{7f}"] {
            assert_eq!(decoded(text, false), None, "{text}");
        }
    }
}
