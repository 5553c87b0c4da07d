const EMPTY: &[&str] = &["common", "helper", "helpers", "manager", "misc", "util", "utils"];

pub fn breach(path: &str) -> Option<String> {
    path.split('/').find_map(|part| {
        let stem = part.split('.').next().unwrap_or(part);
        let says_nothing = stem.split(['_', '-']).any(|word| EMPTY.contains(&word));
        says_nothing.then(|| format!("{part} does not say what is inside; name it after its noun"))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_names_are_found_in_files_and_folders() {
        assert!(breach("crates/core/sys/src/utils.rs").is_some());
        assert!(breach("crates/core/sys/tests/common/mod.rs").is_some());
        assert!(breach("crates/core/lab/src/device_manager.rs").is_some());
        assert!(breach("crates/core/sys/src/loop_device.rs").is_none());
    }
}
