use thiserror::Error;

#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{what} `{text}` not understood; write it like {example}")]
pub struct QuantityError {
    /// What was expected: `size`, `rate` or `duration`.
    pub what: &'static str,
    pub text: String,
    /// Texts that would have been accepted.
    pub example: &'static str,
}

const SIZES: &[(&str, u64)] = &[
    ("TiB", 1 << 40),
    ("GiB", 1 << 30),
    ("MiB", 1 << 20),
    ("KiB", 1 << 10),
    ("TB", 1_000_000_000_000),
    ("GB", 1_000_000_000),
    ("MB", 1_000_000),
    ("kB", 1_000),
    ("T", 1 << 40),
    ("G", 1 << 30),
    ("M", 1 << 20),
    ("K", 1 << 10),
    ("k", 1 << 10),
    ("B", 1),
    ("", 1),
];

const DURATIONS: &[(&str, u64)] = &[
    ("ns", 1),
    ("us", 1_000),
    ("ms", 1_000_000),
    ("min", 60_000_000_000),
    ("s", 1_000_000_000),
    ("m", 60_000_000_000),
    ("h", 3_600_000_000_000),
];

/// Reads a size in bytes: `256`, `4KiB`, `1GiB`, `1.5M` (binary for K, M, G, T alone).
pub fn parse_bytes(text: &str) -> Result<u64, QuantityError> {
    scaled(text, SIZES).ok_or_else(|| QuantityError {
        what: "size",
        text: text.into(),
        example: "256, 4KiB, 64MiB or 1GiB",
    })
}

/// Reads a duration in nanoseconds: `250ms`, `10s`, `5m`, `1h`.
pub fn parse_duration_ns(text: &str) -> Result<u64, QuantityError> {
    scaled(text, DURATIONS).ok_or_else(|| QuantityError {
        what: "duration",
        text: text.into(),
        example: "250ms, 10s, 5m or 1h",
    })
}

/// No rate is higher: one arrival in a nanosecond.
pub const RATE_MAX_PER_S: f64 = 1e9;

/// Reads a rate per second: `10000`, `10_000/s`, `2.5k/s`, `1M/s`; above zero, at most
/// [`RATE_MAX_PER_S`].
pub fn parse_rate_per_s(text: &str) -> Result<f64, QuantityError> {
    let error = || QuantityError {
        what: "rate",
        text: text.into(),
        example: "1000/s, 10_000/s or 2.5k/s, at most 1e9/s",
    };
    let clean = text.trim().replace('_', "");
    let number = clean.strip_suffix("/s").unwrap_or(&clean);
    let (digits, factor) = match number.chars().last() {
        Some('k' | 'K') => (&number[..number.len() - 1], 1e3),
        Some('M') => (&number[..number.len() - 1], 1e6),
        _ => (number, 1.0),
    };
    let rate = digits.parse::<f64>().map_err(|_| error())? * factor;
    if rate > 0.0 && rate <= RATE_MAX_PER_S { Ok(rate) } else { Err(error()) }
}

fn scaled(text: &str, units: &[(&str, u64)]) -> Option<u64> {
    let clean = text.trim().replace('_', "");
    let split = clean.find(|c: char| !(c.is_ascii_digit() || c == '.')).unwrap_or(clean.len());
    let (digits, unit) = clean.split_at(split);
    let factor = units.iter().find(|(name, _)| *name == unit.trim())?.1;
    let value = digits.parse::<f64>().ok()? * factor as f64;
    (0.0..9.0e18).contains(&value).then_some(value.round() as u64)
}

/// Prints bytes with a binary unit and at most one decimal: `1 GiB`, `64 MiB`, `256 B`.
pub fn bytes_text(bytes: u64) -> String {
    let (name, factor) =
        [("TiB", 1u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)]
            .into_iter()
            .find(|(_, factor)| bytes >= *factor)
            .unwrap_or(("B", 1));
    format!("{} {name}", short(bytes as f64 / factor as f64))
}

