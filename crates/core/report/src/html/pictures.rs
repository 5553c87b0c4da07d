use super::markup::Page;
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look},
    svg::{Setting, svg},
};

const OPEN_PANELS: usize = 4;

pub fn write(page: &mut Page, subject: &Subject) {
    page.section("pictures", "Pictures");
    let text = "Hover for values; a legend entry hides its line; each picture says how to read it.";
    page.element("p class=\"muted\"", text);
    // Slow laps stand with their ledgers.
    let kinds = ChartKind::ALL.into_iter().filter(|kind| *kind != ChartKind::SlowLaps);
    let drawn: Vec<_> = kinds.flat_map(|kind| pairs(subject, kind)).collect();
    let first = |chart: &Chart| matches!(chart.kind, ChartKind::Factors | ChartKind::Grouped);
    figures(page, drawn.iter().filter(|(chart, _)| first(chart)));
    for (index, panel) in subject.findings.panels.iter().enumerate() {
        let open = if index < OPEN_PANELS { " open" } else { "" };
        page.raw(&format!("<details class=\"panel\"{open}>"));
        page.element("summary", if panel.title.is_empty() { "All cells" } else { &panel.title });
        figures(page, drawn.iter().filter(|(chart, _)| chart.panel == Some(index)));
        page.raw("</details>\n");
    }
    let is_whole = |chart: &Chart| chart.panel.is_none() && !first(chart);
    figures(page, drawn.iter().filter(|(chart, _)| is_whole(chart)));
    page.raw("</section>\n");
}

fn pairs(subject: &Subject, kind: ChartKind) -> Vec<(Chart, Option<Chart>)> {
    let log = kind.draw(subject, Look::PAGE, false);
    let linear = if kind.has_two_scales() { kind.draw(subject, Look::PAGE, true) } else { vec![] };
    let mut linear = linear.into_iter();
    log.into_iter().map(|chart| (chart, linear.next())).collect()
}

fn figures<'c>(page: &mut Page, charts: impl Iterator<Item = &'c (Chart, Option<Chart>)>) {
    page.raw("<div class=\"charts\">\n");
    for (chart, linear) in charts {
        page.raw(&format!("<figure id=\"chart-{}\"><div class=\"tools\">", chart.name));
        if linear.is_some() {
            page.raw("<button data-scale aria-pressed=\"false\" hidden>linear scale</button>");
        }
        page.raw("</div>");
        page.raw("<div class=\"log\">");
        page.raw(&svg(&chart.scene, Setting::Page));
        page.raw("</div>");
        if let Some(linear) = linear {
            page.raw("<div class=\"linear\">");
            page.raw(&svg(&linear.scene, Setting::Page));
            page.raw("</div>");
        }
        page.raw("</figure>\n");
    }
    page.raw("</div>\n");
}
