//! The words of a launcher, split without a shell: nothing in them is run, expanded or looked up.

use crate::error::RanksError;

/// Blanks part words; quotes of both kinds and the backslash keep them, as in sh(1).
pub fn launch_words(text: &str) -> Result<Vec<String>, RanksError> {
    let (mut words, mut word, mut quote) = (Vec::new(), None::<String>, None);
    let mut signs = text.chars();
    while let Some(sign) = signs.next() {
        match (sign, quote) {
            (sign, Some(open)) if sign == open => quote = None,
            ('\\', None | Some('"')) => {
                let kept = signs.next().ok_or_else(|| wrong(text, "ends with a backslash"))?;
                word.get_or_insert_default().push(kept);
            }
            (sign, Some(_)) => word.get_or_insert_default().push(sign),
            ('\'' | '"', None) => {
                quote = Some(sign);
                word.get_or_insert_default();
            }
            (sign, None) if sign.is_whitespace() => words.extend(word.take()),
            (sign, None) => word.get_or_insert_default().push(sign),
        }
    }
    if quote.is_some() {
        return Err(wrong(text, "has a quote without its end"));
    }
    words.extend(word);
    match words.first() {
        Some(_) => Ok(words),
        None => Err(wrong(text, "names no launcher; write mpirun -np 4")),
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
            ("mpirun -np  3\t--host a,b", &["mpirun", "-np", "3", "--host", "a,b"][..]),
            ("x 'a b' \"c 'd'\" e\\ f ''", &["x", "a b", "c 'd'", "e f", ""]),
            ("x $(reboot) `id` ; rm *", &["x", "$(reboot)", "`id`", ";", "rm", "*"]),
            (r#"x "a\"b" 'c\d'"#, &["x", "a\"b", r"c\d"]),
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
