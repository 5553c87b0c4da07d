use serde_json::Value;

use super::{calls::Watching, metric::MetricAsk};
use crate::param::{Check, Literal, Param, ParamError, Resolved};

pub(super) const PARAMS: &[Param] = &[
    param! { "command" = Text("true"),
    Rule("a text for `sh -c`, or a list of words", words_or_text);
    "the program: a list of words is started as it is, a text goes to `sh -c`; `{dir}` \
     stands for the directory" },
    text("setup", "for `sh -c`, once in a trial before the first run; not measured"),
    text("prepare", "for `sh -c`, before each run; not measured"),
    text("cleanup", "for `sh -c`, after each run; not measured"),
    text("teardown", "for `sh -c`, once behind the last run, also when the trial has failed"),
    param! { "repeat" = Integer(1), Integer(1, 10_000);
    "measured runs in a trial, all on the same mount; a time is their mean" },
    param! { "warmup_runs" = Integer(0), Integer(0, 1_000);
    "runs before these that are not measured" },
    param! { "metrics" = Text(""),
    Rule("a list of NAME=/PATTERN/:higher, NAME=$.PATH:lower, NAME=hlog:FILE#TAG or NAME=jlbh", metric_list);
    "numbers that the program tells, `NAME=/PATTERN/:higher` or `NAME=$.PATH:lower`, and times of its own operations, in \
     a log of HdrHistogram, `NAME=hlog:FILE#TAG`, or a table of JLBH, `NAME=jlbh`" },
    text("user", "who runs it; empty: who called sudo, else who runs pickfs"),
    param! { "needs" = Text(""), Rule("a list of PROGRAM=PACKAGE", variable_list);
    "programs that must be there, `PROGRAM=PACKAGE`, and files under the folder where pickfs was \
     started, `PATH/TO/FILE=COMMAND`; without one the trial is skipped with what brings it" },
    param! { "environment" = Text(""), Rule("a list of NAME=VALUE", variable_list);
    "variables NAME=VALUE beside those of the caller; `{dir}` stands for the directory" },
    param! { "write_out" = Text("yes"), Words(|| vec!["yes", "no"]);
    "whether the mount is synced before each run, so that what was prepared is not written \
     back while the command runs" },
    param! { "calls" = Text("no"), Words(|| vec!["yes", "no"]);
    "whether its calls on files are counted and timed, over all its processes; needs root, \
     and what it costs is told" },
    param! { "stalls_above" = Integer(0), Duration(60_000_000_000);
    "calls longer than this are joined with what the kernel was doing; 0: none are" },
    param! { "accept_failure" = Text("no"), Words(|| vec!["yes", "no"]);
    "whether an exit code other than 0 is a result" },
];

const fn text(name: &'static str, doc: &'static str) -> Param {
    Param { name, doc, default: Literal::Text(""), check: Check::Text }
}

fn words_or_text(value: &Value) -> Option<Value> {
    match value {
        Value::String(text) => (!text.trim().is_empty()).then(|| value.clone()),
        _ => list(value, |_| true).filter(|list| list.as_array().is_some_and(|l| !l.is_empty())),
    }
}

fn metric_list(value: &Value) -> Option<Value> {
    list(value, |text| text.parse::<MetricAsk>().is_ok())
}

fn variable_list(value: &Value) -> Option<Value> {
    list(value, |text| text.split_once('=').is_some_and(|(name, _)| !name.is_empty()))
}

/// A list of texts; one text stands for a list of one, and the empty text for none.
fn list(value: &Value, fits: impl Fn(&str) -> bool) -> Option<Value> {
    let texts: Vec<&str> = match value {
        Value::String(text) if text.is_empty() => Vec::new(),
        Value::String(text) => vec![text],
        Value::Array(entries) => entries.iter().map(Value::as_str).collect::<Option<_>>()?,
        _ => return None,
    };
    texts.iter().all(|text| fits(text)).then(|| Value::from(texts))
}

pub(super) fn texts(params: &Resolved, name: &str) -> Vec<String> {
    let entries = params.value(name).as_array().map(Vec::as_slice).unwrap_or_default();
    entries.iter().filter_map(|entry| entry.as_str().map(str::to_owned)).collect()
}

pub(super) fn metrics(params: &Resolved) -> Vec<MetricAsk> {
    texts(params, "metrics").iter().filter_map(|text| text.parse().ok()).collect()
}

/// Two numbers of one name would be one column.
pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    let mut names: Vec<String> = metrics(params).into_iter().map(|metric| metric.name).collect();
    names.extend(super::TIMES.map(String::from));
    names.sort_unstable();
    match names.windows(2).find(|pair| pair[0] == pair[1]) {
        Some(pair) => {
            let reason = format!("`{}` stands twice; give one another name", pair[0]);
            Err(params.together("metrics", reason))
        }
        None => Ok(()),
    }
}

pub(super) fn watching(params: &Resolved) -> Option<Watching> {
    let above_ns = params.integer("stalls_above");
    let stalls_above_ns = (above_ns > 0).then_some(above_ns);
    (params.text("calls") == "yes" || above_ns > 0).then_some(Watching { stalls_above_ns })
}

/// The words that are started: those of a list, or a shell for a text.
pub(super) fn command(params: &Resolved) -> Vec<String> {
    match params.value("command") {
        Value::String(text) => shell(text),
        _ => texts(params, "command"),
    }
}

pub(super) fn shell(text: &str) -> Vec<String> {
    ["sh", "-c", text].map(String::from).to_vec()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::command::WORKLOAD;

    fn resolved(asked: Value) -> Result<Resolved, ParamError> {
        WORKLOAD.validate(asked.as_object().unwrap())
    }

    #[test]
    fn a_text_goes_to_a_shell_and_a_list_does_not() {
        let text = resolved(json!({ "command": "make -j2 && ./a" })).unwrap();
        assert_eq!(command(&text), ["sh", "-c", "make -j2 && ./a"]);
        let list = resolved(json!({ "command": ["git", "status"] })).unwrap();
        assert_eq!(command(&list), ["git", "status"]);
        assert!(resolved(json!({ "command": [] })).is_err());
        assert!(resolved(json!({ "command": "  " })).is_err());
    }

    #[test]
    fn names_of_metrics_are_unlike_each_other_and_the_times() {
        let two = json!({ "metrics": ["tps=/a ([0-9]+)/:higher", "tps=/b ([0-9]+)/:higher"] });
        let error = resolved(two).unwrap_err().to_string();
        assert!(error.contains("`tps` stands twice"), "{error}");
        assert!(resolved(json!({ "metrics": ["wall=/a ([0-9]+)/:lower"] })).is_err());
        let one = resolved(json!({ "metrics": "tps=/a ([0-9]+)/:higher" })).unwrap();
        assert_eq!((WORKLOAD.ops)(&one), ["wall", "user", "system", "tps"]);
    }
}
