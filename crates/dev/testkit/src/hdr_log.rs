use std::time::Duration;

use hdrhistogram::{
    Histogram,
    serialization::{
        V2DeflateSerializer,
        interval_log::{IntervalLogWriterBuilder, Tag},
    },
};

/// A log of intervals of one second, as HdrHistogram's own writer writes it: tag (empty for none), second, times in
/// nanoseconds up to an hour.
pub fn hdr_log(lines: &[(&str, u64, &[u64])]) -> String {
    let (mut text, mut packed) = (Vec::new(), V2DeflateSerializer::new());
    let mut writer = IntervalLogWriterBuilder::new()
        .add_comment("Logged by a program")
        .begin_log_with(&mut text, &mut packed)
        .expect("memory");
    for (tag, second, times) in lines {
        let mut all = Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).expect("bounds");
        times.iter().for_each(|time| all.record(*time).expect("in range"));
        let (start, length) = (Duration::from_secs(*second), Duration::from_secs(1));
        writer.write_histogram(&all, start, length, Tag::new(tag)).expect("memory");
    }
    drop(writer);
    String::from_utf8(text).expect("text").replace("Tag=,", "")
}
