//! Lines of Rust that a crate may have, its tests among them. A number only falls; where one must rise, the line
//! above it says why.

use std::collections::BTreeMap;

const LINES: &[(&str, usize)] = &[
    // record and workload read logs of HdrHistogram and tables of JLBH, which strangers wrote; cli tests them.
    // In record, workload, explain and the testkit "operation" and "arrival" replaced shorter words.
    // A kdb+ user's own KX Nano stands beside a run; claims of articles read ledgers, factors and more statistics, and
    // say what an answer takes; who is not there, what is open and what its plan cannot answer bears no claim out.
    // Answers name a scale that is not the article's; a phase is put beside another, its processors beside its time.
    // What is written of a file system answers a claim as what it is, apart from what runs decide. A published mean is
    // the article's own where a row is printed as nothing; notes that differ in numbers alone are one.
    // Hosts of a fleet are units: what they say, how far they differ, and planted truths of which few may be missed; how
    // candidates are mounted on each, but for their addresses. A claim whose plan awaits its run is told apart.
    // Of lanes on many hosts: late starts, loose clocks, who lost a record. A row that mostly failed reads back; an end of an interval that failures leave open. A run that was cut short and reduced is made again; other virtual machines are no programs. Factors whose combinations stand in no block together. A block that was stopped is none. Rows that survive different failures; a typed setting is replaced. Lists too short to answer a claim; where nothing visible is left for one of faster. A doubt of one operation; levels that are numbers.
    // Of several runs the one with most of what a claim names answers. Articles list their main claims.
    ("core/analysis", 17179),
    // A knob: the memory of guests, by which column sizes itself.
    // What replays a journal that its driver does not; four drivers send no flush.
    // A glance at a device is waited for.
    ("core/candidate", 8778),
    // Features are asked in guests, too: which of them, and what a guest that cannot be had means.
    // A run is reduced for others, and never over a whole one. Java's classes are built beside the test. The list of
    // plans has groups and times. Crashes: words, the list of options, kills, real databases, a witness of a disk, guests.
    // A fleet: a line for each host, hosts as network namespaces for ranks, too; pairs, and hosts of none.
    // Ranks: their words, three hosts on one machine, bad days, network file systems, killed servers, a plan's own consent.
    // A guest that is killed while a witness hears it, one that dies, a command that falls silent. A block that two seekers race for. A rate that a busy disk may miss. After no answer no second command.
    // A guest that fell silent; why an awaited event does not come.
    ("core/cli", 12529),
    ("core/journal", 6300),
    // What a plan takes is said before it runs, on the pages of questions too.
    // What stands on pages of a run is made of it, which took 4,000 words by hand away.
    // Every built-in plan is played through, with the rows that its question asks to be told apart.
    // What crashes were seen to leave of a candidate stands in place of what is declared of it.
    // Each claim of an article finds its rows in a plan that it names, each plan its page.
    // The host of a run, in digits. Where ranks meet the core, what is lost when another host does not find it, and who waits for too long;
    // figures of several lanes, or of some; the end of workers, guests and crews, and what they leave. What plans take, for claims.
    // What a plan expected is a field; each question names what its plan compares. Tables of features and power cuts are made of files. Each page of a run names the command that makes it again; no promise is more than features show. An emulated processor is slow. A host's own writes for an image, and a processor's own ticks, are not others'. A visible difference that claims must not miss.
    ("core/lab", 10026),
    ("core/mkfs", 2570),
    // Hosts of a trial, and where a lane is among them. Times of programs merge over lanes without a histogram, which ends at a
    // minute; lanes' words may be wrong. That a trial was interrupted, and blocks of a run, in place of 14 copies. Of which metric an event's value is.
    // Which answer an ending words.
    ("core/record", 5617),
    // Parts of pages, and the pictures that the articles have: seconds by a linear axis, statistics over the lowest.
    // Answers to claims print what was asked, and of how large a work. A table of a fleet's hosts.
    // What ranks measured, by IO500's names, and where it is none. A repeated trial counts once. How many of a page's answers are decided; its command. A dot is hollow for a doubt of its own trial; the line of what survives most. A picture of the compared axis. The main claims of an article in a list, each with what it rests on; what a dash stands for.
    // What is open between the same candidates stands together, what is decided first; times of one operation.
    ("core/report", 12818),
    // Reduced files: their reduction, their one way to be read, bombs. The report's CSV is of its tables.
    // What a published run must not name, and a test that plants it wherever a machine writes.
    ("core/store", 2009),
    // A gate whose other lanes are elsewhere; last words, which lab, guest, ranks, fleet and roles need, ours first.
    // A count in shared memory; how a program ended, in words; the end of a child, seen before it is waited for. Mounts that others copied.
    ("core/sys", 6865),
    // The word to begin comes when the recorder is there.
    ("core/worker", 358),
    // Queries beside appends, and columns that the application packs; logs that go on, and what a source can carry.
    // A journal that another host reads; programs of several lanes. Readers of a journal begin with its writer.
    // What hosts see of each other: eight questions, folders that lose, tear and come late; what is seen too early.
    ("core/workload", 20804),
    // An orphan in a namespace, for whom nobody waits. A plan's expectation.
    ("dev/testkit", 2169),
    // The front page and both helps name the same commands. The ring heavy brings more than the others; no server that was
    // here is stopped. One more licence is allowed: that of bzip2.
    ("dev/tidy", 1617),
    // What an order or a message waits for: hashes of names, a checksum in three lanes, an order less its send.
    // In fix and pair what a power cut leaves between two syncs is cut, and shown to be.
    ("engines/fix", 7015),
    // A driver's lock and who sweeps. Deaths behind each step under loom, sums that are known, a claim met late.
    // Who was told its pair follows no stranger.
    ("engines/pair", 6195),
    ("engines/queue", 4775),
    // A pair between two hosts, and the bare round trip between them; both know whom they answer. Strangers.
    ("engines/workloads", 4140),
    // What survives: a recorder of what a disk was told, models of what a crash leaves of it, checks. Its issue gave it
    // 6,000 lines; writing and mounting in guests, and the witness of a real disk, are 300 each, with their tests; ends that do not come.
    ("extras/crash", 6737),
    ("extras/explain", 7670),
    // Both ends of the conversation with a guest; in guest a task that is no trial, and tours of candidates.
    // Whether every byte comes back is one of its questions, and no longer a tour of its own in guest.
    // A task that is never silent, and one that is answered.
    ("extras/features", 4072),
    // Both ends of the line to a host, and all that a host may do wrong on it.
    ("extras/fleet", 1007),
    // What repairs and checks a disk goes into the guest that mounts it. One that cannot be killed is left, which ends the run;
    // what one says is bounded.
    // The source of a kernel's very version. A guest that fell silent before its mount is another end.
    ("extras/guest", 4772),
    // Lanes on many hosts: MPI, clocks, meetings, the proof that a folder is one, both ends of a launcher. Ten thousand ranks on
    // paper, which its first 3,400 lines had not; a worker that stands still, or only waits; one question for all ranks; nobody is
    // blamed for whom it waits for. A launcher is asked to end once. Lanes and readers have tests.
    ("extras/ranks", 3955),
    ("extras/serve", 2530),
];

