//! Links of a page: each leads to a file that is there, and to a heading that it has.
//!
//! Only links within the repository are looked at; the network is not asked.

/// Code left out, with their lines.
pub fn targets(page: &str) -> Vec<(usize, String)> {
    let mut found = Vec::new();
    let mut in_code = false;
    for (index, line) in page.lines().enumerate() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        if in_code {
            continue;
        }
        let bare = without_code(line);
        for part in bare.split("](").skip(1) {
            let target = part.split([')', ' ']).next().unwrap_or_default();
            found.push((index + 1, target.to_owned()));
        }
    }
    found
}

fn without_code(line: &str) -> String {
    line.split('`').step_by(2).collect()
}

pub fn is_ours(target: &str) -> bool {
    !["http://", "https://", "mailto:"].iter().any(|scheme| target.starts_with(scheme))
}

/// The path that a target of a page means, from the top of the repository, and its heading.
/// Nothing where it leaves the repository.
pub fn resolved(page_path: &str, target: &str) -> Option<(String, Option<String>)> {
    let (file, heading) = match target.split_once('#') {
        Some((file, heading)) => (file, Some(heading.to_owned())),
        None => (target, None),
    };
    if file.is_empty() {
        return Some((page_path.to_owned(), heading));
    }
    let mut parts: Vec<&str> = page_path.split('/').collect();
    parts.pop();
    for part in file.split('/') {
        match part {
            "." | "" => {}
            ".." => drop(parts.pop()?),
            name => parts.push(name),
        }
    }
    Some((parts.join("/"), heading))
}

/// The names under which the headings of a page are reached, as the usual renderers make them:
/// lower case, spaces to dashes, no punctuation; a second one of a name ends with `-1`.
pub fn headings(page: &str) -> Vec<String> {
    let mut names: Vec<String> = Vec::new();
    let mut in_code = false;
    for line in page.lines() {
        if line.trim_start().starts_with("```") {
            in_code = !in_code;
        }
        let level = line.bytes().take_while(|b| *b == b'#').count();
        if in_code || !(1..=6).contains(&level) || !line[level..].starts_with(' ') {
            continue;
        }
        let name = heading_name(line[level..].trim());
        let same = names.iter().filter(|known| **known == name).count();
        names.push(if same == 0 { name } else { format!("{name}-{same}") });
    }
    names
}

fn heading_name(text: &str) -> String {
    let lower = text.to_lowercase();
    let kept = lower.chars().filter_map(|c| match c {
        ' ' => Some('-'),
        c if c.is_alphanumeric() || c == '-' || c == '_' => Some(c),
        _ => None,
    });
    kept.collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_are_found_and_code_is_not() {
        let page = "A [b](c.md#d) and ![e](f.png).\n`[no](x)`\n```\n[no](y)\n```\n[g](<h>)\n";
        let found = targets(page);
        let names: Vec<_> = found.iter().map(|(line, to)| (*line, to.as_str())).collect();
        assert_eq!(names, [(1, "c.md#d"), (1, "f.png"), (6, "<h>")]);
    }

    #[test]
    fn targets_are_resolved_from_their_page() {
        let at = |target: &str| resolved("docs/a/b.md", target);
        assert_eq!(at("../c.md#d"), Some(("docs/c.md".into(), Some("d".into()))));
        assert_eq!(at("#d"), Some(("docs/a/b.md".into(), Some("d".into()))));
        assert_eq!(at("../../../etc"), None);
        assert!(is_ours("c.md") && !is_ours("https://x"));
    }

    #[test]
    fn headings_have_the_names_that_renderers_give() {
        let page = "# How not to fool yourself\n```\n# code\n```\n## `--json`: what?\n## A\n## A\n";
        assert_eq!(headings(page), ["how-not-to-fool-yourself", "--json-what", "a", "a-1"]);
    }
}
