use pickfs_record::WorkerMessage;
use rustix::process::{Signal, set_parent_process_death_signal};

use crate::conversation::say;

pub fn arrange() {
    std::panic::set_hook(Box::new(|panic| {
        let reason = format!("the worker panicked, a bug in pickfs: {panic}");
        let _ = say(&WorkerMessage::Failed { reason });
        std::process::exit(101);
    }));
    // A lab that was killed cannot end its workers (prctl(2), PR_SET_PDEATHSIG).
    let _ = set_parent_process_death_signal(Some(Signal::KILL));
}
