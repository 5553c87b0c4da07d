//! What can be seen only with a child: the live page is shared, and a SIGBUS ends a program cleanly.
//! This program is its own child, with a role as first argument.
#![allow(clippy::unwrap_used)]

use pickfs_sys::live_page::{LiveCounter, LivePage};
use pickfs_sys::mapped_file::MappedFile;
use pickfs_sys::sigbus::SIGBUS_EXIT_CODE;
use std::process::{Command, Output};

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    match arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        ["role", "store"] => store(),
        ["role", "cut", path] => touch_a_cut_file(path),
        ["--list", ..] => println!("child_process: test"),
        _ => {
            the_parent_sees_what_the_child_stores();
            a_wrong_descriptor_is_refused();
            a_file_cut_short_ends_the_program_with_its_name();
            println!("child_process: 3 tests ok");
        }
    }
}

fn own(arguments: &[&str]) -> Command {
    let mut command = Command::new(std::env::current_exe().unwrap());
    command.arg("role").args(arguments);
    command
}

fn store() {
    match LivePage::inherited() {
        Ok(page) => {
            let page = page.unwrap();
            page.set(LiveCounter::OperationsDone, 4711);
            page.set(LiveCounter::LatencyNsMax, 99);
        }
        Err(error) => {
            eprintln!("{error}");
            std::process::exit(3);
        }
    }
}

fn touch_a_cut_file(path: &str) {
    let file = std::fs::File::options().read(true).write(true).open(path).unwrap();
    let mut map = MappedFile::map(&file, path.as_ref(), 16384).unwrap();
    map.write_at(12288, b"fits").unwrap();
    file.set_len(4096).unwrap();
    map.write_at(12300, b"does not").unwrap();
}

fn the_parent_sees_what_the_child_stores() {
    let page = LivePage::zeros().unwrap();
    let mut child = own(&["store"]);
    page.hand_to(&mut child);
    assert!(child.status().unwrap().success());
    assert_eq!(page.get(LiveCounter::OperationsDone), 4711);
    assert_eq!(page.get(LiveCounter::LatencyNsMax), 99);
    assert_eq!(page.get(LiveCounter::SeenAtNs), 0);
    assert!(LivePage::inherited().unwrap().is_none());
}

fn a_wrong_descriptor_is_refused() {
    for value in ["77", "0", "-1", "many"] {
        let Output { status, stderr, .. } =
            own(&["store"]).env("PICKFS_LIVE_PAGE_FD", value).output().unwrap();
        assert_eq!(status.code(), Some(3), "{value}");
        let text = String::from_utf8(stderr).unwrap();
        assert_eq!(text, format!("PICKFS_LIVE_PAGE_FD={value} names no shared memory of ours\n"));
    }
}

fn a_file_cut_short_ends_the_program_with_its_name() {
    let file = tempfile::NamedTempFile::new_in("/var/tmp").unwrap();
    file.as_file().set_len(16384).unwrap();
    let path = file.path().to_str().unwrap();
    let Output { status, stderr, .. } = own(&["cut", path]).output().unwrap();
    let text = String::from_utf8(stderr).unwrap();
    assert_eq!(status.code(), Some(SIGBUS_EXIT_CODE), "{text}");
    assert!(text.contains(&format!("SIGBUS in mapped file {path} at byte 12")), "{text}");
}
