use pickfs_analysis::wording::{blocks_text, interval_text, list, times};
use pickfs_record::finding::{Claim, Effect, Factor, FactorDesign, FactorFindings, Spread};

use crate::{
    Subject,
    chart::{
        Look, Scene, Slot,
        strip::{Line, Strip},
    },
    document::{self, Fold, Kind, Node, Role, Table, Text, under_one_name},
    wording::metric_name,
};

const METRICS_ON_SCREEN: usize = 2;
const LEVELS_MAX: usize = 30;
const INTERACTIONS_MAX: usize = 6;

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
            ratio_text(effect.speedup),
            interval(effect).unwrap_or("-".into()),
            effect.blocks.to_string(),
        ]);
    }
    let sentences = if is_silent(found) { &[] } else { found.sentences.get(1..).unwrap_or(&[]) };
    let sentences = sentences.iter().map(|sentence| Node::Paragraph(sentence.into()));
    let title = format!("{}: every level of every factor", metric_name(&found.metric));
    Node::Fold(Fold::closed(title, sentences.chain([Node::Table(table)]).collect()))
}

/// The effect of each level as a ratio to its base; what is not claimed is grey.
pub(crate) fn draw(found: &FactorFindings, look: Look) -> Option<Scene> {
    let level =
        |effect: &Effect| effect.levels.first().map_or("", |level| &level.value).to_string();
    let main = found.factors.iter().enumerate().flat_map(|(index, factor)| {
        let of = move |effect: &Effect| {
            let is_claimed = matches!(effect.claim, Claim::Faster | Claim::Slower);
            let slot = if is_claimed { Slot::Series(index) } else { Slot::Floor(0) };
            line(format!("{}: {}", factor.name, level(effect)), effect, slot)
        };
        factor.effects.iter().map(of)
    });
    let together = found.interactions.iter().map(|effect| {
        let parts: Vec<&str> = effect.levels.iter().map(|level| level.value.as_str()).collect();
        line(parts.join(" with "), effect, Slot::Floor(0))
    });
    let strip = Strip {
        title: format!("Which knob matters · {}", metric_name(&found.metric)),
        hint: hint(found),
        x_title: format!("speed by {} against the base", metric_name(&found.metric)),
        is_ratio: true,
        lines: main.take(LEVELS_MAX).chain(together.take(INTERACTIONS_MAX)).collect(),
        ..Strip::default()
    };
    strip.draw(look)
}

fn line(name: String, effect: &Effect, slot: Slot) -> Line {
    let (low, high) = effect.interval.unwrap_or((effect.speedup, effect.speedup));
    Line {
        label: name.clone(),
        name,
        slot: Some(slot),
        value: Some(Spread { median: effect.speedup, low, high }),
        said: [ratio_text(effect.speedup), interval(effect).unwrap_or_default()],
        ..Line::default()
    }
}

fn hint(found: &FactorFindings) -> String {
    let design = match found.design {
        FactorDesign::FullFactorial => "mean over all combinations of the other factors",
        FactorDesign::OneAtATime => "the other factors at their base",
        FactorDesign::Partial => "mean over the combinations that hold both levels",
    };
    let together = match found.interactions.is_empty() {
        true => "",
        false => " A WITH B: how much more than the two alone say; exploratory.",
    };
    let base = |factor: &Factor| format!("{} {}", factor.name, factor.base);
    let bases: Vec<String> = found.factors.iter().map(base).collect();
    format!(
        "Against {}; {design}. Right of 1 is faster. The thin line is the interval; grey is not claimed.{together}",
        list(&bases)
    )
}

fn ratio_text(ratio: f64) -> String {
    match ratio {
        0.0 => "failed".into(),
        f64::INFINITY => "base failed".into(),
        ratio if ratio < 0.1 => format!("1/{}", times(1.0 / ratio).trim_end_matches('x')),
        ratio => times(ratio),
    }
}

fn interval(effect: &Effect) -> Option<String> {
    effect.interval.map(|(low, high)| interval_text(low, high))
}
