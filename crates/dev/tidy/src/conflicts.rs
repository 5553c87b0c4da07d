//! What a merge leaves behind where it could not decide is in no committed text.

/// Also without a blank behind it: some programs leave none.
const MARKS: [&str; 2] = ["<<<<<<<", ">>>>>>>"];

pub fn breaches(text: &str) -> Vec<String> {
    let is_marked = |line: &str| MARKS.iter().any(|mark| line.starts_with(mark));
    let marked = text.lines().enumerate().filter(|(_, line)| is_marked(line));
    marked.map(|(at, _)| format!("line {} is a mark of a merge", at + 1)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn marks_of_a_merge_are_found_at_the_start_of_a_line_alone() {
        let text = format!("a\n{} HEAD\nb\n=======\nc\n{} other\n", MARKS[0], MARKS[1]);
        assert_eq!(breaches(&text), ["line 2 is a mark of a merge", "line 6 is a mark of a merge"]);
        assert!(breaches("x << y\n // <<<<<<< in words\n").is_empty());
    }
}
