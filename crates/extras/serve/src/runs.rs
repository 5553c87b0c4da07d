use pickfs_record::{RunRecord, finding::Ending, quantity::counted};
use pickfs_report::wording::backing_text;

#[derive(Debug, Clone, PartialEq)]
pub struct RunLine {
    pub name: String,
    pub about: Result<RunSummary, String>,
}

#[derive(Debug, Clone, PartialEq)]
pub struct RunSummary {
    pub started: String,
    pub question: String,
    pub plan: String,
    pub candidates: Vec<String>,
    pub backing: String,
    pub machine: String,
    pub trials: usize,
    /// Trials that the plan asks for; the most, where the run ends when it is decided.
    pub trials_planned: usize,
    /// How it ended; nothing while it goes on, or where it was cut short.
    pub ended: Option<String>,
    /// Its answer; nothing while it goes on, or where nothing was to be compared.
    pub ending: Option<Ending>,
}

impl RunSummary {
    pub fn new(run: &RunRecord, trials: usize) -> RunSummary {
        let fact = |key: &str| run.environment.get(key).unwrap_or_default().to_owned();
        let kernel = format!("Linux {}", fact("kernel.release"));
        let machine = [kernel.trim().to_owned(), fact("cpu.model")];
        let machine: Vec<_> = machine.into_iter().filter(|text| !text.is_empty()).collect();
        RunSummary {
            started: run.started.clone(),
            question: run.plan.question.clone(),
            plan: format!("{} ({})", run.plan.name, run.plan.workload),
            candidates: run.plan.candidates.iter().map(|c| c.label.clone()).collect(),
            backing: backing_text(&run.plan.backing),
            machine: machine.join(", "),
            trials,
            trials_planned: run.cells.len() * run.plan.design.blocks as usize,
            ended: run.ended.as_ref().map(|end| end.how.clone()),
            ending: None,
        }
    }

    pub fn trials_text(&self) -> String {
        match self.ended {
            Some(_) => counted(self.trials as u64, "trial"),
            None => format!("{} of {} trials", self.trials, self.trials_planned),
        }
    }
}

impl RunLine {
    /// Whether every word of a search stands somewhere in the row.
    pub fn matches(&self, search: &str) -> bool {
        let text = match &self.about {
            Err(why) => format!("{} damaged {why}", self.name),
            Ok(about) => [
                &self.name,
                &about.started,
                &about.question,
                &about.plan,
                &about.candidates.join(" "),
                &about.backing,
                &about.machine,
                about.ended.as_deref().unwrap_or("not ended"),
                &about.ending.as_ref().map(Ending::line).unwrap_or_default(),
            ]
            .join(" "),
        };
        let text = text.to_lowercase();
        search.to_lowercase().split_whitespace().all(|word| text.contains(word))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use pickfs_testkit::{FakeRun, fake_run};

    fn line() -> RunLine {
        let run = fake_run(&FakeRun::default());
        RunLine { name: "2026-a".into(), about: Ok(RunSummary::new(&run, run.trials.len())) }
    }

    #[test]
    fn every_word_of_a_search_must_stand_somewhere() {
        let line = line();
        assert!(line.matches("") && line.matches("  XFS 2026 ") && line.matches("completed"));
        assert!(!line.matches("xfs zfs"));
        let bad = RunLine { name: "b".into(), about: Err("not a run".into()) };
        assert!(bad.matches("damaged") && !bad.matches("xfs"));
    }
}
