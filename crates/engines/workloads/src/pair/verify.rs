use std::{ops::ControlFlow, path::Path};

use pickfs_pair::{Kind, read_store};
use pickfs_workload::fault::Fault;

use crate::{followers::fault, pattern::Pattern};

pub(super) fn verify(node: &Path, kind: Kind, pattern: &Pattern, sent: u64) -> Result<u64, Fault> {
    let mut last = 0;
    let mut wrong = None;
    read_store(&node.join("store"), kind, 1, |at, payload| {
        last += 1;
        if at.sequence == last && pattern.is_of(payload, last) {
            return ControlFlow::Continue(());
        }
        wrong = Some(at.sequence);
        ControlFlow::Break(())
    })
    .map_err(fault)?;
    let node = node.display();
    if let Some(sequence) = wrong {
        let what = format!("message {sequence} of {node} is not what was sent");
        return Err(Fault::Wrong { what });
    }
    if last != sent {
        let what = format!("the last message of {node} is {last}, and {sent} were sent");
        return Err(Fault::Wrong { what });
    }
    Ok(last)
}
