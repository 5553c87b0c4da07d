//! Questions to what a guest has mounted. There this program runs again as `pickfs worker features`; it is given a task on
//! one line and says an answer a line, in the order of the table. After a new mount it is given those answers, and says
//! the ones that count.

use std::{
    collections::BTreeMap,
    io::{self, BufRead, Read, Write},
    path::PathBuf,
    process::ExitCode,
    time::Duration,
};

use pickfs_record::trial::WORKER;
use serde::{Deserialize, Serialize};

use crate::answers::Answer;
use crate::room::Room;
use crate::table;

pub const WORD: &str = "features";
const TASK_BYTES_MAX: u64 = 1 << 20;

#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Task {
    /// Of the mounted file system, which was made for the asking.
    pub folder: PathBuf,
    pub device: Option<PathBuf>,
    pub torn_time: Duration,
    /// What was answered before a new mount.
    pub first: Option<Vec<Answer>>,
    /// Of questions that are not put, by their place in the table: they ended a guest, or nobody wants them.
    pub known: BTreeMap<usize, Answer>,
}

/// `None` where this process was started for something else.
pub fn run() -> Option<ExitCode> {
    let mut words = std::env::args_os().skip(1);
    (words.next()? == WORKER && words.next()? == WORD).then(|| {
        let done = perform(&mut io::stdin().lock(), &mut io::stdout().lock());
        // The host tells the last line of the errors.
        done.map_or_else(
            |error| {
                eprintln!("{error}");
                ExitCode::FAILURE
            },
            |()| ExitCode::SUCCESS,
        )
    })
}

fn perform(task: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let mut line = String::new();
    task.take(TASK_BYTES_MAX).read_line(&mut line)?;
    let task: Task = serde_json::from_str(&line)?;
    let mut room = Room::new(&task.folder, task.device.as_deref());
    (room.torn_time, room.is_scratch) = (task.torn_time, true);
    let mut first = task.first.map(Vec::into_iter);
    table::questions().enumerate().try_for_each(|(place, probe)| {
        let answer = match (first.as_mut().and_then(Iterator::next), task.known.get(&place)) {
            (Some(before), _) => probe.ask_again(&room, before),
            (None, Some(known)) => known.clone(),
            (None, None) => probe.ask(&room),
        };
        writeln!(to, "{}", serde_json::to_string(&answer)?)?;
        to.flush()
    })
}

/// Adds the answer of a line.
///
/// # Errors
/// The line is none, or there are answers to all questions.
pub fn hear(line: &str, answers: &mut Vec<Answer>) -> Result<(), String> {
    if answers.len() == table::questions().count() {
        return Err("the guest gave more answers than there are questions".into());
    }
    let answer = serde_json::from_str(line);
    answers.push(answer.map_err(|error| format!("`{line}` of the guest is no answer: {error}"))?);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::answers::Verdict;

    fn said(task: &Task) -> Vec<Answer> {
        let (given, mut to) = (serde_json::to_string(task).unwrap() + "\n", Vec::new());
        perform(&mut given.as_bytes(), &mut to).unwrap();
        let (mut answers, text) = (Vec::new(), String::from_utf8(to).unwrap());
        text.lines().for_each(|line| hear(line, &mut answers).unwrap());
        assert!(hear(text.lines().next().unwrap(), &mut answers).unwrap_err().contains("more"));
        answers
    }

    #[test]
    fn answers_come_in_the_order_of_the_table_and_after_a_new_mount_those_that_count() {
        let folder = tempfile::tempdir_in("/var/tmp").unwrap();
        let (at, torn_time) = (folder.path().to_owned(), Duration::from_millis(20));
        let ended = Answer::new(Verdict::Failed, "the guest fell silent");
        let known = BTreeMap::from([(3, ended.clone())]);
        let task = Task { folder: at.clone(), device: None, torn_time, first: None, known };
        let first = said(&task);
        assert_eq!(first[3], ended, "it is not put again");
        assert_eq!(first.len(), table::questions().count());
        let at_key = |key| table::questions().position(|probe| probe.key == key).unwrap();
        let owned = at_key("permissions");
        if first[owned].verdict != Verdict::Yes {
            println!("SKIPPED: /var/tmp keeps no permissions: {:?}", first[owned]);
            return;
        }
        std::fs::remove_dir_all(at.join("permissions")).unwrap();
        let second = said(&Task { first: Some(first.clone()), ..task });
        assert_eq!(second[owned].verdict, Verdict::No, "what it left is gone");
        assert!(second[owned].words.ends_with("yes before a new mount"), "{:?}", second[owned]);
        assert_eq!(second[at_key("birth")].verdict, first[at_key("birth")].verdict);
    }

    #[test]
    fn what_is_no_answer_is_told() {
        for line in ["", "printk: lost", "{}", "{\"verdict\": \"maybe\", \"words\": \"\"}"] {
            let error = hear(line, &mut Vec::new()).unwrap_err();
            assert!(error.contains(&format!("`{line}` of the guest is no answer")), "{error}");
        }
        assert!(perform(&mut "no task\n".as_bytes(), &mut Vec::new()).is_err());
    }
}
