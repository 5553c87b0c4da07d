use pickfs_record::{
    Durability,
    plan::{Metric, Statistic, View},
    quantity::{counted, significant},
    trial::WITH_FINAL_SYNC,
};

/// `p50`, `p99.9`: the name of a quantile.
pub fn quantile_name(q: f64) -> String {
    Statistic::Quantile(q).to_string()
}

/// `durable p50`, `append p99 (response)`, `append rate`.
pub fn metric_name(metric: &Metric) -> String {
    let is_figure = matches!(metric.statistic, Statistic::Figure(_));
    if is_figure || (metric.statistic == Statistic::Mean && is_program_time(&metric.op)) {
        return if is_figure { metric.op.clone() } else { format!("{} time", metric.op) };
    }
    let statistic = metric.statistic;
    match metric.view {
        View::Response => format!("{} {statistic} (response)", metric.op),
        View::RawResponse => format!("{} {statistic} (raw response)", metric.op),
        View::Service => format!("{} {statistic}", metric.op),
    }
}

/// `survives a power loss`, without what it hangs on.
pub fn survival(durability: Durability) -> String {
    let text = durability.to_string();
    text.split(',').next().unwrap_or(&text).to_string()
}

/// A metric within a sentence: `median response time of durable appends`; what has no view keeps its name.
pub fn metric_words(metric: &Metric) -> String {
    let statistic = match metric.statistic {
        Statistic::Rate | Statistic::Figure(_) => return metric_name(metric),
        Statistic::Mean if is_program_time(&metric.op) => return metric_name(metric),
        Statistic::Quantile(0.5) => "median ".into(),
        Statistic::Sd => "standard deviation of the ".into(),
        Statistic::Min => "shortest ".into(),
        Statistic::Worst => "largest ".into(),
        other => format!("{other} "),
    };
    let paid = metric.op.strip_suffix(WITH_FINAL_SYNC);
    let of = match paid.unwrap_or(&metric.op) {
        "durable" => "durable appends",
        "append" => "appends",
        other => other,
    };
    let share = if paid.is_some() { " with a share of the sync at the end" } else { "" };
    let each = if metric.statistic == Statistic::Worst { " in each second" } else { "" };
    format!("{statistic}{} of {of}{share}{each}", view_name(metric.view))
}

pub fn view_name(view: View) -> &'static str {
    match view {
        View::Service => "service time",
        View::Response => "response time",
        View::RawResponse => "raw response time",
    }
}

pub fn is_program_time(op: &str) -> bool {
    matches!(op, "wall" | "user" | "system")
}

/// `1.38x` under ten, three digits above.
pub fn times(ratio: f64) -> String {
    if ratio < 10.0 { format!("{ratio:.2}x") } else { format!("{}x", significant(ratio)) }
}

/// `9 %` for the ratio 1.09; at least one digit that is not zero.
pub fn percent_over_one(ratio: f64) -> String {
    let percent = 100.0 * (ratio - 1.0);
    if percent >= 1.0 { format!("{percent:.0} %") } else { format!("{percent:.1} %") }
}

/// `[1.21, 1.57]`: an interval of factors; three digits from ten on. `[over 1.21]` where blocks failed.
pub fn interval_text(low: f64, high: f64) -> String {
    let text = |ratio: f64| times(ratio).trim_end_matches('x').to_owned();
    match (low > 0.0, high.is_finite()) {
        (false, _) => format!("[under {}]", text(high)),
        (_, false) => format!("[over {}]", text(low)),
        _ => format!("[{}, {}]", text(low), text(high)),
    }
}

pub fn blocks_text(blocks: u32) -> String {
    counted(blocks.into(), "block")
}

/// Each once, in the order of the first ones.
pub fn unique<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for one in all {
        if !found.contains(&one) {
            found.push(one);
        }
    }
    found
}

pub fn list<T: AsRef<str>>(words: &[T]) -> String {
    match words {
        [] => String::new(),
        [one] => one.as_ref().to_string(),
        [first @ .., last] => {
            let first: Vec<&str> = first.iter().map(AsRef::as_ref).collect();
            format!("{} and {}", first.join(", "), last.as_ref())
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_short_and_exact() {
        let paid = Metric::new(&format!("append{WITH_FINAL_SYNC}"), Statistic::Mean);
        let words = "mean response time of appends with a share of the sync at the end";
        assert_eq!(metric_words(&Metric { view: View::Response, ..paid }), words);
        let names: Vec<_> = [0.5, 0.9, 0.99, 0.995, 0.9999, 0.99999].map(quantile_name).into();
        assert_eq!(names, ["p50", "p90", "p99", "p99.5", "p99.99", "p99.999"]);
        assert_eq!((times(1.376), times(42.33)), ("1.38x".to_string(), "42.3x".to_string()));
        assert_eq!(percent_over_one(1.087), "9 %");
        assert_eq!(percent_over_one(1.0042), "0.4 %");
        assert_eq!(interval_text(8.123, 212.86), "[8.12, 213]");
        assert_eq!(list(&["a", "b", "c"]), "a, b and c");
        assert_eq!(list::<&str>(&[]), "");
    }
}
