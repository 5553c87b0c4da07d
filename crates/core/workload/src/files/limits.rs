use pickfs_candidate::fs::limited_types;

use super::names::NAME_BYTES_MAX;

/// Of our names, with a mark before each.
pub(super) const MARKED_NAME_BYTES: u32 = NAME_BYTES_MAX as u32 + 1;

pub fn limits_markdown() -> String {
    let mut text = String::from(
        "| type | longest file, bytes | our names in a directory | names of one file | directories in a \
         directory | symbolic links | case |\n|---|---|---|---|---|---|---|\n",
    );
    for (fs_type, limits) in limited_types() {
        let number = |number: Option<u64>| number.map_or("-".into(), |number| number.to_string());
        let links = match limits.hard_links_max {
            Some(0) => "one: no hard links".into(),
            other => number(other.map(u64::from)),
        };
        text += &format!(
            "| `{fs_type}` | {} | {} | {links} | {} | {} | {} |\n",
            number(limits.file_bytes_max),
            number(limits.directory.names_max(MARKED_NAME_BYTES).map(u64::from)),
            number(limits.subdirectories_max.map(u64::from)),
            if limits.has_symbolic_links { "yes" } else { "no" },
            if limits.is_case_blind { "not told apart" } else { "told apart" },
        );
    }
    text
}
