//! Not a general CSV reader: no quotes, further columns are ignored.

/// Endings of the first column's name, and how long their unit is.
const UNITS: &[(&str, u64)] =
    &[("_ns", 1), ("_us", 1_000), ("_ms", 1_000_000), ("_s", 1_000_000_000)];

pub(super) fn messages(bytes: &[u8]) -> Result<Vec<(u64, u32)>, String> {
    let mut unit_ns = 1_000_000_000;
    let mut messages = Vec::new();
    for (at, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
        let line = line.trim_ascii();
        if line.is_empty() || line.starts_with(b"#") {
            continue;
        }
        let text = String::from_utf8_lossy(line);
        match message(&text, unit_ns) {
            Some(message) => messages.push(message),
            None if messages.is_empty() && is_head(&text) => unit_ns = unit_of(&text, unit_ns),
            None => {
                let (number, text): (_, String) = (at + 1, text.chars().take(40).collect());
                return Err(format!(
                    "line {number}: {text:?} is not a time and a number of bytes; write 0.25,100"
                ));
            }
        }
    }
    Ok(messages)
}

fn message(line: &str, unit_ns: u64) -> Option<(u64, u32)> {
    let mut fields = line.split([',', ';', '\t']).map(str::trim);
    let time_ns = scaled_ns(fields.next()?, unit_ns)?;
    let bytes = fields.next()?.parse().ok()?;
    Some((time_ns, bytes))
}

fn is_head(line: &str) -> bool {
    line.starts_with(|first: char| first.is_ascii_alphabetic()) && line.contains([',', ';', '\t'])
}

fn unit_of(head: &str, otherwise_ns: u64) -> u64 {
    let name = head.split([',', ';', '\t']).next().unwrap_or_default().trim();
    UNITS.iter().find(|(ending, _)| name.ends_with(ending)).map_or(otherwise_ns, |(_, ns)| *ns)
}

/// A decimal number of units in nanoseconds, exactly: seconds since 1970 with nine decimals do not
/// fit a float.
fn scaled_ns(text: &str, unit_ns: u64) -> Option<u64> {
    let (whole, fraction) = text.split_once('.').unwrap_or((text, ""));
    let is_digits = |part: &str| part.bytes().all(|byte| byte.is_ascii_digit());
    if whole.is_empty() || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    let mut ns = whole.parse::<u64>().ok()?.checked_mul(unit_ns)?;
    let mut place_ns = unit_ns;
    for digit in fraction.bytes() {
        place_ns /= 10;
        ns = ns.checked_add(u64::from(digit - b'0') * place_ns)?;
    }
    Some(ns)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn seconds_since_1970_keep_their_nanoseconds() {
        assert_eq!(
            scaled_ns("1700000000.123456789", 1_000_000_000),
            Some(1_700_000_000_123_456_789)
        );
        assert_eq!(scaled_ns("12.5", 1_000), Some(12_500));
        assert_eq!(scaled_ns("-1", 1), None);
        assert_eq!(scaled_ns("1e3", 1), None);
    }

    #[test]
    fn comments_a_head_and_other_columns_are_passed_over() {
        let text = b"# made by hand\ntime_ms;bytes;what\n1.5; 10;a\r\n\n2;20;b";
        assert_eq!(messages(text), Ok(vec![(1_500_000, 10), (2_000_000, 20)]));
    }

    #[test]
    fn a_bad_line_is_named_with_its_number() {
        let error = messages(b"0,1\nnonsense\n").unwrap_err();
        assert!(error.starts_with("line 2: \"nonsense\" is not a time"), "{error}");
    }
}
