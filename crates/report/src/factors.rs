pub mod chart;

use pickfs_analysis::wording::{blocks_text, list};
use pickfs_model::finding::{Claim, FactorFindings};

use crate::{
    Subject,
    html::markup::Page,
    terminal::{colour::Paint, paragraph::hanging, plain},
    wording::metric_name,
};

const METRICS_ON_SCREEN: usize = 2;

pub(crate) fn lines(subject: &Subject, margin: usize, columns: usize, paint: Paint) -> String {
    let factors = &subject.findings.factors;
    let headlines = factors.iter().filter_map(|found| found.sentences.first());
    let mut out = String::new();
    for (index, text) in headlines.take(METRICS_ON_SCREEN).enumerate() {
        if index > 0 && text.starts_with("Nothing is claimed") {
            break;
        }
        let name = if index == 0 { "factors" } else { "" };
        out.push_str(&paint.strong(&hanging(name, &plain(text), margin, columns), name));
    }
    out
}

pub(crate) fn markdown(subject: &Subject, escape: impl Fn(&str) -> String) -> String {
    let factors = &subject.findings.factors;
    if factors.is_empty() {
        return String::new();
    }
    let sentence = |sentence: &String| format!("- {}\n", escape(sentence));
    let told = factors.iter().filter(|found| !is_silent(found));
    let told = told.flat_map(|found| &found.sentences).cloned().chain(silence(factors));
    let entries: String = told.map(|text| sentence(&text)).collect();
    format!("### Which knob matters\n\n{entries}\n")
}

pub(crate) fn section(page: &mut Page, subject: &Subject) {
    if subject.findings.factors.is_empty() {
        return;
    }
    let factors = &subject.findings.factors;
    page.section("factors", "Which knob matters");
    for found in factors.iter().filter(|found| !is_silent(found)) {
        found.sentences.iter().take(1).for_each(|sentence| page.element("p", sentence));
    }
    silence(factors).iter().for_each(|sentence| page.element("p", sentence));
    factors.iter().for_each(|found| table(page, found));
    page.raw("</section>\n");
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

fn table(page: &mut Page, found: &FactorFindings) {
    page.raw("<details>");
    page.element(
        "summary",
        &format!("{}: every level of every factor", metric_name(&found.metric)),
    );
    if !is_silent(found) {
        found.sentences.iter().skip(1).for_each(|sentence| page.element("p", sentence));
    }
    page.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"><table>\n<thead><tr>");
    for name in ["Factor", "Level", "Base", "Speedup", "Interval", "Blocks"] {
        page.element("th", name);
    }
    page.raw("</tr></thead><tbody>\n");
    for (factor, effect) in found.factors.iter().flat_map(|f| f.effects.iter().map(move |e| (f, e)))
    {
        page.raw("<tr>");
        let level = effect.levels.first().map_or("", |level| level.value.as_str());
        let cells = [
            factor.name.clone(),
            level.to_string(),
            factor.base.clone(),
            chart::ratio_text(effect.speedup),
            chart::interval(effect).unwrap_or("-".into()),
            effect.blocks.to_string(),
        ];
        cells.iter().for_each(|cell| page.element("td", cell));
        page.raw("</tr>\n");
    }
    page.raw("</tbody></table></div></details>\n");
}
