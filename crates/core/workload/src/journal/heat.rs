//! Something else on the machine may have cooled them.

use std::{fs::File, path::Path};

use pickfs_journal::Preallocation;
use pickfs_sys::residency::{ResidentPages, resident_pages};

use crate::journal::{appending::Appending, stamp::file_path};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Heat(ResidentPages);

impl Heat {
    pub(super) fn share(&self) -> f64 {
        self.0.resident_count as f64 / self.0.page_count.max(1) as f64
    }

    pub(super) fn text(&self) -> String {
        let ResidentPages { resident_count, page_count } = self.0;
        format!("the next file is hot: {resident_count} of {page_count} pages in the page cache")
    }
}

/// Looks at the file that follows the current one, where the preallocation keeps it hot.
pub(super) fn of_prepared(directory: &Path, appending: &Appending) -> Option<Heat> {
    if appending.journal.options().preallocation != Preallocation::ZeroFilledHot {
        return None;
    }
    let next_index = appending.files.last()?.0 + 1;
    let file =
        File::options().read(true).write(true).open(file_path(directory, next_index)).ok()?;
    resident_pages(&file).ok().map(Heat)
}
