use pickfs_record::{RunRecord, finding::AnswerEnd, record::Flag};

use super::{Question, Summaries, questions};
use crate::{
    doubts,
    gates::{self, Found},
    panels::{Disturbed, Group, Member},
};

pub type Without<'a> = (&'static str, Vec<Question<'a>>);

impl Question<'_> {
    pub(super) fn gate(&self) -> Option<(Found, [usize; 2])> {
        self.ranked.facts.heaviest(&self.decision.left())
    }

    pub(super) fn gate_in_words(&self) -> Option<Flag> {
        let (found, pair) = self.gate()?;
        let [a, b] = pair.map(|index| self.members[index]);
        let trials: Vec<_> = a.trials.iter().chain(&b.trials).copied().collect();
        Some(gates::sentence(found, &[&a.label, &b.label], &trials))
    }

    /// Doubts in which the rows differ, and those without whose trials the end would be another.
    pub(super) fn notes(&self, without: &[Without<'_>]) -> Vec<Flag> {
        let apart = self.ranked.facts.apart();
        let same = |other: &&Question<'_>| other.group == self.group && other.metric == self.metric;
        let labels = |question: &Question<'_>| -> Vec<String> {
            question.members.iter().map(|member| member.label.clone()).collect()
        };
        let note = |(kind, questions): &Without<'_>| {
            let mut same = questions.iter().filter(same);
            let other = same.find(|other| labels(other) == labels(self));
            let (left, now) = (self.left(), (self.end(), self.left()));
            let without = other.map_or((AnswerEnd::NoAnswer, left), |q| (q.end(), q.left()));
            let differs = apart.iter().any(|known| known == kind);
            let has_left =
                |member: &&Member<'_>| !member.chosen(Disturbed::Without(kind)).is_empty();
            let is_left = self.members.iter().any(has_left);
            (differs || is_left && now != without)
                .then(|| gates::note(kind, (now.0, &now.1), (without.0, &without.1)))
        };
        let concerned = without.iter().filter(|(kind, _)| gates::concerns(kind, self.metric));
        let mut notes: Vec<Flag> = concerned.filter_map(note).collect();
        notes.retain(|note| gates::of_kind(&note.kind).is_none() || self.gate().is_none());
        notes
    }
}

pub fn without_doubts<'a>(
    run: &'a RunRecord,
    groups: &'a [Group<'a>],
    ops: &'a Summaries,
) -> Vec<Without<'a>> {
    let raised: Vec<Flag> = run.trials.iter().flat_map(doubts::doubts).collect();
    let kinds = doubts::KINDS.into_iter().filter(|kind| raised.iter().any(|f| f.kind == *kind));
    kinds.map(|kind| (kind, questions(run, groups, ops, Disturbed::Without(kind)))).collect()
}

#[cfg(test)]
mod tests {
    use crate::{findings, gates};
    use pickfs_testkit::{FakeCandidate, FakeRun, Mishap, MishapKind, fake_run};

    /// What every trial has moves nothing, as nothing is left without them. Appends need no cold.
    #[test]
    fn each_kind_is_noted_where_rows_differ_in_it_or_the_end_hangs_on_it() {
        let moved = "without them NO ANSWER ext4:noatime and xfs:noatime";
        let both = ["ext4:noatime", "xfs:noatime"];
        for kind in crate::doubts::KINDS {
            let noted_in = |blocks: [&[u32]; 2]| {
                let flag = MishapKind::Flagged(kind.into(), "known".into());
                let of = |(label, blocks): (&'static str, &[u32])| -> Vec<Mishap> {
                    let each = blocks.iter();
                    each.map(|n| Mishap::new(label, "none", *n, flag.clone())).collect()
                };
                let mishaps = both.into_iter().zip(blocks).flat_map(of).collect();
                let mut candidates = both.map(|name| FakeCandidate::new(name, 500.0, 150_000.0));
                candidates.iter_mut().for_each(|candidate| candidate.noise = 0.01);
                candidates[1].append_ns = 800.0;
                let candidates = candidates.into();
                let run =
                    fake_run(&FakeRun { blocks: 12, candidates, mishaps, ..FakeRun::default() });
                let found = findings(&run).answers;
                let of = |op: &str| found.iter().find(|answer| answer.metric.op == op);
                assert_eq!(of("durable").expect("asked").notes, [], "{kind} of other trials");
                let notes = of("append").expect("asked").notes.iter();
                notes.map(|note| (note.kind.clone(), note.text.clone())).collect::<Vec<_>>()
            };
            let noted = |labels: &[&str], blocks: u32| {
                let all: Vec<u32> = (1..=blocks).collect();
                noted_in(both.map(|label| if labels.contains(&label) { &all[..] } else { &[] }))
            };
            let text = |text: &str| match kind {
                "not-cold" => vec![],
                _ => vec![(kind.into(), text.into())],
            };
            assert_eq!(noted(&both, 12), [], "{kind} of all alike");
            assert_eq!(noted(&both, 5), text(moved), "the end hangs on it");
            assert_eq!(noted(&both[1..], 5), text(moved), "they differ in it");
            let turns = [[1, 3, 5, 7, 9, 11], [2, 4, 6, 8, 10, 12]];
            let turns = noted_in([&turns[0], &turns[1]]);
            // What withholds the answer is told by it, and not once more beside it.
            let told = if gates::of_kind(kind).is_some() { vec![] } else { text(moved) };
            assert_eq!(turns, told, "no block keeps a pair");
            assert_eq!(noted(&both[1..], 4), text("without them the same answer"));
            assert_eq!(noted(&both[1..], 2), [], "{kind} of a few");
        }
    }
}
