/// Three figures at most: `255 B`, `16 TiB`, `<16 TiB` for one that is up to a page short of a
/// round one.
pub fn size_text(bytes: u64) -> String {
    const UNITS: [&str; 7] = ["B", "KiB", "MiB", "GiB", "TiB", "PiB", "EiB"];
    let rounded = (u128::from(bytes) + 65_536) >> 17 << 17;
    let is_just_under = bytes > 1 << 20 && rounded != u128::from(bytes);
    let (sign, shown) = match is_just_under && rounded.is_power_of_two() {
        true => (if rounded > u128::from(bytes) { "<" } else { ">" }, rounded),
        false => ("", u128::from(bytes)),
    };
    let unit = (0..UNITS.len()).rev().find(|unit| shown >= 1 << (10 * unit)).unwrap_or(0);
    let value = shown as f64 / (1_u128 << (10 * unit)) as f64;
    let decimals = if value.fract() == 0.0 || value >= 100.0 { 0 } else { 1 };
    format!("{sign}{value:.decimals$} {}", UNITS[unit])
}

/// In per cent: `none` for nothing, `<0.1 %` for very little.
pub fn share_text(part: u64, whole: u64) -> String {
    if part == 0 {
        return "none".into();
    }
    let percent = part as f64 * 100.0 / whole.max(1) as f64;
    if percent < 0.1 { "<0.1 %".into() } else { format!("{percent:.1} %") }
}

/// `1 ns`, `100 ns`, `4 ms`, `2 s`.
pub fn span_text(ns: u64) -> String {
    let (unit_ns, unit) = match ns {
        0..1_000 => (1, "ns"),
        1_000..1_000_000 => (1_000, "us"),
        1_000_000..1_000_000_000 => (1_000_000, "ms"),
        _ => (1_000_000_000, "s"),
    };
    let value = ns as f64 / unit_ns as f64;
    let decimals = if value.fract() == 0.0 || value >= 100.0 { 0 } else { 1 };
    format!("{value:.decimals$} {unit}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_are_short_and_tell_when_they_are_just_under_a_round_one() {
        assert_eq!(size_text(255), "255 B");
        assert_eq!(size_text(1536), "1.5 KiB");
        assert_eq!(size_text((16 << 40) - 4096), "<16 TiB");
        assert_eq!(size_text(i64::MAX as u64), "<8 EiB");
        assert_eq!(size_text((4 << 30) - 1), "<4 GiB");
        assert_eq!(size_text(16 << 40), "16 TiB");
        assert_eq!(size_text(2_196_873_666_560), "2.0 TiB");
    }

    #[test]
    fn a_share_of_nothing_is_none_and_a_tiny_one_is_not() {
        assert_eq!(share_text(0, 1000), "none");
        assert_eq!(share_text(1, 1_000_000), "<0.1 %");
        assert_eq!(share_text(31, 1000), "3.1 %");
    }

    #[test]
    fn spans_have_the_largest_unit_that_fits() {
        let texts: Vec<_> = [1, 100, 4_000_000, 2_000_000_000].map(span_text).into();
        assert_eq!(texts, ["1 ns", "100 ns", "4 ms", "2 s"]);
    }
}
