//! Not how it looks.

use std::collections::BTreeMap;

use crate::answers::{Answer, Capability, FeatureRow, FeatureTable, Group, Presence, Verdict};
use crate::survey::NATIVE;
use pickfs_record::origin::Class;

pub struct View<'t> {
    pub table: &'t FeatureTable,
    pub asked: Vec<&'t FeatureRow>,
}

/// Verdicts that a cell's word does not explain.
pub const EXPLAINED: [Verdict; 3] = [Verdict::Partly, Verdict::Failed, Verdict::NotAsked];

#[derive(Clone)]
pub struct Line<'t> {
    pub capability: &'t Capability,
    pub answers: Vec<&'t Answer>,
}

impl Line<'_> {
    pub fn shared(&self) -> Option<&str> {
        let first = self.answers.first()?.cell();
        self.answers.iter().all(|answer| answer.cell() == first).then_some(first)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Remark {
    pub label: &'static str,
    pub who: Vec<String>,
    pub words: String,
}

impl<'t> View<'t> {
    pub fn new(table: &'t FeatureTable) -> Self {
        let asked = table.rows.iter().filter(|row| !row.answers.is_empty()).collect();
        Self { table, asked }
    }

    pub fn lines(&self) -> Vec<Line<'t>> {
        let capabilities = self.table.capabilities.iter().enumerate();
        capabilities
            .map(|(index, capability)| {
                let answers = self.asked.iter().filter_map(|row| row.answers.get(index)).collect();
                Line { capability, answers }
            })
            .collect()
    }

    pub fn groups(&self) -> Vec<(Group, Vec<Line<'t>>)> {
        let mut groups: Vec<(Group, Vec<Line<'t>>)> = Vec::new();
        for line in self.lines() {
            match groups.last_mut() {
                Some((group, lines)) if *group == line.capability.group => lines.push(line),
                _ => groups.push((line.capability.group, vec![line])),
            }
        }
        groups
    }

    /// Measures that are the same for all, with what they are: `longest name 255 B`.
    pub fn shared_measures(&self) -> Vec<String> {
        let lines = self.lines();
        let shared = lines.iter().filter_map(|line| Some((line, line.shared()?)));
        let measures = shared.filter(|(_, cell)| !["yes", "no"].contains(cell));
        measures.map(|(line, cell)| format!("{} {cell}", line.capability.label)).collect()
    }

    pub fn shared_by_all(&self, cell: &str) -> Vec<&'static str> {
        let lines = self.lines();
        let same = lines.iter().filter(|line| line.shared() == Some(cell));
        same.map(|line| line.capability.label).collect()
    }

    pub fn remarks(&self, wanted: &[Verdict]) -> Vec<Remark> {
        let mut remarks: Vec<Remark> = Vec::new();
        for line in self.lines() {
            for (row, answer) in self.asked.iter().zip(&line.answers) {
                if wanted.contains(&answer.verdict) && !answer.words.is_empty() {
                    add(&mut remarks, line.capability.label, &row.label, &answer.words);
                }
            }
        }
        remarks
    }

    pub fn classes(&self) -> Vec<(Class, Vec<&'t FeatureRow>)> {
        let classes = [Class::Native, Class::ForeignSupported, Class::ForeignUnsupported];
        let members = |class: Class| {
            let of = |row: &&&FeatureRow| {
                row.classification.as_ref().is_some_and(|found| found.class == class)
            };
            (class, self.asked.iter().filter(of).copied().collect::<Vec<_>>())
        };
        classes.map(members).into_iter().filter(|(_, rows)| !rows.is_empty()).collect()
    }

    /// Kernels of guests, each with those that it mounted.
    pub fn guests(&self) -> BTreeMap<String, Vec<&'t str>> {
        let mut guests = BTreeMap::<String, Vec<&str>>::new();
        for row in &self.asked {
            if let Presence::Asked { engine, kernel, .. } = &row.presence {
                if engine != NATIVE {
                    let guest = format!("guests of {engine}; kernel {kernel}");
                    guests.entry(guest).or_default().push(&row.label);
                }
            }
        }
        guests
    }

    pub fn absent(&self) -> Vec<(&'t FeatureRow, String)> {
        let rows = self.table.rows.iter();
        rows.filter_map(|row| Some((row, absence(&row.presence)?))).collect()
    }

    pub fn absent_in_short(&self) -> Vec<String> {
        let (mut kernel, mut others) = (Vec::new(), Vec::new());
        for row in &self.table.rows {
            match &row.presence {
                Presence::Asked { .. } => {}
                Presence::Missing { reason, .. } if reason.starts_with(NO_KERNEL_TYPE) => {
                    kernel.push(row.label.clone());
                }
                Presence::Missing { reason, remedy } => {
                    others.push(format!("{}: {reason}; {remedy}", row.label));
                }
                Presence::Failed { reason } => {
                    others.push(format!("{}: FAILED: {reason}", row.label))
                }
            }
        }
        if !kernel.is_empty() {
            let names = kernel.join(", ");
            others.push(format!("{names}: {NO_KERNEL_TYPE} for them; --all says what would help"));
        }
        others
    }
}

/// How `availability` of the crate target begins this reason.
const NO_KERNEL_TYPE: &str = "this kernel has no file system";

fn absence(presence: &Presence) -> Option<String> {
    match presence {
        Presence::Asked { .. } => None,
        Presence::Missing { reason, remedy } => Some(format!("{reason}; {remedy}")),
        Presence::Failed { reason } => Some(format!("FAILED: {reason}")),
    }
}

/// Our class's reason, and the article's class where it is another, with the reason.
pub fn dissent(row: &FeatureRow) -> Option<String> {
    let found = row.classification.as_ref()?;
    let article = found.article.filter(|article| *article != found.class)?;
    let (because, why) = (&found.because, &found.differs_because);
    Some(format!("{because}; the article says {}: {why}", article.name()))
}

fn add(remarks: &mut Vec<Remark>, label: &'static str, who: &str, words: &str) {
    let same = |remark: &&mut Remark| remark.label == label && remark.words == words;
    match remarks.iter_mut().find(same) {
        Some(remark) => remark.who.push(who.into()),
        None => remarks.push(Remark { label, who: vec![who.into()], words: words.into() }),
    }
}
