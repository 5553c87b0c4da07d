//! A run without the names of its machine, of who uses it and of what else runs there. Facts and names of programs stay
//! only where they are known to be harmless; in all other text paths and known names become words.

use std::{
    cmp::Reverse,
    collections::{BTreeMap, BTreeSet},
    env,
    fs::read_to_string,
    mem::take,
    path::{Path, PathBuf},
};

use pickfs_record::{Action, BackingSpec, Environment, Plan, RunRecord, record::ON_OTHER_CPUS};
use serde_json::{Map, Value};

/// Facts by their first word, and those of groups that hold names too by both.
const TOLD: &str = "card cgroup clock cpu cpus directory file guest knob limits memory mitigation numa os period vm";
const GROUPS: &str = "device host kernel log_device mount";
const TOLD_OF_GROUPS: &str = "block_size_bytes discard_max_bytes driver free_bytes fs_type fua hypervisor link \
    logical_sector_bytes machine model name options physical_sector_bytes preemption product queue_requests \
    read_ahead_bytes release rotational scheduler size_bytes type version write_cache writeback_target_us";
/// Options of a mount whose values are words and name nothing.
const WORDY: &str = "alloc_mode background_gc cache checkpoint compress compress-force compression data discard errors \
    fsync_mode huge jqfmt proto sec space_cache vers";
/// Threads of the kernel by the first part of their name, ours, and what is none. All others are somebody's programs.
const KERNEL: &str = "btrfs dmcrypt f2fs iou irq jbd2 jfsCommit jfsIO jfsSync kcompactd kdamond khugepaged ksoftirqd \
    kswapd kthreadd kworker migration nilfs oom rcu scsi swapper txg writeback xfs xfsaild z zfs";
const OURS: &str = "; appender; device completion; idle processor, waking up; interrupt; journal-ahead; \
    journal-group; journal-heater; keeper; neighbour; others; pickfs; pickfs (the watch); pickfs-worker; queue-ahead; \
    reader; seeker; timer; words";
/// Fields of text that is written while it runs, of the user's own commands, and facts that somebody may have given a
/// name.
const PROSE: &str = "args channels cleanup command expects fault missing needs note notes output prepare question reason remedy \
    script setup teardown text typed device.model host.product kernel.release kernel.version log_device.model os.name";
/// What follows in a note of the workload `command` is an account, or processes.
const NAMING: [&str; 2] = [
    "the command ran as ",
    "the command left processes behind, which were ended when the trial was over: ",
];
const NAME: &str = "NAME";
/// What follows in a reason is the output of a program.
const SAID: &str = "; it said: ";

fn is_in(list: &str, word: &str) -> bool {
    list.split_ascii_whitespace().any(|one| one == word)
}

/// # Errors
/// It holds what JSON cannot say, or is none any more without its names.
pub fn nameless(mut run: RunRecord) -> serde_json::Result<RunRecord> {
    run.plan.typed = typed(&run.plan);
    if let BackingSpec::Loop { directory, .. } = &mut run.plan.backing {
        *directory = None;
    }
    let levels = run.plan.axes.iter().flat_map(|axis| &axis.levels);
    let mut words = Words {
        names: names_of(&run),
        paths: paths(&run),
        levels: levels.filter_map(|level| Some(level.as_str()?.to_owned())).collect(),
        ..Words::default()
    };
    let facts = run.trials.iter_mut().map(|trial| &mut trial.environment);
    facts.chain([&mut run.environment, &mut run.card]).for_each(without_names);
    let mut value = serde_json::to_value(&run)?;
    words.walk("", &mut value);
    serde_json::from_value(value)
}

/// The program, the plan and options that name nothing of the machine.
fn typed(plan: &Plan) -> Vec<String> {
    const BARE: &str = "--ram --erase --until-decided --allow-drop-caches --allow-system-tuning --allow-realtime \
        --allow-fault";
    const VALUED: &str = "--fs --reference --engine --device-state --size --blocks --seed --measure --warmup \
        --raw-probe --set --axis --budget --cpus";
    const PLACES: &str = "--dir --device --log-device";
    let is_program = |word: &&String| ["sudo", "./run", "pickfs"].contains(&word.as_str());
    let mut kept: Vec<String> = plan.typed.iter().take_while(is_program).cloned().collect();
    kept.extend((!plan.typed.is_empty()).then(|| plan.name.clone()));
    let mut words = plan.typed.iter().take_while(|word| *word != "--");
    while let Some(word) = words.next() {
        let (flag, own) = word.split_once('=').map_or((&word[..], None), |(f, v)| (f, Some(v)));
        if is_in(BARE, flag) || flag == "--explain" {
            kept.push(word.clone());
        } else if is_in(VALUED, flag) || is_in(PLACES, flag) {
            let value = own.or_else(|| words.next().map(String::as_str)).unwrap_or_default();
            let secret = ["environment=", "user="].iter().find(|name| value.starts_with(**name));
            let value = match secret {
                Some(name) => name,
                None if is_in(VALUED, flag) || value.starts_with('/') => value,
                None => "FOLDER",
            };
            kept.extend([flag.to_owned(), value.to_owned()]);
        }
    }
    kept
}

