//! Times as FIX writes them: `20260614-09:30:00.123`, always UTC.

use super::decimal::digits;

/// Nanoseconds since 1970.
pub type UtcTime = u64;

const DAY_S: u64 = 86_400;

/// 21 bytes, with milliseconds.
pub fn utc_text(time_ns: UtcTime) -> [u8; 21] {
    let (seconds, ms) = (time_ns / 1_000_000_000, time_ns / 1_000_000 % 1_000);
    let (year, month, day) = civil(seconds / DAY_S);
    let of_day = seconds % DAY_S;
    let mut text = *b"00000000-00:00:00.000";
    for (end, number, count) in [
        (4, year, 4),
        (6, month, 2),
        (8, day, 2),
        (11, of_day / 3_600, 2),
        (14, of_day / 60 % 60, 2),
        (17, of_day % 60, 2),
        (21, ms, 3),
    ] {
        digits(&mut text, end, number, count);
    }
    text
}

/// With seconds, and with up to nine digits behind them.
pub(crate) fn parse_utc(text: &[u8]) -> Option<UtcTime> {
    let number = |from: usize, to: usize| super::fields::uint(text.get(from..to)?);
    let marks = [(8, b'-'), (11, b':'), (14, b':')];
    if marks.iter().any(|(at, mark)| text.get(*at) != Some(mark)) {
        return None;
    }
    let (year, month, day) = (number(0, 4)?, number(4, 6)?, number(6, 8)?);
    let (hour, minute, second) = (number(9, 11)?, number(12, 14)?, number(15, 17)?);
    let is_real = (1..=12).contains(&month) && (1..=31).contains(&day) && year >= 1970;
    if !is_real || hour > 23 || minute > 59 || second > 60 {
        return None;
    }
    let seconds = days(year, month, day) * DAY_S + hour * 3_600 + minute * 60 + second;
    Some(seconds * 1_000_000_000 + fraction_ns(&text[17..])?)
}

fn fraction_ns(text: &[u8]) -> Option<u64> {
    match text {
        [] => Some(0),
        [b'.', places @ ..] if places.len() <= 9 => {
            Some(super::fields::uint(places)? * 10u64.pow(9 - places.len() as u32))
        }
        _ => None,
    }
}

/// Year, month and day of a day since 1970: Howard Hinnant, "chrono-Compatible Low-Level Date Algorithms".
fn civil(days: u64) -> (u64, u64, u64) {
    let z = days + 719_468;
    let of_era = z % 146_097;
    let year_of_era = (of_era - of_era / 1_460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year_of_era + year_of_era / 4 - year_of_era / 100);
    let m = (5 * of_year + 2) / 153;
    let day = of_year - (153 * m + 2) / 5 + 1;
    let month = if m < 10 { m + 3 } else { m - 9 };
    (year_of_era + z / 146_097 * 400 + u64::from(month <= 2), month, day)
}

fn days(year: u64, month: u64, day: u64) -> u64 {
    let year = year - u64::from(month <= 2);
    let (era, of_era) = (year / 400, year % 400);
    let of_year = (153 * (if month > 2 { month - 3 } else { month + 9 }) + 2) / 5 + day - 1;
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn known_moments_are_written_and_read() {
        for (seconds, text) in [
            (0, "19700101-00:00:00.000"),
            (951_782_400, "20000229-00:00:00.000"),
            (1_623_663_000, "20210614-09:30:00.000"),
            (4_102_444_799, "20991231-23:59:59.000"),
        ] {
            let time_ns = seconds * 1_000_000_000;
            assert_eq!(utc_text(time_ns), *text.as_bytes());
            assert_eq!(parse_utc(text.as_bytes()), Some(time_ns));
        }
        assert_eq!(parse_utc(b"20210614-09:30:00.123456789"), Some(1_623_663_000_123_456_789));
        assert_eq!(parse_utc(b"20210614-09:30:00"), Some(1_623_663_000_000_000_000));
    }

    #[test]
    fn what_is_no_time_is_refused() {
        for wrong in [
            "",
            "20210614",
            "20211314-09:30:00",
            "20210614 09:30:00",
            "20210614-25:30:00",
            "20210614-09:30:00.",
            "20210614-09:30:00,5",
        ] {
            assert_eq!(parse_utc(wrong.as_bytes()), None, "{wrong}");
        }
    }
}
