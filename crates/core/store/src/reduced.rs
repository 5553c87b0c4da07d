//! A run for others to read: what findings, claims and charts are made of, in a tenth of its bytes and without what
//! names the machine. Its records are deflated; all else is as in any run file.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    io::{self, Read, Write},
    mem::take,
    path::PathBuf,
};

use flate2::{Compression, read::ZlibDecoder, write::ZlibEncoder};
use pickfs_record::{
    Action, BackingSpec, Environment, Plan, RunRecord, StallRecord, TrialRecord,
    environment::REDUCED_KEY,
};
use serde_json::Value;

/// Of all records of a file together, inflated: a long run of many phases has some twenty MiB.
pub(crate) const INFLATED_BYTES_MAX: u64 = 64 << 20;

const LACKS: &str = "logs by the second, histograms, single operations, outputs of steps, tables for SQL, names and \
    paths of the machine, values of environment variables";
/// Facts that name one machine or one boot of it. Paths and identities go wherever they stand.
const NAMES: [&str; 3] = ["host.boot_id", "host.run_mark", "kernel.command_line"];
/// What follows in a note of the workload `command` is an account, or processes.
const NAMING: [&str; 2] = [
    "the command ran as ",
    "the command left processes behind, which were ended when the trial was over: ",
];

/// The same findings are made of it.
///
/// # Errors
/// It holds what JSON cannot say, or is none any more without its names.
pub fn reduced(run: &RunRecord) -> serde_json::Result<RunRecord> {
    let mut run = run.clone();
    run.plan.typed = typed(&run.plan);
    if let BackingSpec::Loop { directory, .. } = &mut run.plan.backing {
        *directory = None;
    }
    [&mut run.environment, &mut run.card].into_iter().for_each(without_names);
    run.environment.put(REDUCED_KEY, LACKS);
    run.trials.iter_mut().for_each(reduce);
    let levels = run.plan.axes.iter().flat_map(|axis| &axis.levels);
    let levels = levels.filter_map(|level| Some(level.as_str()?.to_owned())).collect();
    let mut words = Words { known: known(&run), levels, words: BTreeMap::new() };
    let mut value = serde_json::to_value(&run)?;
    words.walk(&mut value, false);
    serde_json::from_value(value)
}

/// The program, the plan and options that name nothing of the machine.
fn typed(plan: &Plan) -> Vec<String> {
    const BARE: &str =
        "--ram --erase --until-decided --allow-drop-caches --allow-system-tuning --allow-realtime";
    const VALUED: &str = "--fs --reference --engine --device-state --size --blocks --seed --measure --warmup \
        --raw-probe --set --axis --budget --cpus";
    const PLACES: &str = "--dir --device --log-device";
    let is_program = |word: &&String| ["sudo", "./run", "pickfs"].contains(&word.as_str());
    let mut kept: Vec<String> = plan.typed.iter().take_while(is_program).cloned().collect();
    kept.extend((!plan.typed.is_empty()).then(|| plan.name.clone()));
    let mut words = plan.typed.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let (flag, own) = word.split_once('=').map_or((&word[..], None), |(f, v)| (f, Some(v)));
        let is_in = |list: &str| list.split(' ').any(|one| one == flag);
        if is_in(BARE) || flag == "--explain" {
            kept.push(word.clone());
        } else if is_in(VALUED) || is_in(PLACES) {
            let value = own.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
            let is_told = is_in(VALUED) || value.starts_with('/');
            let value = match value.starts_with("environment=") {
                true => "environment=",
                false if is_told => value,
                false => "FOLDER",
            };
            kept.extend([flag.to_owned(), value.to_owned()]);
        }
    }
    kept
}

