use pickfs_sys::mapped_elements::MapAdvice;
use serde_json::Value;

use super::{get::Touch, layout::Layout, set::SetHow};
use crate::{
    param::{Check, Param, ParamError, Resolved},
    placement::NODES,
};

pub(super) const PARAMS: &[Param] = &[
    param! { "lanes" = Integer(1), Integer(1, 512);
    "worker processes, each with files of its own; counts and large files shrink with 1 + \
     log2(lanes)" },
    param! { "threads" = Integer(8), Integer(1, 256);
    "threads of each lane, where a row is parallel: disk sort, aggregate" },
    NODES,
    param! { "scale" = Text("small"), Words(|| SCALES.iter().map(|(word, _)| *word).collect());
    "factor on all lengths: tiny 0.05, small 0.2, full 1 (the article's), double 2; reduced \
     where space or memory is short" },
    param! { "data" = Text("random"), Words(|| vec!["random", "nano"]);
    "bytes that do not compress, others in each lane; or the original's, which compress well \
     and are the same in each lane" },
    param! { "suites" = Text("all"), Rule("all, or a list like write,read,reread", suites_value);
    "groups of rows: all, or some of write, meta, read, reread, random, sort, mix, packed with \
     commas between them; read, random and sort need the files of write, reread those that \
     read has read, mix the sorted table" },
    param! { "symbols" = Text("plain"), Words(|| vec!["plain", "enumerated"]);
    "column of symbols as text (as the original, whatever its comments say), or as indexes \
     into a domain (as databases have it)" },
    param! { "sync_by" = Text("native"), Words(|| vec!["native", "command"]);
    "who calls fsync on a path: this process, or the program sync through a shell, as the \
     original" },
    param! { "inflated_sync" = Text("no"), Words(|| vec!["no", "yes"]);
    "adds to each sync row what the original would have printed: its bytes times the length \
     of its command's text" },
    param! { "random_variants" = Text("yes"), Words(|| vec!["no", "yes"]);
    "adds random reads by pread and from mappings with MADV_RANDOM, which the original does \
     not have" },
    param! { "touch_hint" = Text("willneed"), Words(|| vec!["none", "willneed", "sequential"]);
    "what the kernel is told of a mapped column before it is touched in the sequential \
     reads" },
    param! { "touch_stride" = Text("4KiB"), Bytes(1, 1 << 30);
    "from one touched byte of a mapped column to the next" },
    param! { "write_chunk" = Text("16MiB"),
    Rule("a multiple of 4096 from 64KiB to 1GiB", chunk_value);
    "bytes of one write call, where a column is written at once" },
    param! { "reserve" = Text("no"), Words(|| vec!["no", "yes"]);
    "whether the space of a column is reserved by fallocate before it is set, as numpy does; \
     the original does not" },
    param! { "files_limit" = Text("1024TiB"), Bytes(1 << 20, 1 << 50);
    "most bytes that the files of all lanes may take" },
    param! { "space_percent" = Integer(70), Integer(1, 95);
    "share of the free space that the files of all lanes may take" },
    param! { "memory_percent" = Integer(60), Integer(1, 90);
    "share of the available memory that all lanes may take, with the files that hot rows \
     must find there" },
];

const SCALES: &[(&str, f64)] = &[("tiny", 0.05), ("small", 0.2), ("full", 1.0), ("double", 2.0)];

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Suite {
    Write,
    Meta,
    Read,
    Reread,
    Random,
    Sort,
    Mix,
    Packed,
}

/// The word of a plan, the title on pages, and the one whose files it needs.
const SUITES: [(Suite, &str, &str, Option<Suite>); 8] = [
    (Suite::Write, "write", "write", None),
    (Suite::Meta, "meta", "meta", None),
    (Suite::Read, "read", "sequential read", Some(Suite::Write)),
    (Suite::Reread, "reread", "sequential reread", Some(Suite::Read)),
    (Suite::Random, "random", "random read", Some(Suite::Write)),
    (Suite::Sort, "sort", "sort", Some(Suite::Write)),
    (Suite::Mix, "mix", "appends and queries", Some(Suite::Sort)),
    (Suite::Packed, "packed", "packed columns", None),
];

impl Suite {
    pub(super) fn all() -> impl Iterator<Item = Suite> {
        SUITES.into_iter().map(|row| row.0)
    }

    fn word(self) -> &'static str {
        SUITES[self as usize].1
    }

    pub(super) fn title(self) -> &'static str {
        SUITES[self as usize].2
    }

    fn of(word: &str) -> Option<Suite> {
        Suite::all().find(|suite| suite.word() == word.trim())
    }
}

fn suites_value(value: &Value) -> Option<Value> {
    let text = value.as_str()?.trim();
    if text == "all" {
        return Some("all".into());
    }
    let mut suites = text.split(',').map(Suite::of).collect::<Option<Vec<_>>>()?;
    suites.sort_unstable();
    suites.dedup();
    if suites.len() == SUITES.len() {
        return Some("all".into());
    }
    Some(suites.iter().map(|suite| suite.word()).collect::<Vec<_>>().join(",").into())
}

