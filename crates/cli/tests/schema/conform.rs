use serde_json::Value;

use super::{Field, Shape, Source, Type, Variant};

pub fn misfits(source: &Source, value: &Value, of: &Type) -> Vec<String> {
    let mut found = Vec::new();
    Check { source, found: &mut found }.value(value, of, "$");
    found
}

struct Check<'a> {
    source: &'a Source,
    found: &'a mut Vec<String>,
}

impl Check<'_> {
    fn value(&mut self, value: &Value, of: &Type, path: &str) {
        match (of, value) {
            (Type::Any, _) | (Type::Text, Value::String(_)) | (Type::Bool, Value::Bool(_)) => {}
            // A number that is not finite is null.
            (Type::Number, Value::Number(_) | Value::Null) => {}
            (Type::Optional(_), Value::Null) => {}
            (Type::Optional(of), value) => self.value(value, of, path),
            (Type::List(of), Value::Array(items)) => {
                let numbered = items.iter().enumerate();
                numbered.for_each(|(at, item)| self.value(item, of, &format!("{path}[{at}]")));
            }
            (Type::Tuple(all), Value::Array(items)) if all.len() == items.len() => {
                let pairs = items.iter().zip(all).enumerate();
                pairs.for_each(|(at, (item, of))| self.value(item, of, &format!("{path}[{at}]")));
            }
            (Type::Map(of), Value::Object(object)) => {
                let entries = object.iter();
                entries.for_each(|(key, value)| self.value(value, of, &format!("{path}.{key}")));
            }
            (Type::Named(at), value) => self.declared(value, *at, path),
            (of, value) => self.tell(path, &format!("{value} is no {of:?}")),
        }
    }

    fn declared(&mut self, value: &Value, at: usize, path: &str) {
        let declared = &self.source.types[at];
        match &declared.shape {
            Shape::ByHand => self.value(value, &Type::Text, path),
            Shape::Same(of) => self.value(value, of, path),
            Shape::Object(fields) => self.object(value, fields, None, path),
            Shape::Choice { tag: Some(tag), variants } => {
                let name = value[tag].as_str().unwrap_or_default();
                match variants.iter().find(|variant| variant.name == name) {
                    Some(variant) => self.object(value, &variant.fields, Some(tag), path),
                    None => self.tell(path, &format!("{value} is no {}", declared.name)),
                }
            }
            Shape::Choice { tag: None, variants } => self.choice(value, variants, path),
        }
    }

    fn choice(&mut self, value: &Value, variants: &[Variant], path: &str) {
        let (name, inner) = match value {
            Value::String(name) => (name.as_str(), None),
            Value::Object(object) if object.len() == 1 => {
                let (name, inner) = object.iter().next().expect("one entry");
                (name.as_str(), Some(inner))
            }
            _ => ("", None),
        };
        let Some(variant) = variants.iter().find(|variant| variant.name == name) else {
            return self.tell(path, &format!("{value} is none of the choices"));
        };
        match (inner, &variant.inner) {
            (Some(value), Some(of)) => self.value(value, of, path),
            (Some(value), None) => self.object(value, &variant.fields, None, path),
            (None, None) if variant.fields.is_empty() => {}
            (None, _) => self.tell(path, &format!("{name} holds nothing")),
        }
    }

    fn object(&mut self, value: &Value, fields: &[Field], tag: Option<&str>, path: &str) {
        let Value::Object(object) = value else {
            return self.tell(path, &format!("{value} is no object"));
        };
        for key in object.keys().filter(|key| Some(key.as_str()) != tag) {
            if !fields.iter().any(|field| field.name == *key) {
                self.tell(path, &format!("field {key} is not declared"));
            }
        }
        for field in fields {
            match object.get(&field.name) {
                Some(value) => self.value(value, &field.of, &format!("{path}.{}", field.name)),
                None if field.may_be_absent => {}
                None => self.tell(path, &format!("field {} is missing", field.name)),
            }
        }
    }

    fn tell(&mut self, path: &str, what: &str) {
        let what: String = what.chars().take(120).collect();
        self.found.push(format!("{path}: {what}"));
    }
}
