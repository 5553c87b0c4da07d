#![allow(dead_code, clippy::unwrap_used)]

pub mod conform;
pub mod page;

use std::{collections::BTreeMap, fs, path::Path};

use syn::{Attribute, Fields, GenericArgument, Item, PathArguments, Type as Syntax};

#[derive(Debug, Clone, PartialEq)]
pub enum Type {
    Text,
    Number,
    Bool,
    Any,
    List(Box<Type>),
    Optional(Box<Type>),
    /// An object whose keys are data.
    Map(Box<Type>),
    Tuple(Vec<Type>),
    /// A type of ours, by its place in [`Source::types`].
    Named(usize),
}

#[derive(Debug, Clone)]
pub struct Field {
    pub name: String,
    pub of: Type,
    pub may_be_absent: bool,
    pub words: String,
}

#[derive(Debug, Clone)]
pub struct Variant {
    pub name: String,
    pub words: String,
    pub fields: Vec<Field>,
    pub inner: Option<Type>,
}

#[derive(Debug, Clone)]
pub enum Shape {
    Object(Vec<Field>),
    Same(Type),
    Choice { tag: Option<String>, variants: Vec<Variant> },
    ByHand,
}

#[derive(Debug, Clone)]
pub struct Declared {
    pub name: String,
    pub file: String,
    pub words: String,
    pub shape: Shape,
}

pub struct Source {
    pub types: Vec<Declared>,
}

struct Draft {
    name: String,
    file: String,
    item: Item,
    is_derived: bool,
}

impl Source {
    pub fn read(folders: &[&str]) -> Source {
        let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
        let mut drafts = Vec::new();
        for folder in folders {
            read_folder(&crates, folder, &mut drafts);
        }
        drafts.sort_by(|one, other| (&one.file, &one.name).cmp(&(&other.file, &other.name)));
        let types = drafts.iter().map(|draft| declared(draft, &drafts)).collect();
        Source { types }
    }

    pub fn find(&self, name: &str) -> usize {
        let (file, name) = name.rsplit_once("::").unwrap_or(("", name));
        let is = |known: &Declared| {
            known.name == name && (file.is_empty() || known.file.contains(&format!("/{file}.rs")))
        };
        let found = self.types.iter().enumerate().filter(|(_, known)| is(known));
        let found: Vec<_> = found.map(|(at, _)| at).collect();
        assert_eq!(found.len(), 1, "{name} stands in {} files", found.len());
        found[0]
    }
}

fn read_folder(crates: &Path, folder: &str, drafts: &mut Vec<Draft>) {
    for entry in fs::read_dir(crates.join(folder)).unwrap().flatten() {
        let file = format!("{folder}/{}", entry.file_name().to_string_lossy());
        if entry.path().is_dir() {
            read_folder(crates, &file, drafts);
        } else if file.ends_with(".rs") {
            let text = fs::read_to_string(entry.path()).unwrap();
            let items = syn::parse_file(&text).unwrap().items.into_iter();
            drafts.extend(items.filter_map(|item| draft(&file, item)));
        }
    }
}

fn draft(file: &str, item: Item) -> Option<Draft> {
    let (name, attributes) = match &item {
        Item::Struct(it) => (it.ident.to_string(), &it.attrs),
        Item::Enum(it) => (it.ident.to_string(), &it.attrs),
        _ => return None,
    };
    let is_derived = attributes.iter().any(|attribute| {
        attribute.path().is_ident("derive") && tokens(attribute).contains("Serialize")
    });
    Some(Draft { name, file: file.into(), item, is_derived })
}

fn tokens(attribute: &Attribute) -> String {
    match &attribute.meta {
        syn::Meta::List(list) => list.tokens.to_string(),
        _ => String::new(),
    }
}

fn declared(draft: &Draft, drafts: &[Draft]) -> Declared {
    let (shape, attributes) = match &draft.item {
        _ if !draft.is_derived => (Shape::ByHand, &Vec::new()),
        Item::Struct(it) => (of_struct(&it.fields, &draft.file, drafts), &it.attrs),
        Item::Enum(it) => (of_enum(it, &draft.file, drafts), &it.attrs),
        _ => unreachable!("a draft is a struct or an enum"),
    };
    let (name, file) = (draft.name.clone(), draft.file.clone());
    Declared { name, file, words: comment(attributes), shape }
}

