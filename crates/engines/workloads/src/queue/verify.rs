use std::path::Path;

use pickfs_queue::Queue;
use pickfs_workload::fault::Fault;

use crate::pattern::Pattern;
use crate::queue::{channel::fault, payload::told};

pub(super) fn verify(directory: &Path, pattern: &Pattern, sent: u64) -> Result<u64, Fault> {
    let queue = Queue::open_read_only(directory).map_err(fault)?;
    let mut tailer = queue.tailer().map_err(fault)?;
    let (mut checked, mut last) = (0, 0);
    while let Some(message) = tailer.poll().map_err(fault)? {
        let number = told(message.payload).map_or(0, |told| told.number);
        let is_next = last == 0 || number == last + 1;
        if !is_next || number != message.sequence || !pattern.is_of(message.payload, number) {
            let what =
                format!("message {} behind message {last} is not what was sent", message.sequence);
            return Err(Fault::Wrong { what });
        }
        last = number;
        checked += 1;
    }
    if last != sent {
        return Err(Fault::Wrong {
            what: format!("the last message is {last}, and {sent} were sent"),
        });
    }
    Ok(checked)
}
