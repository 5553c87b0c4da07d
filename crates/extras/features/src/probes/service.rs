use std::fs::File;

use crate::answers::{Answer, Verdict};
use crate::kernel::quota::{self, Quota};
use crate::kernel::{file_handle, open_lock};
use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("flock", whole_file_lock),
    Probe::new("open-lock", open_file_lock),
    Probe::new("handle", handle),
    Probe::new("quota", quota_state),
];

fn two_opens(room: &Room) -> Asking<(File, File)> {
    let first = room.file("file")?;
    let second = File::options().read(true).write(true).open(room.path("file")).needed("open")?;
    Ok((first, second))
}

fn whole_file_lock(room: &Room) -> Asking {
    let (first, second) = two_opens(room)?;
    flock(&first, FlockOperation::NonBlockingLockExclusive).asked("flock")?;
    match flock(&second, FlockOperation::NonBlockingLockExclusive) {
        Err(Errno::AGAIN) => Ok(lock_answer(false)),
        Ok(()) => Ok(lock_answer(true)),
        other => other.asked("flock").map(|()| lock_answer(true)),
    }
}

fn open_file_lock(room: &Room) -> Asking {
    let (first, second) = two_opens(room)?;
    if !open_lock::try_exclusive(&first).asked("fcntl F_OFD_SETLK")? {
        return Ok(Answer::new(Verdict::Failed, "a file of our own is locked by another"));
    }
    Ok(lock_answer(open_lock::try_exclusive(&second).asked("fcntl F_OFD_SETLK")?))
}

fn lock_answer(second_got_it: bool) -> Answer {
    match second_got_it {
        false => Answer::new(Verdict::Yes, ""),
        true => Answer::new(Verdict::No, "both opens get the lock"),
    }
}

fn handle(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    let handle = file_handle::handle_of(&room.path("file")).asked("name_to_handle_at")?;
    Ok(Answer::new(Verdict::Yes, format!("{} bytes", handle.length_bytes)))
}

fn quota_state(room: &Room) -> Asking {
    let file = room.filled("file", b"x")?;
    Ok(quota_answer(quota::of(&file).asked("quotactl_fd")?))
}

fn quota_answer(quota: Quota) -> Answer {
    match quota {
        Quota::On(_) => Answer::new(Verdict::Yes, "kept on this mount"),
        Quota::Off => {
            let mut answer = Answer::new(Verdict::Partly, "off on this mount; a mount option");
            answer.value = Some("off".into());
            answer
        }
        Quota::None => Answer::new(
            Verdict::No,
            "none that quotactl reaches, by this driver as this kernel is built",
        ),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_lock_that_both_get_is_none() {
        assert_eq!(lock_answer(true).verdict, Verdict::No);
        assert_eq!(lock_answer(false).verdict, Verdict::Yes);
    }

    #[test]
    fn a_quota_that_is_off_is_told_from_one_that_is_not_there() {
        assert_eq!(quota_answer(Quota::Off).cell(), "off");
        assert_eq!(quota_answer(Quota::None).cell(), "no");
        assert_eq!(quota_answer(Quota::On(4)).cell(), "yes");
    }
}
