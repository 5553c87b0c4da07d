//! Words that no tracked file may hold: notes to oneself, and paths of the
//! machine on which something was written.

/// The words, in two halves so that this file does not hold them.
const FORBIDDEN: &[&str] = &[
    concat!("TO", "DO"),
    concat!("FIX", "ME"),
    concat!("XX", "X:"),
    concat!("dbg", "!("),
    concat!("/wo", "rk/"),
    concat!("../sha", "red"),
];

pub fn breaches(text: &str) -> Vec<String> {
    let lines = text.lines().enumerate();
    lines.filter_map(|(index, line)| breach(index + 1, line)).collect()
}

fn breach(number: usize, line: &str) -> Option<String> {
    let word = FORBIDDEN.iter().find(|word| line.contains(**word))?;
    Some(format!("line {number}: holds '{word}'"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_forbidden_word_is_found() {
        for word in FORBIDDEN {
            assert_eq!(breaches(&format!("fine\n// {word} later\n")).len(), 1, "{word}");
        }
        assert!(breaches("to do: nothing\n").is_empty());
    }
}
