//! A change to a source file: words that must be there, and what stands there afterwards. That the
//! words are there as often as expected is the check.

use std::fs;
use std::path::Path;

use crate::error::ModuleError;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occurs {
    Once,
    AtLeastOnce,
}

/// In a file of the module's folder.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Change {
    pub(crate) file: &'static str,
    pub(crate) before: &'static str,
    pub(crate) after: &'static str,
    pub(crate) occurs: Occurs,
}

impl Change {
    /// Says how the text differs from what was expected.
    pub(crate) fn make(&self, folder: &Path) -> Result<(), ModuleError> {
        let path = folder.join(self.file);
        let text = fs::read_to_string(&path).map_err(ModuleError::io("read", &path))?;
        fs::write(&path, self.changed(&text)?).map_err(ModuleError::io("write", &path))
    }

    fn changed(&self, text: &str) -> Result<String, ModuleError> {
        let found = text.matches(self.before).count();
        let (fits, expected) = match self.occurs {
            Occurs::Once => (found == 1, "once"),
            Occurs::AtLeastOnce => (found > 0, "at least once"),
        };
        if !fits {
            let (file, wanted) = (self.file, self.before);
            return Err(ModuleError::ChangeDoesNotFit { file, wanted, found, expected });
        }
        Ok(text.replace(self.before, self.after))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHANGE: Change =
        Change { file: "a.c", before: "one", after: "two", occurs: Occurs::Once };

    #[test]
    fn words_are_replaced_where_they_are_expected() {
        assert_eq!(CHANGE.changed("is one here").unwrap(), "is two here");
        let often = Change { occurs: Occurs::AtLeastOnce, ..CHANGE };
        assert_eq!(often.changed("one one").unwrap(), "two two");
    }

    #[test]
    fn a_source_that_differs_is_refused_with_the_count() {
        assert_eq!(
            CHANGE.changed("one and one").unwrap_err().to_string(),
            "a.c of this kernel has `one` 2 times instead of once; the change was made for another \
             version"
        );
        assert!(!CHANGE.changed("nothing").unwrap_err().is_skip());
    }
}
