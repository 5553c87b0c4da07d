pub mod chart;

use pickfs_analysis::wording::{blocks_text, list};
use pickfs_record::finding::{Claim, FactorFindings};

use crate::{
    Subject,
    document::{self, Fold, Kind, Node, Role, Table, Text, under_one_name},
    wording::metric_name,
};

const METRICS_ON_SCREEN: usize = 2;

/// What moves the first metrics, for a short screen.
pub(crate) fn lines(subject: &Subject) -> Vec<(String, Text)> {
    let factors = &subject.findings.factors;
    let headlines = factors.iter().filter_map(|found| found.sentences.first());
    let told = headlines
        .take(METRICS_ON_SCREEN)
        .enumerate()
        .take_while(|(index, text)| *index == 0 || !text.starts_with("Nothing is claimed"));
    under_one_name("factors", told.map(|(_, text)| Role::Winner.leads(text))).collect()
}

/// The sentences and every effect; nothing where the plan has no two factors.
pub(crate) fn section(subject: &Subject) -> Option<Node> {
    let factors = &subject.findings.factors;
    let told = factors.iter().filter(|found| !is_silent(found));
    let told = told.filter_map(|found| found.sentences.first().cloned()).chain(silence(factors));
    let mut nodes = vec![document::list(told)];
    nodes.extend(factors.iter().map(details));
    let title = "Which knob matters".into();
    (!factors.is_empty()).then_some(Node::Section("factors", title, nodes))
}

fn is_silent(found: &FactorFindings) -> bool {
    let mut effects = found.factors.iter().flat_map(|factor| &factor.effects);
    effects.all(|effect| effect.claim == Claim::Open)
}

fn silence(factors: &[FactorFindings]) -> Option<String> {
    let silent: Vec<_> = factors.iter().filter(|found| is_silent(found)).collect();
    let blocks = silent.iter().map(|found| found.blocks).max()?;
    let names: Vec<_> = silent.iter().map(|found| metric_name(&found.metric)).collect();
    Some(format!(
        "Of what moves {} nothing is claimed: {} ran, too few to tell the effects of the factors \
         from chance. Their values stand below.",
        list(&names),
        blocks_text(blocks)
    ))
}

/// What is said of each factor, and every effect with its interval: the picture's numbers.
fn details(found: &FactorFindings) -> Node {
    let number = Kind::Number;
    let mut table = Table::new([
        ("Factor", Kind::Word),
        ("Level", Kind::Word),
        ("Base", Kind::Word),
        ("Speedup", number),
        ("Interval", number),
        ("Blocks", number),
    ]);
    for (factor, effect) in found.factors.iter().flat_map(|f| f.effects.iter().map(move |e| (f, e)))
    {
        table.row([
            factor.name.clone(),
            effect.levels.first().map(|level| level.value.clone()).unwrap_or_default(),
            factor.base.clone(),
            chart::ratio_text(effect.speedup),
            chart::interval(effect).unwrap_or("-".into()),
            effect.blocks.to_string(),
        ]);
    }
    let sentences = if is_silent(found) { &[] } else { found.sentences.get(1..).unwrap_or(&[]) };
    let sentences = sentences.iter().map(|sentence| Node::Paragraph(sentence.into()));
    let title = format!("{}: every level of every factor", metric_name(&found.metric));
    Node::Fold(Fold::closed(title, sentences.chain([Node::Table(table)]).collect()))
}
