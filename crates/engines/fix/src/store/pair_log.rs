//! Records in a journal or queue of this host and of others, before anybody acts on them.
//!
//! Both gates wait until everything that was appended is safe, as the degree of the pair says: an order before the
//! order book sees it, and the reports before they leave. The second wait is needed too. A report takes a number of
//! its session, so one that left and is nowhere else would leave its number to another message after a fail over,
//! and its order would be answered twice.

use std::time::{Duration, Instant};

use pickfs_pair::{Error, Event, Primary, Read, Ticket};

use super::{EachRecord, Gate, Log, Result, StoreError};

pub struct PairLog {
    primary: Primary,
    last: Ticket,
    patience: Duration,
    tell: Box<dyn FnMut(Event) + Send>,
}

impl PairLog {
    /// Over a primary, as soon as enough secondaries follow. What happens to them is told to `tell`, from the thread
    /// of the engine.
    ///
    /// `patience` is how long a record waits for secondaries that are slow or away. When it is over, the engine gets
    /// an error and must end: it can answer nobody. A pair that is to go on without them is told to degrade
    /// ([`pickfs_pair::OnLoss`]).
    ///
    /// # Errors
    /// [`StoreError::NotReady`] when they are not there in time, with what was last heard of one.
    pub fn over(
        mut primary: Primary,
        patience: Duration,
        mut tell: impl FnMut(Event) + Send + 'static,
    ) -> Result<PairLog> {
        let mut heard = String::from("nothing");
        let began = Instant::now();
        while let Err(error) = primary.wait_ready(Duration::from_millis(10)) {
            while let Some(event) = primary.next_event() {
                heard = event.to_string();
                tell(event);
            }
            let is_over = matches!(error, Error::Fenced { .. });
            if is_over || began.elapsed() >= patience {
                return Err(StoreError::NotReady { error, heard });
            }
        }
        let last = Ticket { sequence: primary.status().appended };
        Ok(PairLog { primary, last, patience, tell: Box::new(tell) })
    }

    pub fn primary(&self) -> &Primary {
        &self.primary
    }

    /// Too few secondaries are there, or one is a whole buffer behind: nothing was taken yet.
    #[cold]
    fn append_later(&mut self, record: &[u8]) -> Result<Ticket> {
        let began = Instant::now();
        loop {
            self.primary.poll()?;
            self.tell_events();
            match self.primary.append(record) {
                Err(Error::TooFew { .. } | Error::Behind { .. })
                    if began.elapsed() < self.patience =>
                {
                    self.primary.pause()?;
                }
                appended => return Ok(appended?),
            }
        }
    }

    fn tell_events(&mut self) {
        while let Some(event) = self.primary.next_event() {
            (self.tell)(event);
        }
    }
}

impl Log for PairLog {
    #[inline]
    fn append(&mut self, record: &[u8]) -> Result<u64> {
        self.last = match self.primary.append(record) {
            Ok(ticket) => ticket,
            Err(Error::TooFew { .. } | Error::Behind { .. }) => self.append_later(record)?,
            Err(error) => return Err(error.into()),
        };
        Ok(self.last.sequence)
    }

    #[inline]
    fn wait(&mut self, _gate: Gate) -> Result {
        match self.primary.is_safe(self.last) {
            true => Ok(()),
            false => Ok(self.primary.wait(self.last, self.patience)?),
        }
    }

    fn read(&mut self, from: u64, each: &mut EachRecord<'_>) -> Result {
        match self.primary.read(from, each)? {
            Read::Done => Ok(()),
            Read::Gone { oldest } => {
                let what = format!("is not kept any more; the oldest is {oldest}");
                Err(StoreError::Damaged { record: from, what })
            }
        }
    }

    /// Signs of life, news of the secondaries, and what nobody has waited for.
    fn idle(&mut self) -> Result {
        self.primary.poll()?;
        self.tell_events();
        Ok(())
    }
}
