use pickfs_analysis::published::{
    Word,
    beside::{Beside, Pair, Part},
};

use crate::phases::words::{interval_text, ratio_number};

pub fn published_text(pair: &Pair) -> String {
    match pair.published {
        Some(ratio) => ratio_number(ratio),
        None if pair.published_failed => "failed".into(),
        None => "-".into(),
    }
}

pub fn measured_text(pair: &Pair) -> String {
    let Some(ratio) = pair.measured else { return "-".into() };
    let interval = interval_text(ratio).map_or_else(String::new, |text| format!(" {text}"));
    format!("{}{interval}", ratio_number(ratio.value))
}

pub fn word_text(pair: &Pair) -> String {
    match &pair.why {
        Some(why) if why.as_str() != "not in this run" => {
            format!("{}: {why}", pair.word.text())
        }
        _ => pair.word.text().into(),
    }
}

pub fn mean_texts(part: &Part, index: usize) -> Option<[String; 3]> {
    let mean = part.means.get(index).copied().flatten()?;
    Some([
        ratio_number(mean.published),
        ratio_number(mean.measured),
        format!("of the {} rows that both have", mean.rows),
    ])
}

pub fn summary(beside: &Beside) -> String {
    let pairs = || {
        let rows = beside.parts.iter().flat_map(|part| &part.rows);
        rows.flat_map(|row| &row.pairs)
    };
    let counts = Word::ALL.into_iter().filter_map(|word| {
        let count = pairs().filter(|pair| pair.word == word).count();
        (count > 0).then(|| format!("{count} {}", word.text()))
    });
    let texts: Vec<String> = counts.collect();
    match texts.is_empty() {
        true => "no row could be compared".into(),
        false => texts.join(", "),
    }
}

pub fn candidate_title(part: &Part, index: usize) -> String {
    format!("{} / {}", part.reference, part.candidates[index])
}
