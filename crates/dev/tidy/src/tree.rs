//! The tracked files of the repository, as git lists them; in a checkout
//! without git, every file but those that a build or a run leaves.

use std::{
    fs, io,
    path::{Path, PathBuf},
    process::Command,
};

const NOT_SOURCE: &[&str] = &[".git", "target", "pickfs-runs"];

pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// They exist; paths from the top with `/` between their parts.
pub fn files(root: &Path) -> io::Result<Vec<String>> {
    let listed = match listed_by_git(root) {
        Some(files) => files,
        None => walked(root, "")?,
    };
    Ok(listed.into_iter().filter(|path| root.join(path).is_file()).collect())
}

/// What `git ls-files` says. The checkout may belong to another user than us (sudo).
fn listed_by_git(root: &Path) -> Option<Vec<String>> {
    let words = ["-c", "safe.directory=*", "ls-files", "-z"];
    let listed = Command::new("git").current_dir(root).args(words).output().ok()?;
    let text = listed.status.success().then(|| String::from_utf8(listed.stdout).ok())??;
    Some(text.split_terminator('\0').map(String::from).collect())
}

fn walked(root: &Path, below: &str) -> io::Result<Vec<String>> {
    let mut files = Vec::new();
    for entry in fs::read_dir(root.join(below))? {
        let entry = entry?;
        let name = entry.file_name().to_string_lossy().into_owned();
        let path = if below.is_empty() { name.clone() } else { format!("{below}/{name}") };
        if !entry.file_type()?.is_dir() {
            files.push(path);
        } else if !(below.is_empty() && NOT_SOURCE.contains(&name.as_str())) {
            files.extend(walked(root, &path)?);
        }
    }
    Ok(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_file_is_tracked_and_builds_are_not() {
        let walked = walked(&root(), "").expect("the checkout can be read");
        assert!(walked.iter().any(|path| path == "crates/dev/tidy/src/tree.rs"));
        assert!(!walked.iter().any(|path| path.starts_with("target/")));
    }
}
