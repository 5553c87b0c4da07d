//! Prints where the threads of a process sleep and from where they are woken, as the probe records
//! it: what rules in `causes.toml` are written from. Process 0 stands for all of the machine.
//!
//! ```text
//! cargo run -p pickfs-explain --example stacks -- PID SECONDS
//! ```

use std::{collections::BTreeMap, time::Duration};

use pickfs_explain::kernel::kernel_symbols::KernelSymbols;
use pickfs_explain::{recorder::Recorder, sched::What};
use pickfs_record::{Clock, MonotonicClock};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let words: Vec<String> = std::env::args().collect();
    let [_, process, seconds] = &words[..] else { return Err("PID SECONDS".into()) };
    let mut recorder = Recorder::open(256)?;
    match process.as_str() {
        "0" => recorder.follow_with(&[], Some(1))?,
        process => recorder.follow(&threads_of(process)?)?,
    }
    let mut events = Vec::new();
    for _ in 0..(seconds.parse::<f64>()? * 20.0) as u32 {
        std::thread::sleep(Duration::from_millis(50));
        recorder.drain(MonotonicClock.now_ns() - 10_000_000, &mut events);
    }
    let symbols = KernelSymbols::read()?;
    let mut counted: BTreeMap<String, u64> = BTreeMap::new();
    for event in &events {
        let (word, stack) = match event.what {
            What::Out { left, stack, .. } => (format!("{left:?}"), stack),
            What::Woken { stack, .. } => ("Woken".into(), stack),
            What::Found { stack } => ("Found".into(), stack),
            What::In { .. } => ("In".into(), 0),
            What::Losing | What::Sampled { .. } => continue,
            What::Lost { count, .. } => (format!("Lost {count}"), 0),
        };
        let names = recorder.names.stacks.value(stack);
        let frames: Vec<&str> = names.iter().map(|at| symbols.name(*at).unwrap_or("?")).collect();
        *counted.entry(format!("{word} {}", frames.join(" < "))).or_default() += 1;
    }
    for (stack, times) in counted {
        println!("{times:6} {stack}");
    }
    Ok(())
}

fn threads_of(process: &str) -> std::io::Result<Vec<u32>> {
    let tasks = std::fs::read_dir(format!("/proc/{process}/task"))?;
    Ok(tasks.flatten().filter_map(|task| task.file_name().to_str()?.parse().ok()).collect())
}
