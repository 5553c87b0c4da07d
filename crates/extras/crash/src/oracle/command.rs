//! A check of somebody else: exit 0 is fine, and else its first line says why.

use std::path::Path;
use std::time::Duration;

use crate::check::{Check, Found, Loss};
use crate::program::{self, Program};

/// Of what a check says.
const LINE_CHARS: usize = 200;

/// It runs in the root of the mounted file system, with what the program had said before the crash on its standard input,
/// a line for each record, and their number in `PICKFS_ACKNOWLEDGED`.
#[derive(Debug, Clone)]
pub struct Command {
    /// Program and arguments; never empty.
    pub words: Vec<String>,
    /// What the program said when it acknowledged, a line each; there may be fewer.
    pub lines: Vec<String>,
    /// One that takes longer is ended, with what it started.
    pub patience: Duration,
}

impl Check for Command {
    fn look(&mut self, mounted: &Path, due: u64) -> Found {
        // What is there only the check knows: all that is due, or it says no.
        // Where nothing is due its files may not be there yet.
        let refusal = self.refusal(mounted, due).filter(|_| due > 0).map(Loss::Refused);
        Found { due, survived: due, losses: refusal.into_iter().collect(), ..Found::default() }
    }
}

impl Command {
    /// Why it is not content; nothing where it is.
    fn refusal(&self, folder: &Path, due: u64) -> Option<String> {
        let lines = self.lines.iter().take(due as usize);
        let input: String = lines.map(|line| format!("{line}\n")).collect();
        let (words, silence, longest) = (&self.words, self.patience, self.patience);
        let program = Program { words, folder, input: &input, acknowledged: due, silence, longest };
        let mut first = None;
        let told = &mut |line: String| {
            let line: String = line.trim().chars().take(LINE_CHARS).collect();
            first = first.take().or(Some(line).filter(|line| !line.is_empty()));
        };
        match program::run(&program, true, told, &|| false) {
            Ok(status) if status.success() => None,
            Ok(status) => Some(first.unwrap_or_else(|| status.to_string())),
            Err(words) => Some(words),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(script: &str, patience_ms: u64) -> Command {
        Command {
            words: ["sh", "-c", script].map(String::from).to_vec(),
            lines: vec!["first".into(), "second".into()],
            patience: Duration::from_millis(patience_ms),
        }
    }

    #[test]
    fn a_check_sees_what_was_acknowledged_and_its_first_line_is_the_reason() {
        let dir = tempfile::tempdir().unwrap();
        std::fs::write(dir.path().join("there"), b"").unwrap();
        let look = |script: &str, due| check(script, 60_000).look(dir.path(), due);
        let script = "test -e there && test \"$(cat)\" = first && test $PICKFS_ACKNOWLEDGED = 1";
        assert_eq!(look(script, 1), Found { due: 1, survived: 1, ..Found::default() });
        let refused = look("echo; echo order 7 is gone >&2; echo more; exit 3", 2);
        assert_eq!(refused.losses, [Loss::Refused("order 7 is gone".into())]);
        assert_eq!(refused.due, 2);
        let silent = look("exit 3", 2);
        assert_eq!(silent.losses, [Loss::Refused("exit status: 3".into())]);
        assert_eq!(look("exit 3", 0), Found::default(), "nothing was due");
    }

    #[test]
    fn a_check_that_hangs_or_is_not_there_is_no_good_sight() {
        let dir = tempfile::tempdir().unwrap();
        for script in ["tail -f /dev/null", "exec >/dev/null 2>&1; tail -f /dev/null"] {
            let found = check(script, 50).look(dir.path(), 1);
            assert_eq!(found.losses, [Loss::Refused("no end after 50.0 ms".into())], "{script}");
        }
        let mut missing = Command { words: vec!["/nowhere/at/all".into()], ..check("", 50) };
        assert!(missing.look(dir.path(), 1).is_fault());
    }
}
