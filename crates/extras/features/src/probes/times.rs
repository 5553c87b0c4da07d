use std::fs;
use std::os::unix::fs::{FileExt, MetadataExt};
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use crate::answers::{Answer, Verdict};
use rustix::fs::{AtFlags, CWD, StatxFlags, Timespec, Timestamps, statx, utimensat};

use crate::figures::span_text;
use crate::probe::Probe;
use crate::refusal::{Asking, CallResult};
use crate::room::Room;

pub const PROBES: &[Probe] = &[
    Probe::new("time-step", step).kept(look_at_step),
    Probe::new("time-first", |room| Ok(first_answer(&set_years(room)?)))
        .kept(|room| Ok(first_answer(&kept_years(room)?))),
    Probe::new("time-last", |room| Ok(last_answer(&set_years(room)?)))
        .kept(|room| Ok(last_answer(&kept_years(room)?))),
    Probe::new("time-fresh", fresh),
    Probe::new("birth", birth).kept(look_at_birth),
];

const ODD_S: i64 = 1_000_000_001;
const NANOSECONDS: i64 = 123_456_789;

/// In seconds and nanoseconds since 1970.
fn set(path: &Path, seconds: i64, nanoseconds: i64) -> Asking<()> {
    let time = Timespec { tv_sec: seconds, tv_nsec: nanoseconds as _ };
    let times = Timestamps { last_access: time, last_modification: time };
    utimensat(CWD, path, &times, AtFlags::empty()).asked("utimensat")
}

fn step(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    set(&room.path("file"), ODD_S, NANOSECONDS)?;
    look_at_step(room)
}

fn look_at_step(room: &Room) -> Asking {
    let facts = fs::metadata(room.path("file")).needed("stat")?;
    let kept = (facts.mtime(), facts.mtime_nsec());
    Ok(match step_ns(kept) {
        Some(ns) => Answer::measured(span_text(ns), ""),
        None => Answer::new(Verdict::Failed, format!("{ODD_S}.{NANOSECONDS} s became {kept:?}")),
    })
}

/// The step of which the kept time is a multiple; `None` where it is none of the usual ones.
fn step_ns((seconds, nanoseconds): (i64, i64)) -> Option<u64> {
    let set_ns = ODD_S as i128 * 1_000_000_000 + NANOSECONDS as i128;
    let kept_ns = i128::from(seconds) * 1_000_000_000 + i128::from(nanoseconds);
    let steps = [1, 100, 1_000, 1_000_000, 10_000_000, 1_000_000_000, 2_000_000_000_u64];
    let nearest = |step: i128| [set_ns / step * step, (set_ns / step + 1) * step];
    steps.into_iter().find(|step| nearest(i128::from(*step)).contains(&kept_ns))
}

/// Years whose first of January is tried: round ones, and both sides of known limits.
const YEARS: [i64; 26] = [
    1700, 1800, 1900, 1901, 1902, 1903, 1904, 1905, 1960, 1970, 1971, 1980, 1981, 2037, 2039, 2040,
    2041, 2105, 2107, 2108, 2261, 2263, 2446, 2447, 2486, 2487,
];
const LATE_YEARS: [i64; 3] = [3000, 9999, 60_000];

fn tried_years() -> impl Iterator<Item = i64> {
    YEARS.into_iter().chain(LATE_YEARS)
}

/// Says at once which are kept.
fn set_years(room: &Room) -> Asking<Vec<i64>> {
    for year in tried_years() {
        let name = year.to_string();
        room.filled(&name, b"x")?;
        // A driver may refuse a time, or clamp it: both mean that the year is not kept.
        let _ = set(&room.path(&name), stamp_s(year), 0);
    }
    kept_years(room)
}

fn kept_years(room: &Room) -> Asking<Vec<i64>> {
    let mut kept = Vec::new();
    for year in tried_years() {
        let facts = fs::metadata(room.path(&year.to_string())).needed("stat")?;
        if (facts.mtime() - stamp_s(year)).abs() <= TOLERANCE_S {
            kept.push(year);
        }
    }
    Ok(kept)
}

/// The second of January, so that a time clamped to the end of the year before is another.
fn stamp_s(year: i64) -> i64 {
    new_year_s(year) + 86_400
}

/// Times of FAT go by two seconds.
const TOLERANCE_S: i64 = 10;

/// By the rule of leap years.
fn new_year_s(year: i64) -> i64 {
    let leaps = |year: i64| year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    let days = (year - 1970) * 365 + leaps(year - 1) - leaps(1969);
    days * 86_400
}

fn first_answer(kept: &[i64]) -> Answer {
    match kept.first() {
        None => Answer::new(Verdict::Failed, "no year is kept"),
        Some(first) if tried_years().next() == Some(*first) => {
            Answer::measured("any", format!("the earliest that was tried, {first}"))
        }
        Some(first) => {
            let before = if *first < 1970 { "kept" } else { "lost" };
            Answer::measured(first.to_string(), format!("years before 1970 are {before}"))
        }
    }
}

