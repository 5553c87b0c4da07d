//! Spans of context, put together from their beginnings and ends, and asked for by the time of an operation.
//! Pure and bounded: the oldest are forgotten.

use std::collections::{BTreeMap, HashMap, VecDeque};

use pickfs_record::stall::ContextNote;

use super::points::{ContextEvent, Moment, REQUEST, SYNC};
use crate::intern::Interner;

const SPANS_MAX: usize = 65_536;
/// Spans that go on and are kept; beyond, the older half is forgotten: their ends were lost.
const OPEN_MAX: usize = 8_192;
const NAMES_MAX: usize = 1_024;
const NOTES_MAX: usize = 8;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Span {
    pub start_ns: u64,
    /// `None` where it goes on.
    pub end_ns: Option<u64>,
    pub what: &'static str,
    /// Whether it is a request of a device: those end in interrupts, of which not all are told.
    pub is_request: bool,
    /// As the kernel numbers it; 0 for none.
    pub device: u32,
    /// A number of whoever asks for names.
    pub who: u32,
}

#[derive(Debug)]
pub struct ContextBook {
    over: VecDeque<Span>,
    open: HashMap<(&'static str, u64, u64), Span>,
    names: Interner<String>,
}

impl Default for ContextBook {
    fn default() -> ContextBook {
        let names = Interner::new("others".into(), NAMES_MAX);
        ContextBook { over: VecDeque::new(), open: HashMap::new(), names }
    }
}

impl ContextBook {
    /// In the order of their times; `who` began it.
    pub fn take(&mut self, event: &ContextEvent, who: &str) {
        let key = (event.kind, event.key.0, event.key.1);
        match event.moment {
            Moment::Begins => {
                if self.open.len() >= OPEN_MAX {
                    self.forget_old();
                }
                let span = self.span(event, None, who);
                self.open.insert(key, span);
            }
            Moment::Ends => {
                if let Some(span) = self.open.remove(&key) {
                    self.keep(Span { end_ns: Some(event.time_ns), ..span });
                }
            }
            Moment::Is => {
                let span = self.span(event, Some(event.time_ns), who);
                self.keep(span);
            }
        }
    }

    fn forget_old(&mut self) {
        let mut starts_ns: Vec<u64> = self.open.values().map(|span| span.start_ns).collect();
        let (_, median_ns, _) = starts_ns.select_nth_unstable(OPEN_MAX / 2);
        let median_ns = *median_ns;
        self.open.retain(|_, span| span.start_ns > median_ns);
    }

    fn span(&mut self, event: &ContextEvent, end_ns: Option<u64>, who: &str) -> Span {
        let (start_ns, what, device) = (event.time_ns, event.what, event.device);
        let is_request = event.kind == REQUEST;
        Span { start_ns, end_ns, what, is_request, device, who: self.number(who) }
    }

    fn number(&mut self, who: &str) -> u32 {
        self.names.number(if who.starts_with("kworker") { "kworker" } else { who })
    }

    fn keep(&mut self, span: Span) {
        self.over.push_back(span);
        if self.over.len() > SPANS_MAX {
            self.over.pop_front();
        }
    }

    /// What went on in a span of time, by kind, device and who; the longest overlaps first. A sync by who
    /// asks is what it does itself, and no context.
    ///
    /// Linux 6.18 does not tell what an interrupt does on an idle processor other than the first, and so not
    /// the end of each request: one without an end counts where it began, and with no time.
    pub fn during(&self, from_ns: u64, to_ns: u64, asks: &str) -> Vec<ContextNote> {
        let over = self.over.iter().rev();
        let over = over.take_while(|span| span.end_ns.is_some_and(|end_ns| end_ns >= from_ns));
        let is_own = |span: &&Span| span.what == SYNC && self.names.value(span.who) == asks;
        let spans = over.chain(self.open.values()).filter(|span| span.start_ns < to_ns);
        let is_over =
            |span: &&Span| span.is_request && span.end_ns.is_none() && span.start_ns < from_ns;
        let spans = spans.filter(|span| !is_own(span) && !is_over(span));
        let mut groups: BTreeMap<(&str, u32, u32), Vec<&Span>> = BTreeMap::new();
        for span in spans {
            groups.entry((span.what, span.device, span.who)).or_default().push(span);
        }
        let note = |spans: Vec<&Span>| self.note(&spans, from_ns, to_ns);
        let mut notes: Vec<ContextNote> = groups.into_values().filter_map(note).collect();
        notes.sort_by_key(|note| std::cmp::Reverse(note.overlap_ns));
        notes.truncate(NOTES_MAX);
        notes
    }

