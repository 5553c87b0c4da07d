use pickfs_model::finding::Panel;

use super::{
    colour::Paint,
    grid::{Align, Grid},
    plain,
};
use crate::{
    Subject,
    program::{self, Facts},
};

pub(super) fn beside(subject: &Subject, panel: &Panel, paint: Paint) -> String {
    let mut out = String::new();
    for facts in program::beside(subject, panel) {
        out.push('\n');
        let lines = grid(&facts).lines().into_iter().flatten();
        lines.for_each(|line| out.push_str(&format!("{}\n", paint.faint(&line))));
    }
    out
}

fn grid(facts: &Facts) -> Grid {
    let side = |column| if column < facts.words { Align::Left } else { Align::Right };
    let line = |row: &Vec<String>| row.iter().map(|cell| plain(cell)).collect();
    Grid {
        columns: (0..facts.head.len()).map(side).collect(),
        rows: [&facts.head].into_iter().chain(&facts.rows).map(line).collect(),
    }
}
