use pickfs_analysis::rerun::{Choice, Rerun, Standing};
use pickfs_model::finding::Comparison;

use crate::{
    terminal::{
        grid::{Align, Grid},
        paragraph::hanging,
        plain,
    },
    wording::{claim_text, interval_text, metric_name},
};

const MARGIN: usize = 13;

pub fn rerun_screen(rerun: &Rerun, columns: usize) -> String {
    let columns = columns.max(60);
    let say = |name: &str, text: &str| hanging(name, &plain(text), MARGIN, columns);
    let mut out = say("again", &format!("{} after {}", rerun.now, rerun.before));
    let mut name = "changed";
    for fact in &rerun.changed {
        let (here, there) = (fact.here.as_deref(), fact.there.as_deref());
        let absent = "absent";
        let (here, there) = (here.unwrap_or(absent), there.unwrap_or(absent));
        out.push_str(&say(name, &format!("{}: {here} -> {there}", fact.key)));
        name = "";
    }
    if rerun.changed.is_empty() {
        out.push_str(&say("changed", "nothing that is recorded"));
    }
    for warning in &rerun.warnings {
        out.push_str(&say("doubt", warning));
    }
    if rerun.choices.is_empty() {
        out.push('\n');
        out.push_str(&say("", "The earlier run supports no choice: there is nothing to judge."));
    }
    for choice in &rerun.choices {
        out.push('\n');
        out.push_str(&say(standing_word(choice.standing), &sentence(choice)));
        for line in comparisons(choice).lines().concat() {
            out.push_str(&format!("{:MARGIN$}{line}\n", ""));
        }
    }
    out
}

pub fn standing_word(standing: Standing) -> &'static str {
    match standing {
        Standing::Holds => "HOLDS",
        Standing::Changed => "CHANGED",
        Standing::CannotTell => "CANNOT TELL",
    }
}

fn sentence(choice: &Choice) -> String {
    let place = match choice.panel.as_str() {
        "" => String::new(),
        title => format!("{title}: "),
    };
    format!("{place}{}.", choice.why.trim_end_matches('.'))
}

fn comparisons(choice: &Choice) -> Grid {
    let head = ["against", "metric", "then", "now"].map(String::from).to_vec();
    let mut rows = vec![head];
    for twice in &choice.comparisons {
        let c = &twice.before;
        rows.push(vec![
            plain(&format!("{} / {}", c.other, c.reference)),
            metric_name(&c.metric),
            plain(&found(c)),
            twice.now.as_ref().map_or_else(|| "not compared".into(), found),
        ]);
    }
    if rows.len() == 1 {
        rows.clear();
    }
    Grid { columns: vec![Align::Left; 4], rows }
}

fn found(comparison: &Comparison) -> String {
    let interval = interval_text(comparison).map(|text| format!(" {text}")).unwrap_or_default();
    format!("{}{interval}", claim_text(comparison))
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_analysis::{findings, rerun::rerun};
    use pickfs_testkit::{FakeCandidate, FakeRun, fake_run};

    #[test]
    fn the_machine_comes_first_and_each_choice_shows_both_intervals() {
        let run = |name: &str, seed: u64, xfs_us: f64| {
            let of = |name: &str, us: f64| FakeCandidate::new(name, 500.0, us * 1e3);
            let mut run = fake_run(&FakeRun {
                name: name.into(),
                seed,
                blocks: 10,
                candidates: vec![of("ext4", 200.0), of("xfs", xfs_us)],
                reference: "ext4".into(),
                syncs: vec!["fdatasync".into()],
                ..FakeRun::default()
            });
            run.environment.put("kernel.release", name);
            run
        };
        let (before, now) = (run("6.1", 1, 100.0), run("7.0", 2, 400.0));
        let found = rerun((&before, &findings(&before)), (&now, &findings(&now)));
        let screen = rerun_screen(&found, 100);
        let at = |words: &str| screen.find(words).unwrap_or_else(|| panic!("{words}\n{screen}"));
        assert!(at("kernel.release: 6.1 -> 7.0") < at("CHANGED"));
        assert!(at("xfs is behind ext4 now.") < at("xfs / ext4"));
        let line = screen.lines().find(|line| line.contains("xfs / ext4")).expect("a row");
        assert!(line.contains("faster [1.") && line.contains("slower [1."), "{screen}");
    }
}
