use std::sync::{
    Arc,
    atomic::{AtomicBool, Ordering::Relaxed},
};

use pickfs_pair::{Ended, Secondary};
use signal_hook::consts::{SIGINT, SIGTERM};

use super::{Outcome, primary::serve, words::Words};

pub(crate) fn run(words: &Words) -> Outcome {
    let options = words.secondary()?;
    // What it would be as a primary is checked before it is needed.
    let promoted = words.primary(2)?;
    let mut secondary = Secondary::open(options)?;
    let stop = Arc::new(AtomicBool::new(false));
    for signal in [SIGTERM, SIGINT] {
        signal_hook::flag::register(signal, Arc::clone(&stop))?;
    }
    let status = secondary.status();
    println!("listens on {} after message {}", secondary.address(), status.last.sequence);
    match follow(&mut secondary, &stop)? {
        Ended::Stopped => Ok(()),
        Ended::PromotionAsked => {
            // From here on a signal ends it as any program.
            for signal in [SIGTERM, SIGINT] {
                signal_hook::flag::register_conditional_shutdown(
                    signal,
                    0,
                    Arc::new(AtomicBool::new(true)),
                )?;
            }
            serve(secondary.promote(promoted)?)
        }
    }
}

fn follow(secondary: &mut Secondary, stop: &AtomicBool) -> Result<Ended, pickfs_pair::Error> {
    secondary.run_while(|secondary| {
        while let Some(event) = secondary.next_event() {
            eprintln!("pickfs-pair: {event}");
        }
        !stop.load(Relaxed)
    })
}
