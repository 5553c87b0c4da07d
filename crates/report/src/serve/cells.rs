//! Cells of one run that were compared within blocks show that finding; all others
//! are values beside each other, and nothing is claimed.

use pickfs_analysis::{compare::FLEETING, wording::blocks_text};
use pickfs_model::{
    CellId, Environment, Findings, RunRecord,
    environment::Difference,
    finding::{OpSummary, Panel, Row},
    quantity::{duration_text, grouped, significant},
};

use super::{
    comparison::{around_text, facts},
    frame, link,
};
use crate::{
    ChartKind, Look, Subject,
    html::markup::Page,
    svg::{Setting, escape, svg},
    wording::{claim_text, interval_text, op_name, quantile_name, range_text, view_name},
};

const SHOWN: [f64; 7] = [0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.01];

#[derive(Debug, Clone, Copy)]
pub struct Side<'a> {
    pub name: &'a str,
    pub run: &'a RunRecord,
    pub panel: &'a Panel,
    pub row: &'a Row,
}

impl<'a> Side<'a> {
    pub fn find(
        name: &'a str,
        run: &'a RunRecord,
        findings: &'a Findings,
        id: &str,
    ) -> Option<Self> {
        let rows =
            findings.panels.iter().flat_map(|panel| panel.rows.iter().map(move |r| (panel, r)));
        let (panel, row) = rows.into_iter().find(|(_, row)| row.cell.0 == id)?;
        Some(Side { name, run, panel, row })
    }

    fn title(&self) -> String {
        match self.panel.title.as_str() {
            "" => self.row.label.clone(),
            levels => format!("{} ({levels})", self.row.label),
        }
    }

    fn facts(&self) -> Environment {
        let mut all = self.run.environment.clone();
        let mut trials = self.run.trials.iter().rev();
        if let Some(trial) = trials.find(|trial| trial.cell == self.row.cell) {
            all.0.extend(trial.environment.0.clone());
        }
        all
    }
}

pub fn choose_cells_page(sides: [(&str, &Findings); 2]) -> String {
    let mut page = frame::open_below("two cells", "Two cells side by side");
    page.raw("<form class=\"choose\" action=\"/cells\">\n");
    for (letter, (name, findings)) in ["a", "b"].into_iter().zip(sides) {
        let escaped = escape(name);
        page.raw(&format!("<input type=\"hidden\" name=\"{letter}\" value=\"{escaped}\">"));
        page.raw(&format!("<label for=\"{letter}-cell\">A cell of {escaped}</label>"));
        page.raw(&format!("<select id=\"{letter}-cell\" name=\"{letter}-cell\">\n"));
        for panel in &findings.panels {
            for row in &panel.rows {
                page.element(
                    &format!("option value=\"{}\"", escape(&row.cell.0)),
                    format!("{} {}", row.label, panel.title).trim(),
                );
            }
        }
        page.raw("</select>\n");
    }
    page.raw("<div><button>Show</button></div></form>\n");
    frame::close(page, None)
}

pub fn cells_page(sides: [Side; 2]) -> String {
    let [a, b] = sides;
    let mut page = frame::open("two cells");
    let links = [
        (link::run(a.name), a.name),
        (link::run(b.name), b.name),
        (link::cells(a.name, b.name), "Other cells"),
    ];
    frame::bar(&mut page, &links[usize::from(a.name == b.name)..]);
    page.element("h1", &format!("{} beside {}", b.title(), a.title()));
    let (left, right) = (a.facts(), b.facts());
    summary(&mut page, sides, &left.differences(&right));
    standing(&mut page, sides);
    around(&mut page, sides, &left.differences(&right));
    page.section("numbers", "What was measured");
    let heads = heads(sides);
    for op in &a.row.ops {
        let same = |other: &&OpSummary| other.op == op.op && other.view == op.view;
        if let Some(other) = b.row.ops.iter().find(same) {
            numbers(&mut page, [op, other], &heads);
        }
    }
    page.raw("</section>\n");
    pictures(&mut page, sides);
    frame::close(page, None)
}

fn summary(page: &mut Page, [a, b]: [Side; 2], differences: &[Difference]) {
    let mut keys: Vec<&str> = Vec::new();
    keys.extend((a.row.backing != b.row.backing).then_some("backing"));
    keys.extend((a.row.durability != b.row.durability).then_some("durability"));
    keys.extend(differences.iter().filter(|found| is_lasting(found)).map(|found| found.key));
    page.raw("<div class=\"article\">\n");
    page.element("p", &around_text(&keys));
    let pair = a.row.ops.iter().find_map(|op| {
        let same = |other: &&OpSummary| other.op == op.op && other.view == op.view;
        let other = b.row.ops.iter().find(same)?;
        let median = |op: &OpSummary| op.quantiles.iter().find(|q| q.q == 0.5).map(|q| q.value_ns);
        Some((op, median(op)?.median, median(other)?.median))
    });
    if let Some((op, first_ns, second_ns)) = pair.filter(|(_, first_ns, _)| *first_ns > 0.0) {
        let text = format!(
            "Results: {} p50, {}: {} in the first, {} in the second; second / first {}.",
            op_name(&op.op),
            view_name(op.view),
            duration_text(first_ns),
            duration_text(second_ns),
            significant(second_ns / first_ns)
        );
        page.element("p", &text);
    }
    page.raw("</div>\n");
}

