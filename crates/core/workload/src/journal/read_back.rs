use std::ops::ControlFlow;

use pickfs_journal::{Framing, replay};

use crate::{
    arrival,
    fault::Fault,
    journal::{content::Content, params, verify::flaw},
    workload::{Found, Session},
};

/// Of the journal of the session's lane. Nothing but its files and the trial is known here.
pub(super) fn read_back(session: &Session) -> Result<Found, Fault> {
    let (params, spec) = (&session.params, &session.spec);
    let size = params::size_of(params, arrival::recording(params)?.as_ref());
    if params::options(params, &size).framing == Framing::Raw {
        let reason = "bare records are known to their writer alone; use framing record".into();
        return Err(Fault::Skipped { reason });
    }
    let content = Content::new(params::content_kind(params), size.largest_bytes(), spec.seed);
    let (mut records, mut last, mut damage) = (0, 0, None);
    let directory = spec.directory.join(format!("journal-{}", spec.lane));
    let read = replay(directory, 1, |record| {
        damage = flaw((&content, &size, spec.seed), record.sequence, last, record.payload);
        if damage.is_some() {
            return ControlFlow::Break(());
        }
        (records, last) = (records + 1, record.sequence);
        ControlFlow::Continue(())
    });
    match read {
        Ok(_) => Ok(Found { records, damage }),
        // Records were handed over up to the hole.
        Err(hole @ pickfs_journal::Error::Damage(_)) => {
            Ok(Found { records, damage: Some(hole.to_string()) })
        }
        Err(error) => Err(error.into()),
    }
}

#[cfg(test)]
mod tests {
    use std::{fs, path::Path};

    use pickfs_record::TrialSpec;
    use pickfs_testkit::{fake_spec, params};
    use serde_json::json;

    use super::*;
    use crate::{journal::ready::Ready, workload::Prepared};

    fn session(directory: &Path, lane: u32) -> Session {
        let asked = params(json!({ "rate": 2000, "sync": "none", "file_size": "256KiB" }));
        let spec = fake_spec("journal", directory, asked);
        Session::new(TrialSpec { lane, measure_ns: 100_000_000, ..spec }, None).unwrap()
    }

    #[test]
    fn another_process_counts_what_the_writer_has_kept_and_misses_what_was_lost() {
        let folder = tempfile::tempdir().unwrap();
        let session = session(folder.path(), 3);
        let mut writer = Ready::new(&session).unwrap();
        writer.measure(&session).unwrap();
        let kept = writer.verify(&session).unwrap();
        drop(writer);
        let found = read_back(&session).unwrap();
        assert_eq!(found, Found { records: kept, damage: None });
        let journal = folder.path().join("journal-3");
        let files = fs::read_dir(&journal).unwrap().flatten().map(|entry| entry.path());
        let last = files.filter(|path| path.metadata().unwrap().len() > 4096).max().unwrap();
        let mut bytes = fs::read(&last).unwrap();
        bytes[5000..5100].fill(0);
        fs::write(&last, bytes).unwrap();
        let found = read_back(&session).unwrap();
        assert!(found.records < kept, "{found:?} of {kept}");
    }

    #[test]
    fn a_journal_that_is_not_there_is_an_error_and_no_empty_one() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read_back(&session(folder.path(), 0)).is_err());
    }
}
