//! Another kernel than this one over a recorded disk: a guest has the served file as its own, and this program in it
//! mounts, writes and looks by the code that does so here. One boot serves all states of a recording.
//!
//! ```text
//! session ◄─ orders, answers ─► pickfs worker crash-inside ─► /dev/vda     in the guest
//!    └─► recorder ◄───────── the served file ◄───────────── QEMU's disk    here
//! ```

use std::{
    fmt,
    io::{self, BufRead, Write},
    path::Path,
    process::ExitCode,
    time::Duration,
};

use pickfs_candidate::{
    fs::{Place, find},
    guest_image::inside_a_guest,
};
use pickfs_guest::{
    Engine, Guest, Kernel, Talk,
    engine::DISK_INSIDE,
    trials::{
        boot::{MOUNTED_AT, Machinery, boot, mount_order},
        gap,
        kernels::Tools,
    },
};
use pickfs_record::Step;
use serde::{Deserialize, Serialize};

use super::{
    disk::{Disk, not_here},
    error::GroundError,
    mounting::Mounting,
    recorder::{heard, run_as, say},
};
use crate::{
    check::Found,
    recording::{subject, write},
    session::SessionError,
    witness,
};

const WORD: &str = "crash-inside";

/// What guests are made of: all of it is here.
#[derive(Debug)]
pub struct Guests {
    pub engine: Engine,
    pub kernel: Kernel,
    /// That make the candidates.
    pub tools: Tools,
}

impl fmt::Display for Guests {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} in {}", self.kernel.release, self.engine)
    }
}

impl Guests {
    pub(super) fn check(&self, fs: &str) -> Result<(), GroundError> {
        let row = find(fs).ok_or_else(|| not_here(fs, "no file system is called so"))?;
        if row.is_made_inside() {
            return Err(not_here(fs, "only a guest makes it, and no disk is recorded before that"));
        }
        match gap(row, self.engine, &self.kernel, &self.tools) {
            Some((reason, remedy)) => Err(not_here(fs, format!("{reason}; {remedy}"))),
            None => Ok(()),
        }
    }
}

#[derive(Debug, Serialize, Deserialize)]
enum Order {
    /// So many records, each waiting for a line before the next, and then for so long.
    Write(u64, Duration),
    /// So many, as a witness hears of them: each waits for nobody.
    Witnessed(u64),
    Unmount,
    /// By the checker of the file system, too, or not.
    Look(bool),
}

#[derive(Debug, Serialize, Deserialize)]
enum Said {
    /// Of record 0, that everything is ready.
    Acknowledged(u64),
    Heard(String),
    Done,
    /// And whether its checker has looked.
    Seen(Found, bool),
}

/// Dropping it ends its guest, whatever is mounted there.
pub struct Away {
    guest: Guest,
    talk: Talk,
}

impl Away {
    /// Over a disk that is mounted nowhere, for this writer.
    pub fn boot(
        guests: &Guests,
        worker: &Path,
        (disk, writer): (&Disk, &str),
        stop: &dyn Fn() -> bool,
    ) -> Result<Self, GroundError> {
        let &Guests { engine, ref kernel, ref tools } = guests;
        let (row, served) = (disk.row, disk.recorder.disk());
        let inside = |step: Step| Step { action: inside_a_guest(row, step.action), ..step };
        let place =
            Place { device: DISK_INSIDE.into(), at: MOUNTED_AT.into(), ..disk.place.clone() };
        let mounting = Mounting::of(row, &disk.spec, &place, inside);
        let (disk, processors, memory_bytes) = (served.as_path(), 1, None);
        // What reads a damaged disk does so in there.
        let commands = [row.replayer, row.checker].into_iter();
        let programs: Vec<_> = commands.filter_map(|it| it.split_whitespace().next()).collect();
        let programs = programs.as_slice();
        let machinery =
            Machinery { engine, kernel, tools, disk, worker, programs, processors, memory_bytes };
        let mut guest = boot(&machinery, &[row], stop)?;
        // Its modules are loaded by that, and what cannot be mounted at all is told before a record is written.
        let actions =
            |steps: &[Step]| steps.iter().map(|step| step.action.clone()).collect::<Vec<_>>();
        let actions = (actions(&mounting.mount), actions(&mounting.unmount));
        guest.mount(mount_order(row, actions, kernel), stop)?;
        guest.unmount(stop)?;
        let talk = guest.talk(&[WORD]);
        let away = Self { guest, talk };
        away.say(&(mounting, writer))?;
        Ok(away)
    }