/// Paths that may hold blanks, longer ones first, and whether what lies below is ours: a mount.
fn known(run: &RunRecord) -> Vec<(String, bool)> {
    let steps = run.trials.iter().flat_map(|trial| &trial.steps);
    let mounts = steps.filter_map(|taken| match &taken.step.action {
        Action::Mount { at, .. } | Action::Unmount { at } => Some((at.clone(), true)),
        _ => None,
    });
    let nodes = match &run.plan.backing {
        BackingSpec::Device { path, log_device, .. } => vec![Some(path), log_device.as_ref()],
        _ => Vec::new(),
    };
    let nodes = nodes.into_iter().flatten().map(PathBuf::as_path);
    let paths = nodes.chain(run.plan.backing.directories());
    let paths = paths.map(|path| path.to_string_lossy().into_owned());
    // A directory is named by its mount.
    let labels = run.plan.candidates.iter().filter_map(|one| one.label.split_once(" on /"));
    let paths = paths.chain(labels.map(|(_, mount)| format!("/{mount}")));
    let all: BTreeSet<_> = mounts.chain(paths.map(|path| (path, false))).collect();
    let mut all: Vec<_> = all.into_iter().filter(|(path, _)| path.starts_with('/')).collect();
    all.sort_by_key(|(path, _)| Reverse(path.len()));
    all
}

/// A word for each path, another for another.
struct Words {
    known: Vec<(String, bool)>,
    levels: BTreeSet<String>,
    words: BTreeMap<String, String>,
}

impl Words {
    /// Of variables names stay, and what is too short for a secret or is a level of the question.
    fn walk(&mut self, value: &mut Value, are_variables: bool) {
        match value {
            Value::String(text) => {
                let hides = are_variables && !self.levels.contains(text.as_str());
                let is_secret = |value: &str| hides && value.len() > 3 && !is_public(value);
                match text.split_once('=') {
                    Some((name, value)) if is_secret(value) => *text = format!("{name}="),
                    _ => {}
                }
                if let Some(start) = NAMING.iter().find(|start| text.starts_with(**start)) {
                    *text = format!("{start}NAME");
                }
                *text = self.without_paths(text);
            }
            Value::Array(values) => {
                values.iter_mut().for_each(|value| self.walk(value, are_variables));
            }
            Value::Object(fields) => {
                for (name, mut value) in take(fields) {
                    let is_list = name == "environment" && !value.is_object();
                    self.walk(&mut value, are_variables || is_list);
                    fields.insert(self.without_paths(&name), value);
                }
            }
            _ => {}
        }
    }

    fn without_paths(&mut self, text: &str) -> String {
        // The pattern of a metric is no path.
        if [":higher", ":lower"].iter().any(|end| text.ends_with(end)) && text.contains("=/") {
            return text.into();
        }
        let goes_on = |c: char| c.is_alphanumeric() || "-_./~*})".contains(c);
        let ends = |c: char| c.is_whitespace() || "\"'`;|&<>(),:#[]".contains(c);
        let (mut out, mut rest) = (String::new(), text);
        while let Some(at) = rest.find('/') {
            let (before, path) = rest.split_at(at);
            out.push_str(before);
            let known = self.known.iter().find(|(known, _)| {
                let behind = path.strip_prefix(known.as_str());
                behind.is_some_and(|text| text.starts_with('/') || !text.starts_with(goes_on))
            });
            let (known, is_ours) = known.map_or((0, false), |(path, ours)| (path.len(), *ours));
            let is_inner =
                out.ends_with(goes_on) || out.ends_with("http:") || out.ends_with("https:");
            // `-I/home/me` has none before it that ends a word.
            let is_begin = known > 0 || path.starts_with("/home/") || !is_inner;
            let end = path[known..].find(ends).map_or(path.len(), |end| known + end);
            let mut kept = 0;
            if is_begin && end > 1 && !is_public(&path[..end]) {
                kept = if is_ours { known } else { end };
                out.push_str(self.word(&path[..kept]));
            }
            out.push_str(&path[kept..end]);
            rest = &path[end..];
        }
        out + rest
    }

