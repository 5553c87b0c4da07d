//! Nothing is installed, so where nobody can answer it is announced and done; `PICKFS_FETCH` says
//! yes or never beforehand, as the flags `--yes` and `--no-install` of ./run do.

use std::{
    env,
    io::{BufRead, IsTerminal, stderr, stdin},
    sync::{
        Arc,
        atomic::{AtomicBool, Ordering},
    },
};

use pickfs_guest::{Ask, Download};

use crate::terminal;

const VARIABLE: &str = "PICKFS_FETCH";

pub fn ask() -> Ask {
    let allowed = AtomicBool::new(false);
    Arc::new(move |download| {
        let word = env::var(VARIABLE).unwrap_or_default();
        let Some(download) = download else { return word != "never" };
        let text = announcement(download);
        let answer = match word.as_str() {
            "never" => false,
            "yes" => announce(&text),
            _ if allowed.load(Ordering::Relaxed) => announce(&text),
            _ if stdin().is_terminal() && stderr().is_terminal() => answered(&text),
            _ => announce(&text),
        };
        allowed.fetch_or(answer, Ordering::Relaxed);
        answer
    })
}

fn announcement(download: &Download) -> String {
    let megabytes = download.bytes.div_ceil(1_000_000);
    format!("guests need {} from Debian: {megabytes} MB, nothing is installed", download.what)
}

fn announce(text: &str) -> bool {
    terminal::tell(&format!("{text}; fetching"));
    true
}

fn answered(text: &str) -> bool {
    terminal::draw(&format!("{text}; fetch it? [Y/n] "));
    let mut line = String::new();
    let read = stdin().lock().read_line(&mut line);
    read.is_ok_and(|bytes| bytes > 0) && matches!(line.trim(), "" | "y" | "Y" | "yes")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_fetched_is_told_with_its_size() {
        let download = Download { what: "linux-image-amd64 6.1.192-2".into(), bytes: 41_388_548 };
        let text = announcement(&download);
        assert!(text.contains("6.1.192-2") && text.contains("42 MB"), "{text}");
        assert!(text.contains("nothing is installed"), "{text}");
    }
}
