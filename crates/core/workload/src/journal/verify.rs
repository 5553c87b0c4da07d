use std::{
    fs::File,
    io::{BufReader, Read},
    ops::ControlFlow,
    path::Path,
};

use pickfs_journal::replay;

use crate::{
    fault::Fault,
    journal::{appending::Appending, content::Content, record_size::RecordSize, stamp::file_path},
};

pub(super) fn verify(directory: &Path, appending: &Appending) -> Result<u64, Fault> {
    if appending.is_raw() {
        return verify_raw(directory, appending);
    }
    let mut checked = 0;
    let mut last_sequence = 0;
    let mut wrong = None;
    replay(directory, 1, |record| {
        let Appending { content, size, seed, .. } = appending;
        wrong = flaw((content, size, *seed), record.sequence, last_sequence, record.payload);
        last_sequence = record.sequence;
        checked += 1;
        if wrong.is_none() { ControlFlow::Continue(()) } else { ControlFlow::Break(()) }
    })?;
    if let Some(what) = wrong {
        return Err(Fault::Wrong { what });
    }
    let written = appending.journal.written_sequence();
    if last_sequence != written {
        let what = format!("the last record found is {last_sequence}, and {written} were written");
        return Err(Fault::Wrong { what });
    }
    Ok(checked)
}

pub(super) fn flaw(
    (content, size, seed): (&Content, &RecordSize, u64),
    sequence: u64,
    last: u64,
    payload: &[u8],
) -> Option<String> {
    if last != 0 && sequence != last + 1 {
        return Some(format!("record {sequence} follows record {last}"));
    }
    let expected_bytes = size.of(seed, sequence) as usize;
    if payload.len() != expected_bytes {
        let found = payload.len();
        return Some(format!("record {sequence} has {found} bytes instead of {expected_bytes}"));
    }
    let is_right = content.is_of(payload, sequence);
    (!is_right).then(|| format!("record {sequence} holds other bytes than were written"))
}

/// Bare records: which ones stand in a file is known from the rolls.
fn verify_raw(directory: &Path, appending: &Appending) -> Result<u64, Fault> {
    let mut checked = 0;
    let mut payload = vec![0; appending.size.largest_bytes() as usize];
    let end = appending.journal.written_sequence() + 1;
    for (at, (file_index, first)) in appending.files.iter().enumerate() {
        let path = file_path(directory, *file_index);
        let is_removed = !path.exists() && at + 1 < appending.files.len();
        if is_removed {
            continue;
        }
        let next = appending.files.get(at + 1).map_or(end, |next| next.1);
        let file = File::open(&path).map_err(Fault::io("open", &path))?;
        let mut file = BufReader::with_capacity(1 << 20, file);
        for sequence in *first..next {
            let bytes = appending.size.of(appending.seed, sequence) as usize;
            let payload = &mut payload[..bytes];
            file.read_exact(payload).map_err(Fault::io("read back", &path))?;
            if !appending.content.is_of(payload, sequence) {
                let what = format!("{}: record {sequence} holds other bytes", path.display());
                return Err(Fault::Wrong { what });
            }
            checked += 1;
        }
    }
    Ok(checked)
}
