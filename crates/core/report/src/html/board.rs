use pickfs_analysis::{phases::tier, verdict::best};
use pickfs_record::{
    finding::{Claim, Comparison, Panel, Row},
    plan::{Metric, Statistic},
};

use super::markup::Page;
use crate::{
    Subject,
    phases::{is_phased, words::rate_text},
    ranking::{comparison, verdict_cell},
    subject::{counted, is_mixed},
    wording::{metric_name, metric_value, survives_text},
};

const TILES_OPEN: usize = 9;
const ROWS: usize = 8;
const HALF: f64 = 40.0;
/// Ratio at the edge of a picture, at least and at most.
const EDGES: (f64, f64) = (1.25, 4.0);

pub(crate) struct Tile<'s> {
    pub panel: &'s Panel,
    pub metric: Metric,
    /// None where the plan fixed no metric for the panel.
    pub best: Option<Vec<String>>,
}

pub fn write(page: &mut Page, subject: &Subject) {
    let tiles = tiles(subject);
    if tiles.is_empty() {
        return;
    }
    let edge = edge(&tiles);
    page.raw("<section id=\"answer\" aria-label=\"Verdict and ranking\">\n<div class=\"board\">\n");
    let (first, more) = tiles.split_at(tiles.len().min(TILES_OPEN));
    first.iter().for_each(|tile| tile.write(page, subject, edge));
    page.raw("</div>\n");
    if !more.is_empty() {
        page.raw("<details>");
        page.element("summary", &format!("{} more answers", more.len()));
        page.raw("<div class=\"board\">\n");
        more.iter().for_each(|tile| tile.write(page, subject, edge));
        page.raw("</div></details>\n");
    }
    if tiles.iter().any(|tile| tile.best.is_some()) {
        let hint = format!(
            "Dot: speed as a multiple of the reference's, up to {edge:.1}x on either side of the \
             middle (log scale); line: its interval. Right is faster."
        );
        page.element("p class=\"muted hint\"", &hint);
    }
    page.raw("</section>\n");
}

pub(crate) fn tiles<'s>(subject: &Subject<'s>) -> Vec<Tile<'s>> {
    let of_panel = |panel: &'s Panel| {
        let metrics = subject.metrics(panel);
        match metrics.is_empty() {
            true if is_phased(panel) => Vec::new(),
            true => vec![Tile { panel, metric: subject.headline(panel), best: None }],
            false => judged(subject, panel, metrics),
        }
    };
    let mut tiles: Vec<Tile> = subject.findings.panels.iter().flat_map(of_panel).collect();
    tiles.sort_by_key(|tile| tile.best.is_none());
    tiles
}

fn judged<'s>(subject: &Subject, panel: &'s Panel, metrics: Vec<Metric>) -> Vec<Tile<'s>> {
    let of = |metric: &Metric| {
        let mut answers = subject.findings.answers.iter();
        answers.find(|answer| answer.panel == panel.title && answer.metric == *metric)
    };
    let best: Vec<_> = metrics.iter().map(|m| of(m).map(best).unwrap_or_default()).collect();
    let both = metrics.into_iter().zip(best);
    both.map(|(metric, best)| Tile { panel, metric, best: Some(best) }).collect()
}

fn edge(tiles: &[Tile]) -> f64 {
    let found = tiles.iter().flat_map(|tile| {
        let rows = tile.panel.rows.iter();
        rows.filter_map(|row| comparison(tile.panel, row, &tile.metric))
    });
    let ends = found.flat_map(|found| {
        let (low, high) = found.interval.unwrap_or((found.speedup, found.speedup));
        [found.speedup, low, high]
    });
    let farthest = ends.map(|ratio| ratio.max(1.0 / ratio)).fold(1.0, f64::max);
    if farthest.is_finite() { farthest.clamp(EDGES.0, EDGES.1) } else { EDGES.1 }
}

