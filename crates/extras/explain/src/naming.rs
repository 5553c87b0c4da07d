//! Words for stretches: the cause by the rules, and who held it or had the processor. Stacks are
//! turned into function names here, once each.

use std::collections::HashMap;

use crate::kernel::kernel_symbols::KernelSymbols;
use pickfs_record::stall::{CauseWords, OperationPart, PartKind};

use crate::{
    cause::{CPU_WAIT, Causes, ON_CPU, UNEXPLAINED, UNNAMED, Waker, plain, without_scheduler},
    join::Spent,
    observer::OUR_THREADS,
    sched::{FUNCTIONS_MAX, Names, Task},
    timeline::Wake,
};

pub struct Naming {
    symbols: KernelSymbols,
    causes: &'static Causes,
    known: HashMap<Pair, (String, String)>,
    sampled: HashMap<u32, String>,
}

/// A sleeper's stack, and its waker's with the waker's name.
type Pair = (u32, Option<(u32, u32)>);

const KNOWN_MAX: usize = 65_536;

impl Naming {
    pub fn new(symbols: KernelSymbols) -> Naming {
        let (known, sampled) = (HashMap::new(), HashMap::new());
        Naming { symbols, causes: Causes::built_in(), known, sampled }
    }

    /// Innermost first, without the scheduler's own.
    pub fn frames(&self, names: &Names, stack: u32) -> Vec<String> {
        let frames = frames(&self.symbols, names, stack);
        without_scheduler(&frames).iter().map(|frame| (*frame).to_owned()).collect()
    }

    /// The innermost, with that of the file system that led to it.
    pub fn sampled(&mut self, names: &Names, stack: u32) -> String {
        if let Some(known) = self.sampled.get(&stack) {
            return known.clone();
        }
        let words = self.causes.place(&frames(&self.symbols, names, stack));
        if self.sampled.len() >= KNOWN_MAX {
            self.sampled.clear();
        }
        self.sampled.insert(stack, words.clone());
        words
    }

    /// Its length is not set.
    pub fn name(&mut self, names: &Names, spent: Spent) -> OperationPart {
        let bare = |kind, cause: &str| OperationPart {
            kind,
            cause: cause.into(),
            ..OperationPart::default()
        };
        match spent {
            Spent::OnCpu => bare(PartKind::OnCpu, ON_CPU),
            Spent::Unexplained => bare(PartKind::Unexplained, UNEXPLAINED),
            Spent::CpuWait { had } => {
                OperationPart { who: holder(names, had), ..bare(PartKind::CpuWait, CPU_WAIT) }
            }
            Spent::Blocked { stack, wake } => {
                let (cause, who) = self.blocked(names, stack, wake);
                let waker_stack = wake.map(|wake| wake.stack);
                let kind = PartKind::Blocked;
                OperationPart { kind, length_ns: 0, cause, who, stack: Some(stack), waker_stack }
            }
        }
    }

    fn blocked(&mut self, names: &Names, stack: u32, wake: Option<Wake>) -> (String, String) {
        let key = (stack, wake.map(|wake| (wake.stack, wake.by.name)));
        if let Some(known) = self.known.get(&key) {
            return known.clone();
        }
        let asleep = frames(&self.symbols, names, stack);
        let woken = wake.map(|wake| frames(&self.symbols, names, wake.stack)).unwrap_or_default();
        let cause = match self.causes.of(&asleep, &woken) {
            Some(cause) => cause.name.clone(),
            None => unnamed(&asleep),
        };
        let who = wake.map(|wake| waker(self.causes, names, wake, &woken)).unwrap_or_default();
        if self.known.len() >= KNOWN_MAX {
            self.known.clear();
        }
        self.known.insert(key, (cause.clone(), who.clone()));
        (cause, who)
    }
}

fn frames<'a>(symbols: &'a KernelSymbols, names: &'a Names, stack: u32) -> Vec<&'a str> {
    let addresses = names.stacks.value(stack);
    let name = |at: &u64| match *at {
        number if number < FUNCTIONS_MAX => Some(names.functions.value(number as u32).as_str()),
        address => symbols.name(address),
    };
    addresses.iter().map(|at| name(at).map_or("?", plain)).collect()
}

/// No rule fits: the function is the name.
fn unnamed(asleep: &[&str]) -> String {
    match without_scheduler(asleep).first() {
        Some(frame) => format!("{UNNAMED}:{frame}"),
        None => UNNAMED.into(),
    }
}

fn waker(causes: &Causes, names: &Names, wake: Wake, woken: &[&str]) -> String {
    match causes.waker(woken) {
        Waker::Device => "device completion".into(),
        Waker::Timer => "timer".into(),
        Waker::Interrupt => "interrupt".into(),
        Waker::Thread { function: "" } => holder(names, wake.by),
        Waker::Thread { function } => format!("{} in {function}", holder(names, wake.by)),
    }
}

