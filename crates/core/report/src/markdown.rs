use pickfs_record::visible::steers;

use crate::{Subject, document::markdown::nodes, run, terminal::NextStep};

pub fn markdown(subject: &Subject, next: Option<&NextStep>) -> String {
    let (before, after) = run::sections(subject, next);
    let answers = run::answers(subject, usize::MAX);
    let question = cell(&subject.run.plan.question);
    format!("## {question}\n{}{}{}", nodes(&answers), nodes(&before), nodes(&after))
}

pub(crate) fn fenced(commands: &str) -> String {
    let fence = "`".repeat(longest_run(commands).max(2) + 1);
    format!("{fence}sh\n{commands}\n{fence}\n\n")
}

pub(crate) fn code(words: &str) -> String {
    let fence = "`".repeat(longest_run(words) + 1);
    format!("{fence}{words}{fence}")
}

fn longest_run(words: &str) -> usize {
    words.split(|c| c != '`').map(str::len).max().unwrap_or(0)
}

pub(crate) fn cell(words: &str) -> String {
    text(words).replace('|', "\\|")
}

pub(crate) fn text(words: &str) -> String {
    let mut out = String::with_capacity(words.len());
    for c in words.chars() {
        match c {
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '&' => out.push_str("&amp;"),
            '`' | '*' | '_' | '[' | ']' | '\\' => out.extend(['\\', c]),
            c if steers(c) => out.push(' '),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_label_cannot_leave_its_cell() {
        assert_eq!(cell("a|b\n<img>*x*"), "a\\|b &lt;img&gt;\\*x\\*");
    }

    #[test]
    fn commands_with_backticks_stay_code() {
        assert_eq!(code("echo `x`"), "``echo `x```");
        assert!(fenced("```").starts_with("````sh\n"));
    }
}
