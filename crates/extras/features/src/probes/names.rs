//! How files may be called: case, length, characters. A name counts only when
//! the directory lists it exactly as it was given.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::os::unix::ffi::OsStrExt;

use crate::answers::{Answer, Verdict};

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("case", case),
    Probe::new("name-length", length),
    Probe::new("name-characters", characters),
    Probe::new("name-bytes", bytes),
];

const MIXED: &str = "CaseOfName";

fn case(room: &Room) -> Asking {
    room.file(MIXED)?;
    let found = room.path(&MIXED.to_lowercase()).exists();
    let listed = room.names()?;
    let listed = listed.first().map(|name| name.to_string_lossy().into_owned());
    Ok(case_answer(found, &listed.unwrap_or_default()))
}

fn case_answer(found: bool, listed: &str) -> Answer {
    match (found, listed == MIXED) {
        (false, true) => Answer::new(Verdict::Yes, ""),
        (true, true) => Answer::new(Verdict::No, "keeps the case that was given"),
        (true, false) => Answer::new(Verdict::No, format!("{MIXED} is listed as {listed}")),
        (false, false) => {
            Answer::new(Verdict::Partly, format!("apart, but {MIXED} is listed as {listed}"))
        }
    }
}

/// Longest name that Linux programs can count on reading: `NAME_MAX` times the widest character
/// that is tried, and some more.
const CHARACTERS_MAX: usize = 300;
const LETTERS: [char; 3] = ['a', 'ä', '語'];

fn length(room: &Room) -> Asking {
    let mut longest = [0; 3];
    for (index, letter) in LETTERS.iter().enumerate() {
        let (mut low, mut high) =
            (0, room.name_bytes_max().min(CHARACTERS_MAX * 3) / letter.len_utf8());
        high = high.min(CHARACTERS_MAX);
        while low < high {
            let middle = (low + high).div_ceil(2);
            let name: String = std::iter::repeat_n(*letter, middle).collect();
            // A folder of its own: a driver that trips over a name may break what it is in.
            let inner = room.inner(&format!("try-{index}-{middle}"))?;
            match keeps_name(&inner, OsStr::new(&name)) {
                Ok(true) => low = middle,
                Ok(false) | Err(_) => high = middle - 1,
            }
        }
        longest[index] = low;
    }
    Ok(length_answer(longest, room.name_bytes_max()))
}

/// Of one, two and three bytes each.
fn length_answer(longest: [usize; 3], tried_bytes: usize) -> Answer {
    let [one, two, three] = longest;
    let words = format!("{one} of a, {two} of ä, {three} of 語");
    let fits = |count: usize, width: usize| one / width == count;
    let value = match (one, two, three) {
        (0, ..) => return Answer::new(Verdict::Failed, words),
        (_, 0, _) | (.., 0) => format!("{one} B, ASCII"),
        _ if fits(two, 2) && fits(three, 3) && one == tried_bytes => format!(">={one} B"),
        _ if fits(two, 2) && fits(three, 3) => format!("{one} B"),
        _ if two == one && three == one => format!("{one} ch"),
        _ => format!("{one} to {three}"),
    };
    Answer::measured(value, words)
}

/// It is listed as it was given; the file is gone afterwards.
fn keeps_name(room: &Room, name: &OsStr) -> Asking<bool> {
    let path = room.folder().join(name);
    let Ok(file) = File::options().write(true).create_new(true).open(&path) else {
        return Ok(false);
    };
    drop(file);
    let is_listed = room.names()?.iter().any(|one| one == name);
    std::fs::remove_file(&path).needed("unlink")?;
    Ok(is_listed)
}

fn characters(room: &Room) -> Asking {
    let mut refused = Vec::new();
    let mut changed = Vec::new();
    for byte in (1_u8..=127).filter(|byte| *byte != b'/') {
        let name = OsString::from(format!("x{}y", byte as char));
        if !keeps_name(room, &name)? {
            refused.push(byte);
        }
    }
    for (name, what) in [("trailing ", "a blank at the end"), ("trailing.", "a dot at the end")] {
        if !keeps_name(room, OsStr::new(name))? {
            changed.push(what);
        }
    }
    Ok(characters_answer(&refused, &changed))
}

/// ASCII characters that no name may hold, and endings that are not kept.
fn characters_answer(refused: &[u8], changed: &[&str]) -> Answer {
    let printable = refused.iter().filter(|byte| byte.is_ascii_graphic() || **byte == b' ');
    let signs: Vec<String> = printable.map(|byte| (*byte as char).to_string()).collect();
    let controls = refused.len() - signs.len();
    let mut words = Vec::new();
    if !signs.is_empty() {
        words.push(signs.join(" "));
    }
    if controls > 0 {
        words.push(format!("{controls} control characters"));
    }
    words.extend(changed.iter().map(|what| (*what).to_owned()));
    let value = match (signs.len(), controls, changed.len()) {
        (0, 0, 0) => "none".into(),
        (0, 0, _) => "endings".into(),
        (signs, controls, _) => format!("{}", signs + controls),
    };
    Answer::measured(value, words.join(", "))
}

fn bytes(room: &Room) -> Asking {
    let name = OsStr::from_bytes(b"x\xffy");
    let path = room.folder().join(name);
    let refusal = File::options().write(true).create_new(true).open(path).asked("open");
    match refusal {
        Err(refusal) => Ok(Answer::new(Verdict::No, refusal.to_string())),
        Ok(_) if room.names()?.iter().any(|one| one == name) => Ok(Answer::new(Verdict::Yes, "")),
        Ok(_) => Ok(Answer::new(Verdict::No, "accepted, and listed under another name")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn case_is_told_apart_kept_or_changed() {
        assert_eq!(case_answer(false, MIXED).verdict, Verdict::Yes);
        assert_eq!(case_answer(true, MIXED).words, "keeps the case that was given");
        assert_eq!(case_answer(true, "CASEOFNAME").words, "CaseOfName is listed as CASEOFNAME");
        assert_eq!(case_answer(false, "CASEOFNAME").verdict, Verdict::Partly);
    }

    #[test]
    fn a_limit_is_in_bytes_or_in_characters() {
        assert_eq!(length_answer([255, 127, 85], 900).cell(), "255 B");
        assert_eq!(length_answer([255, 127, 85], 255).cell(), ">=255 B");
        assert_eq!(length_answer([255, 255, 255], 900).cell(), "255 ch");
        assert_eq!(length_answer([30, 0, 0], 900).cell(), "30 B, ASCII");
        assert_eq!(length_answer([254, 200, 127], 900).cell(), "254 to 127");
    }

    #[test]
    fn refused_characters_are_counted_and_the_printable_ones_named() {
        assert_eq!(characters_answer(&[], &[]).cell(), "none");
        let answer = characters_answer(b"\x01\x02*?", &["a dot at the end"]);
        assert_eq!(answer.cell(), "4");
        assert_eq!(answer.words, "* ?, 2 control characters, a dot at the end");
    }
}