fn last_answer(kept: &[i64]) -> Answer {
    let (Some(first), Some(last)) = (kept.first(), kept.last()) else {
        return Answer::new(Verdict::Failed, "no year is kept");
    };
    let within = tried_years().filter(|year| (first..=last).contains(&year));
    let gaps: Vec<_> = within.filter(|year| !kept.contains(year)).map(|y| y.to_string()).collect();
    let gap =
        if gaps.is_empty() { String::new() } else { format!(", but not {}", gaps.join(", ")) };
    let after = |year: i64| if *last >= year { "kept" } else { "lost" };
    let words = format!("after 2038 {}, after 2106 {}{gap}", after(2039), after(2107));
    let value = if tried_years().last() == Some(*last) { "any".into() } else { last.to_string() };
    Answer::measured(value, words)
}

const FRESH_TIME: Duration = Duration::from_millis(50);

fn fresh(room: &Room) -> Asking {
    let file = room.filled("file", b"x")?;
    let (began, mut last, mut smallest) = (Instant::now(), None, None::<i128>);
    while began.elapsed() < FRESH_TIME {
        file.write_all_at(b"y", 0).needed("write")?;
        let facts = file.metadata().needed("stat")?;
        let now = i128::from(facts.mtime()) * 1_000_000_000 + i128::from(facts.mtime_nsec());
        let stride = last.map_or(0, |last| now - last);
        if stride > 0 {
            smallest = Some(smallest.map_or(stride, |known| known.min(stride)));
        }
        last = Some(now);
    }
    Ok(match smallest {
        None => Answer::measured(">50 ms", "all writes within 50 ms got one stamp"),
        Some(ns) => Answer::measured(span_text(ns as u64), "the smallest step that was seen"),
    })
}

fn birth(room: &Room) -> Asking {
    room.filled("file", b"x")?;
    look_at_birth(room)
}

fn look_at_birth(room: &Room) -> Asking {
    let path = room.path("file");
    let facts = statx(CWD, &path, AtFlags::empty(), StatxFlags::BTIME).asked("statx")?;
    let is_told = facts.stx_mask & StatxFlags::BTIME.bits() != 0;
    let now = SystemTime::now().duration_since(SystemTime::UNIX_EPOCH);
    let now_s = now.map_or(0, |now| now.as_secs() as i64);
    Ok(birth_answer(is_told.then_some(facts.stx_btime.tv_sec), now_s))
}

/// The time of birth as statx tells it, and the time now, in seconds.
fn birth_answer(told_s: Option<i64>, now_s: i64) -> Answer {
    match told_s {
        None => Answer::new(Verdict::No, "statx does not tell it"),
        Some(told_s) if (told_s - now_s).abs() < 120 => Answer::new(Verdict::Yes, ""),
        Some(told_s) => {
            Answer::new(Verdict::Partly, format!("told, and {} s off", (told_s - now_s).abs()))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_step_is_the_finest_one_that_the_kept_time_fits() {
        assert_eq!(step_ns((ODD_S, NANOSECONDS)), Some(1));
        assert_eq!(step_ns((ODD_S, 123_456_700)), Some(100));
        assert_eq!(step_ns((ODD_S, 123_456_000)), Some(1_000));
        assert_eq!(step_ns((ODD_S, 120_000_000)), Some(10_000_000));
        assert_eq!(step_ns((ODD_S, 0)), Some(1_000_000_000));
        assert_eq!(step_ns((ODD_S - 1, 0)), Some(2_000_000_000));
        assert_eq!(step_ns((0, 0)), None);
    }

    #[test]
    fn years_begin_where_the_calendar_says() {
        assert_eq!(new_year_s(1970), 0);
        assert_eq!(new_year_s(2000), 946_684_800);
        assert_eq!(new_year_s(1900), -2_208_988_800);
        assert_eq!(new_year_s(2100), 4_102_444_800);
    }

    #[test]
    fn a_range_names_its_ends_its_known_limits_and_its_gaps() {
        let kept = [1902, 1970, 2037, 2039];
        assert_eq!(first_answer(&kept).cell(), "1902");
        assert_eq!(first_answer(&kept).words, "years before 1970 are kept");
        let last = last_answer(&kept);
        assert_eq!(last.cell(), "2039");
        assert!(last.words.starts_with("after 2038 kept, after 2106 lost, but not 1903"));
        let all: Vec<_> = tried_years().collect();
        assert_eq!(first_answer(&all).cell(), "any");
        assert_eq!(last_answer(&all).words, "after 2038 kept, after 2106 kept");
        assert_eq!(last_answer(&[]).verdict, Verdict::Failed);
    }

    #[test]
    fn a_birth_that_is_now_is_true() {
        assert_eq!(birth_answer(Some(1000), 1001).verdict, Verdict::Yes);
        assert_eq!(birth_answer(Some(0), 1001).verdict, Verdict::Partly);
        assert_eq!(birth_answer(None, 1001).verdict, Verdict::No);
    }
}
