//! The observer gets every append, sync and roll once, in the second that it ended in.

use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use pickfs_journal::{Journal, Observed, Observer, Options, Preallocation, Second};

#[derive(Clone, Default)]
struct Keep(Arc<Mutex<Vec<Second>>>);

impl Observer for Keep {
    fn second(&mut self, second: &Second) {
        self.0.lock().unwrap().push(second.clone());
    }
}

#[test]
fn the_seconds_add_up_to_all_that_was_done() {
    let dir = crate::on_disk();
    let options = Options {
        preallocation: Preallocation::None,
        file_bytes: 8192,
        buffer_bytes: 8192,
        ..Options::default()
    };
    let keep = Keep::default();
    let mut journal = Observed::new(Journal::create(dir.path(), options).unwrap(), keep.clone());
    let (mut appends, mut rolls) = (0, 0);
    let start = Instant::now();
    while start.elapsed() < Duration::from_millis(1300) {
        rolls += u64::from(journal.append(&[1; 200]).unwrap().rolled);
        appends += 1;
        // SLEEP: appends over more than a second.
        std::thread::sleep(Duration::from_millis(2));
    }
    assert_eq!(journal.finish().written_sequence(), appends);
    let seconds = keep.0.lock().unwrap();
    assert!(seconds.len() >= 2);
    assert!(seconds.windows(2).all(|pair| pair[0].number < pair[1].number));
    let total = |count: fn(&Second) -> u64| seconds.iter().map(count).sum::<u64>();
    assert_eq!(total(|second| second.append.len()), appends);
    assert_eq!(total(|second| second.sync.len()), appends);
    assert_eq!(total(|second| second.roll.len()), rolls);
    assert!(rolls > 0 && seconds.iter().any(|second| second.roll.max() > 0));
}
