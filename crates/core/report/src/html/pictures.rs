use super::markup::Page;
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look, strip::lead},
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

pub fn write(page: &mut Page, subject: &Subject) {
    page.section("pictures", "Charts");
    let text = "Point at a chart for its values; a name in a legend hides its line; drag along a chart over time to \
                zoom, in all of them.";
    page.element("p class=\"muted\"", text);
    // Slow laps stand with their ledgers; the page is what a slide is cut from.
    let kinds = ChartKind::ALL.into_iter();
    let kinds = kinds.filter(|kind| !matches!(kind, ChartKind::SlowLaps | ChartKind::Slide));
    let drawn: Vec<_> = kinds.flat_map(|kind| kind.draw(subject, Look::PAGE)).collect();
    let first = |chart: &Chart| matches!(chart.kind, ChartKind::Factors | ChartKind::Grouped);
    figures(page, drawn.iter().filter(|chart| first(chart)));
    for (index, panel) in subject.findings.panels.iter().enumerate() {
        let open = if index < OPEN_PANELS { " open" } else { "" };
        page.raw(&format!("<details class=\"panel\"{open}>"));
        page.element("summary", if panel.title.is_empty() { "All cells" } else { &panel.title });
        figures(page, drawn.iter().filter(|chart| chart.panel == Some(index)));
        page.raw("</details>\n");
    }
    let is_whole = |chart: &Chart| chart.panel.is_none() && !first(chart);
    figures(page, drawn.iter().filter(|chart| is_whole(chart)));
    page.raw("</section>\n");
}

fn figures<'c>(page: &mut Page, charts: impl Iterator<Item = &'c Chart>) {
    page.raw("<div class=\"charts\">\n");
    for chart in charts {
        page.raw(&format!("<figure id=\"chart-{}\"><div class=\"tools\"></div>", chart.name));
        page.raw(&svg(&chart.scene, Setting::Page));
        page.raw("</figure>\n");
    }
    page.raw("</div>\n");
}
