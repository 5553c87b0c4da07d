use pickfs_analysis::compare::{CellRatio, RunComparison};
use pickfs_model::quantity::significant;

use super::{
    grid::{Align, Grid},
    paragraph::hanging,
    plain,
};
use crate::wording::{metric_name, metric_value};

const MARGIN: usize = 11;

pub fn comparison_screen(comparison: &RunComparison, columns: usize) -> String {
    let columns = columns.max(60);
    let title = format!("{} against {}", plain(&comparison.there), plain(&comparison.here));
    let mut out = hanging("compare", &title, MARGIN, columns);
    let mut name = "changed";
    for changed in &comparison.changed {
        let (here, there) = (changed.here.as_deref(), changed.there.as_deref());
        let text = format!(
            "{}: {} -> {}",
            changed.key,
            here.unwrap_or("absent"),
            there.unwrap_or("absent")
        );
        out.push_str(&hanging(name, &plain(&text), MARGIN, columns));
        name = "";
    }
    if comparison.changed.is_empty() {
        out.push_str(&hanging("changed", "nothing that is recorded", MARGIN, columns));
    }
    for warning in &comparison.warnings {
        out.push_str(&hanging("doubt", &plain(warning), MARGIN, columns));
    }
    out.push('\n');
    for line in ratios(&comparison.cells).lines().concat() {
        out.push_str(&line);
        out.push('\n');
    }
    for (label, why) in &comparison.uncompared {
        out.push_str(&hanging("left out", &plain(&format!("{label}: {why}")), MARGIN, columns));
    }
    out
}

fn ratios(cells: &[CellRatio]) -> Grid {
    let head = ["", "", "first", "second", "second/first", ""].map(String::from).to_vec();
    let mut rows = vec![head];
    for cell in cells {
        rows.push(vec![
            plain(format!("{} {}", cell.label, cell.levels).trim()),
            metric_name(&cell.metric),
            metric_value(&cell.metric, cell.here.median),
            metric_value(&cell.metric, cell.there.median),
            significant(cell.ratio),
            if cell.apart { "no trial overlaps" } else { "" }.into(),
        ]);
    }
    use Align::{Left, Right};
    Grid { columns: vec![Left, Left, Right, Right, Right, Left], rows }
}
