use crate::answers::{Answer, Verdict};

use crate::refusal::Asking;
use crate::room::Room;

/// How a capability is asked; what it is stands in `capabilities.psv`.
#[derive(Debug, Clone, Copy)]
pub struct Probe {
    pub key: &'static str,
    ask: fn(&Room) -> Asking,
    look: Option<fn(&Room) -> Asking>,
}

impl Probe {
    pub const fn new(key: &'static str, ask: fn(&Room) -> Asking) -> Self {
        Self { key, ask, look: None }
    }

    /// `look` sees what the question left behind, after a new mount.
    pub const fn kept(mut self, look: fn(&Room) -> Asking) -> Self {
        self.look = Some(look);
        self
    }

    /// In a fresh folder within the room.
    pub fn ask(&self, room: &Room) -> Answer {
        let asked = room.inner(self.key).and_then(|inner| (self.ask)(&inner));
        asked.unwrap_or_else(|refusal| refusal.answer(room.is_root))
    }

    /// The answer that counts.
    pub fn ask_again(&self, room: &Room, first: Answer) -> Answer {
        let is_held = matches!(first.verdict, Verdict::Yes | Verdict::Partly | Verdict::Measured);
        match self.look {
            Some(look) if is_held => {
                let looked = look(&room.within(self.key));
                let second = looked.unwrap_or_else(|refusal| refusal.answer(room.is_root));
                settled(first, second)
            }
            _ => first,
        }
    }
}

/// The first answer where it held, else the second with a word on the first.
fn settled(first: Answer, second: Answer) -> Answer {
    if (first.verdict, &first.value) == (second.verdict, &second.value) {
        return first;
    }
    let before = format!("{} before a new mount", first.cell());
    let words = match second.words.is_empty() {
        true => before,
        false => format!("{}; {before}", second.words),
    };
    Answer { words, ..second }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_does_not_outlive_the_mount_is_not_kept() {
        let yes = Answer::new(Verdict::Yes, "");
        assert_eq!(settled(yes.clone(), yes.clone()), yes);
        let lost = settled(yes, Answer::new(Verdict::No, "0640 became 0755"));
        assert_eq!(lost.verdict, Verdict::No);
        assert_eq!(lost.words, "0640 became 0755; yes before a new mount");
        let first = Answer::measured("1 s", "");
        let second = settled(first, Answer::measured("2 s", ""));
        assert_eq!((second.cell(), second.words.as_str()), ("2 s", "1 s before a new mount"));
    }
}
