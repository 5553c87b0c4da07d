use super::markup::Page;
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look, strip::lead},
    document::{Fold, Node},
    svg::{Setting, svg},
};

const OPEN_PANELS: usize = 4;
/// Rows of the first picture; the picture of its panel has all.
const ROWS: usize = 10;

/// The picture that shows the answer, for a screen and for a telephone, of the panel that was answered first.
pub fn first(page: &mut Page, subject: &Subject) {
    let scenes = [("screen", Look::WIDE), ("phone", Look::NARROW)];
    let drawn = scenes.map(|(class, look)| (class, lead(subject, look, ROWS)));
    if drawn.iter().all(|(_, scene)| scene.is_some()) {
        page.raw("<figure class=\"lead\" id=\"chart-answer\"><div class=\"tools\"></div>");
        for (class, scene) in drawn {
            let scene = scene.map(|scene| svg(&scene, Setting::Page)).unwrap_or_default();
            page.raw(&format!("<div class=\"{class}\">{scene}</div>"));
        }
        page.raw("</figure>\n");
    }
}

/// Charts of the whole run that stand before those of its panels, then those of each panel, then the others.
pub(crate) fn section(subject: &Subject) -> Node {
    let text = "Point at a chart for its values; a name in a legend hides its line; drag along a chart over time to \
                zoom, in all of them.";
    // Slow operations stand with their ledgers, and the slide is the top of the page.
    let elsewhere = [ChartKind::SlowOperations, ChartKind::Slide];
    let kinds = ChartKind::all().filter(|kind| !elsewhere.contains(kind));
    let drawn: Vec<_> = kinds.flat_map(|kind| kind.draw(subject, Look::PAGE)).collect();
    let is_first = |chart: &Chart| matches!(chart.kind, ChartKind::Factors | ChartKind::Axis);
    let charts = |of: &dyn Fn(&Chart) -> bool| {
        let chosen = drawn.iter().filter(|chart| of(chart));
        let node = |chart: &Chart| {
            Node::Chart(format!("chart-{}", chart.name), Box::new(chart.scene.clone()))
        };
        Node::Box("charts", chosen.map(node).collect())
    };
    let mut nodes = vec![Node::Note(text.into()), charts(&is_first)];
    nodes.extend(subject.findings.panels.iter().enumerate().map(|(index, panel)| {
        let title = if panel.title.is_empty() { "All cells" } else { &panel.title };
        let nodes = vec![charts(&|chart| chart.panel == Some(index))];
        let is_open = index < OPEN_PANELS;
        Node::Fold(Fold { is_open, is_panel: true, ..Fold::closed(title.into(), nodes) })
    }));
    nodes.push(charts(&|chart| chart.panel.is_none() && !is_first(chart)));
    Node::Section("pictures", "Charts".into(), nodes)
}
