//! HdrHistogram's interval logs: our own, and those of programs, which may come from an enemy. A log keeps no order
//! within an interval, so episodes are counted as low as they may have been.

use std::collections::{BTreeMap, BTreeSet};

use crate::{
    keeper::OpTotal,
    packed::{Counted, counted_in},
    record::{OpRecord, Times},
    recorder::FullSecond,
    times::Track,
};

/// Five hours of seconds with two tags; a program that logs less often may run for longer.
const INTERVALS_MAX: usize = 40_000;
/// Different times in all intervals together, at 16 bytes.
const COUNTED_MAX: usize = 4_000_000;
/// Of one log, so that ten thousand of them add up.
const OPERATIONS_MAX: u64 = 1 << 40;

/// One line of a log.
pub(crate) struct Interval<'t> {
    /// Empty where there is none.
    pub(crate) tag: &'t str,
    pub(crate) start_s: f64,
    length_s: f64,
    packed: &'t str,
}

impl<'t> Interval<'t> {
    fn read(line: &'t str) -> Option<Interval<'t>> {
        let (tag, rest) = match line.strip_prefix("Tag=") {
            Some(rest) => rest.split_once(',')?,
            None => ("", line),
        };
        let mut parts = rest.splitn(4, ',');
        let mut seconds = || {
            let seconds = parts.next()?.trim().parse::<f64>().ok()?;
            (0.0..1e12).contains(&seconds).then_some(seconds)
        };
        let (start_s, length_s) = (seconds()?, seconds()?);
        parts.next()?;
        Some(Interval { tag, start_s, length_s, packed: parts.next()?.trim() })
    }

    pub(crate) fn counted(&self) -> Result<Vec<Counted>, String> {
        counted_in(self.packed)
    }
}

/// Each interval of a log with the number of its line.
pub(crate) fn intervals(log: &str) -> impl Iterator<Item = Result<(usize, Interval<'_>), String>> {
    let lines = log.lines().map(str::trim).enumerate();
    let told = lines.filter(|(_, line)| !line.is_empty() && !line.starts_with(['#', '"']));
    told.map(|(index, line)| match Interval::read(line) {
        Some(interval) => Ok((index + 1, interval)),
        None => Err(format!(
            "line {}: no interval of an HdrHistogram log, which is [Tag=TAG,]START,LENGTH,MAX,HISTOGRAM",
            index + 1
        )),
    })
}

/// Which lines of a program's log are an operation: a tag each, the empty one for lines that have none.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Tags {
    pub service: Vec<String>,
    pub response: Vec<String>,
}

/// All lines of one tag that overlap: several threads log the same second.
struct Part {
    start_s: f64,
    length_s: f64,
    counted: Vec<Counted>,
}

/// The operation that a program's own log tells, its times being so many nanoseconds.
pub fn op_of_log(op: &str, log: &str, tags: &Tags, unit_ns: u64) -> Result<OpRecord, String> {
    let [service, response] = parts(log, tags, unit_ns)?;
    let is_open = !response.is_empty();
    let mut total = OpTotal::new(op, is_open);
    let mut seconds: BTreeMap<u32, [Vec<&Part>; 2]> = BTreeMap::new();
    let starts = service.iter().chain(&response).map(|part| part.start_s);
    let began_s = starts.fold(f64::INFINITY, f64::min);
    for (kind, parts) in [&service, &response].into_iter().enumerate() {
        for part in parts {
            let second = (part.start_s - began_s + HALF_A_MILLISECOND).floor() as u32;
            seconds.entry(second).or_default()[kind].push(part);
        }
    }
    for (second, [service, response]) in seconds {
        let responses = is_open.then(|| [track(&response), track(&response)]);
        total.take(&FullSecond { op: 0, second, service: track(&service), responses });
    }
    let is_by_second =
        |part: &Part| part.length_s < 1.5 && part.start_s - began_s < f64::from(SECONDS_MAX);
    let is_by_second = service.iter().chain(&response).all(is_by_second);
    let [own, responses] = [&service, &response].map(|parts| {
        let all = track(&parts.iter().collect::<Vec<_>>());
        all.times_with(|_, value_ns| episodes(parts, value_ns))
    });
    let response = Some(responses).filter(|times: &Times| times.count > 0);
    let mut record = total.record(own, [response.clone(), response]);
    if !is_by_second {
        (record.intervals, record.interval_log) = Default::default();
    }
    Ok(record)
}

/// Beyond any program's run.
const SECONDS_MAX: u32 = 1_000_000;
/// Logs have milliseconds.
const HALF_A_MILLISECOND: f64 = 0.0005;