fn without_names(facts: &mut Environment) {
    let is_told = |key: &str| {
        let (group, name) = key.split_once('.').unwrap_or((key, ""));
        is_in(TOLD, group) || is_in(GROUPS, group) && is_in(TOLD_OF_GROUPS, name)
    };
    facts.0.retain(|key, value| is_told(key) && !value.starts_with(['/', '{']));
    if let Some(options) = facts.0.get_mut("mount.options") {
        *options = options.split(',').map(option_told).collect::<Vec<_>>().join(",");
    }
}

/// Numbers stay, and words of which it is known what they may be.
fn option_told(option: &str) -> &str {
    let Some((name, value)) = option.split_once('=') else { return option };
    let (unit, digits) = (char::is_alphabetic, value.strip_prefix('v').unwrap_or(value));
    let digits = digits.strip_suffix(unit).unwrap_or(digits);
    let is_number = !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit());
    if is_number || is_in(WORDY, name) && !value.contains('/') { option } else { name }
}

/// Serial numbers and the like that facts hold, servers of a network's file systems, and accounts. Longer ones come
/// first, as one may be a part of another.
fn names_of(run: &RunRecord) -> Vec<String> {
    let user = run.plan.params.get("user").and_then(Value::as_str);
    let notes = run.trials.iter().flat_map(|trial| &trial.notes);
    let accounts = notes.filter_map(|note| note.strip_prefix(NAMING[0])).chain(user);
    let mut names: Vec<String> = accounts.map(String::from).chain(names_here()).collect();
    let facts = run.trials.iter().map(|trial| &trial.environment);
    for (key, value) in facts.chain([&run.environment, &run.card]).flat_map(|facts| &facts.0) {
        let identity = serde_json::from_str::<Map<String, Value>>(value).unwrap_or_default();
        let part = |name: &str| Some(identity.get(name)?.as_str()?.to_owned());
        names.extend(["wwn", "serial", "dm_uuid", "boot_id"].into_iter().filter_map(part));
        let server = value.split_once(":/").filter(|_| key.ends_with(".source"));
        names.extend(server.map(|(server, _)| server.to_owned()));
        names.extend(["host.boot_id", "host.run_mark"].contains(&&key[..]).then(|| value.clone()));
    }
    names.retain(|name| is_name(name));
    names.sort_by_key(|name| (Reverse(name.len()), name.clone()));
    names.dedup();
    names
}

/// Of who reduces it: most often who ran it.
fn names_here() -> impl Iterator<Item = String> {
    let files = ["/proc/sys/kernel/hostname", "/etc/hostname", "/etc/machine-id"];
    let files = files.into_iter().filter_map(|path| read_to_string(path).ok());
    let users = ["USER", "LOGNAME", "SUDO_USER"].into_iter().filter_map(|name| env::var(name).ok());
    let home = env::var("HOME").ok();
    let home = home.and_then(|home| Some(Path::new(&home).file_name()?.to_str()?.to_owned()));
    files.map(|text| text.trim().to_owned()).chain(users).chain(home)
}

fn is_name(name: &str) -> bool {
    name.len() > 2 && !["root", "localhost", "nobody", "user", "home"].contains(&name)
}

