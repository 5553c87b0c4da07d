//! Every parameter is flat (`burst_factor`, not `burst.factor`), so that any of them can be an
//! axis.

use std::fmt;

use pickfs_record::{
    closest::closest,
    quantity::{RATE_MAX_PER_S, parse_bytes, parse_duration_ns, parse_rate_per_s},
};
use serde_json::{Map, Value};

#[derive(Debug, Clone, Copy)]
pub struct Param {
    pub name: &'static str,
    pub doc: &'static str,
    /// Its value when a plan says nothing.
    pub default: Literal,
    pub check: Check,
}

/// A row of a workload's parameters: `"name" = default, what is allowed; "what it does"`.
#[macro_export]
macro_rules! param {
    ($name:literal = $default:expr, $check:expr; $doc:literal) => {
        $crate::param::Param {
            name: $name,
            doc: $doc,
            default: {
                #[allow(unused_imports)]
                use $crate::param::Literal::*;
                $default
            },
            check: {
                #[allow(unused_imports)]
                use $crate::param::Check::*;
                $check
            },
        }
    };
}

#[derive(Debug, Clone, Copy)]
pub enum Literal {
    Text(&'static str),
    Integer(u64),
    Number(f64),
}

#[derive(Debug, Clone, Copy)]
pub enum Check {
    Words(fn() -> Vec<&'static str>),
    /// A whole number from the first to the second.
    Integer(u64, u64),
    /// A number from the first to the second.
    Number(f64, f64),
    /// A size in bytes from the first to the second: `4096` or `4KiB`.
    Bytes(u64, u64),
    /// A duration in nanoseconds up to this: `50us` or `50000`.
    Duration(u64),
    Rate,
    Text,
    /// A rule of its own: the allowed values in words, and the value in its one canonical form.
    Rule(&'static str, fn(&Value) -> Option<Value>),
}

#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum ParamError {
    #[error("workload `{name}` is not known{}; known are {known}", meant(closest))]
    UnknownWorkload { name: String, closest: Option<&'static str>, known: String },
    #[error(
        "parameter `{name}` of workload {workload} is not known{}; known are {known}",
        meant(closest)
    )]
    UnknownParam {
        workload: &'static str,
        name: String,
        closest: Option<&'static str>,
        known: String,
    },
    #[error("{workload}: {name} = {value} is not allowed; use {allowed}")]
    Value { workload: &'static str, name: &'static str, value: String, allowed: String },
    /// Two parameters contradict each other.
    #[error("{workload}: {name} = {value}: {reason}")]
    Together { workload: &'static str, name: &'static str, value: String, reason: String },
}

impl ParamError {
    /// The parameter that the error is about, if it is about one: the key to point at in a plan.
    pub fn param(&self) -> Option<&str> {
        match self {
            ParamError::UnknownWorkload { .. } => None,
            ParamError::UnknownParam { name, .. } => Some(name),
            ParamError::Value { name, .. } | ParamError::Together { name, .. } => Some(name),
        }
    }
}

fn meant(closest: &Option<&'static str>) -> String {
    closest.map(|name| format!("; did you mean `{name}`?")).unwrap_or_default()
}

impl Literal {
    pub fn value(self) -> Value {
        match self {
            Literal::Text(text) => text.into(),
            Literal::Integer(integer) => integer.into(),
            Literal::Number(number) => number.into(),
        }
    }
}

impl Check {
    pub fn allowed(&self) -> String {
        match self {
            Check::Words(words) => format!("one of {}", words().join(", ")),
            Check::Integer(min, max) => format!("a whole number from {min} to {max}"),
            Check::Number(min, max) => format!("a number from {min} to {max}"),
            Check::Bytes(min, max) => format!("a size from {min} to {max} bytes, like 4KiB"),
            Check::Duration(_) => {
                "a duration like 50us, 10ms or 1s (a number is nanoseconds)".into()
            }
            Check::Rate => "a rate above 0 per second, like 1000 or 2.5k/s".into(),
            Check::Text => "a text".into(),
            Check::Rule(allowed, _) => (*allowed).into(),
        }
    }

    /// The value in its one canonical form, so that a cell's hash does not hang on spelling.
    pub fn accept(&self, value: &Value) -> Option<Value> {
        match self {
            Check::Words(words) => {
                let word = value.as_str()?;
                words().contains(&word).then(|| word.into())
            }
            Check::Integer(min, max) => {
                whole(value).filter(|n| (min..=max).contains(&n)).map(Value::from)
            }
            Check::Number(min, max) => {
                value.as_f64().filter(|n| (min..=max).contains(&n)).map(Value::from)
            }
            Check::Bytes(min, max) => {
                let bytes = whole(value).or_else(|| parse_bytes(value.as_str()?).ok())?;
                (*min..=*max).contains(&bytes).then(|| bytes.into())
            }
            Check::Duration(max) => {
                let ns = whole(value).or_else(|| parse_duration_ns(value.as_str()?).ok())?;
                (ns <= *max).then(|| ns.into())
            }
            Check::Rate => {
                let rate = value.as_f64().or_else(|| parse_rate_per_s(value.as_str()?).ok())?;
                (rate > 0.0 && rate <= RATE_MAX_PER_S).then(|| rate.into())
            }
            Check::Text => value.as_str().map(Value::from),
            Check::Rule(_, accept) => accept(value),
        }
    }
}

/// A whole number, also when it was written as `16.0`.
fn whole(value: &Value) -> Option<u64> {
    value.as_u64().or_else(|| {
        let number = value.as_f64()?;
        (number.fract() == 0.0 && (0.0..9e15).contains(&number)).then_some(number as u64)
    })
}

/// One line: name, default, what is allowed, what it does.
impl fmt::Display for Param {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Param { name, doc, default, check } = self;
        let default = match default.value() {
            Value::String(word) if word.is_empty() => "nothing".into(),
            Value::String(word) => word,
            other => other.to_string(),
        };
        write!(f, "{name} = {default} ({}): {doc}", check.allowed())
    }
}