impl Tile<'_> {
    fn write(&self, page: &mut Page, subject: &Subject, edge: f64) {
        let is_open = self.best.as_ref().is_none_or(Vec::is_empty);
        page.raw(if is_open { "<div class=\"tile open\">" } else { "<div class=\"tile\">" });
        page.element("h3", &self.title());
        page.raw("<p class=\"choice\">");
        match &self.best {
            None => page.element("span class=\"muted\"", "not asked by the plan"),
            Some(best) => choice(page, best),
        }
        page.raw("</p>\n<table>\n");
        let rows = self.rows(subject);
        for row in rows.iter().take(ROWS) {
            self.row(page, subject, row, edge);
        }
        page.raw("</table>\n");
        if rows.len() > ROWS {
            let text = format!("{} more rows in the ranking", rows.len() - ROWS);
            page.element("p class=\"muted\"", &text);
        }
        page.raw("</div>\n");
    }

    fn title(&self) -> String {
        let what = self.subject();
        match self.panel.title.as_str() {
            "" => what,
            title => format!("{title}: {what}"),
        }
    }

    pub(crate) fn subject(&self) -> String {
        match tier(&self.metric.op) {
            Some(tier) => format!("{} ({})", tier.phase, tier.stands_for),
            None => metric_name(&self.metric).replace(", service time", ""),
        }
    }

    pub(crate) fn short_title(&self) -> String {
        let subject = self.subject();
        let what = subject.split(" (").next().unwrap_or_default();
        match self.panel.title.as_str() {
            "" => what.into(),
            title => format!("{title}: {what}"),
        }
    }

    /// Memory is left to the ranking.
    fn rows(&self, subject: &Subject) -> Vec<&Row> {
        let mut rows = counted(self.panel);
        let slowness =
            |row: &Row| match (comparison(self.panel, row, &self.metric), self.value(subject, row))
            {
                (Some(found), _) => (0, 1.0 / found.speedup),
                _ if row.label == self.panel.reference => (0, 1.0),
                (None, Some(value)) => (1, value),
                (None, None) => (2, 0.0),
            };
        rows.sort_by(|a, b| {
            let (a, b) = (slowness(a), slowness(b));
            a.0.cmp(&b.0).then(a.1.total_cmp(&b.1))
        });
        rows
    }

    fn value(&self, subject: &Subject, row: &Row) -> Option<f64> {
        if self.metric.statistic == Statistic::Rate && is_phased(self.panel) {
            let at = self.panel.rows.iter().position(|other| other.cell == row.cell)?;
            let phase = self.panel.phases.iter().find(|p| p.phase == self.metric.op)?;
            return phase.cells.get(at)?.rate.map(|rate| rate.median);
        }
        subject.value(row, &self.metric).map(|value| value.median)
    }

    fn value_text(&self, subject: &Subject, row: &Row) -> String {
        let phase = self.panel.phases.iter().find(|phase| phase.phase == self.metric.op);
        match (self.value(subject, row), phase) {
            (None, _) => "-".into(),
            (Some(value), Some(phase)) => rate_text(phase.unit, value),
            (Some(value), None) => metric_value(&self.metric, value),
        }
    }

    fn row(&self, page: &mut Page, subject: &Subject, row: &Row, edge: f64) {
        page.raw(&format!(
            "<tr><td><span class=\"swatch\" style=\"background:var(--{})\"></span>",
            subject.slot(&row.label).class()
        ));
        page.text(&row.label);
        if is_mixed(self.panel) {
            page.element("small", &format!("survives {}", survives_text(row.durability)));
        }
        page.raw("</td><td>");
        page.text(&self.value_text(subject, row));
        page.raw("</td><td class=\"dot\">");
        let found = comparison(self.panel, row, &self.metric);
        let is_placed = found.is_some() || row.label == self.panel.reference;
        if self.best.is_some() && is_placed {
            picture(page, subject, row, found.filter(|_| row.label != self.panel.reference), edge);
        }
        page.raw("</td><td class=\"said\">");
        if self.best.is_some() {
            let (words, interval) = verdict_cell(self.panel, row, &self.metric);
            page.text(&words);
            page.raw(" ");
            page.element("span class=\"muted\"", &interval.unwrap_or_default());
        }
        page.raw("</td></tr>\n");
    }
}

fn choice(page: &mut Page, best: &[String]) {
    match best {
        [] => page.element("span class=\"muted\"", "nothing is claimed"),
        [one] => page.element("strong", one),
        [first @ .., last] => {
            page.element("strong", &format!("{} or {last}", first.join(", ")));
            page.element("span class=\"muted\"", " not told apart");
        }
    }
}

fn picture(page: &mut Page, subject: &Subject, row: &Row, found: Option<&Comparison>, edge: f64) {
    let place = |ratio: f64| HALF + 4.0 + HALF * (ratio.ln() / edge.ln()).clamp(-1.0, 1.0);
    let colour = subject.slot(&row.label).class();
    let width = 2.0 * HALF + 8.0;
    page.raw(&format!(
        "<svg viewBox=\"0 0 {width} 14\" aria-hidden=\"true\"><path class=\"s-muted\" \
         d=\"M{0} 0V14\" stroke-dasharray=\"2 2\"/>",
        HALF + 4.0
    ));
    if let Some((low, high)) = found.and_then(|found| found.interval) {
        let (from, to) = (place(low), place(high));
        page.raw(&format!(
            "<path class=\"s-{colour}\" stroke-width=\"2\" d=\"M{from:.1} 7H{to:.1}\"/>"
        ));
    }
    let is_sure = found.is_none_or(|found| matches!(found.claim, Claim::Faster | Claim::Slower));
    let fill = if is_sure { format!("f-{colour}") } else { "f-paper".into() };
    page.raw(&format!(
        "<circle class=\"s-{colour} {fill}\" stroke-width=\"1.6\" cx=\"{:.1}\" cy=\"7\" r=\"3.4\"/></svg>",
        place(found.map_or(1.0, |found| found.speedup))
    ));
}
