//! What a program tells: a number, by a pattern over its output or by a path into its JSON; or times that it kept of
//! its own operations.

use std::str::FromStr;

use pickfs_record::{
    metric::MetricError,
    plan::{Better, Statistic},
};
use regex_lite::Regex;
use serde_json::Value;

use super::times::Source;

#[derive(Debug, Clone)]
pub struct MetricAsk {
    pub name: String,
    /// What judges where nothing else is said.
    pub judge: Statistic,
    from: From,
}

#[derive(Debug, Clone)]
enum From {
    Pattern(Regex),
    /// Of a value in JSON (RFC 6901).
    Pointer(String),
    Times(Source),
}

impl FromStr for MetricAsk {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        if let Some(times) = MetricAsk::times(text) {
            return times;
        }
        let parts = || {
            let (name, rest) = text.split_once('=')?;
            let (from, better) = rest.rsplit_once(':')?;
            let better = match better {
                "higher" => Better::Higher,
                "lower" => Better::Lower,
                _ => return None,
            };
            let pattern = from.strip_prefix('/').and_then(|from| from.strip_suffix('/'));
            let path = if pattern.is_none() { pointer(from)? } else { String::new() };
            (!name.trim().is_empty()).then(|| (name.trim(), pattern, path, better))
        };
        let (name, pattern, path, better) = parts().ok_or_else(|| {
            format!(
                "metric `{text}` not understood; write NAME=/PATTERN/:higher with one group in parentheses, \
                 NAME=$.path.to.number:lower, NAME=hlog:FILE or NAME=jlbh"
            )
        })?;
        let from = match pattern {
            Some(pattern) => From::Pattern(compiled(name, pattern)?),
            None => From::Pointer(path),
        };
        Ok(MetricAsk { name: name.into(), judge: Statistic::Figure(better), from })
    }
}

fn compiled(name: &str, pattern: &str) -> Result<Regex, String> {
    let wrong = |why: String| format!("metric {name}: pattern /{pattern}/: {why}");
    let regex = Regex::new(&format!("(?m){pattern}")).map_err(|error| wrong(error.to_string()))?;
    let groups = regex.captures_len() - 1;
    let many = || wrong(format!("one group in parentheses is wanted, there are {groups}"));
    if groups == 1 { Ok(regex) } else { Err(many()) }
}

/// `$.a.b[0]` as `/a/b/0`; a field in quotes may hold dots: `$."a.b"`.
fn pointer(path: &str) -> Option<String> {
    let mut rest = path.strip_prefix('$')?;
    let mut pointer = String::new();
    while !rest.is_empty() {
        let (key, after) = if let Some(place) = rest.strip_prefix('[') {
            place.split_once(']').filter(|(place, _)| place.parse::<usize>().is_ok())?
        } else if let Some(quoted) = rest.strip_prefix(".\"") {
            quoted.split_once('"')?
        } else {
            let field = rest.strip_prefix('.')?;
            field.split_at(field.find(['.', '[']).unwrap_or(field.len()))
        };
        if key.is_empty() {
            return None;
        }
        pointer += &format!("/{}", key.replace('~', "~0").replace('/', "~1"));
        rest = after;
    }
    (!pointer.is_empty()).then_some(pointer)
}

impl MetricAsk {
    /// `NAME=hlog:FILE#TAG:p99`; the statistic may be left out. None where it asks for no times.
    fn times(text: &str) -> Option<Result<Self, String>> {
        let (name, rest) = text.split_once('=')?;
        let (head, judge) = match rest.rsplit_once(':').map(|(head, word)| (head, word.parse())) {
            Some((head, Ok(judge))) => (head, Ok(judge)),
            Some((head, Err(error @ MetricError::NotKept { .. }))) => {
                (head, Err(error.to_string()))
            }
            _ => (rest, Ok(Statistic::Quantile(0.5))),
        };
        let source = Source::read(head)?;
        let name = name.trim();
        Some(match (source, judge) {
            _ if name.is_empty() => Err(format!("metric `{text}` has no name")),
            (Err(why), _) => Err(format!("metric {name}: {why}")),
            (_, Err(why)) => Err(format!("metric {name}: {why}")),
            (Ok(source), Ok(judge)) if !source.carries(judge) => {
                Err(format!("metric {name}: {}, not by {judge}", source.judged_by()))
            }
            (Ok(source), Ok(judge)) => {
                Ok(MetricAsk { name: name.into(), judge, from: From::Times(source) })
            }
        })
    }

    /// A log whose tag of response times is named: who names it means to be ranked by it.
    pub fn has_response(&self) -> bool {
        matches!(&self.from, From::Times(source) if source.names_response())
    }

    /// Where the times are kept; none where it asks for a number.
    pub(super) fn source(&self) -> Option<&Source> {
        match &self.from {
            From::Times(source) => Some(source),
            _ => None,
        }
    }

