//! The name of a wait, by the frames of the sleeper and of its waker. The rules are data: ordered, the
//! first that fits wins, in `causes.toml` beside the sources.

use std::sync::OnceLock;

use serde::Deserialize;
use thiserror::Error;

const BUILT_IN: &str = include_str!("../causes.toml");

pub const UNNAMED: &str = "unnamed";
pub const ON_CPU: &str = "on-cpu";
pub const CPU_WAIT: &str = "cpu-wait";
pub const UNEXPLAINED: &str = "unexplained";
pub const IN_PROGRAM: &str = "the program itself";
/// Its waits are somebody else's work: of the workers of io_uring.
pub const IO_URING: &str = "io-uring";

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Causes {
    wakers: WakerFrames,
    samples: SampleFrames,
    cause: Vec<Cause>,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Cause {
    /// `jbd2-commit`
    pub name: String,
    pub title: String,
    pub advice: String,
    /// No stack of it has been recorded yet.
    #[serde(default)]
    pub reasoned: bool,
    asleep: Vec<Vec<String>>,
    #[serde(default)]
    woken: Vec<String>,
}

/// Frames that tell what kind of waker it was.
#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct WakerFrames {
    device: Vec<String>,
    interrupt: Vec<String>,
    timer: Vec<String>,
    skip: Vec<String>,
}

#[derive(Debug, Clone, Deserialize)]
#[serde(deny_unknown_fields)]
struct SampleFrames {
    entry: Vec<String>,
}

#[derive(Debug, Error)]
#[error("rules of causes not understood: {0}")]
pub struct BadRules(#[from] toml::de::Error);

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Waker<'a> {
    /// The device was done; who happened to run then says nothing.
    Device,
    Timer,
    Interrupt,
    /// Empty where no function is known.
    Thread {
        /// The innermost function that is not part of waking or unlocking.
        function: &'a str,
    },
}

impl Causes {
    pub fn built_in() -> &'static Causes {
        static RULES: OnceLock<Causes> = OnceLock::new();
        RULES.get_or_init(|| Causes::parse(BUILT_IN).expect("a test reads the built-in rules"))
    }

    pub fn parse(text: &str) -> Result<Causes, BadRules> {
        Ok(toml::from_str(text)?)
    }

    /// Both innermost first.
    pub fn of(&self, asleep: &[&str], woken: &[&str]) -> Option<&Cause> {
        self.cause.iter().find(|cause| cause.fits(asleep, woken))
    }

    pub fn all(&self) -> &[Cause] {
        &self.cause
    }

    pub fn named(&self, name: &str) -> Option<&Cause> {
        self.cause.iter().find(|cause| cause.name == name)
    }

    /// Where a thread is on a processor: the innermost function, and the outermost one that is not of every
    /// call. Both in words: `memcpy in xfs_file_buffered_write`.
    pub fn place(&self, frames: &[&str]) -> String {
        let Some(innermost) = frames.first() else { return IN_PROGRAM.into() };
        let outermost = frames.iter().rev().find(|frame| !any_fits(&self.samples.entry, frame));
        match outermost {
            Some(outermost) if outermost != innermost => format!("{innermost} in {outermost}"),
            _ => (*innermost).into(),
        }
    }

    pub fn waker<'a>(&self, woken: &[&'a str]) -> Waker<'a> {
        let has = |patterns: &[String]| woken.iter().any(|frame| any_fits(patterns, frame));
        if has(&self.wakers.timer) {
            Waker::Timer
        } else if has(&self.wakers.device) {
            Waker::Device
        } else if has(&self.wakers.interrupt) {
            Waker::Interrupt
        } else {
            let own = woken.iter().find(|frame| !any_fits(&self.wakers.skip, frame));
            Waker::Thread { function: own.copied().unwrap_or_default() }
        }
    }
}

impl Cause {
    fn fits(&self, asleep: &[&str], woken: &[&str]) -> bool {
        let is_woken = self.woken.is_empty() || woken.iter().any(|f| any_fits(&self.woken, f));
        is_woken && self.asleep.iter().any(|list| in_order(list, asleep))
    }
}

/// Whether each pattern fits a frame, each further out than the one before; one with `>` in front fits
/// the very next frame.
fn in_order(patterns: &[String], frames: &[&str]) -> bool {
    let Some((pattern, further)) = patterns.split_first() else { return true };
    match pattern.strip_prefix('>') {
        Some(next) => {
            frames.first().is_some_and(|frame| fits(next, frame)) && in_order(further, &frames[1..])
        }
        None => (0..frames.len())
            .any(|at| fits(pattern, frames[at]) && in_order(further, &frames[at + 1..])),
    }
}

fn any_fits(patterns: &[String], frame: &str) -> bool {
    patterns.iter().any(|pattern| fits(pattern, frame))
}

/// `a|b*`: one of them is the frame, or its beginning.
fn fits(pattern: &str, frame: &str) -> bool {
    pattern.split('|').any(|one| match one.strip_suffix('*') {
        Some(beginning) => frame.starts_with(beginning),
        None => frame == one,
    })
}

