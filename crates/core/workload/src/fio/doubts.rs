//! Source: fio(1) on each option; validity rules 1, 5, 6, 7 and 14 of docs/method.md.

use pickfs_record::Durability;

use super::job_file::Job;

/// Engines that do one call at a time: `iodepth` means nothing to them.
const ONE_AT_A_TIME: &[&str] =
    &["psync", "sync", "vsync", "pvsync", "pvsync2", "mmap", "splice", "ftruncate", "filecreate"];

pub(super) const OF_ALL: &str = "fio's clat and sync times are service times, and it keeps no order \
     of its calls: tails count calls, not stalls, and ten calls of one stall carry a quantile";

pub(super) fn durability(job: &Job) -> Durability {
    let each_write = ["fsync", "fdatasync"].iter().any(|name| job.number(name) == 1.0);
    match () {
        () if each_write || job.is_on("sync") => Durability::PowerLoss,
        () if job.is_on("direct") => Durability::KernelCrash,
        () => Durability::ProcessCrash,
    }
}

pub(super) fn of_job(job: &Job) -> Vec<String> {
    let mut all: Vec<String> = Vec::new();
    let (writes, is_direct) = (job.writes(), job.is_on("direct"));
    let has = |names: &[&str]| names.iter().any(|name| job.is_on(name));
    let is_synced = has(&["fsync", "fdatasync", "sync"]);
    let every = job.number("fsync").max(job.number("fdatasync"));
    if writes && !is_direct && !is_synced {
        let at_end = has(&["sync_file_range", "fsync_on_close", "end_fsync"]);
        let text = match at_end {
            true => {
                "buffered writes that are synced once at the end: the rate is that of memory, and the last sync is in no \
                 percentile"
            }
            false => {
                "buffered writes without fsync, fdatasync or sync: the figures are those of memory, and nothing survives \
                 a power loss"
            }
        };
        all.push(text.into());
    } else if writes && every > 1.0 {
        all.push(format!(
            "a sync after each {every} writes: the writes between survive no power loss"
        ));
    }
    let mut say = |is_so: bool, text: &str| all.extend(is_so.then(|| text.to_owned()));
    say(
        writes && is_direct && !is_synced,
        "direct=1 without a sync: past the page cache, but no flush of the device's own cache",
    );
    let (engine, depth) = (job.option("ioengine").unwrap_or("psync"), job.number("iodepth"));
    let is_one = depth > 1.0 && ONE_AT_A_TIME.contains(&engine);
    let idle = format!("iodepth={depth} does nothing with ioengine={engine}: one call at a time");
    say(is_one, &idle);
    say(
        !is_one && engine == "libaio" && !is_direct,
        "libaio without direct=1 blocks in the submission: the depth is not reached, and slat holds the time",
    );
    let process = job.option("rate_process").unwrap_or("linear");
    let paced = format!(
        "a rate with rate_process={process}: what waits behind a slow call is in no percentile (coordinated omission); \
         the journal workload keeps response times"
    );
    say(job.has_rate(), &paced);
    say(
        !job.has_rate() && job.is_on("thinktime"),
        "thinktime is a pause behind each call, no schedule: a slow file system is offered less work",
    );
    let is_random = job.option("rw").is_some_and(|rw| rw.contains("rand"));
    let (is_mapless, is_timed) = (is_random && job.is_on("norandommap"), job.is_on("time_based"));
    say(
        is_mapless,
        "norandommap: some blocks are met twice and some never, so copy-on-write and caches see another pattern than one \
         pass over the file",
    );
    say(
        is_timed && !is_mapless,
        "time_based: it begins again at the end of its file, and later rounds overwrite or find their blocks in memory",
    );
    say(
        job.reads() && job.option("invalidate") == Some("0") && !is_timed && !is_mapless,
        "invalidate=0: what fio wrote to lay out its file may still be in memory when it reads",
    );
    let repeats =
        ["zero_buffers", "buffer_compress_percentage", "dedupe_percentage", "buffer_pattern"];
    let found = repeats.iter().find(|name| job.is_on(name)).filter(|_| writes);
    all.extend(found.map(|found| {
        format!("{found}: a file system that compresses writes less than it is given")
    }));
    all.into_iter().map(|sentence| format!("job {}: {sentence}", job.name)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::fio::JobFile;

    fn said(options: &str) -> String {
        let file = JobFile::read(&format!("[a]\n{}\n", options.replace(' ', "\n"))).unwrap();
        of_job(&file.jobs[0]).join("; ")
    }

    #[test]
    fn each_option_that_defeats_a_reading_is_named() {
        for (options, words) in [
            ("rw=write", "without fsync"),
            ("rw=write end_fsync=1", "synced once at the end"),
            ("rw=write fsync=32", "after each 32 writes"),
            ("rw=randwrite direct=1", "no flush"),
            ("rw=randread iodepth=32", "does nothing with ioengine=psync"),
            ("rw=randread ioengine=libaio iodepth=8", "blocks in the submission"),
            ("rw=randread rate_iops=100", "coordinated omission"),
            ("rw=read thinktime=1000", "offered less work"),
            ("rw=randread norandommap", "met twice"),
            ("rw=read time_based runtime=3", "begins again"),
            ("rw=read invalidate=0", "still be in memory"),
            ("rw=write fdatasync=1 zero_buffers", "compresses"),
        ] {
            assert!(said(options).contains(words), "{options}: {}", said(options));
        }
    }

    #[test]
    fn a_plain_durable_job_and_a_plain_read_have_nothing_said_of_them() {
        assert_eq!(said("rw=write bs=4k fdatasync=1"), "");
        assert_eq!(said("rw=randread ioengine=libaio direct=1 iodepth=8"), "");
    }
}
