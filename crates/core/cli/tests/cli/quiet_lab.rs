use std::{fs, time::Duration};

use crate::lab_session::Session;
use crate::pickfs::{folder, pickfs, typed};
use pickfs_record::Event;
use serde_json::Value;

/// CPU time of a thread or process in clock ticks; fields 14 and 15 of proc_pid_stat(5).
fn ticks(stat: &str) -> u64 {
    let text = fs::read_to_string(stat).unwrap_or_default();
    let tail = text.rsplit_once(") ").map_or("", |(_, tail)| tail);
    tail.split(' ').skip(11).take(2).filter_map(|word| word.parse::<u64>().ok()).sum()
}

fn threads(process: i32) -> Vec<String> {
    let tasks = fs::read_dir(format!("/proc/{process}/task")).into_iter().flatten().flatten();
    tasks.map(|task| task.path().join("stat").to_str().unwrap().to_owned()).collect()
}

#[test]
fn nothing_spins_beside_the_measurement() {
    let (_data, data) = folder();
    let (_out, out) = folder();
    let words = format!(
        "run quick --blocks 1 --dir {} --measure 4s --warmup 1s --raw-probe 0s \
         --set rate=100/s --set sync=none --set wait=sleep",
        data.display()
    );
    let mut lab = Session::start(&typed(&words), &out);
    // Past its preparation, so that only the loop is looked at.
    lab.wait_for(|event| matches!(event, Event::TrialProgress { phase, .. } if phase == "measure"));
    let watched: Vec<_> = lab.processes().into_keys().flat_map(threads).collect();
    let used = || watched.iter().map(|stat| ticks(stat)).sum::<u64>();
    let before = used();
    // SLEEP: the time over which is counted.
    std::thread::sleep(Duration::from_secs(2));
    let after = used();
    assert!(watched.len() >= 4, "{watched:?}");
    assert!(after > 0, "the test can see CPU time");
    // One spinning thread would take 200 ticks of 10 ms.
    assert!(after - before < 50, "{} ticks in two seconds", after - before);
    assert_eq!(lab.end().0.code, Some(0));
}

fn plan(more: &[&str]) -> Value {
    pickfs(&[&["plan", "quick", "--json"], more].concat()).json()
}

#[test]
fn nothing_is_allowed_unless_it_is_said() {
    let consent = |plan: &Value| -> Vec<bool> {
        let consent = plan["consent"].as_object().unwrap();
        consent.values().map(|value| value.as_bool().unwrap()).collect()
    };
    assert!(consent(&plan(&[])).iter().all(|allowed| !allowed));
    let all = ["--allow-drop-caches", "--allow-fault", "--allow-realtime", "--allow-system-tuning"];
    assert!(consent(&plan(&all)).iter().all(|allowed| *allowed));
    let device = plan(&["--device", "/dev/a-disk"]);
    assert_eq!(device["backing"]["state"], "filled", "a disk is filled before it is measured");
    assert_eq!(device["backing"]["erase"], false);
}