/// The name of a thread, without the numbers that tell workers of the kernel apart.
fn holder(names: &Names, task: Task) -> String {
    if task == Task::UNKNOWN {
        return String::new();
    }
    if task.id == 0 {
        return "idle processor, waking up".into();
    }
    let name = names.comms.value(task.name);
    let groups = ["kworker", "ksoftirqd", "migration", "jbd2", "xfsaild", "rcu"];
    let is_group = |head: &str| groups.contains(&head);
    match name.split_once('/') {
        Some((head, _)) if is_group(head) => head.to_owned(),
        _ if name.starts_with("iou-wrk") => "iou-wrk".into(),
        _ if name == OUR_THREADS => "pickfs (the watch)".into(),
        _ => name.clone(),
    }
}

pub fn words(cause: &str) -> CauseWords {
    let (title, advice) = match (cause, cause.split_once(':')) {
        (ON_CPU, _) => (
            "on a processor, or in a pause of the whole machine",
            "the work itself, spinning for a lock, or a pause of the virtual machine; steal time tells the last",
        ),
        (CPU_WAIT, _) => (
            "waiting for a processor",
            "not the file system: give the thread a processor of its own (cpusets, isolcpus), or stop who had it",
        ),
        (UNEXPLAINED, _) => (
            "not known",
            "events were lost or the thread was not watched yet; see what was lost below the table",
        ),
        (_, Some((_, frame))) => {
            let title = format!("asleep in {frame}");
            let advice = "no rule names this wait: its stack tells more".into();
            return CauseWords { cause: cause.into(), title, advice };
        }
        _ => match Causes::built_in().named(cause) {
            Some(rule) => (rule.title.as_str(), rule.advice.as_str()),
            None => ("asleep", "no stack is known; see what could not be seen below the table"),
        },
    };
    CauseWords { cause: cause.into(), title: title.into(), advice: advice.into() }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn naming() -> (Naming, Names) {
        let text = "ffffffff81001000 T down_write\nffffffff81002000 t xfs_ilock\n\
                    ffffffff81003000 t xfs_file_buffered_write\nffffffff81004000 t up_read\n\
                    ffffffff81005000 t xfs_file_buffered_read\nffffffff81006000 t odd_wait\n\
                    ffffffff81007000 T __schedule\nffffffff81008000 T end\n";
        (Naming::new(KernelSymbols::parse(text)), Names::default())
    }

    fn at(page: u64) -> u64 {
        0xffff_ffff_8100_0010 + page * 0x1000
    }

    #[test]
    fn a_lock_is_named_with_its_holder() {
        let (mut naming, mut names) = naming();
        let stack = names.stacks.number(&[at(7), at(1), at(2), at(3)][..]);
        let by = Task { id: 9, name: names.comms.number("r2") };
        let waker_stack = names.stacks.number(&[at(4), at(5)][..]);
        let wake = Some(Wake { time_ns: 0, by, stack: waker_stack });
        let named = naming.name(&names, Spent::Blocked { stack, wake });
        assert_eq!((named.cause.as_str(), named.kind), ("xfs-inode-lock", PartKind::Blocked));
        assert_eq!(named.who, "r2 in xfs_file_buffered_read");
        assert_eq!(
            naming.frames(&names, stack),
            ["down_write", "xfs_ilock", "xfs_file_buffered_write"]
        );
        assert_eq!(naming.name(&names, Spent::Blocked { stack, wake }), named);
    }

    #[test]
    fn who_had_the_processor_is_named() {
        let (mut naming, mut names) = naming();
        let had = Task { id: 77, name: names.comms.number("rustc") };
        let named = naming.name(&names, Spent::CpuWait { had });
        assert_eq!((named.cause.as_str(), named.who.as_str()), (CPU_WAIT, "rustc"));
        let had = Task { id: 78, name: names.comms.number("kworker/0:1-events") };
        assert_eq!(naming.name(&names, Spent::CpuWait { had }).who, "kworker");
        let had = Task { id: 79, name: names.comms.number(OUR_THREADS) };
        assert_eq!(naming.name(&names, Spent::CpuWait { had }).who, "pickfs (the watch)");
        let idle = naming.name(&names, Spent::CpuWait { had: Task::default() });
        assert_eq!(idle.who, "idle processor, waking up");
    }

    #[test]
    fn what_no_rule_fits_has_the_name_of_its_function() {
        let (mut naming, mut names) = naming();
        let stack = names.stacks.number(&[at(7), at(6), at(3)][..]);
        let named = naming.name(&names, Spent::Blocked { stack, wake: None });
        assert_eq!((named.cause.as_str(), named.who.as_str()), ("unnamed:odd_wait", ""));
        assert_eq!(words(&named.cause).title, "asleep in odd_wait");
        assert_eq!(words("xfs-inode-lock").title, "another holds the lock of this xfs inode");
        assert!(words(ON_CPU).title.contains("pause"));
    }
}
