use pickfs_record::{
    Heat, WorkUnit,
    finding::{PhaseRow, RowRatio, Spread},
    quantity::significant,
};

/// The unit of a rate as the field prints it: decimal megabytes for bytes.
pub fn unit_name(unit: WorkUnit) -> &'static str {
    match unit {
        WorkUnit::Bytes => "MB/s",
        WorkUnit::Files => "files/s",
        WorkUnit::Seeks => "seeks/s",
        WorkUnit::Calls => "calls/s",
    }
}

pub fn rate_number(unit: WorkUnit, per_s: f64) -> String {
    match unit {
        WorkUnit::Bytes => significant(per_s / 1e6),
        WorkUnit::Files | WorkUnit::Seeks | WorkUnit::Calls => significant(per_s),
    }
}

pub fn range_number(unit: WorkUnit, rate: Spread) -> String {
    format!("{} to {}", rate_number(unit, rate.low), rate_number(unit, rate.high))
}

pub fn rate_text(unit: WorkUnit, per_s: f64) -> String {
    format!("{} {}", rate_number(unit, per_s), unit_name(unit))
}

pub fn ratio_number(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}") } else { significant(ratio) }
}

pub fn interval_text(ratio: RowRatio) -> Option<String> {
    let (low, high) = ratio.interval?;
    Some(pickfs_analysis::wording::interval_text(low, high))
}

/// Whether the interval leaves out 1; not known without one.
pub fn leaves_out_one(ratio: RowRatio) -> Option<bool> {
    ratio.interval.map(|(low, high)| low > 1.0 || high < 1.0)
}

pub fn ratio_head(reference: &str, label: &str) -> (String, String) {
    (format!("{reference}/{label}"), format!(">1: {reference} faster"))
}

/// A row's name in a table: its label, and the unit where the table's rows count different
/// things. Derived rows have the names of their phases.
pub fn row_name(phase: &PhaseRow, table_unit: Option<WorkUnit>) -> String {
    let name = if phase.is_derived { &phase.phase } else { &phase.label };
    match table_unit {
        Some(_) => name.clone(),
        None => format!("{name} ({})", unit_name(phase.unit)),
    }
}

pub fn heat_text(heat: Option<Heat>) -> &'static str {
    match heat {
        Some(Heat::Cold) => ", cold",
        Some(Heat::Hot) => ", hot",
        None => "",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ratios_have_the_digits_of_the_articles() {
        let said = [0.012, 1.0, 5.649, 12.34, 2262.0].map(ratio_number);
        assert_eq!(said, ["0.01", "1.00", "5.65", "12.3", "2,262"]);
    }

    #[test]
    fn an_interval_on_one_side_of_one_is_told_from_one_across() {
        let ratio = |interval| RowRatio { value: 1.2, interval, blocks: 8 };
        assert_eq!(leaves_out_one(ratio(Some((1.1, 1.3)))), Some(true));
        assert_eq!(leaves_out_one(ratio(Some((0.9, 1.3)))), Some(false));
        assert_eq!(leaves_out_one(ratio(None)), None);
        assert_eq!(interval_text(ratio(Some((1.1, 1.3)))).as_deref(), Some("[1.10, 1.30]"));
    }
}