/// Prints a duration with three significant digits: `0.41 us`, `141 us`, `6.8 ms`, `12 s`.
pub fn duration_text(duration_ns: f64) -> String {
    let (name, factor) = [("s", 1e9), ("ms", 1e6), ("us", 1e3)]
        .into_iter()
        .find(|(_, factor)| duration_ns >= *factor)
        .unwrap_or(if duration_ns >= 100.0 { ("us", 1e3) } else { ("ns", 1.0) });
    format!("{} {name}", significant(duration_ns / factor))
}

/// Prints a span of time for people: `300 ms`, `45 s`, `4 min 30 s`, `1 h 05 min`.
pub fn span_text(span_s: f64) -> String {
    let total_s = span_s.max(0.0).round() as u64;
    match (total_s / 3600, total_s % 3600 / 60, total_s % 60) {
        _ if 0.0 < span_s && span_s < 1.0 => duration_text(span_s * 1e9),
        (0, 0, s) => format!("{s} s"),
        (0, m, 0) => format!("{m} min"),
        (0, m, s) => format!("{m} min {s:02} s"),
        (h, m, _) => format!("{h} h {m:02} min"),
    }
}

/// Prints a number with three significant digits and no exponent.
pub fn significant(value: f64) -> String {
    let magnitude = value.abs();
    match magnitude {
        0.0 => "0".into(),
        m if m >= 99.95 => grouped(value.round() as i64),
        m if m >= 9.995 => format!("{value:.1}"),
        m if m >= 0.0995 => format!("{value:.2}"),
        _ => format!("{value:.3}"),
    }
}

/// A number of things: `1 block`, `7 blocks`, `1,200 trials`.
pub fn counted(count: u64, thing: &str) -> String {
    let ending = if count == 1 { "" } else { "s" };
    format!("{} {thing}{ending}", grouped(count as i64))
}

/// Prints an integer with thousands separated by commas: `400,000`.
pub fn grouped(value: i64) -> String {
    let digits = value.unsigned_abs().to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index) % 3 == 0 {
            text.push(',');
        }
        text.push(digit);
    }
    if value < 0 { format!("-{text}") } else { text }
}

fn short(value: f64) -> String {
    if (value - value.round()).abs() < 0.05 { format!("{value:.0}") } else { format!("{value:.1}") }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_binary_unless_decimal_is_written() {
        assert_eq!(parse_bytes("4KiB"), Ok(4096));
        assert_eq!(parse_bytes("1.5M"), Ok(3 << 19));
        assert_eq!(parse_bytes("1GB"), Ok(1_000_000_000));
        assert_eq!(parse_bytes("256"), Ok(256));
        assert!(parse_bytes("many").is_err());
        assert!(parse_bytes("-1").is_err());
        assert!(parse_bytes("").is_err());
    }

    #[test]
    fn rates_must_be_above_zero() {
        assert_eq!(parse_rate_per_s("10_000/s"), Ok(10_000.0));
        assert_eq!(parse_rate_per_s("2.5k/s"), Ok(2_500.0));
        assert!(parse_rate_per_s("0/s").is_err());
        assert!(parse_rate_per_s("nan").is_err());
    }

    #[test]
    fn durations_know_their_units() {
        assert_eq!(parse_duration_ns("250ms"), Ok(250_000_000));
        assert_eq!(parse_duration_ns("5m"), Ok(300_000_000_000));
        assert!(parse_duration_ns("5").is_err());
    }

    #[test]
    fn texts_round_to_what_people_read() {
        assert_eq!(duration_text(412.0), "0.41 us");
        assert_eq!(duration_text(141_300.0), "141 us");
        assert_eq!(duration_text(6_779_000.0), "6.78 ms");
        assert_eq!(duration_text(24.0), "24.0 ns");
        assert_eq!(bytes_text(1 << 30), "1 GiB");
        assert_eq!([0.0, 0.3, 270.0].map(span_text), ["0 s", "300 ms", "4 min 30 s"]);
        assert_eq!(grouped(-400_000), "-400,000");
    }
}