#[derive(Debug, Clone, PartialEq)]
pub struct Resolved {
    pub workload: &'static str,
    /// The values in their canonical form, in the order of their names.
    pub params: Map<String, Value>,
}

impl Resolved {
    pub fn new(
        workload: &'static str,
        known: &'static [Param],
        asked: &Map<String, Value>,
    ) -> Result<Resolved, ParamError> {
        if let Some(name) = asked.keys().find(|name| known.iter().all(|p| p.name != *name)) {
            return Err(unknown(workload, known, name));
        }
        let mut params = Map::new();
        for param in known {
            let value = asked.get(param.name).cloned().unwrap_or_else(|| param.default.value());
            let accepted = param.check.accept(&value).ok_or_else(|| ParamError::Value {
                workload,
                name: param.name,
                value: value.to_string(),
                allowed: param.check.allowed(),
            })?;
            params.insert(param.name.into(), accepted);
        }
        Ok(Resolved { workload, params })
    }

    /// A parameter's value; `null` for a name that the workload does not have.
    pub fn value(&self, name: &str) -> &Value {
        self.params.get(name).unwrap_or(&Value::Null)
    }

    /// A parameter as text; empty when it is not one.
    pub fn text(&self, name: &str) -> &str {
        self.value(name).as_str().unwrap_or_default()
    }

    /// A parameter as a whole number; 0 when it is not one.
    pub fn integer(&self, name: &str) -> u64 {
        self.value(name).as_u64().unwrap_or_default()
    }

    /// A parameter as a number; 0 when it is not one.
    pub fn number(&self, name: &str) -> f64 {
        self.value(name).as_f64().unwrap_or_default()
    }

    pub fn together(&self, name: &'static str, reason: impl Into<String>) -> ParamError {
        let value = self.value(name).to_string();
        ParamError::Together { workload: self.workload, name, value, reason: reason.into() }
    }
}

fn unknown(workload: &'static str, known: &'static [Param], name: &str) -> ParamError {
    let names = || known.iter().map(|param| param.name);
    let list: Vec<_> = names().collect();
    ParamError::UnknownParam {
        workload,
        name: name.into(),
        closest: closest(name, names()),
        known: if list.is_empty() { "none".into() } else { list.join(", ") },
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    const KNOWN: &[Param] = &[
        Param {
            name: "sync",
            doc: "",
            default: Literal::Text("none"),
            check: Check::Words(|| vec!["none", "fsync"]),
        },
        Param {
            name: "size",
            doc: "",
            default: Literal::Integer(256),
            check: Check::Bytes(1, 1 << 20),
        },
        Param { name: "rate", doc: "", default: Literal::Number(1e3), check: Check::Rate },
        Param {
            name: "pause",
            doc: "",
            default: Literal::Text("50us"),
            check: Check::Duration(1_000_000_000),
        },
    ];

    fn resolve(asked: Value) -> Result<Resolved, ParamError> {
        Resolved::new("demo", KNOWN, asked.as_object().unwrap())
    }

    #[test]
    fn what_is_absent_takes_its_default_and_spelling_does_not_matter() {
        let plain = resolve(json!({ "size": 4096 })).unwrap();
        let spelled = resolve(json!({ "size": "4KiB", "rate": "1k/s", "pause": 50_000 })).unwrap();
        assert_eq!(plain, spelled);
        assert_eq!((plain.text("sync"), plain.integer("pause")), ("none", 50_000));
    }

    #[test]
    fn a_parameter_says_its_default_and_what_is_allowed() {
        assert_eq!(KNOWN[0].to_string(), "sync = none (one of none, fsync): ");
    }

    #[test]
    fn errors_name_the_parameter_the_value_and_the_way_out() {
        let error = resolve(json!({ "sync": "fdatasink" })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "demo: sync = \"fdatasink\" is not allowed; use one of none, fsync"
        );
        let error = resolve(json!({ "siez": 1 })).unwrap_err();
        assert_eq!(
            error.to_string(),
            "parameter `siez` of workload demo is not known; did you mean `size`?; \
             known are sync, size, rate, pause"
        );
        assert_eq!(error.param(), Some("siez"));
        assert!(resolve(json!({ "size": 0 })).is_err());
        assert!(resolve(json!({ "rate": 0 })).is_err());
        assert!(resolve(json!({ "rate": "fast" })).is_err());
    }
}