fn parts(log: &str, tags: &Tags, unit_ns: u64) -> Result<[Vec<Part>; 2], String> {
    let (mut kinds, mut others) = ([Vec::new(), Vec::new()], BTreeSet::new());
    let (mut lines, mut all, mut operations) = (0, 0, 0);
    for line in intervals(log) {
        let (number, interval) = line?;
        let is_of = |tags: &[String]| tags.iter().any(|tag| tag == interval.tag);
        let Some(kind) = [&tags.service, &tags.response].iter().position(|tags| is_of(tags)) else {
            others.insert(interval.tag);
            continue;
        };
        let mut counted =
            interval.counted().map_err(|why| format!("line {number}: a histogram: {why}"))?;
        for one in &mut counted {
            one.middle = one.middle.saturating_mul(unit_ns);
        }
        (lines, all) = (lines + 1, all + counted.len());
        if lines > INTERVALS_MAX || all > COUNTED_MAX {
            let limits = format!("{INTERVALS_MAX} intervals or {COUNTED_MAX} different times");
            return Err(format!("line {number}: more than {limits}; log longer intervals"));
        }
        operations += counted.iter().map(|one| one.times).sum::<u64>();
        if operations > OPERATIONS_MAX {
            let all = format!("more than {OPERATIONS_MAX} operations");
            return Err(format!("line {number}: {all}, which no program can do in a run"));
        }
        let (start_s, length_s) = (interval.start_s, interval.length_s);
        kinds[kind].push(Part { start_s, length_s, counted });
    }
    if kinds.iter().flatten().all(|part| part.counted.is_empty()) {
        return Err(nothing(tags, &others));
    }
    Ok(kinds.map(joined))
}

fn nothing(tags: &Tags, others: &BTreeSet<&str>) -> String {
    let named = |tag: &str| if tag.is_empty() { "no tag".into() } else { format!("tag {tag}") };
    let listed = |tags: &mut dyn Iterator<Item = &str>| {
        tags.take(8).map(named).collect::<Vec<_>>().join(", ")
    };
    let asked = listed(&mut tags.service.iter().chain(&tags.response).map(String::as_str));
    match others.is_empty() {
        true => format!("it holds no times ({asked})"),
        false => {
            let there = listed(&mut others.iter().copied());
            format!("it holds no times with {asked}, and some with {there}; name the tag behind #")
        }
    }
}

fn joined(mut parts: Vec<Part>) -> Vec<Part> {
    parts.sort_by(|one, other| one.start_s.total_cmp(&other.start_s));
    let mut found: Vec<Part> = Vec::new();
    for part in parts {
        match found.last_mut().filter(|last| part.start_s < last.start_s + last.length_s / 2.0) {
            Some(last) => last.counted.extend(part.counted),
            None => found.push(part),
        }
    }
    found
}

fn track(parts: &[&Part]) -> Track {
    let mut track = Track::default();
    for one in parts.iter().flat_map(|part| &part.counted) {
        track.keep_times(one.middle, one.times);
    }
    track
}

/// Episodes beyond a value, at least: slow operations of two neighbours may be one, unless one of the two had already
/// been one with the interval before it, and others between.
fn episodes(parts: &[Part], value_ns: u64) -> u64 {
    let (mut episodes, mut reaches) = (0, false);
    for part in parts.iter().filter(|part| !part.counted.is_empty()) {
        let slow = part.counted.iter().filter(|one| one.middle > value_ns).count();
        if slow == 0 {
            reaches = false;
            continue;
        }
        episodes += u64::from(!reaches);
        reaches = !reaches || slow == part.counted.len();
    }
    episodes
}

#[cfg(test)]
mod tests {
    use base64::{Engine, prelude::BASE64_STANDARD};
    use hdrhistogram::{
        Histogram,
        serialization::{Serializer, V2DeflateSerializer},
    };
    use pickfs_testkit::hdr_log;
    use proptest::prelude::*;

    use super::*;

    fn tags(service: &[&str], response: &[&str]) -> Tags {
        let [service, response] =
            [service, response].map(|tags| tags.iter().map(|tag| (*tag).to_owned()).collect());
        Tags { service, response }
    }

    fn usual() -> Tags {
        tags(&["", "service"], &["response"])
    }

    #[test]
    fn a_log_of_a_program_is_an_operation_like_our_own() {
        let began = 1_441_812_279;
        let log = hdr_log(&[("", began, &[1_000, 2_000, 90_000]), ("", began + 1, &[1_000; 7])]);
        let log = log.replace(".000,1.000,", ".474,1.000,");
        let op = op_of_log("order", &log, &usual(), 1).expect("read");
        assert_eq!((op.op.as_str(), op.service.count, op.response), ("order", 10, None));
        let p50 = op.service.quantile(0.5).expect("a row");
        assert_eq!((p50.value_ns, p50.episodes), (1_000, 1));
        assert!((90_000..90_100).contains(&op.service.max_ns), "{}", op.service.max_ns);
        let rows: Vec<_> = op.intervals.iter().map(|row| (row.second, row.count)).collect();
        assert_eq!(rows, [(0, 3), (1, 7)]);
        let micros = op_of_log("order", &log, &usual(), 1_000).expect("read");
        assert_eq!(micros.service.min_ns, 1_000_000);
        let again = op_of_log("order", &op.interval_log, &usual(), 1).expect("our own");
        assert_eq!(again.service, op.service);
    }

