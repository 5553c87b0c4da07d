//! The pictures: those of a panel together, those of the whole run last.

use super::markup::Page;
use crate::{
    Subject,
    chart::{Chart, ChartKind, Look},
    svg::{Setting, svg},
};

/// All pictures that the run can fill.
pub fn write(page: &mut Page, subject: &Subject) {
    page.section("pictures", "Pictures");
    let text = "Hover for values; a legend entry hides its line; each picture says how to read it.";
    page.element("p class=\"muted\"", text);
    let drawn: Vec<_> = ChartKind::ALL.into_iter().flat_map(|kind| pairs(subject, kind)).collect();
    for (index, panel) in subject.findings.panels.iter().enumerate() {
        if !panel.title.is_empty() {
            page.element("h3", &panel.title);
        }
        figures(page, drawn.iter().filter(|(chart, _)| chart.panel == Some(index)));
    }
    if drawn.iter().any(|(chart, _)| chart.panel.is_none()) {
        page.element("h3", "The whole run");
        figures(page, drawn.iter().filter(|(chart, _)| chart.panel.is_none()));
    }
    page.raw("</section>\n");
}

/// Each chart with its linear twin, where it has one.
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