    fn note(&self, spans: &[&Span], from_ns: u64, to_ns: u64) -> Option<ContextNote> {
        let length_ns = |span: &Span| match (span.end_ns, span.is_request) {
            (None, true) => 0,
            (end_ns, _) => end_ns.unwrap_or(u64::MAX) - span.start_ns,
        };
        let longest = spans.iter().max_by_key(|span| length_ns(span))?;
        let within = |span: &&Span| {
            let end_ns = if span.is_request { span.start_ns } else { to_ns };
            (span.start_ns.max(from_ns), span.end_ns.unwrap_or(end_ns).min(to_ns))
        };
        Some(ContextNote {
            what: longest.what.into(),
            device: device_text(longest.device),
            who: self.names.value(longest.who).clone(),
            times: spans.len() as u64,
            start_ns: longest.start_ns,
            end_ns: longest.end_ns.unwrap_or(0),
            overlap_ns: union_ns(spans.iter().copied().map(|span| within(&span)).collect()),
        })
    }
}

/// `7:0`: `dev_t` of the kernel has twenty bits for the minor number.
fn device_text(device: u32) -> String {
    match device {
        0 => String::new(),
        device => format!("{}:{}", device >> 20, device & 0xf_ffff),
    }
}

fn union_ns(mut spans: Vec<(u64, u64)>) -> u64 {
    spans.sort_unstable();
    let (mut sum_ns, mut upto_ns) = (0, 0);
    for (from_ns, to_ns) in spans {
        let from_ns = from_ns.max(upto_ns);
        sum_ns += to_ns.saturating_sub(from_ns);
        upto_ns = upto_ns.max(to_ns);
    }
    sum_ns
}

#[cfg(test)]
mod tests {
    use super::*;

    fn event(time_ns: u64, moment: Moment, what: &'static str, key: u64) -> ContextEvent {
        let (key, device) = ((key, 0), 7 << 20);
        ContextEvent { time_ns, moment, what, kind: what, key, device, thread: 1 }
    }

    fn book(events: &[ContextEvent]) -> ContextBook {
        let mut book = ContextBook::default();
        events.iter().for_each(|event| book.take(event, "jbd2/loop0-8"));
        book
    }

    #[test]
    fn a_commit_that_overlaps_a_operation_is_told_with_who_did_it() {
        let book = book(&[
            event(100, Moment::Begins, "commit", 1),
            event(900, Moment::Ends, "commit", 1),
            event(950, Moment::Is, "sync", 0),
        ]);
        let notes = book.during(500, 1_000, "");
        assert_eq!(notes.len(), 2);
        assert_eq!((notes[0].what.as_str(), notes[0].device.as_str()), ("commit", "7:0"));
        assert_eq!((notes[0].who.as_str(), notes[0].times), ("jbd2/loop0-8", 1));
        assert_eq!((notes[0].start_ns, notes[0].end_ns, notes[0].overlap_ns), (100, 900, 400));
        assert_eq!((notes[1].what.as_str(), notes[1].overlap_ns), ("sync", 0));
        assert_eq!(book.during(901, 940, ""), []);
        assert_eq!(book.during(0, 100, ""), []);
    }

    #[test]
    fn a_request_whose_end_is_not_told_has_no_time() {
        let book = book(&[
            event(100, Moment::Begins, REQUEST, 1),
            event(400, Moment::Begins, REQUEST, 2),
            event(450, Moment::Begins, REQUEST, 3),
            event(470, Moment::Ends, REQUEST, 3),
        ]);
        let notes = book.during(300, 900, "");
        assert_eq!((notes.len(), notes[0].times, notes[0].overlap_ns), (1, 2, 20));
        assert_eq!((notes[0].start_ns, notes[0].end_ns), (450, 470));
        assert_eq!(book.during(500, 900, ""), []);
    }

    #[test]
    fn its_own_sync_is_no_context_of_a_operation() {
        let mut book = book(&[event(100, Moment::Is, "write", 0)]);
        book.take(&event(200, Moment::Is, SYNC, 0), "appender");
        book.take(&event(250, Moment::Is, SYNC, 0), "neighbour");
        let whos: Vec<String> =
            book.during(0, 900, "appender").into_iter().map(|note| note.who).collect();
        assert_eq!(whos, ["neighbour", "jbd2/loop0-8"]);
        assert_eq!(book.during(0, 900, "").len(), 3);
    }

    #[test]
    fn requests_at_the_same_time_share_a_note_and_count_once() {
        let book = book(&[
            event(100, Moment::Begins, "write", 1),
            event(200, Moment::Begins, "write", 2),
            event(300, Moment::Ends, "write", 1),
            event(500, Moment::Ends, "write", 2),
            event(600, Moment::Begins, "write", 3),
        ]);
        let notes = book.during(150, 700, "");
        assert_eq!((notes[0].times, notes[0].overlap_ns, notes[0].end_ns), (3, 450, 0));
    }

    #[test]
    fn an_end_without_a_beginning_is_nothing_and_memory_is_bounded() {
        let mut book = book(&[event(100, Moment::Ends, "write", 1)]);
        assert_eq!(book.during(0, 1_000, ""), []);
        for turn in 0..200_000u64 {
            book.take(&event(turn * 10, Moment::Begins, "read", turn), &format!("thread {turn}"));
            book.take(&event(turn * 10 + 5, Moment::Ends, "read", turn), "");
            book.take(&event(turn * 10, Moment::Begins, "write", turn), "who never ends");
        }
        assert_eq!(book.over.len(), SPANS_MAX);
        assert!(book.open.len() <= OPEN_MAX, "{}", book.open.len());
        assert_eq!(book.names.len(), NAMES_MAX);
        let notes = book.during(0, u64::MAX, "");
        assert_eq!(
            notes.iter().map(|note| note.who.as_str()).collect::<Vec<_>>(),
            ["who never ends", "others"]
        );
    }
}
