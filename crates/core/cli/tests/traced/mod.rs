//! Left out is what differs without mattering: descriptors, absolute paths, flags of the C library,
//! opening directories, and names that were looked for in vain.
#![allow(dead_code)]

use std::{
    collections::{BTreeMap, BTreeSet},
    hash::{DefaultHasher, Hash, Hasher},
};

#[derive(Debug, Default)]
pub struct Traced {
    pub main: Vec<String>,
    pub others: Vec<Vec<String>>,
}

/// The scratch name begins with `scratch`, an absolute path; digits that follow are part of it.
pub fn read(log: &str, scratch: &str) -> Traced {
    let mut reader = Reader { scratch, ..Reader::default() };
    for (pid, line) in whole_lines(log) {
        reader.take(pid, &line);
    }
    reader.traced()
}

fn whole_lines(log: &str) -> Vec<(u32, String)> {
    let mut begun: BTreeMap<u32, String> = BTreeMap::new();
    let mut whole = Vec::new();
    for line in log.lines() {
        let Some((pid, rest)) = line.split_once(' ') else { continue };
        let (Ok(pid), rest) = (pid.parse(), rest.trim_start()) else { continue };
        if let Some(head) = rest.strip_suffix(" <unfinished ...>") {
            begun.insert(pid, head.to_owned());
        } else if rest.starts_with("<... ") {
            let tail = rest.split_once(" resumed>").map_or("", |(_, tail)| tail);
            let head = begun.remove(&pid).unwrap_or_default();
            whole.push((pid, head + tail));
        } else {
            whole.push((pid, rest.to_owned()));
        }
    }
    whole
}

#[derive(Default)]
struct Reader<'a> {
    scratch: &'a str,
    cwd: String,
    first: Option<u32>,
    directories: BTreeSet<String>,
    by_thread: BTreeMap<u32, Vec<String>>,
}

impl Reader<'_> {
    fn take(&mut self, pid: u32, line: &str) {
        self.first.get_or_insert(pid);
        let Some((call, rest)) = line.split_once('(') else { return };
        let Some((arguments, result)) = rest.rsplit_once(" = ") else { return };
        let arguments = split(arguments.trim_end().trim_end_matches(')'));
        let failed = result.starts_with('-');
        if call == "chdir" && !failed {
            self.cwd = join(&self.cwd, &quoted(&arguments[0]));
        } else if call == "sync" {
            self.by_thread.entry(pid).or_default().push("sync".into());
        } else if !failed {
            let operation = self.operation(call, &arguments, result);
            self.by_thread.entry(pid).or_default().extend(operation);
        }
    }

    fn operation(&mut self, call: &str, arguments: &[String], result: &str) -> Option<String> {
        match call {
            "openat" => {
                let path = self.at(&arguments[0], &arguments[1])?;
                let is_directory = self.directories.contains(&path);
                let flags = arguments[2].replace("|O_CLOEXEC", "").replace("|O_LARGEFILE", "");
                let mode = arguments.get(3).map(|mode| format!(" {mode}")).unwrap_or_default();
                (!is_directory).then(|| format!("open {path} {flags}{mode}"))
            }
            "mkdir" | "mkdirat" => {
                let path = self.last_path(arguments, call.ends_with("at"))?;
                self.directories.insert(path.clone());
                Some(format!("mkdir {path} {}", arguments.last()?))
            }
            "rmdir" => Some(self.removed_directory(self.at("", &arguments[0])?)),
            "unlinkat" if arguments[2] == "AT_REMOVEDIR" => {
                Some(self.removed_directory(self.at(&arguments[0], &arguments[1])?))
            }
            "unlink" => Some(format!("unlink {}", self.at("", &arguments[0])?)),
            "unlinkat" => Some(format!("unlink {}", self.at(&arguments[0], &arguments[1])?)),
            "link" => {
                let (old, new) = (self.at("", &arguments[0])?, self.at("", &arguments[1])?);
                Some(format!("link {old} {new}"))
            }
            "linkat" => {
                let old = self.at(&arguments[0], &arguments[1])?;
                Some(format!("link {old} {}", self.at(&arguments[2], &arguments[3])?))
            }
            "symlink" => Some(format!("symlink {} {}", arguments[0], self.at("", &arguments[1])?)),
            "symlinkat" => {
                let new = self.at(&arguments[1], &arguments[2])?;
                Some(format!("symlink {} {new}", arguments[0]))
            }
            "newfstatat" | "stat" if arguments.get(1).is_some_and(|name| name != "\"\"") => {
                let path = self.at(&arguments[0], &arguments[1])?;
                (path != "S").then(|| format!("stat {path}"))
            }
            _ => self.on_descriptor(call, arguments, result),
        }
    }

    fn on_descriptor(&self, call: &str, arguments: &[String], result: &str) -> Option<String> {
        let path = self.scratch_path(annotated(arguments.first()?)?)?;
        let is_directory = self.directories.contains(&path);
        match call {
            "read" | "write" => {
                Some(format!("{call} {path} {}", self.bytes(&path, arguments, result)))
            }
            "lseek" => Some(format!("lseek {path} {} {}", arguments[1], arguments[2])),
            "fsync" | "fdatasync" => Some(format!("{call} {path}")),
            "close" if !is_directory => Some(format!("close {path}")),
            _ => None,
        }
    }

    /// Length and hash of the bytes in the one file; of small files only the length, because the
    /// original writes memory that it never set.
    fn bytes(&self, path: &str, arguments: &[String], result: &str) -> String {
        if path != "S" {
            return result.to_owned();
        }
        let mut hasher = DefaultHasher::new();
        arguments[1].hash(&mut hasher);
        format!("{result} {:016x}", hasher.finish())
    }

    fn removed_directory(&mut self, path: String) -> String {
        self.directories.remove(&path);
        format!("rmdir {path}")
    }

    fn last_path(&self, arguments: &[String], is_at: bool) -> Option<String> {
        match is_at {
            true => self.at(&arguments[0], &arguments[1]),
            false => self.at("", &arguments[0]),
        }
    }

    fn at(&self, directory: &str, name: &str) -> Option<String> {
        let base = annotated(directory).unwrap_or(&self.cwd);
        self.scratch_path(&join(base, &quoted(name)))
    }

    fn scratch_path(&self, path: &str) -> Option<String> {
        let rest =
            path.strip_prefix(self.scratch)?.trim_start_matches(|c: char| c.is_ascii_digit());
        (rest.is_empty() || rest.starts_with('/')).then(|| format!("S{rest}"))
    }

    fn traced(mut self) -> Traced {
        let first = self.first.unwrap_or_default();
        Traced {
            main: self.by_thread.remove(&first).unwrap_or_default(),
            others: self.by_thread.into_values().collect(),
        }
    }
}