    fn say(&self, words: &impl Serialize) -> Result<(), GroundError> {
        let line =
            serde_json::to_string(words).map_err(|it| GroundError::Inside(it.to_string()))?;
        self.talk.say(&line);
        Ok(())
    }

    /// Who waits too long for it hears of a silent guest.
    fn answer(&self) -> Result<Said, GroundError> {
        let line = self.guest.hear(&self.talk, &|| false)?;
        let line = line.ok_or_else(|| GroundError::Inside("the writer has ended".into()))?;
        let said: Result<Said, String> = serde_json::from_str(&line)
            .map_err(|error| GroundError::Inside(format!("`{line}` is no answer: {error}")))?;
        said.map_err(GroundError::Inside)
    }

    fn ask(&self, order: &Order) -> Result<Said, GroundError> {
        self.say(order)?;
        self.answer()
    }

    /// As [`write`] does here; it stays mounted.
    pub(crate) fn write(
        &mut self,
        (records, pause): (u64, Duration),
        told: &mut dyn FnMut(u64) -> Result<(), SessionError>,
    ) -> Result<(), SessionError> {
        let mut said = self.ask(&Order::Write(records, pause))?;
        for number in 0..=records {
            match said {
                Said::Acknowledged(known) if known == number => told(number)?,
                other => return Err(strange(&other).into()),
            }
            self.say(&())?;
            said = self.answer()?;
        }
        match said {
            Said::Done => Ok(()),
            other => Err(strange(&other).into()),
        }
    }

    pub(crate) fn unmount(&mut self) -> Result<(), GroundError> {
        match self.ask(&Order::Unmount)? {
            Said::Done => Ok(()),
            other => Err(strange(&other)),
        }
    }

    /// As `pickfs crash witnessed`, into the folder `new`; until a line is not heard. Only a test asks for it.
    pub fn witnessed(
        &mut self,
        records: u64,
        hear: &mut dyn FnMut(&str) -> io::Result<()>,
    ) -> Result<(), GroundError> {
        let mut said = self.ask(&Order::Witnessed(records))?;
        while let Said::Heard(line) = said {
            hear(&line).map_err(GroundError::Gone)?;
            said = self.answer()?;
        }
        Ok(())
    }

    /// Nothing is due in what it says.
    pub(super) fn look(&mut self, closely: bool) -> Result<(Found, bool), GroundError> {
        match self.ask(&Order::Look(closely))? {
            Said::Seen(found, is_checked) => Ok((found, is_checked)),
            other => Err(strange(&other)),
        }
    }
}

fn strange(said: &Said) -> GroundError {
    GroundError::Inside(format!("{said:?} answers nothing that was asked"))
}

/// `None` where this process was started for something else.
pub(crate) fn run() -> Option<ExitCode> {
    run_as(WORD, serve)
}

fn serve(orders: &mut impl BufRead, to: &mut impl Write) -> io::Result<()> {
    let Some((mut mounting, writer)) = heard::<(Mounting, String)>(orders)? else { return Ok(()) };
    while let Some(order) = heard::<Order>(orders)? {
        let said = obey(&order, &mut mounting, &writer, (&mut *orders, &mut *to));
        say(&said.map_err(|error| error.to_string()), to)?;
    }
    Ok(())
}

fn obey(
    order: &Order,
    mounting: &mut Mounting,
    writer: &str,
    (orders, to): (&mut impl BufRead, &mut impl Write),
) -> Result<Said, SessionError> {
    let mut subject = subject(writer)?;
    match *order {
        Order::Write(records, pause) => {
            mounting.mount()?;
            let told = &mut |number: u64| {
                let said = say(&Ok::<_, String>(Said::Acknowledged(number)), to);
                let gone = || io::ErrorKind::BrokenPipe.into();
                let heard = said.and_then(|()| heard::<()>(orders)?.ok_or_else(gone));
                heard.map_err(|error| SessionError::Refused(error.to_string()))
            };
            write(&mounting.at, subject, (records, pause), told)?;
            Ok(Said::Done)
        }
        Order::Witnessed(records) => {
            mounting.mount()?;
            let heard = &mut |line: &str| say(&Ok::<_, String>(Said::Heard(line.into())), to);
            witness::write(&mounting.at.join("new"), writer, records, heard)?;
            Ok(Said::Done)
        }
        Order::Unmount => Ok(mounting.unmount().map(|()| Said::Done)?),
        Order::Look(closely) => {
            let (found, is_checked) = mounting.look(&mut subject, 0, closely)?;
            Ok(Said::Seen(found, is_checked))
        }
    }
}
