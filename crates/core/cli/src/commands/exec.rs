use std::path::PathBuf;

use anyhow::Context;
use clap::Args;
use pickfs_lab::{length::blocks_asked, plan_file::read_plan};
use pickfs_record::{
    Plan,
    plan::{Metric, Statistic, View},
    typed::quoted,
};
use pickfs_workload::command::metric::MetricAsk;
use serde_json::Value;

use crate::{
    args::PlanChanges,
    commands::run::{finish, perform_plan},
    exit::Exit,
    overrides::changed_plan,
    terminal,
};

pub const EXAMPLES: &str = "Examples:
  pickfs exec --fs ext4,xfs -- tar xf /usr/src/linux.tar.xz
  pickfs exec --setup 'git init -q .' -- git commit --allow-empty -m x
  pickfs exec -- 'seq 100000 > a && sync a'      one word with blanks goes to sh -c
  pickfs exec --setup 'pgbench -i -s 10 bench' --metric 'tps=/tps = ([0-9.]+)/:higher' -- pgbench -T 20 bench
  pickfs exec --prepare 'rm -rf out' --repeat 5 -- make O=out
  pickfs exec --user root --dir /data -- sync

The command runs in an empty directory of the mount, {dir} in its words. It runs as the user who
ran sudo, unless --user names another. Failures end a trial, with the end of what the command said.";

/// `pickfs exec`.
#[derive(Debug, Clone, Args)]
pub struct ExecArgs {
    /// The command and its words; a single word with blanks or signs of a shell goes to sh -c
    #[arg(last = true, required = true, value_name = "COMMAND")]
    pub command: Vec<String>,
    /// For sh -c, once on each fresh mount before the first run; not measured
    #[arg(long, value_name = "CMD", default_value = "")]
    pub setup: String,
    /// For sh -c, before each run; not measured
    #[arg(long, value_name = "CMD", default_value = "")]
    pub prepare: String,
    /// For sh -c, after each run; not measured
    #[arg(long, value_name = "CMD", default_value = "")]
    pub cleanup: String,
    /// For sh -c, once after the last run on each mount, after a failure too
    #[arg(long, value_name = "CMD", default_value = "")]
    pub teardown: String,
    /// A number that the command prints, NAME=/PATTERN/:higher or NAME=$.JSON.PATH:lower, whichever
    /// is better; or times of its own operations, NAME=hlog:FILE#TAG:p99 (an HdrHistogram log in its
    /// directory) or NAME=jlbh (what JLBH prints); may be repeated, and is judged instead of the
    /// wall time
    #[arg(long = "metric", value_name = "NAME=...")]
    pub metrics: Vec<String>,
    /// Measured runs on each fresh mount; a time is their mean
    #[arg(long, value_name = "N", default_value_t = 1)]
    pub repeat: u32,
    /// Runs before these that are not measured
    #[arg(long, value_name = "N", default_value_t = 0)]
    pub warmup_runs: u32,
    /// Who runs it (default: the user who ran sudo)
    #[arg(long, value_name = "NAME", default_value = "")]
    pub user: String,
    /// A variable of its environment, NAME=VALUE; may be repeated
    #[arg(long = "env", value_name = "NAME=VALUE")]
    pub environment: Vec<String>,
    /// An exit code other than 0 is a result
    #[arg(long)]
    pub ignore_failure: bool,
    /// Leave what setup and prepare wrote in memory: the mount is not synced before a run
    #[arg(long)]
    pub no_write_out: bool,
    /// Count and time its calls on files over all its processes; needs root, and tells its cost
    #[arg(long)]
    pub calls: bool,
    /// What is different from the plan of every command: three file systems, one image of 1 GiB.
    #[command(flatten)]
    pub changes: PlanChanges,
    /// Folder of runs
    #[arg(long, value_name = "DIR", default_value = "pickfs-runs")]
    pub out: PathBuf,
    /// Stream events as JSON lines instead of a progress bar
    #[arg(long)]
    pub json: bool,
    /// The plan as JSON; nothing is touched
    #[arg(long)]
    pub show_plan: bool,
}

/// What programs are run by. Disturbance is watched for an hour of each trial.
pub(super) fn plan_of(name: &str, question: &str, workload: &str) -> anyhow::Result<Plan> {
    let text = format!(
        r#"
name = "{name}"
question = ""
candidates = ["ext4", "xfs", "btrfs"]
workload = "{workload}"
[backing]
kind = "loop"
size = "1GiB"
[design]
blocks = 5
reference = "ext4"
primary = []
[timing]
raw_probe = "1s"
warmup = "0s"
measure = "60m"
settle = "10s"
"#
    );
    Ok(Plan { question: question.into(), ..read_plan(name, &text)? })
}

pub fn exec(args: &ExecArgs) -> anyhow::Result<Exit> {
    if args.show_plan {
        terminal::line(&serde_json::to_string_pretty(&plan(args)?)?);
        return Ok(Exit::Done);
    }
    let launched = perform_plan(|| plan(args), &args.out, args.json)?;
    finish(&launched, args.json)
}

