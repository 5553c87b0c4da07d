use pickfs_candidate::fs::limited_types;

use super::names::NAME_BYTES_MAX;

/// Of our names, with a mark before each.
pub(super) const MARKED_NAME_BYTES: u32 = NAME_BYTES_MAX as u32 + 1;

/// Those of each type that has any, as a list.
pub fn limits_markdown() -> String {
    let mut text = String::new();
    for (fs_type, limits) in limited_types() {
        let most = |most: Option<u64>, what: &str| most.map(|most| format!("{most} {what}"));
        let names = limits.directory.names_max(MARKED_NAME_BYTES);
        let told = [
            most(limits.file_bytes_max, "bytes a file"),
            most(names.map(u64::from), "of our names a directory"),
            most(limits.hard_links_max.map(u64::from), "hard links"),
            most(limits.subdirectories_max.map(u64::from), "directories a directory"),
            (!limits.has_symbolic_links).then(|| "no symbolic links".into()),
            limits.is_case_blind.then(|| "case is not told apart".into()),
        ];
        let told: Vec<String> = told.into_iter().flatten().collect();
        if !told.is_empty() {
            text += &format!("- `{fs_type}`: {}\n", told.join(", "));
        }
    }
    text
}
