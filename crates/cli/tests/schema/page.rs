use std::fmt::Write;

use super::{Declared, Field, Shape, Source, Type, reached};

pub fn page(source: &Source, roots: &[usize]) -> String {
    let mut all = reached(source, roots);
    all.retain(|at| !matches!(source.types[*at].shape, Shape::Same(_) | Shape::ByHand));
    all.sort_by_key(|at| source.types[*at].name.clone());
    let mut out = String::new();
    for at in all {
        let declared = &source.types[at];
        let _ = write!(out, "### {}\n\n{}\n\n", title(source, at), words(&declared.words));
        body(source, declared, &mut out);
    }
    out
}

fn title(source: &Source, at: usize) -> String {
    let declared = &source.types[at];
    let same = source.types.iter().filter(|other| other.name == declared.name).count();
    let stem = declared.file.trim_end_matches(".rs").trim_end_matches("/mod");
    match same {
        1 => declared.name.clone(),
        _ => format!("{} of {}", declared.name, stem.rsplit('/').next().unwrap_or_default()),
    }
}

fn body(source: &Source, declared: &Declared, out: &mut String) {
    let _ = match &declared.shape {
        Shape::Object(fields) => writeln!(out, "- {}\n", grouped(source, fields).join("\n- ")),
        Shape::Choice { tag, variants } => {
            let plain = variants.iter().all(|v| v.fields.is_empty() && v.inner.is_none());
            let all = variants.iter().map(|variant| {
                let mut held = grouped(source, &variant.fields);
                held.extend(variant.inner.iter().map(|of| told(source, of)));
                let held =
                    if held.is_empty() { held } else { vec![String::new(), held.join("; ")] };
                format!("`{}`{}{}", variant.name, aside(&variant.words), held.join(": "))
            });
            let all: Vec<String> = all.collect();
            match tag {
                Some(tag) => writeln!(out, "By `{tag}`:\n\n- {}\n", all.join("\n- ")),
                None if plain => writeln!(out, "A text: {}.\n", all.join(", ")),
                None => {
                    writeln!(out, "A text, or an object with one key:\n\n- {}\n", all.join("\n- "))
                }
            }
        }
        Shape::Same(_) | Shape::ByHand => Ok(()),
    };
}

/// Fields of one type together, in the order of the first of each.
fn grouped(source: &Source, fields: &[Field]) -> Vec<String> {
    let mut groups: Vec<(String, Vec<String>)> = Vec::new();
    for field in fields {
        // What a name cannot say: values, numbers, ranges.
        let counts = field.words.contains(|c: char| c == '`' || c.is_ascii_digit());
        let meaning = if counts { aside(&field.words) } else { String::new() };
        let (of, is_optional) = match &field.of {
            Type::Optional(of) => (told(source, of), true),
            of => (told(source, of), field.may_be_absent),
        };
        let text = format!("`{}`{}{meaning}", field.name, if is_optional { "?" } else { "" });
        match groups.iter_mut().find(|(known, _)| *known == of) {
            Some((_, names)) => names.push(text),
            None => groups.push((of, vec![text])),
        }
    }
    groups.iter().map(|(of, names)| format!("{of}: {}", names.join(", "))).collect()
}

/// A comment in brackets.
fn aside(comment: &str) -> String {
    format!(" ({})", words(comment).trim_end_matches('.'))
}

fn told(source: &Source, of: &Type) -> String {
    match of {
        Type::Text => "text".into(),
        Type::Number => "number".into(),
        Type::Bool => "bool".into(),
        Type::Any => "any".into(),
        Type::List(of) => format!("{}[]", told(source, of)),
        Type::Optional(of) => format!("{}?", told(source, of)),
        Type::Map(of) => format!("{{{}}}", told(source, of)),
        Type::Tuple(all) => {
            let all: Vec<_> = all.iter().map(|of| told(source, of)).collect();
            format!("({})", all.join(","))
        }
        Type::Named(at) => match &source.types[*at].shape {
            Shape::Same(of) => told(source, of),
            Shape::ByHand => "text".into(),
            _ => {
                let title = title(source, *at);
                let anchor = title.to_lowercase().replace(' ', "-");
                format!("[{title}](#{anchor})")
            }
        },
    }
}

/// A comment with links of rustdoc as names.
fn words(comment: &str) -> String {
    comment.replace("[`", "`").replace("`]", "`").replace("crate::", "")
}
