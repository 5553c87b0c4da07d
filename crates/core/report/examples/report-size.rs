//! `benches/report-size`; aim: under 2 s and under 5 MB.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::time::Instant;

use pickfs_report::{Subject, html::html};

fn main() {
    let (run, findings) = fixture::thousand();
    for _ in 0..5 {
        let start = Instant::now();
        let page = html(&Subject::new(&run, &findings), None);
        let took_ms = start.elapsed().as_secs_f64() * 1e3;
        println!("{} trials: {took_ms:.0} ms, {} bytes", run.trials.len(), page.len());
    }
}