fn plan(args: &ExecArgs) -> anyhow::Result<Plan> {
    let question = format!("Which file system for: {}?", as_typed(&args.command));
    let mut plan = plan_of("exec", &question, "command")?;
    let yes_or_no = |is_so: bool| if is_so { "yes" } else { "no" };
    let params: [(&str, Value); 14] = [
        ("command", command(&args.command)),
        ("setup", args.setup.as_str().into()),
        ("prepare", args.prepare.as_str().into()),
        ("cleanup", args.cleanup.as_str().into()),
        ("teardown", args.teardown.as_str().into()),
        ("metrics", args.metrics.clone().into()),
        ("repeat", args.repeat.into()),
        ("warmup_runs", args.warmup_runs.into()),
        ("user", args.user.as_str().into()),
        ("environment", args.environment.clone().into()),
        ("accept_failure", yes_or_no(args.ignore_failure).into()),
        ("write_out", yes_or_no(!args.no_write_out).into()),
        ("calls", yes_or_no(args.calls).into()),
        ("stalls_above", args.changes.explain.as_deref().unwrap_or("").into()),
    ];
    // What says nothing is left to the defaults, and to nobody's eyes.
    let says_nothing = |value: &Value| *value == "" || *value == serde_json::json!([]);
    let told = params.into_iter().filter(|(_, value)| !says_nothing(value));
    plan.params.extend(told.map(|(name, value)| (name.to_owned(), value)));
    let defaults = pickfs_workload::find(&plan.workload)?.defaults();
    plan.params.retain(|name, value| defaults.get(name) != Some(value));
    plan.design.primary = primary(&args.metrics)?;
    let mut plan = changed(plan, &args.changes)?;
    // The worker starts the command and watches it; there are no operations of ours to explain.
    plan.explain_above_ns = None;
    Ok(plan)
}

/// With the blocks of an answer, where none are asked for.
pub(super) fn changed(plan: Plan, changes: &PlanChanges) -> anyhow::Result<Plan> {
    let mut plan = changed_plan(plan, changes)?;
    if changes.blocks.is_none() && changes.budget.is_none() && !changes.until_decided {
        plan.design.blocks = blocks_asked(&plan);
    }
    Ok(plan)
}

/// What the run is judged by: the command's own numbers, or else its wall time.
fn primary(metrics: &[String]) -> anyhow::Result<Vec<Metric>> {
    if metrics.is_empty() {
        let mean = Metric::new("wall", Statistic::Mean);
        return Ok(vec![Metric { view: View::Service, ..mean }]);
    }
    let read = metrics.iter().map(|text| text.parse().map_err(anyhow::Error::msg));
    let asked: Vec<MetricAsk> = read.collect::<Result<_, _>>().context("--metric")?;
    let metric = |ask: MetricAsk| Metric::new(&ask.name, ask.judge);
    Ok(asked.into_iter().map(metric).collect())
}

/// Words as they are; a single one that only a shell could read goes to one.
fn command(words: &[String]) -> Value {
    match words {
        [one] if needs_shell(one) => one.as_str().into(),
        words => words.to_vec().into(),
    }
}

fn needs_shell(word: &str) -> bool {
    word.contains(|sign: char| sign.is_whitespace() || "|&;<>$`*?~(){}\"'\\".contains(sign))
        && word != "{dir}"
}

fn as_typed(words: &[String]) -> String {
    let typed = |word: &String| match (words.len(), needs_shell(word) || word.is_empty()) {
        (2.., true) => quoted(word),
        _ => word.clone(),
    };
    words.iter().map(typed).collect::<Vec<_>>().join(" ")
}

#[cfg(test)]
mod tests {
    use clap::Parser;

    use super::*;
    use crate::args::{Cli, Command};

    fn planned(words: &[&str]) -> Plan {
        let words = ["pickfs", "exec"].iter().chain(words);
        let Command::Exec(args) = Cli::parse_from(words).command else { panic!("exec") };
        plan(&args).expect("a plan")
    }

    #[test]
    fn one_word_with_blanks_goes_to_a_shell_and_several_words_do_not() {
        assert_eq!(planned(&["--", "seq 9 > a"]).params["command"], "seq 9 > a");
        let list = serde_json::json!(["dd", "of=a b"]);
        assert_eq!(planned(&["--", "dd", "of=a b"]).params["command"], list);
        assert_eq!(planned(&["--", "true"]).params["command"], serde_json::json!(["true"]));
        let asked = planned(&["--", "dd", "of=a b"]).question;
        assert_eq!(asked, "Which file system for: dd 'of=a b'?");
    }

    #[test]
    fn wall_time_is_judged_unless_a_metric_is_named() {
        let plan = planned(&["--fs", "ext4,xfs", "--", "true"]);
        assert_eq!(plan.candidates.len(), 2);
        assert_eq!((plan.design.primary[0].op.as_str(), plan.design.blocks), ("wall", 6));
        let named = planned(&["--metric", "tps=/([0-9]+)/:higher", "--", "true"]);
        assert_eq!(named.design.primary[0].op, "tps");
        assert!(named.design.primary[0].statistic.is_better_higher());
        assert!(named.design.blocks > plan.design.blocks, "two comparisons need more");
        let times = planned(&["--metric", "append=hlog:a.hlog#x:p99", "--", "java", "A"]);
        assert_eq!(times.design.primary[0].to_string(), "append.p99 service");
        let times = planned(&["--metric", "append=hlog:a.hlog#x,due:p99", "--", "java", "A"]);
        assert_eq!(times.design.primary[0].to_string(), "append.p99");
    }

    #[test]
    fn what_it_says_of_the_backing_is_kept() {
        let plan = planned(&["--ram", "--size", "256MiB", "--repeat", "3", "--", "true"]);
        let ram = pickfs_record::BackingSpec::Ram { size_bytes: 256 << 20 };
        assert_eq!((plan.backing, plan.params["repeat"].as_u64()), (ram, Some(3)));
    }
}