/// Of files with their texts.
pub fn breaches<'a>(files: impl Iterator<Item = (&'a str, String)>) -> Vec<String> {
    let mut found: BTreeMap<String, usize> = BTreeMap::new();
    for (path, text) in files {
        let mut parts = path.strip_prefix("crates/").unwrap_or(path).split('/');
        let name = [parts.next(), parts.next()].map(Option::unwrap_or_default).join("/");
        *found.entry(name).or_default() += text.lines().count();
    }
    let too_long = |(name, lines): (String, usize)| {
        let allowed = LINES.iter().find(|(known, _)| *known == name).map_or(0, |row| row.1);
        (lines > allowed).then(|| {
            format!(
                "{name} has {lines} lines, {allowed} are allowed: take some away, or write into \
                 crates/dev/tidy/src/budget.rs why it must grow"
            )
        })
    };
    found.into_iter().filter_map(too_long).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_that_grew_is_named() {
        let grown =
            |lines| breaches([("crates/core/store/src/a.rs", "x\n".repeat(lines))].into_iter());
        assert!(grown(10).is_empty());
        assert!(grown(100_000)[0].starts_with("core/store has 100000 lines"));
        assert_eq!(breaches([("crates/core/attic/a.rs", "x\n".into())].into_iter()).len(), 1);
    }
}