/// The name of a function without what the compiler added: `.isra.0`, `.constprop.0`, `.part.0`.
pub fn plain(function: &str) -> &str {
    let added = [".isra", ".constprop", ".part", ".cold", ".llvm"];
    let ends = added.iter().filter_map(|word| function.find(word));
    ends.min().map_or(function, |end| &function[..end])
}

/// Innermost frames that every sleep has: they are left out where a stack is shown.
const SCHEDULE: &str = "__schedule schedule schedule_timeout schedule_preempt_disabled \
    io_schedule io_schedule_timeout preempt_schedule preempt_schedule_common";

pub fn without_scheduler<'a, 'b>(frames: &'b [&'a str]) -> &'b [&'a str] {
    let is_own = |frame: &&&str| {
        SCHEDULE.split(' ').any(|own| own == **frame)
            || frame.starts_with("perf_")
            || frame.starts_with("__traceiter_")
    };
    &frames[frames.iter().take_while(is_own).count()..]
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    #[test]
    fn every_rule_has_words_and_a_name_of_its_own() {
        let causes = Causes::built_in();
        let names: HashSet<_> = causes.all().iter().map(|cause| &cause.name).collect();
        assert_eq!(names.len(), causes.all().len());
        for cause in causes.all() {
            assert!(!cause.title.is_empty() && !cause.advice.is_empty(), "{}", cause.name);
            assert!(!cause.advice.ends_with('.') && !cause.asleep.is_empty(), "{}", cause.name);
        }
        for word in [UNNAMED, ON_CPU, CPU_WAIT, UNEXPLAINED] {
            assert!(causes.named(word).is_none(), "{word} is no rule");
        }
        assert!(causes.named(IO_URING).is_some());
    }

    #[test]
    fn frames_must_come_in_order_and_others_may_lie_between() {
        let list = ["down_*".to_string(), "a|b".to_string()];
        assert!(in_order(&list, &["down_write", "x", "b"]));
        assert!(!in_order(&list, &["b", "down_write"]));
        assert!(!in_order(&list, &["down_write"]));
        let list = ["down_*".to_string(), ">a|b".to_string()];
        assert!(in_order(&list, &["down_read", "down_write", "b", "x"]));
        assert!(!in_order(&list, &["down_write", "x", "b"]) && !in_order(&list, &["down_write"]));
    }

    #[test]
    fn what_the_compiler_added_is_left_out() {
        assert_eq!(plain("xfs_file_read.isra.0"), "xfs_file_read");
        assert_eq!(plain("a.part.3.constprop.0"), "a");
        assert_eq!(plain("down_write"), "down_write");
    }

    #[test]
    fn a_waker_is_a_thread_unless_it_was_interrupted() {
        let causes = Causes::built_in();
        let reader =
            ["try_to_wake_up", "rwsem_wake", "up_read", "xfs_iunlock", "xfs_file_buffered_read"];
        assert_eq!(causes.waker(&reader), Waker::Thread { function: "xfs_file_buffered_read" });
        let device = ["try_to_wake_up", "bio_endio", "handle_softirqs", "rust_alloc"];
        assert_eq!(causes.waker(&device), Waker::Device);
        let timer = ["try_to_wake_up", "hrtimer_wakeup", "sysvec_apic_timer_interrupt"];
        assert_eq!(causes.waker(&timer), Waker::Timer);
        assert_eq!(causes.waker(&["handle_softirqs"]), Waker::Interrupt);
        assert_eq!(causes.waker(&[]), Waker::Thread { function: "" });
    }

    #[test]
    fn a_place_is_the_innermost_function_and_that_of_the_file_system() {
        let causes = Causes::built_in();
        let frames = [
            "rep_movs_alternative",
            "copy_page_from_iter_atomic",
            "iomap_file_buffered_write",
            "xfs_file_buffered_write",
            "vfs_write",
            "__x64_sys_pwrite64",
            "do_syscall_64",
            "entry_SYSCALL_64_after_hwframe",
        ];
        assert_eq!(causes.place(&frames), "rep_movs_alternative in xfs_file_buffered_write");
        assert_eq!(causes.place(&frames[6..]), "do_syscall_64");
        assert_eq!(causes.place(&frames[3..]), "xfs_file_buffered_write");
        assert_eq!(causes.place(&[]), IN_PROGRAM);
    }

    #[test]
    fn the_schedulers_own_frames_are_not_shown() {
        let frames = ["__schedule", "schedule", "jbd2_log_wait_commit", "schedule"];
        assert_eq!(without_scheduler(&frames), ["jbd2_log_wait_commit", "schedule"]);
    }

    #[test]
    fn malformed_rules_are_refused_in_words() {
        let error = Causes::parse("[[cause]]\nname = 3").expect_err("no rules");
        assert!(error.to_string().starts_with("rules of causes not understood"), "{error}");
    }
}