    #[test]
    fn tags_tell_operations_and_their_response_times_apart() {
        let lines: &[(&str, u64, &[u64])] =
            &[("read", 0, &[7]), ("write", 0, &[500]), ("write-due", 0, &[900]), ("read", 1, &[8])];
        let log = hdr_log(lines);
        let op = op_of_log("w", &log, &tags(&["write"], &["write-due"]), 1).expect("read");
        assert_eq!((op.service.count, op.service.max_ns), (1, 500));
        assert_eq!(op.response.as_ref().expect("open").max_ns, 900);
        assert_eq!((op.raw_response, op.intervals[0].response_max_ns), (op.response, 900));
        let error = op_of_log("w", &log, &usual(), 1).expect_err("no such tag");
        assert!(
            error.contains("tag service") && error.contains("and some with tag read"),
            "{error}"
        );
    }

    #[test]
    fn episodes_are_as_few_as_they_may_have_been() {
        let slow: &[u64] = &[1, 1, 1, 9_000];
        let all_slow: &[u64] = &[9_000, 9_000];
        let of = |seconds: &[&[u64]]| {
            let lines: Vec<_> =
                seconds.iter().enumerate().map(|(at, s)| ("", at as u64, *s)).collect();
            let parts = parts(&hdr_log(&lines), &usual(), 1).expect("read");
            episodes(&parts[0], 1_000)
        };
        let quick: &[u64] = &[1, 1];
        assert_eq!(of(&[slow, quick, slow, quick, slow]), 3);
        assert_eq!(of(&[slow, slow, slow, slow]), 2, "each may reach into one neighbour");
        assert_eq!(of(&[slow, all_slow, all_slow, slow, quick]), 1, "one stall of seconds");
        assert_eq!(of(&[slow, &[], slow, quick, slow]), 2, "nothing ended in the second");
        // Four threads log the same seconds: a stall of all is one.
        let lanes = [("", 0, slow), ("", 0, slow), ("", 0, slow), ("", 0, slow), ("", 1, quick)];
        let parts = parts(&hdr_log(&lanes), &usual(), 1).expect("read");
        assert_eq!((parts[0].len(), episodes(&parts[0], 1_000)), (2, 1));
    }

    #[test]
    fn intervals_of_ten_seconds_are_no_seconds() {
        let log = hdr_log(&[("", 0, &[5]), ("", 10, &[5])]).replace(",1.000,", ",10.000,");
        let op = op_of_log("a", &log, &usual(), 1).expect("read");
        assert_eq!((op.service.count, op.intervals.len(), op.interval_log.as_str()), (2, 0, ""));
    }

    #[test]
    fn what_is_no_log_is_told_by_its_line() {
        let told = |log: &str| op_of_log("a", log, &usual(), 1).expect_err("refused");
        assert_eq!(told("#[a]\n"), "it holds no times (no tag, tag service, tag response)");
        assert!(told("#[a]\nhello\n").starts_with("line 2: no interval of an HdrHistogram log"));
        assert!(told("0.0,NaN,1,x\n").starts_with("line 1: no interval"));
        assert!(told("0.0,1.0,1.0,aGVsbG8=\n").starts_with("line 1: a histogram: "));
        let line = hdr_log(&[("", 0, &[5])]).lines().last().expect("a line").to_owned() + "\n";
        let many = line.repeat(INTERVALS_MAX + 1);
        assert!(told(&many).contains("more than 40000 intervals"), "{}", told(&many));
        let (mut all, mut bytes) = (Histogram::<u64>::new(3).expect("digits"), Vec::new());
        all.record_n(5, 1 << 39).expect("in range");
        V2DeflateSerializer::new().serialize(&all, &mut bytes).expect("memory");
        let line = format!("0.0,1.0,1.0,{}\n", BASE64_STANDARD.encode(bytes));
        assert!(op_of_log("a", &line.repeat(2), &usual(), 1).is_ok());
        assert!(told(&line.repeat(3)).starts_with("line 3: more than 1099511627776 operations"));
    }

    proptest! {
        #[test]
        fn no_log_makes_it_panic(
            head in "(Tag=[a-z]?,)?[0-9.e]{0,8},[0-9.e]{0,4},[0-9.]{0,4},", junk in "\\PC{0,40}",
            at in 0usize..200, second in 0u64..1 << 39,
        ) {
            let _ = op_of_log("a", &format!("{head}{junk}\n{junk}"), &usual(), 1_000_000);
            let mut log = hdr_log(&[("", 0, &[1, 2, 3]), ("", second, &[1 << 41])]);
            prop_assert!(op_of_log("a", &log, &usual(), u64::MAX).is_ok());
            log.truncate(log.len().saturating_sub(at));
            let _ = op_of_log("a", &log, &usual(), 1);
        }
    }
}
