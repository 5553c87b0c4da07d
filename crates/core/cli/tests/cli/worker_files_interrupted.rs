use std::{fs, io::Write, path::Path, time::Duration};

use pickfs_testkit::patience::until;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use crate::spoken::{ready, spec};

fn interrupted_after(pause: Duration, directory: &Path, params: serde_json::Value) -> String {
    let (mut worker, lines) = ready(&spec("files", params, directory));
    writeln!(worker.stdin.as_mut().expect("piped"), "go").expect("it waits");
    // Its own directory beside "theirs" is the first thing of it, and it listens to signals by then.
    let has_begun = || fs::read_dir(directory).is_ok_and(|all| all.count() > 1);
    until("the worker has a directory", || has_begun().then_some(()));
    // SLEEP: the signal comes wherever the worker is then.
    std::thread::sleep(pause);
    kill_process(Pid::from_child(&worker), Signal::TERM).expect("ours");
    let last = lines.map(|line| line.expect("text")).last().unwrap_or_default();
    assert!(!worker.wait().expect("it ends").success());
    last
}

#[test]
fn wherever_it_is_nothing_of_it_is_left_and_all_else_is() {
    let of_one_file = json!({ "scale": "full", "files": 0, "size": "1GiB", "further": "off" });
    let of_seeks = json!({
        "profile": "bonnie", "scale": "tiny", "seeks": 1, "settle": "60s", "files": 0,
    });
    let of_many_files = json!({ "scale": "full", "size": 0, "directories": 7, "fsync": "each" });
    let of_saves = json!({ "scale": "tiny", "size": 0, "files": 0, "saves": 1_000_000 });
    for params in [of_one_file, of_seeks, of_many_files, of_saves] {
        for pause_ms in [5, 150, 400] {
            let folder = tempfile::tempdir_in("/var/tmp").expect("a folder");
            fs::write(folder.path().join("theirs"), "keep").expect("a file");
            let pause = Duration::from_millis(pause_ms);
            let last = interrupted_after(pause, folder.path(), params.clone());
            assert!(last.contains("interrupted"), "{params} after {pause_ms} ms: {last}");
            let left: Vec<_> = fs::read_dir(folder.path()).expect("a folder").flatten().collect();
            assert_eq!(left.len(), 1, "{params} after {pause_ms} ms left {left:?}");
            assert_eq!(left[0].file_name(), "theirs");
        }
    }
}