fn of_struct(fields: &Fields, file: &str, drafts: &[Draft]) -> Shape {
    match fields {
        Fields::Named(_) => Shape::Object(named(fields, file, drafts)),
        Fields::Unnamed(inner) if inner.unnamed.len() == 1 => {
            Shape::Same(type_of(&inner.unnamed[0].ty, file, drafts))
        }
        _ => Shape::Same(Type::Any),
    }
}

fn of_enum(it: &syn::ItemEnum, file: &str, drafts: &[Draft]) -> Shape {
    let style = serde_value(&it.attrs, "rename_all");
    let variants = it.variants.iter().map(|variant| {
        let inner = match &variant.fields {
            Fields::Unnamed(inner) if inner.unnamed.len() == 1 => {
                Some(type_of(&inner.unnamed[0].ty, file, drafts))
            }
            Fields::Unnamed(_) => Some(Type::Any),
            _ => None,
        };
        let own = serde_value(&variant.attrs, "rename");
        Variant {
            name: own.unwrap_or_else(|| renamed(&variant.ident.to_string(), style.as_deref())),
            words: comment(&variant.attrs),
            fields: named(&variant.fields, file, drafts),
            inner,
        }
    });
    Shape::Choice { tag: serde_value(&it.attrs, "tag"), variants: variants.collect() }
}

fn named(fields: &Fields, file: &str, drafts: &[Draft]) -> Vec<Field> {
    let Fields::Named(fields) = fields else { return Vec::new() };
    let kept = fields.named.iter().filter(|field| !has_word(&field.attrs, "skip"));
    kept.map(|field| {
        assert!(!has_word(&field.attrs, "flatten"), "flatten is not understood");
        let own = field.ident.as_ref().unwrap().to_string();
        Field {
            name: serde_value(&field.attrs, "rename").unwrap_or(own),
            of: type_of(&field.ty, file, drafts),
            may_be_absent: has_word(&field.attrs, "skip_serializing_if"),
            words: comment(&field.attrs),
        }
    })
    .collect()
}

fn type_of(syntax: &Syntax, file: &str, drafts: &[Draft]) -> Type {
    let inner = |syntax: &Syntax| Box::new(type_of(syntax, file, drafts));
    match syntax {
        Syntax::Reference(it) => *inner(&it.elem),
        Syntax::Slice(it) => Type::List(inner(&it.elem)),
        Syntax::Array(it) => Type::List(inner(&it.elem)),
        Syntax::Tuple(it) => Type::Tuple(it.elems.iter().map(|elem| *inner(elem)).collect()),
        Syntax::Path(it) => {
            let last = it.path.segments.last().unwrap();
            let arguments: Vec<&Syntax> = match &last.arguments {
                PathArguments::AngleBracketed(all) => {
                    let types = all.args.iter();
                    types
                        .filter_map(|argument| match argument {
                            GenericArgument::Type(syntax) => Some(syntax),
                            _ => None,
                        })
                        .collect()
                }
                _ => Vec::new(),
            };
            match (last.ident.to_string().as_str(), &arguments[..]) {
                ("Vec" | "BTreeSet" | "HashSet", [of]) => Type::List(inner(of)),
                ("Option", [of]) => Type::Optional(inner(of)),
                ("Box" | "Arc" | "Cow", [of]) => *inner(of),
                ("BTreeMap" | "HashMap", [_, of]) => Type::Map(inner(of)),
                ("Map", _) => Type::Map(Box::new(Type::Any)),
                (name, _) => plain(name, file, drafts),
            }
        }
        _ => Type::Any,
    }
}