    /// The number in an output: of a pattern the last match, of a path the one in the JSON value
    /// that the output holds.
    pub fn read(&self, output: &str) -> Result<f64, String> {
        let told = match &self.from {
            From::Pattern(regex) => {
                let group = regex.captures_iter(output).last().and_then(|found| found.get(1));
                group.ok_or_else(|| format!("/{regex}/ matches nothing")).and_then(|text| {
                    number(text.as_str()).ok_or_else(|| format!("`{}` is no number", text.as_str()))
                })
            }
            From::Pointer(pointer) => {
                let value = json_in(output).ok_or_else(|| "no JSON in its output".to_owned());
                let at = |value: Value| {
                    let found = value.pointer(pointer)?;
                    found.as_f64().or_else(|| number(found.as_str()?))
                };
                value.and_then(|value| at(value).ok_or_else(|| "no number at its path".into()))
            }
            From::Times(_) => Err("it is times and no number".into()),
        };
        told.map_err(|why| format!("metric {}: {why}", self.name))
    }
}

/// A number as programs print it, with or without commas between thousands.
fn number(text: &str) -> Option<f64> {
    let plain: String = text.chars().filter(|c| *c != ',').collect();
    plain.trim().parse::<f64>().ok().filter(|number| number.is_finite())
}

/// The first whole JSON object or list of a text: programs print warnings before it and behind it.
pub fn json_in(text: &str) -> Option<Value> {
    let starts = text.match_indices(['{', '[']).map(|(at, _)| at);
    let at_line_start = |at: &usize| text[..*at].ends_with('\n') || *at == 0;
    let (first, others): (Vec<_>, Vec<_>) = starts.partition(at_line_start);
    let read = |at: usize| {
        let mut values = serde_json::Deserializer::from_str(&text[at..]).into_iter::<Value>();
        values.next()?.ok()
    };
    // A whole document stands at the start of a line; a line that begins otherwise is tried last.
    first.into_iter().chain(others).take(STARTS_MAX).find_map(read)
}

/// Places that are tried; a text full of brackets is no document.
const STARTS_MAX: usize = 1_000;

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn ask(text: &str) -> MetricAsk {
        text.parse().unwrap()
    }

    #[test]
    fn the_last_match_counts_and_thousands_may_have_commas() {
        let ask = ask("rate=/rate ([0-9.,]+)/:higher");
        assert_eq!(ask.read("rate 10\nrate 1,234.5\n"), Ok(1234.5));
        assert_eq!(self::ask("a=/^x=1:([0-9]+)$/:lower").read("y\nx=1:7\n"), Ok(7.0));
        let error = ask.read("nothing").unwrap_err();
        assert!(error.contains("rate") && error.contains("matches nothing"), "{error}");
    }

    #[test]
    fn a_path_walks_fields_quoted_fields_and_places() {
        let text = r#"note [1]
{"jobs": [{"clat_ns": {"percentile": {"99.000000": 125}}}], "n": "3"}"#;
        let path = ask(r#"p99=$.jobs[0].clat_ns.percentile."99.000000":lower"#);
        assert_eq!(path.read(text), Ok(125.0));
        assert_eq!(ask("n=$.n:higher").read(text), Ok(3.0));
        assert!(ask("n=$.m:higher").read(text).is_err());
    }

    #[test]
    fn what_is_no_metric_is_told_with_the_way_to_write_it() {
        for wrong in
            ["tps", "tps=/a/", "=/(a)/:lower", "tps=/(a)/:up", "x=a.b:lower", "x=$..a:lower"]
        {
            let error = wrong.parse::<MetricAsk>().unwrap_err();
            assert!(error.starts_with(&format!("metric `{wrong}` not understood")), "{error}");
        }
        let error = "x=/a/:lower".parse::<MetricAsk>().unwrap_err();
        assert!(error.contains("one group"), "{error}");
    }

    #[test]
    fn times_are_judged_by_their_median_or_as_is_said() {
        let judged = |text: &str| (ask(text).source().is_some(), ask(text).judge);
        assert_eq!(judged("a=hlog:b.hlog#x"), (true, Statistic::Quantile(0.5)));
        assert_eq!(judged("a=hlog:b.hlog#x:p99.9"), (true, Statistic::Quantile(0.999)));
        assert_eq!(judged("a=hlog:b:mean"), (true, Statistic::Mean));
        assert_eq!(judged("a=/hlog:(b)/:lower"), (false, Statistic::Figure(Better::Lower)));
        let wrong = |text: &str| text.parse::<MetricAsk>().unwrap_err();
        assert!(wrong("a=hlog:b:p98.7").starts_with("metric a: p98.7 is not kept"));
        assert!(wrong("=hlog:b").contains("has no name"));
        for (text, not) in [("a=hlog:b:higher", "higher"), ("a=hlog:b:max", "max")] {
            let said = wrong(text);
            assert!(said.starts_with("metric a: a log is judged by"), "{said}");
            assert!(said.ends_with(not), "{said}");
        }
        let mean = "metric a: a table of JLBH is judged by a quantile like p99, not by mean";
        assert_eq!(wrong("a=jlbh:mean"), mean);
    }

    proptest! {
        #[test]
        fn no_text_makes_it_panic(ask in "[a-z]?=(hlog:|jlbh#|[/$])\\PC{0,20}:(higher|lower)", text in "\\PC{0,60}") {
            if let Ok(ask) = ask.parse::<MetricAsk>() {
                let _ = ask.read(&text);
            }
        }
    }
}
