use pickfs_analysis::trust::trust as judge;
use pickfs_report::terminal::trust_screen;

use pickfs_model::RunRecord;

use crate::{
    args::TrustArgs,
    commands::run::{failed, perform},
    exit::Exit,
    screen::columns,
    terminal,
};

pub fn trust(args: &TrustArgs) -> anyhow::Result<Exit> {
    let mut words = args.run.clone();
    words.choice.plan = "trust".into();
    let launched = perform(&words)?;
    let trust = judge(&launched.record, planted_ratio(&launched.record));
    match args.run.json {
        true => terminal::put(&format!("{}\n", serde_json::to_string(&trust)?)),
        false => terminal::put(&trust_screen(&trust, columns())),
    }
    Ok(failed(&launched.record))
}

fn planted_ratio(run: &RunRecord) -> f64 {
    let slowdowns = run.cells.iter().filter_map(|cell| cell.workload.params.get("slowdown"));
    slowdowns.filter_map(|value| value.as_f64()).fold(1.0, f64::max)
}