fn plain(name: &str, file: &str, drafts: &[Draft]) -> Type {
    match name {
        "String" | "str" | "PathBuf" | "Path" => Type::Text,
        "bool" => Type::Bool,
        "Value" => Type::Any,
        "u8" | "u16" | "u32" | "u64" | "usize" | "i32" | "i64" | "f64" => Type::Number,
        name => placed(name, file, drafts).map_or(Type::Any, Type::Named),
    }
}

/// The type of a name as a file means it: its own, else the only one of its crate, else of all.
fn placed(name: &str, file: &str, drafts: &[Draft]) -> Option<usize> {
    let own = file.split('/').next();
    let all = || drafts.iter().enumerate().filter(|(_, draft)| draft.name == name);
    let only = |found: Vec<usize>| (found.len() == 1).then(|| found[0]);
    let here = all().find(|(_, draft)| draft.file == file).map(|(at, _)| at);
    let in_crate = |draft: &Draft| draft.file.split('/').next() == own;
    here.or_else(|| only(all().filter(|(_, d)| in_crate(d)).map(|(at, _)| at).collect()))
        .or_else(|| only(all().map(|(at, _)| at).collect()))
}

/// The first paragraph of a comment, on one line.
fn comment(attributes: &[Attribute]) -> String {
    let lines = attributes.iter().filter_map(|attribute| match &attribute.meta {
        syn::Meta::NameValue(pair) if pair.path.is_ident("doc") => match &pair.value {
            syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
            _ => None,
        },
        _ => None,
    });
    let lines: Vec<String> = lines.map(|line| line.trim().to_owned()).collect();
    lines.split(String::is_empty).next().unwrap_or_default().join(" ")
}

fn serde_words(attributes: &[Attribute]) -> String {
    let own = attributes.iter().filter(|attribute| attribute.path().is_ident("serde"));
    own.map(tokens).collect::<Vec<_>>().join(", ")
}

fn serde_value(attributes: &[Attribute], key: &str) -> Option<String> {
    let words = serde_words(attributes);
    let mut pairs = words.split(',').filter_map(|pair| pair.split_once('='));
    let (_, value) = pairs.find(|(name, _)| name.trim() == key)?;
    Some(value.trim().trim_matches('"').to_owned())
}

fn has_word(attributes: &[Attribute], word: &str) -> bool {
    let words = serde_words(attributes);
    words.split(',').any(|part| part.split('=').next().is_some_and(|name| name.trim() == word))
}

fn renamed(name: &str, style: Option<&str>) -> String {
    let mut out = String::new();
    for (at, letter) in name.chars().enumerate() {
        match style {
            Some("kebab-case") if letter.is_uppercase() && at > 0 => out.push('-'),
            Some("snake_case") if letter.is_uppercase() && at > 0 => out.push('_'),
            _ => {}
        }
        match style {
            Some(_) => out.extend(letter.to_lowercase()),
            None => out.push(letter),
        }
    }
    out
}

pub fn reached(source: &Source, roots: &[usize]) -> Vec<usize> {
    let mut found: Vec<usize> = roots.to_vec();
    let mut at = 0;
    while at < found.len() {
        let mut inner = BTreeMap::new();
        match &source.types[found[at]].shape {
            Shape::Object(fields) => fields.iter().for_each(|f| names_in(&f.of, &mut inner)),
            Shape::Same(of) => names_in(of, &mut inner),
            Shape::Choice { variants, .. } => variants.iter().for_each(|variant| {
                variant.fields.iter().for_each(|field| names_in(&field.of, &mut inner));
                variant.inner.iter().for_each(|of| names_in(of, &mut inner));
            }),
            Shape::ByHand => {}
        }
        found.extend(inner.into_keys().filter(|at| !found.contains(at)).collect::<Vec<_>>());
        at += 1;
    }
    found
}

fn names_in(of: &Type, found: &mut BTreeMap<usize, ()>) {
    match of {
        Type::Named(at) => drop(found.insert(*at, ())),
        Type::List(of) | Type::Optional(of) | Type::Map(of) => names_in(of, found),
        Type::Tuple(all) => all.iter().for_each(|of| names_in(of, found)),
        Type::Text | Type::Number | Type::Bool | Type::Any => {}
    }
}
