use std::ffi::OsString;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::error::ModuleError;

/// Of the end of an output.
const OUTPUT_BYTES_MAX: usize = 2000;

#[derive(Debug, Clone, Default)]
pub(crate) struct Shell {
    pub(crate) variables: Vec<(&'static str, OsString)>,
}

impl Shell {
    /// Gives back what it printed, or its last words as an error.
    pub(crate) fn run(
        &self,
        folder: &Path,
        program: &str,
        words: &[&str],
    ) -> Result<String, ModuleError> {
        let mut command = Command::new(program);
        command.args(words).current_dir(folder).stdin(Stdio::null()).env("LC_ALL", "C");
        command.envs(self.variables.iter().map(|(name, value)| (name, value)));
        let output = command.output().map_err(ModuleError::io("start", Path::new(program)))?;
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        if output.status.success() {
            return Ok(said);
        }
        let errors = String::from_utf8_lossy(&output.stderr);
        Err(ModuleError::Failed {
            command: format!("{program} {}", words.join(" ")),
            status: output.status.to_string(),
            output: tail(&format!("{said}{errors}")),
        })
    }
}

pub(crate) fn tail(text: &str) -> String {
    let text = text.trim();
    let from = text.len().saturating_sub(OUTPUT_BYTES_MAX);
    let start = (from..text.len()).find(|&at| text.is_char_boundary(at)).unwrap_or(from);
    text[start..].to_owned()
}

/// By PATH.
pub(crate) fn find(program: &str) -> Option<PathBuf> {
    let path = std::env::var_os("PATH").unwrap_or_default();
    let system = ["/usr/sbin", "/sbin"].map(PathBuf::from);
    let folders = std::env::split_paths(&path).chain(system);
    folders.map(|folder| folder.join(program)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_failed_program_tells_its_last_words() {
        let shell = Shell { variables: vec![("WORD", "broken".into())] };
        let here = Path::new("/");
        assert_eq!(shell.run(here, "sh", &["-c", "pwd"]).unwrap(), "/\n");
        let error = shell.run(here, "sh", &["-c", "echo $WORD >&2; exit 3"]).unwrap_err();
        assert!(error.to_string().ends_with("failed with exit status: 3: broken"), "{error}");
        assert!(!error.is_skip());
    }

    #[test]
    fn the_end_of_a_long_text_is_kept() {
        let text = format!("{}end", "ä".repeat(3000));
        assert!(tail(&text).ends_with("end") && tail(&text).len() <= OUTPUT_BYTES_MAX);
    }
}