fn chunk_value(value: &Value) -> Option<Value> {
    let bytes = Check::Bytes(64 << 10, 1 << 30).accept(value)?;
    (bytes.as_u64()? % 4096 == 0).then_some(bytes)
}

#[derive(Debug, Clone)]
pub(super) struct Settings {
    pub(super) lanes: u32,
    pub(super) threads: u32,
    pub(super) scale: f64,
    /// The original's data.
    pub(super) is_nano: bool,
    pub(super) suites: Vec<Suite>,
    pub(super) symbols: Layout,
    pub(super) syncs_by_command: bool,
    pub(super) has_inflated_sync: bool,
    pub(super) has_random_variants: bool,
    pub(super) touch: Touch,
    pub(super) set: SetHow,
    pub(super) files_bytes_max: u64,
    pub(super) space_percent: u64,
    pub(super) memory_percent: u64,
}

impl Settings {
    pub(super) fn new(params: &Resolved) -> Settings {
        let is = |name: &str, word: &str| params.text(name) == word;
        let scale = SCALES.iter().find(|(word, _)| is("scale", word));
        let symbols = if is("symbols", "enumerated") {
            Layout::EnumeratedSymbols
        } else {
            Layout::PlainSymbols
        };
        let hint = match params.text("touch_hint") {
            "willneed" => Some(MapAdvice::WillNeed),
            "sequential" => Some(MapAdvice::Sequential),
            _ => None,
        };
        Settings {
            lanes: params.integer("lanes").max(1) as u32,
            threads: params.integer("threads") as u32,
            scale: scale.map_or(1.0, |(_, factor)| *factor),
            is_nano: is("data", "nano"),
            suites: suites(params),
            symbols,
            syncs_by_command: is("sync_by", "command"),
            has_inflated_sync: is("inflated_sync", "yes"),
            has_random_variants: is("random_variants", "yes"),
            touch: Touch { hint, stride_bytes: params.integer("touch_stride") as usize },
            set: SetHow {
                chunk_bytes: params.integer("write_chunk") as usize,
                is_reserved: is("reserve", "yes"),
            },
            files_bytes_max: params.integer("files_limit"),
            space_percent: params.integer("space_percent"),
            memory_percent: params.integer("memory_percent"),
        }
    }

    #[cfg(test)]
    pub(super) fn asked(params: Value) -> Settings {
        let params = super::WORKLOAD.validate(params.as_object().expect("an object"));
        Settings::new(&params.expect("good parameters"))
    }

    pub(super) fn has(&self, suite: Suite) -> bool {
        self.suites.contains(&suite)
    }
}

fn suites(params: &Resolved) -> Vec<Suite> {
    match params.text("suites") {
        "all" => Suite::all().collect(),
        list => list.split(',').filter_map(Suite::of).collect(),
    }
}

/// A suite without the one whose files it needs makes no sense.
pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    let chosen = suites(params);
    for (suite, word, _, needed) in SUITES {
        let lacks = needed.filter(|needed| chosen.contains(&suite) && !chosen.contains(needed));
        if let Some(needed) = lacks.map(Suite::word) {
            let reason = format!("{word} needs the files of {needed}; add {needed} to the list");
            return Err(params.together("suites", reason));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(asked: Value) -> Result<Resolved, ParamError> {
        super::super::WORKLOAD.validate(asked.as_object().unwrap())
    }

    #[test]
    fn the_defaults_are_legal() {
        let settings = Settings::asked(json!({}));
        assert_eq!((settings.scale, settings.threads), (0.2, 8));
        assert_eq!((settings.set.chunk_bytes, settings.touch.stride_bytes), (16 << 20, 4096));
        assert!(Suite::all().eq(settings.suites));
        assert_eq!(settings.files_bytes_max, 1 << 50);
    }

    #[test]
    fn suites_have_one_spelling() {
        for (asked, kept) in [
            ("read, write", "write,read"),
            ("write,write", "write"),
            ("packed,mix,sort,random,reread,read,meta,write", "all"),
        ] {
            assert_eq!(resolve(json!({ "suites": asked })).unwrap().text("suites"), kept);
        }
    }

    #[test]
    fn bad_scales_lanes_and_suites_are_refused_with_what_is_allowed() {
        for (asked, said) in [
            (json!({ "scale": "huge" }), "use one of tiny, small, full, double"),
            (json!({ "scale": 0.2 }), "use one of tiny, small, full, double"),
            (json!({ "lanes": 0 }), "use a whole number from 1 to 512"),
            (json!({ "lanes": 4096 }), "use a whole number from 1 to 512"),
            (json!({ "suites": "write,raed" }), "use all, or a list like"),
            (json!({ "suites": "" }), "use all, or a list like"),
            (json!({ "suites": "random" }), "random needs the files of write; add write"),
            (json!({ "suites": "write,mix" }), "mix needs the files of sort; add sort"),
            (json!({ "suites": "write,reread" }), "reread needs the files of read; add read"),
            (json!({ "write_chunk": 100_000 }), "a multiple of 4096"),
        ] {
            let text = resolve(asked).unwrap_err().to_string();
            assert!(text.contains(said), "{text}");
        }
    }
}