    fn word(&mut self, path: &str) -> &str {
        let number = self.words.len() + 1;
        let kind = if path.starts_with("/dev/") { "/dev/DEVICE" } else { "/FOLDER" };
        self.words.entry(path.into()).or_insert_with(|| format!("{kind}{number}"))
    }
}

/// What every machine has, by a name that says nothing of it.
fn is_public(path: &str) -> bool {
    const BELOW: &str = "/proc/ /sys/ /bin/ /sbin/ /usr/bin/ /usr/sbin/ /usr/lib/ /dev/loop /dev/null /dev/zero \
        /dev/DEVICE /FOLDER";
    let is_short = path.len() <= 5 && path.rfind('/') == Some(0);
    let is_below = BELOW.split(' ').any(|start| path.starts_with(start)) && !path.contains("..");
    is_short || is_below || ["/dev/shm", "/var/tmp"].contains(&path)
}

fn without_names(facts: &mut Environment) {
    facts.0.retain(|key, value| !NAMES.contains(&key.as_str()) && !value.starts_with(['/', '{']));
}

pub(crate) fn reduce(trial: &mut TrialRecord) {
    trial.steps.iter_mut().for_each(|taken| taken.output.clear());
    without_names(&mut trial.environment);
    let is_disturbed = trial.flags.iter().any(|flag| flag.kind == "disturbed");
    if let Some(others) = &mut trial.disturbance {
        others.seconds.clear();
        // Who it was is told of disturbed trials alone.
        if !is_disturbed {
            others.takers.clear();
            others.disk_takers.clear();
        }
    }
    for op in &mut trial.ops {
        op.spikes.clear();
        op.interval_log.clear();
        let views = [Some(&mut op.service), op.response.as_mut(), op.raw_response.as_mut()];
        views.into_iter().flatten().for_each(|times| times.histogram.clear());
    }
    trial.stalls.iter_mut().for_each(reduce_stalls);
}

/// The ledger stays, with the stacks that it refers to.
fn reduce_stalls(stalls: &mut StallRecord) {
    stalls.ops.iter_mut().for_each(|op| op.worst.clear());
    let causes = stalls.ops.iter().flat_map(|op| &op.causes);
    let causes = causes.flat_map(|row| [row.stack, row.waker_stack]);
    let samples = stalls.ops.iter().flat_map(|op| &op.samples).map(|row| row.stack);
    let kept: BTreeSet<_> = causes.chain(samples).flatten().map(|place| place as usize).collect();
    let stacks = stalls.stacks.iter_mut().enumerate();
    stacks.filter(|(place, _)| !kept.contains(place)).for_each(|(_, stack)| stack.clear());
}

pub(crate) fn deflated(text: &str) -> Vec<u8> {
    let mut encoder = ZlibEncoder::new(Vec::new(), Compression::best());
    let written = encoder.write_all(text.as_bytes()).and_then(|()| encoder.finish());
    written.expect("memory takes what is written")
}

/// `room_bytes` is what it may become, and is less afterwards.
pub(crate) fn inflated(bytes: &[u8], room_bytes: &mut u64) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let read = ZlibDecoder::new(bytes).take(*room_bytes + 1).read_to_end(&mut text)? as u64;
    let left = room_bytes.checked_sub(read);
    *room_bytes = left.ok_or_else(|| {
        let mib = INFLATED_BYTES_MAX >> 20;
        io::Error::other(format!("the records of the file inflate to more than {mib} MiB"))
    })?;
    Ok(text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_inflates_without_end_is_refused_and_all_records_share_the_room() {
        let bomb = deflated(&" ".repeat(100_000));
        assert!(bomb.len() < 1_000);
        let mut room = 150_000;
        assert_eq!(inflated(&bomb, &mut room).map(|text| text.len()).ok(), Some(100_000));
        let refused = inflated(&bomb, &mut room).expect_err("no room").to_string();
        assert!(refused.contains("inflate to more than 64 MiB"), "{refused}");
    }
}
