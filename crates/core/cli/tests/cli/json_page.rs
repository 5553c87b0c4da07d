//! `docs/json.md` says what `--json` says: its types are the schema of the program's own types, and what
//! commands say is held against them. To write the page anew:
//!
//! ```text
//! PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-cli --test cli json_page
//! ```

use std::{fmt::Write, fs, path::PathBuf};

use crate::pickfs::{folder, pickfs, stored};
use pickfs_analysis::{
    articles, compare::RunComparison, objective, published::Beside, trust::Trust,
};
use pickfs_record::{
    Diagnosis, Event, Findings, Plan, RunRecord, TrialRecord, features::FeatureTable,
};
use pickfs_testkit::{FakeRun, fake_run};
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
        add::<FeatureTable>,
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

/// Whether a type has a heading; the others are told where they stand.
fn has_heading(schema: &Value) -> bool {
    ["properties", "oneOf", "enum"].iter().any(|word| schema.get(word).is_some())
}

/// The first paragraph of a comment, with links of rustdoc as names.
fn words(schema: &Value) -> String {
    let first = schema["description"].as_str().unwrap_or_default().split("\n\n").next();
    let first = first.unwrap_or_default().replace('\n', " ").replace("crate::", "");
    first.replace("[`", "`").replace("`]", "`")
}

/// A comment in brackets.
fn aside(schema: &Value) -> String {
    match words(schema) {
        none if none.is_empty() => none,
        words => format!(" ({})", words.trim_end_matches('.')),
    }
}

/// What a name cannot say: values, numbers, ranges.
fn meaning(schema: &Value) -> String {
    let counts = words(schema).contains(|c: char| c == '`' || c.is_ascii_digit());
    if counts { aside(schema) } else { String::new() }
}

/// A schema without the null that it allows, and whether it does.
fn required(schema: &Value) -> (Value, bool) {
    let mut schema = schema.clone();
    let is_null = |of: &Value| *of == "null" || of["type"] == "null";
    for word in ["anyOf", "type"] {
        if let Some(all) = schema[word].as_array().filter(|all| all.iter().any(is_null)) {
            let one = all.iter().find(|of| !is_null(of)).cloned().unwrap_or_default();
            match one {
                Value::String(_) => schema[word] = one,
                of => schema = of,
            }
            return (schema, true);
        }
    }
    (schema, false)
}

/// A type in words.
fn told(types: &Map<String, Value>, schema: &Value) -> String {
    let inner = |schema: &Value| told(types, schema);
    if let (of, true) = required(schema) {
        return inner(&of) + "?";
    }
    if let Some(name) = schema["$ref"].as_str().and_then(|path| path.rsplit('/').next()) {
        return match &types[name] {
            of if has_heading(of) => format!("[{name}](#{})", name.to_lowercase()),
            of => inner(of),
        };
    }
    match (schema["type"].as_str(), schema["prefixItems"].as_array()) {
        (_, Some(all)) => format!("({})", all.iter().map(inner).collect::<Vec<_>>().join(",")),
        (Some("string"), _) => "text".into(),
        (Some("integer"), _) => "number".into(),
        (Some("boolean"), _) => "bool".into(),
        (Some("array"), _) => inner(&schema["items"]) + "[]",
        (Some("object"), _) => format!("{{{}}}", inner(&schema["additionalProperties"])),
        (Some(name), _) => name.to_owned(),
        (None, _) => "any".into(),
    }
}

/// Fields with their schemas: those that always stand there in the order of the declaration, then the others.
fn fields(schema: &Value) -> Vec<(&str, &Value, bool)> {
    let all = schema["properties"].as_object().into_iter().flatten();
    let required = schema["required"].as_array().into_iter().flatten();
    let required: Vec<&str> = required.filter_map(Value::as_str).collect();
    let optional = all.map(|(name, _)| name.as_str()).filter(|name| !required.contains(name));
    let named = required.iter().map(|name| (*name, false)).chain(optional.map(|name| (name, true)));
    named
        .filter_map(|(name, absent)| Some((name, schema["properties"].get(name)?, absent)))
        .collect()
}

/// Fields of one type together, in the order of the first of each; a choice's tag is told elsewhere.
fn grouped(types: &Map<String, Value>, schema: &Value) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for (name, of, absent) in fields(schema) {
        if of.get("const").is_some() {
            continue;
        }
        let meaning = meaning(of);
        let (of, is_optional) = required(of);
        let text = format!("`{name}`{}{meaning}", if is_optional || absent { "?" } else { "" });
        let of = told(types, &of);
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) => names.push(text),
            None => groups.push((of, vec![text])),
        }
    }
    groups.iter().map(|(of, names)| format!("{of} {}", names.join(", "))).collect()
}

