//! Appending, sending, keeping and hearing allocate nothing, over journal and queue. The allocator of this test
//! counts for the thread that asks.

use crate::nodes::*;
use pickfs_pair::Waiting;
use pickfs_testkit::{Counting, allocated};

#[global_allocator]
static ALLOCATOR: Counting = Counting;

#[test]
fn a_message_on_its_way_allocates_nothing() {
    for store in [plain_journal(), queue_store(pickfs_queue::Sync::None)] {
        for waiting in [Waiting::Block, Waiting::Spin] {
            let dir = tempfile::tempdir().unwrap();
            let follower = follow(secondary_options(&dir.path().join("b"), store.clone()));
            let mut options =
                primary_options(&dir.path().join("a"), store.clone(), &[follower.address()]);
            options.waiting = waiting;
            let mut primary = ready(options);
            let message = [7; 256];
            let mut send = |count: u32| {
                for _ in 0..count {
                    let first = primary.append(&message).unwrap();
                    let ticket = primary.append(&message).unwrap();
                    primary.wait(ticket, LONG).unwrap();
                    assert!(primary.is_safe(first));
                }
            };
            send(10);
            let before = allocated();
            send(500);
            assert_eq!(allocated() - before, 0, "{waiting:?}");
        }
    }
}
