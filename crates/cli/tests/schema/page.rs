//! The types as Markdown, in the order of their names.

use std::fmt::Write;

use super::{Declared, Field, Shape, Source, Type, reached};

/// All types that some roots need.
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

/// The name of a type; with its module where another one has the same.
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
    match &declared.shape {
        Shape::Object(fields) => table(source, fields, out),
        Shape::Choice { tag, variants } => {
            let plain = variants.iter().all(|v| v.fields.is_empty() && v.inner.is_none());
            let _ = match tag {
                Some(tag) => write!(out, "An object; `{tag}` says which one it is.\n\n"),
                None if plain => write!(out, "A text, one of these.\n\n"),
                None => {
                    write!(out, "A text, or an object whose only key says which one it is.\n\n")
                }
            };
            let _ = write!(
                out,
                "| {} | fields | meaning |\n|---|---|---|\n",
                tag.as_deref().unwrap_or("value")
            );
            for variant in variants {
                let fields = variant.fields.iter().map(|field| {
                    format!(
                        "`{}`: {} ({})",
                        field.name,
                        told(source, &field.of),
                        words(&field.words)
                    )
                });
                let inner = variant.inner.iter().map(|of| told(source, of));
                let fields: Vec<_> = fields.chain(inner).collect();
                let (name, meaning) = (&variant.name, words(&variant.words));
                let _ = writeln!(out, "| `{name}` | {} | {meaning} |", fields.join("; "));
            }
            out.push('\n');
        }
        Shape::Same(_) | Shape::ByHand => {}
    }
}

fn table(source: &Source, fields: &[Field], out: &mut String) {
    out.push_str("| field | type | meaning |\n|---|---|---|\n");
    for field in fields {
        let absent = if field.may_be_absent { ", may be absent" } else { "" };
        let (of, meaning) = (told(source, &field.of), words(&field.words));
        let _ = writeln!(out, "| `{}` | {of}{absent} | {meaning} |", field.name);
    }
    out.push('\n');
}

fn told(source: &Source, of: &Type) -> String {
    match of {
        Type::Text => "text".into(),
        Type::Number => "number".into(),
        Type::Bool => "true or false".into(),
        Type::Any => "any JSON".into(),
        Type::List(of) => format!("list of {}", told(source, of)),
        Type::Optional(of) => format!("{} or null", told(source, of)),
        Type::Map(of) => format!("object of {}", told(source, of)),
        Type::Tuple(all) => {
            let all: Vec<_> = all.iter().map(|of| told(source, of)).collect();
            format!("list of ({})", all.join(", "))
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

/// A comment as a cell: links of rustdoc become names, bars are kept from ending the cell.
fn words(comment: &str) -> String {
    let plain = comment.replace("[`", "`").replace("`]", "`").replace("crate::", "");
    plain.replace('|', "\\|")
}