/// A choice: its tag, if it has one, and its variants with what stands in them.
fn choice(types: &Map<String, Value>, schema: &Value) -> String {
    let (mut tag, mut is_plain, mut rows) = (None, true, Vec::new());
    for variant in [schema].into_iter().chain(schema["oneOf"].as_array().into_iter().flatten()) {
        let names = variant["enum"].as_array().into_iter().flatten().chain(variant.get("const"));
        rows.extend(
            names.filter_map(Value::as_str).map(|name| format!("`{name}`{}", meaning(variant))),
        );
        let all = fields(variant);
        let tagged = all.iter().find_map(|(key, of, _)| Some((*key, of["const"].as_str()?)));
        let (name, held) = match (tagged, all.first()) {
            (Some((key, name)), _) => {
                tag = Some(key.to_owned());
                let inner = variant.get("$ref").map(|_| told(types, variant));
                (name, grouped(types, variant).into_iter().chain(inner).collect())
            }
            (None, Some((name, of, _))) if of.get("properties").is_some() => {
                (*name, grouped(types, of))
            }
            (None, Some((name, of, _))) => (*name, vec![told(types, of)]),
            (None, None) => continue,
        };
        is_plain = false;
        let held = if held.is_empty() { String::new() } else { format!(": {}", held.join("; ")) };
        rows.push(format!("`{name}`{}{held}", aside(variant)));
    }
    match tag {
        Some(tag) => format!("By `{tag}`:\n\n- {}", rows.join("\n- ")),
        None if is_plain => format!("A text: {}.", rows.join(", ")),
        None => format!("A text, or an object with one key:\n\n- {}", rows.join("\n- ")),
    }
}

/// The types as Markdown, in the order of their names.
fn page(types: &Map<String, Value>) -> String {
    let mut out = String::new();
    for (name, schema) in types.iter().filter(|(_, schema)| has_heading(schema)) {
        let held = match schema.get("properties") {
            Some(_) => grouped(types, schema).join("; "),
            None => choice(types, schema),
        };
        let _ = write!(out, "### {name}\n\n{}\n\n{held}\n\n", words(schema));
    }
    out
}

#[test]
fn the_page_lists_every_type_as_the_program_has_it() {
    let wanted = format!("\n{}\n\n", page(&types()).trim());
    let path = PathBuf::from(concat!(env!("CARGO_MANIFEST_DIR"), "/../../../docs/json.md"));
    let text = fs::read_to_string(&path).unwrap();
    let (begin, end) = ("<!-- begin types -->\n", "<!-- end types -->");
    let (head, rest) = text.split_once(begin).expect("the part begins");
    let (found, tail) = rest.split_once(end).expect("the part ends");
    if std::env::var_os("PICKFS_UPDATE_DOCS").is_some() {
        fs::write(&path, format!("{head}{begin}{wanted}{end}{tail}")).unwrap();
    } else {
        let hint = "run PICKFS_UPDATE_DOCS=1 cargo test -p pickfs-cli --test cli json_page";
        assert!(found == wanted, "docs/json.md: the types are not those of the source; {hint}");
    }
}

/// The type's own fields; what stands in them comes from the same declarations.
fn assert_fits(value: &Value, name: &str) {
    let types = types();
    let all = fields(&types[name]);
    let keys: Vec<&str> = value.as_object().unwrap().keys().map(String::as_str).collect();
    let unknown = keys.iter().find(|key| !all.iter().any(|(known, ..)| known == *key));
    let missing = all.iter().find(|(known, _, absent)| !absent && !keys.contains(known));
    assert!(unknown.is_none() && missing.is_none(), "{name}: {unknown:?} {missing:?}");
}

/// What a command says as one value.
fn said(words: &[&str]) -> Value {
    let said = pickfs(words);
    assert_eq!(said.code, Some(0), "{words:?}: {said:?}");
    serde_json::from_str(&said.out).unwrap_or_else(|why| panic!("{words:?}: {why}: {}", said.out))
}

#[test]
fn what_the_commands_say_fits() {
    let (_kept, out) = folder();
    let run = |name: &str, seed: u64| {
        stored(&out, name, &fake_run(&FakeRun { seed, blocks: 10, ..FakeRun::default() }))
    };
    let [a, b, c] = [run("a", 1), run("b", 2), run("c", 3)];
    assert_fits(&said(&["plan", "quick", "--json"]), "Plan");
    assert_fits(&said(&["doctor", "--json"]), "Diagnosis");
    assert_fits(&said(&["show", &a, "--trial", "1"]), "TrialRecord");
    assert_fits(&said(&["compare", &a, &b, "--json"]), "RunComparison");
    assert_fits(&said(&["compare", &a, &b, &c, "--json"]), "RunComparison");
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
    let rows = said(&["show", out.to_str().unwrap(), "--json"]);
    let keys = |at: usize| {
        let object = rows[at].as_object().unwrap();
        object.keys().map(String::as_str).collect::<Vec<_>>().join(" ")
    };
    assert_eq!(keys(0), "ended ending name path question started trials");
    assert_eq!(keys(1), "error path");
}
