//! The words of a launcher, split without a shell: nothing in them is run, expanded or looked up.

use crate::error::RanksError;

/// As sh(1) splits them.
pub fn launch_words(text: &str) -> Result<Vec<String>, RanksError> {
    match shlex::split(text) {
        Some(words) if words.is_empty() => {
            Err(wrong(text, "names no launcher; write mpirun -np 4"))
        }
        Some(words) => Ok(words),
        None => Err(wrong(text, "ends within a quote, or with a backslash")),
    }
}

fn wrong(text: &str, what: &str) -> RanksError {
    RanksError::Told(format!("--ranks `{text}` {what}"))
}

/// What a launcher is told behind its own words, so that a job ends with the first of its ranks and rank 0 alone has the
/// standard input.
pub(crate) fn added(launcher: &str) -> &'static [&'static str] {
    match launcher.rsplit('/').next() {
        Some("srun") => &["--kill-on-bad-exit=1", "--input=0"],
        _ => &[],
    }
}

/// Each rank has all processors of its host, as whoever starts us by hand has; words of the user's have the last say.
/// Open MPI 4 and PRRTE would bind two hosts that are one machine to the same core.
pub(crate) const UNBOUND: [(&str, &str); 2] = [
    ("OMPI_MCA_hwloc_base_binding_policy", "none"),
    ("PRTE_MCA_hwloc_default_binding_policy", "none"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_are_split_as_a_shell_does_and_nothing_in_them_is_run() {
        for (text, words) in [
            ("x 'a b' \"c 'd'\" e\\ f ''", &["x", "a b", "c 'd'", "e f", ""][..]),
            ("x $(reboot) `id` ; rm *", &["x", "$(reboot)", "`id`", ";", "rm", "*"]),
        ] {
            assert_eq!(launch_words(text).unwrap(), words, "{text}");
        }
        for (text, part) in
            [("x 'a", "quote"), ("x \\", "backslash"), (" ", "no launcher"), ("", "no launcher")]
        {
            let error = launch_words(text).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn a_launcher_is_told_what_it_knows() {
        assert_eq!(added("/usr/bin/srun").len(), 2);
        assert!(added("mpirun").is_empty());
    }
}
