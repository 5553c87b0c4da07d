//! `docs/json-schema.json` is the schema of the program's own types, and what commands say is held against it.
//! To write it anew:
//!
//! ```text
//! PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-cli --test cli json_page
//! ```

use std::fs;

use crate::pickfs::{folder, pickfs, stored};
use pickfs_analysis::{
    articles, compare::RunComparison, objective, published::Beside, trust::Trust,
};
use pickfs_record::{Diagnosis, Event, Findings, Plan, RunRecord, TrialRecord};
use pickfs_testkit::{FakeRun, docs, fake_run};
use schemars::{JsonSchema, generate::SchemaSettings};
use serde_json::{Map, Value};

/// Schemas by the name of the type, of all that some command says.
fn types() -> Map<String, Value> {
    let mut all = SchemaSettings::draft2020_12().for_serialize().into_generator();
    fn add<T: JsonSchema>(all: &mut schemars::SchemaGenerator) {
        all.subschema_for::<T>();
    }
    let roots = [
        add::<Event>,
        add::<Findings>,
        add::<Trust>,
        add::<Plan>,
        add::<Diagnosis>,
        #[cfg(feature = "features")]
        add::<pickfs_features::answers::FeatureTable>,
        add::<TrialRecord>,
        add::<RunRecord>,
        add::<RunComparison>,
        add::<Beside>,
        add::<articles::Answer>,
        add::<objective::Choice>,
        add::<objective::Objective>,
    ];
    roots.into_iter().for_each(|root| root(&mut all));
    all.take_definitions(true)
}

/// A JSON Schema with one type a line.
fn schema() -> String {
    let lines: Vec<String> = types().iter().map(|(name, of)| format!("\"{name}\": {of}")).collect();
    let head = "{\n\"$schema\": \"https://json-schema.org/draft/2020-12/schema\",\n\"$defs\": {\n";
    format!("{head}{}\n}}\n}}\n", lines.join(",\n"))
}

#[test]
fn the_schema_is_that_of_the_programs_types() {
    if cfg!(not(feature = "features")) {
        return println!("SKIPPED(unit): the schema is that of the whole program");
    }
    docs::keep("docs/json-schema.json", &schema(), "-p pickfs-cli --test cli json_page");
}

#[test]
fn the_page_names_types_that_the_schema_has() {
    let page = include_str!("../../../../../docs/json.md");
    let types = types();
    for name in page.split("`[").skip(1).filter_map(|rest| Some(rest.split_once(']')?.0)) {
        assert!(types.contains_key(name), "{name}");
    }
}

/// The type's own fields; what stands in them comes from the same declarations.
fn assert_fits(value: &Value, name: &str) {
    let types = types();
    let known = types[name]["properties"].as_object().unwrap();
    let has = value.as_object().unwrap();
    let unknown = has.keys().find(|key| !known.contains_key(*key));
    let required =
        types[name]["required"].as_array().into_iter().flatten().filter_map(Value::as_str);
    let missing = required.into_iter().find(|key| !has.contains_key(*key));
    assert!(unknown.is_none() && missing.is_none(), "{name}: {unknown:?} {missing:?}");
}

#[test]
fn what_the_commands_say_fits() {
    let (_kept, out) = folder();
    let run = |name: &str, seed: u64| {
        stored(&out, name, &fake_run(&FakeRun { seed, blocks: 10, ..FakeRun::default() }))
    };
    let [a, b, c] = [run("a", 1), run("b", 2), run("c", 3)];
    assert_fits(&pickfs(&["plan", "quick", "--json"]).json(), "Plan");
    assert_fits(&pickfs(&["doctor", "--json"]).json(), "Diagnosis");
    assert_fits(&pickfs(&["show", &a, "--trial", "1"]).json(), "TrialRecord");
    assert_fits(&pickfs(&["compare", &a, &b, "--json"]).json(), "RunComparison");
    assert_fits(&pickfs(&["compare", &a, &b, &c, "--json"]).json(), "RunComparison");
    let written = pickfs(&["report", &a, "--format", "json"]);
    assert_eq!(written.code, Some(0), "{written:?}");
    let report = fs::read(format!("{a}/report.json")).unwrap();
    let report: Value = serde_json::from_slice(&report).unwrap();
    assert_fits(&report["run"], "RunRecord");
    assert_fits(&report["findings"], "Findings");
    assert_eq!(report.as_object().unwrap().len(), 2);
}

#[test]
fn the_list_has_the_fields_that_the_page_names() {
    let (_kept, out) = folder();
    stored(&out, "run", &fake_run(&FakeRun::default()));
    fs::write(out.join("junk.pickfs"), "junk").unwrap();
    let rows = pickfs(&["show", out.to_str().unwrap(), "--json"]).json();
    let keys = |at: usize| {
        let object = rows[at].as_object().unwrap();
        object.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(0), "ended ending name path question started trials");
    assert_eq!(keys(1), "error path");
}