fn heads(sides: [Side; 2]) -> [String; 2] {
    let [a, b] = sides;
    match (a.title() == b.title(), a.name == b.name) {
        (false, _) => sides.map(|side| side.title()),
        (true, false) => sides.map(|side| format!("{} {}", side.title(), side.name)),
        (true, true) => [format!("{} (A)", a.title()), format!("{} (B)", b.title())],
    }
}

fn standing(page: &mut Page, [a, b]: [Side; 2]) {
    let is_one_panel = a.name == b.name && std::ptr::eq(a.panel, b.panel);
    let between = |labels: [&str; 2]| labels == [&*a.row.label, &*b.row.label];
    let compared = a.panel.comparisons.iter().filter(|c| {
        is_one_panel && (between([&c.reference, &c.other]) || between([&c.other, &c.reference]))
    });
    let mut any = false;
    for comparison in compared {
        any = true;
        let interval = interval_text(comparison).map(|text| format!(" {text}")).unwrap_or_default();
        let text = format!(
            "{}: {} against {} within {}: {}{interval}.",
            crate::wording::metric_name(&comparison.metric),
            comparison.other,
            comparison.reference,
            blocks_text(comparison.blocks),
            claim_text(comparison)
        );
        page.element("p", &text);
    }
    if !any {
        let text = "These two were not compared within blocks: values stand beside each other, and \
                    nothing is claimed.";
        page.element("p class=\"muted\"", text);
    }
}

fn is_lasting(found: &Difference) -> bool {
    !FLEETING.iter().any(|key| found.key.starts_with(key))
}

fn around(page: &mut Page, sides: [Side; 2], differences: &[Difference]) {
    page.section("changed", "What differs around them");
    let mut rows: Vec<(&str, Option<&str>, Option<&str>)> = Vec::new();
    let [a, b] = sides;
    let backings = [a, b].map(|side| side.row.backing.to_string());
    let survives = [a, b].map(|side| side.row.durability.to_string());
    let runs = [a.name, b.name].map(String::from);
    for (key, [here, there]) in [("run", &runs), ("backing", &backings), ("durability", &survives)]
    {
        if here != there {
            rows.push((key, Some(here), Some(there)));
        }
    }
    let lasting = differences.iter().filter(|found| is_lasting(found));
    rows.extend(lasting.map(|d| (d.key, d.here, d.there)));
    if rows.is_empty() {
        page.element("p", "Nothing that is recorded.");
    } else {
        let heads = heads(sides);
        facts(page, [&heads[0], &heads[1]], &rows);
    }
    page.raw("</section>\n");
}

fn numbers(page: &mut Page, ops: [&OpSummary; 2], heads: &[String; 2]) {
    page.element("h3", &format!("{}, {}", op_name(&ops[0].op), view_name(ops[0].view)));
    page.open_table(&["share", &heads[0], &heads[1], "second / first"]);
    let mut shown = SHOWN;
    shown.sort_by(f64::total_cmp);
    for q in shown {
        let found = ops.map(|op| op.quantiles.iter().find(|row| (row.q - q).abs() < 1e-9));
        let [Some(first), Some(second)] = found else { continue };
        let carried = first.carried && second.carried;
        page.raw("<tr>");
        page.element("td", &quantile_name(q));
        for row in [first, second] {
            page.raw("<td>");
            page.text(&if row.carried { duration_text(row.value_ns.median) } else { "-".into() });
            page.element("small", &if row.carried { range_text(row.value_ns) } else { "".into() });
            page.raw("</td>");
        }
        let ratio = second.value_ns.median / first.value_ns.median;
        page.element("td", &if carried { significant(ratio) } else { "-".into() });
        page.raw("</tr>\n");
    }
    page.raw("<tr>");
    page.element("td", "largest of n");
    for op in ops {
        page.element(
            "td",
            &format!("{} of {}", duration_text(op.max_ns as f64), grouped(op.count as i64)),
        );
    }
    page.element("td", "-");
    page.raw("</tr>\n");
    page.close_table();
    page.element("p class=\"muted\"", "- : fewer than ten slow episodes over three trials.");
}

fn pictures(page: &mut Page, sides: [Side; 2]) {
    let (run, findings) = joined(sides);
    let subject = Subject::new(&run, &findings);
    page.section("pictures", "Pictures");
    page.raw("<div class=\"charts\">\n");
    for kind in [ChartKind::Percentiles, ChartKind::WorstPerSecond, ChartKind::Blocks] {
        for chart in kind.draw(&subject, Look::PAGE, false) {
            page.raw(&format!("<figure id=\"chart-{}\">", chart.name));
            page.raw(&svg(&chart.scene, Setting::Page));
            page.raw("</figure>\n");
        }
    }
    page.raw("</div>\n</section>\n");
}

fn joined(sides: [Side; 2]) -> (RunRecord, Findings) {
    let [a, b] = sides;
    let mut run = a.run.clone();
    run.trials.clear();
    let mut rows = Vec::new();
    for ((side, id), label) in [a, b].into_iter().zip(["a", "b"]).zip(heads(sides)) {
        let own = side.run.trials.iter().filter(|trial| trial.cell == side.row.cell).cloned();
        run.trials.extend(own.map(|mut trial| {
            trial.cell = CellId(id.into());
            trial
        }));
        rows.push(Row { cell: CellId(id.into()), label, ..side.row.clone() });
    }
    let reference = rows[0].label.clone();
    let (comparisons, phases) = (Vec::new(), Vec::new());
    let panel =
        Panel { rows, reference, comparisons, phases, title: String::new(), ..a.panel.clone() };
    (run, Findings { panels: vec![panel], ..Findings::default() })
}
