/// A word longer than a line stands alone and may stick out.
pub fn hanging(name: &str, text: &str, margin: usize, columns: usize) -> String {
    let limit = columns.saturating_sub(margin).max(20);
    let mut out = String::new();
    for (index, line) in wrap(text, limit).iter().enumerate() {
        let name = if index == 0 { name } else { "" };
        let gap = margin.saturating_sub(name.chars().count()).max(1);
        out.push_str(&format!("{name}{:gap$}{line}\n", ""));
    }
    out
}

/// Breaks a text at spaces; runs of spaces inside a line stay.
pub fn wrap(text: &str, limit: usize) -> Vec<String> {
    let mut lines = vec![String::new()];
    for word in text.split(' ') {
        let line = lines.last_mut().expect("there is always a line");
        let used = line.chars().count();
        if used == 0 {
            line.push_str(word);
        } else if used + 1 + word.chars().count() <= limit {
            line.push(' ');
            line.push_str(word);
        } else {
            lines.push(word.into());
        }
    }
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_hangs_beside_its_name() {
        let text = hanging("NOT YET", "tails beyond p99, maxima, roll, readers", 10, 32);
        assert_eq!(text, "NOT YET   tails beyond p99,\n          maxima, roll, readers\n");
    }

    #[test]
    fn no_word_is_lost_and_no_line_too_long() {
        let text = "one two three four five six seven eight nine ten";
        let lines = wrap(text, 12);
        assert!(lines.iter().all(|line| line.chars().count() <= 12));
        assert_eq!(lines.join(" "), text);
    }
}
