//! What a command cannot do without: programs, and files under the folder where pickfs was started.

use std::path::PathBuf;

use pickfs_candidate::availability::find_program;

use crate::param::Resolved;

/// What is missing of the needs of a command, with what brings it.
pub fn missing(params: &Resolved) -> Vec<String> {
    super::params::texts(params, "needs").iter().filter_map(|need| missing_of(need)).collect()
}

/// Of `PROGRAM=PACKAGE`, or of `PATH/TO/FILE=COMMAND` with at least one slash.
fn missing_of(need: &str) -> Option<String> {
    let (what, brings) = need.split_once('=').unwrap_or((need, need));
    if !what.contains('/') {
        let absent = format!("{what} not found; install the package {brings}");
        return find_program(what).is_none().then_some(absent);
    }
    let from = started_in();
    let absent = format!(
        "{what} not found in {}; begin in the folder that has it, and there: {brings}",
        from.display()
    );
    (!from.join(what).exists()).then_some(absent)
}

/// The folder where pickfs was started.
pub(super) fn started_in() -> PathBuf {
    std::env::current_dir().unwrap_or_else(|_| "/".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_program_is_looked_for_in_path_and_a_file_where_pickfs_was_started() {
        assert_eq!(missing_of("sh=dash"), None);
        let absent = missing_of("no-such-program=its-package").unwrap();
        assert_eq!(absent, "no-such-program not found; install the package its-package");
        assert_eq!(missing_of("src/command=make it"), None);
        let absent = missing_of("src/none=peers/x/run build").unwrap();
        assert!(
            absent.starts_with("src/none not found in /")
                && absent.ends_with(": peers/x/run build")
        );
    }
}