/// Paths that may hold blanks, longer ones first, and whether what lies below is ours: a mount.
fn paths(run: &RunRecord) -> Vec<(String, bool)> {
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

/// A word for each path and each program, another for another.
#[derive(Default)]
struct Words {
    names: Vec<String>,
    paths: Vec<(String, bool)>,
    levels: BTreeSet<String>,
    words: BTreeMap<String, String>,
    programs: BTreeMap<String, String>,
}

impl Words {
    /// `others (rustc 0.9 CPUs, ld 0.3 CPUs) took the CPU`, by which a run ends.
    fn without_programs(&mut self, note: &str) -> Option<String> {
        let (who, rest) = note.strip_prefix("others (")?.rsplit_once(") ")?;
        let each = who.split(", ").map(|one| match one.rsplitn(3, ' ').collect::<Vec<_>>()[..] {
            [unit, taken, name] => format!("{} {taken} {unit}", self.program(name)),
            _ => "PROGRAM".into(),
        });
        Some(format!("others ({}) {rest}", each.collect::<Vec<_>>().join(", ")))
    }

    fn program(&mut self, text: &str) -> String {
        let (text, elsewhere) = match text.strip_suffix(ON_OTHER_CPUS) {
            Some(name) => (name, ON_OTHER_CPUS),
            None => (text, ""),
        };
        let (name, function) = text.split_at(text.find(" in ").unwrap_or(text.len()));
        let first = name.split(|c: char| !c.is_alphanumeric()).next().unwrap_or_default();
        let is_kernels = is_in(KERNEL, first.trim_end_matches(|c: char| c.is_ascii_digit()))
            || is_in(KERNEL, first);
        // Who calls a program `migration-of-orders` is not the kernel.
        let rest = &name[first.len()..];
        let goes_on = rest.starts_with(['/', '_', ':', '+'])
            || rest.starts_with('-') && is_in("btrfs iou xfs", first);
        if OURS.split("; ").any(|ours| ours == name)
            || is_kernels && (rest.is_empty() || goes_on)
            || first.starts_with("PROGRAM")
        {
            return format!("{name}{function}{elsewhere}");
        }
        let number = self.programs.len() + 1;
        let word = self.programs.entry(name.into()).or_insert_with(|| format!("PROGRAM{number}"));
        format!("{word}{function}{elsewhere}")
    }

    fn walk(&mut self, field: &str, value: &mut Value) {
        match value {
            Value::String(text) => *text = self.told(field, text),
            Value::Array(values) => values.iter_mut().for_each(|value| self.walk(field, value)),
            Value::Object(fields) => {
                for (name, mut value) in take(fields) {
                    self.walk(&name, &mut value);
                    fields.insert(self.without_paths(&name), value);
                }
            }
            _ => {}
        }
    }

    fn told(&mut self, field: &str, text: &str) -> String {
        if field == "user" && is_name(text) {
            return NAME.into();
        }
        if is_in("disk_takers takers who", field) {
            return self.program(text);
        }
        let renamed = (field == "note").then(|| self.without_programs(text)).flatten();
        let text = renamed.as_deref().unwrap_or(text);
        if let Some(start) = NAMING.iter().find(|start| text.starts_with(**start)) {
            return format!("{start}{NAME}");
        }
        match text.split_once('=') {
            // Of variables names stay, and what is too short for a secret or is a level of the question.
            Some((name, value)) if field == "environment" && !self.levels.contains(text) => {
                let is_short = value.len() < 4 && value.bytes().all(|byte| byte.is_ascii_digit());
                if !is_short && !is_public(value) {
                    return format!("{name}=");
                }
            }
            _ => {}
        }
        let (text, left_out) = match text.split_once(SAID) {
            Some((text, _)) if is_in(PROSE, field) => (text, "; what it said is left out"),
            _ => (text, ""),
        };
        let text = without_uuids(&self.without_paths(text)) + left_out;
        let names = self.names.iter().filter(|_| is_in(PROSE, field));
        names.fold(text, |text, name| replaced(&text, name, NAME))
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
            let known = self.paths.iter().find(|(known, _)| {
                let behind = path.strip_prefix(known.as_str());
                behind.is_some_and(|text| text.starts_with('/') || !text.starts_with(goes_on))
            });
            let (known, is_ours) = known.map_or((0, false), |(path, ours)| (path.len(), *ours));
            let is_inner =
                out.ends_with(goes_on) || out.ends_with("http:") || out.ends_with("https:");
            // `-I/home/me` has none before it that ends a word.
            let is_home = ["/home/", "/root/", "/srv/"].iter().any(|home| path.starts_with(home));
            let is_begin = known > 0 || is_home || !is_inner;
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
    const BELOW: &str =
        "/proc/ /sys/ /bin/ /sbin/ /usr/bin/ /usr/sbin/ /usr/lib/ /dev/loop /dev/DEVICE /FOLDER";
    const WHOLE: &str = "/data /dev/null /dev/shm /dev/zero /mnt /opt /run /srv /tmp /var/tmp";
    let is_below = BELOW.split(' ').any(|start| path.starts_with(start)) && !path.contains("..");
    let is_level = path.len() < 3 && path.starts_with('/');
    is_level || is_below || is_in(WHOLE, path)
}

/// Where it stands as a word of its own.
fn replaced(text: &str, name: &str, with: &str) -> String {
    let (mut out, mut rest) = (String::new(), text);
    while let Some(at) = rest.find(name).filter(|_| !name.is_empty()) {
        let (before, behind) = (&rest[..at], &rest[at + name.len()..]);
        let is_inner =
            before.ends_with(char::is_alphanumeric) || behind.starts_with(char::is_alphanumeric);
        out.push_str(before);
        out.push_str(if is_inner { name } else { with });
        rest = behind;
    }
    out + rest
}

fn without_uuids(text: &str) -> String {
    let words = text.split(|c: char| !c.is_ascii_alphanumeric() && c != '-');
    let is_uuid = |word: &&str| {
        let lengths: Vec<usize> = word.split('-').map(str::len).collect();
        lengths == [8, 4, 4, 4, 12] && word.bytes().all(|b| b == b'-' || b.is_ascii_hexdigit())
    };
    words.filter(is_uuid).fold(text.to_owned(), |text, uuid| text.replace(uuid, "UUID"))
}