fn split(arguments: &str) -> Vec<String> {
    let (mut parts, mut part) = (Vec::new(), String::new());
    let (mut depth, mut is_text, mut is_escaped) = (0, false, false);
    for c in arguments.chars() {
        match c {
            _ if is_escaped => is_escaped = false,
            '\\' if is_text => is_escaped = true,
            '"' => is_text = !is_text,
            '{' | '[' | '<' if !is_text => depth += 1,
            '}' | ']' | '>' if !is_text => depth -= 1,
            ',' if !is_text && depth == 0 => {
                parts.push(std::mem::take(&mut part).trim().to_owned());
                continue;
            }
            _ => {}
        }
        part.push(c);
    }
    parts.push(part.trim().to_owned());
    parts
}

fn annotated(descriptor: &str) -> Option<&str> {
    descriptor.split_once('<')?.1.rsplit_once('>').map(|(path, _)| path)
}

fn quoted(argument: &str) -> String {
    argument.trim_matches('"').to_owned()
}

fn join(directory: &str, name: &str) -> String {
    let whole = if name.starts_with('/') { name.into() } else { format!("{directory}/{name}") };
    let mut parts: Vec<&str> = Vec::new();
    for part in whole.split('/') {
        match part {
            "" | "." => {}
            ".." => drop(parts.pop()),
            part => parts.push(part),
        }
    }
    format!("/{}", parts.join("/"))
}

/// The operations of a first thread cut into the original's phases: what begins one is the scratch
/// file opened again, the directory made, and the step from creating to looking to deleting.
pub fn phases(operations: &[String]) -> Vec<(String, Vec<String>)> {
    let mut phases: Vec<(String, Vec<String>)> = Vec::new();
    let mut stage = "";
    for operation in operations {
        let next = match operation.split(' ').collect::<Vec<_>>()[..] {
            ["open", "S", ..] => Some("one file"),
            ["mkdir", "S", ..] => Some("create"),
            ["stat", ..] if stage == "create" => Some("stat"),
            ["unlink", path] if stage == "stat" && path != "S" => Some("delete"),
            _ => None,
        };
        if let Some(next) = next {
            stage = next;
            phases.push((format!("{} {next}", phases.len()), Vec::new()));
        }
        if let Some((_, phase)) = phases.last_mut() {
            phase.push(operation.clone());
        }
    }
    phases
}

/// What seekers did, whoever did it: each ticket as one text, in the order of their texts, and how
/// often each of the other operations was seen. Where one ticket writes a block and another visits
/// it, their bytes are left out: which of two processes comes first is the scheduler's choice.
pub fn tickets(others: &[Vec<String>]) -> (Vec<String>, BTreeMap<String, usize>) {
    let (mut tickets, mut rest) = (Vec::new(), BTreeMap::new());
    for operations in others {
        let mut left = operations.as_slice();
        while let Some((operation, behind)) = left.split_first() {
            let length = ticket_length(left);
            if length == 0 {
                *rest.entry(operation.clone()).or_insert(0) += 1;
                left = behind;
            } else {
                tickets.push(&left[..length]);
                left = &left[length..];
            }
        }
    }
    let mut visits: BTreeMap<&str, (usize, bool)> = BTreeMap::new();
    for ticket in &tickets {
        let (count, is_written) = visits.entry(&ticket[0]).or_default();
        *count += 1;
        *is_written |= ticket.len() == 4;
    }
    let is_raced = |seek: &str| matches!(visits[seek], (2.., true));
    let text = |ticket: &&[String]| match is_raced(&ticket[0]) {
        true => {
            ticket.iter().map(|operation| without_bytes(operation)).collect::<Vec<_>>().join(", ")
        }
        false => ticket.join(", "),
    };
    let mut texts: Vec<String> = tickets.iter().map(text).collect();
    texts.sort_unstable();
    (texts, rest)
}

fn without_bytes(operation: &str) -> &str {
    match operation.split_once(' ') {
        Some(("read" | "write", _)) => operation.rsplit_once(' ').map_or(operation, |cut| cut.0),
        _ => operation,
    }
}

/// A ticket is lseek and read, and lseek and write behind them where it updates.
fn ticket_length(operations: &[String]) -> usize {
    let calls: Vec<&str> =
        operations.iter().take(4).filter_map(|operation| operation.split(' ').next()).collect();
    match calls[..] {
        ["lseek", "read", "lseek", "write"] => 4,
        ["lseek", "read", ..] => 2,
        _ => 0,
    }
}
