//! bonnie++'s options under clear names: `-s` is `size`, `chunk`, `seeks` and `seekers`; `-n` is
//! `files`, `file_max`, `file_min`, `directories` and `file_chunk` (its -1 and -2 are `content`);
//! `-f` is `char_size`, `-b` is `fsync`, `-D` is `direct`, `-z` is `seed`.

use serde_json::{Map, Value};

use super::scale;
use crate::param::{Check, Literal, Param, ParamError, Resolved};

const BY_SCALE: Literal = Literal::Text("by scale");
const BY_PROFILE: Literal = Literal::Text("by profile");
const BY_FSYNC: Literal = Literal::Text("by fsync");

const MIB: u64 = 1 << 20;

pub(super) const PARAMS: &[Param] = &[
    param! { "profile" = Text("modern"), Words(|| vec!["modern", "bonnie"]);
    "modern: cold reads, bytes that do not compress, only this file system is synced; \
     bonnie: the same calls with the same names, offsets and bytes as bonnie++ 2.00a" },
    param! { "scale" = Text("small"), Words(|| vec!["tiny", "small", "full"]);
    "how much: a try-out, half a minute, or what the article ran (2000 MiB, 512,000 files)" },
    param! { "size" = BY_SCALE, Rule("a multiple of 1MiB up to 1TiB, or 0", whole_mebibytes);
    "length of the one file; 0 skips its phases (bonnie++ -s)" },
    param! { "chunk" = Text("8KiB"), Rule("a power of two from 256 to 1MiB", power_of_two);
    "bytes of one write, read or seek in the one file" },
    param! { "char_size" = BY_SCALE, Bytes(0, 1 << 30);
    "bytes that are written and read one by one; 0 skips both (bonnie++ -f)" },
    param! { "seeks" = BY_SCALE, Integer(0, 100_000_000);
    "chunks that are read at random; every tenth number of the stream also writes" },
    param! { "seekers" = Integer(5), Integer(1, 128); "threads that share the seeks" },
    param! { "settle" = BY_PROFILE, Duration(60_000_000_000);
    "pause between the start of the seekers and their first seek, not timed" },
    param! { "files" = BY_SCALE, Integer(0, 100_000_000);
    "number of small files; bonnie++ counts in units of 1024 (-n)" },
    param! { "content" = Text("bytes"), Words(|| vec!["bytes", "hard-links", "symbolic-links"]);
    "small files with bytes of their own, or links to the first one" },
    param! { "file_min" = Integer(0), Bytes(0, 1 << 30); "smallest size of a small file" },
    param! { "file_max" = Integer(0), Bytes(0, 1 << 30);
    "largest size of a small file; sizes are random from file_min to this, 0 leaves all \
     empty" },
    param! { "file_chunk" = Text("8KiB"), Bytes(1, MIB);
    "bytes of one write or read in a small file" },
    param! { "directories" = Integer(1), Integer(1, 99_999);
    "directories that the small files are spread over" },
    param! { "fsync" = Text("closing"), Words(|| vec!["closing", "each"]);
    "closing: the one file is synced before each close; each: small files, their directories \
     and updated chunks are synced too, one by one (bonnie++ -b)" },
    param! { "fsync_blocks" = Text("closing"), Words(|| vec!["closing", "each"]);
    "block write and rewrite: sync once before the close, or after each write" },
    param! { "fsync_updates" = BY_FSYNC, Words(on_off);
    "seeks: sync each updated chunk" },
    param! { "fsync_creates" = BY_FSYNC, Words(|| vec!["none", "file", "directory", "both"]);
    "what is synced after each create" },
    param! { "fsync_deletes" = BY_FSYNC, Words(|| vec!["none", "directory"]);
    "what is synced after each delete" },
    param! { "sync_after" = BY_PROFILE, Words(|| vec!["none", "syncfs", "sync"]);
    "what ends the creates and the deletes, timed with them: nothing, this file system, or all \
     of the machine as bonnie++ does" },
    param! { "direct" = Text("off"), Words(|| vec!["off", "write", "all"]);
    "past the page cache: block write only (bonnie++ -D), or all block phases" },
    param! { "cache" = BY_PROFILE, Words(|| vec!["cold", "left"]);
    "cold: dropped before each phase that reads, and looked for; left: as the phase before \
     left it" },
    param! { "data" = BY_PROFILE, Words(|| vec!["random", "bonnie"]);
    "bytes that do not compress, or the nearly constant ones of bonnie++" },
    param! { "further" = BY_PROFILE, Words(on_off);
    "also mkdir, readdir, rename, link, fsync of a directory, and safe saves" },
    param! { "saves" = BY_SCALE, Integer(0, 10_000_000);
    "safe saves, and fsyncs of a directory" },
    param! { "save_size" = Text("4KiB"), Bytes(1, 64 * MIB); "bytes of a document that is saved" },
    param! { "save_fsync" = Text("both"), Words(|| vec!["file", "both"]);
    "safe save: sync the new file before it takes the old one's name, or its directory after \
     that as well" },
    param! { "seed" = Text("trial"),
    Rule("trial, or a whole number from 0 to 4294967295", seed_value);
    "where the stream of random numbers begins: the trial's own, or a number (bonnie++ -z)" },
    param! { "lanes" = Integer(1), Integer(1, 200);
    "copies that run at once, each in its own directory with a seed of its own" },
];

fn on_off() -> Vec<&'static str> {
    vec!["off", "on"]
}

fn whole_mebibytes(value: &Value) -> Option<Value> {
    let bytes = Check::Bytes(0, 1 << 40).accept(value)?;
    (bytes.as_u64()? % MIB == 0).then_some(bytes)
}

fn power_of_two(value: &Value) -> Option<Value> {
    let bytes = Check::Bytes(256, MIB).accept(value)?;
    bytes.as_u64()?.is_power_of_two().then_some(bytes)
}

fn seed_value(value: &Value) -> Option<Value> {
    match value.as_str() {
        Some("trial") => Some("trial".into()),
        _ => Check::Integer(0, u64::from(u32::MAX)).accept(value),
    }
}

/// What profile, scale and `fsync` decide.
pub(super) fn fill(asked: &mut Map<String, Value>) {
    asked.retain(|name, value| !is_left_open(name, value));
    let word = |name: &str| asked.get(name).and_then(Value::as_str).unwrap_or_default();
    for (name, value) in scale::decided(word("profile"), word("scale"), word("fsync")) {
        asked.entry(name).or_insert(value);
    }
}

pub(super) fn check(params: &Resolved) -> Result<(), ParamError> {
    match params.integer("file_min") > params.integer("file_max") {
        true => Err(params.together("file_min", "is above file_max; lower it or raise file_max")),
        false => Ok(()),
    }
}

/// `size = "by scale"`: the same as not to say it.
fn is_left_open(name: &str, value: &Value) -> bool {
    let is_open =
        |literal: Literal| matches!(literal, Literal::Text(text) if text.starts_with("by "));
    let param = PARAMS.iter().find(|param| param.name == name);
    param.is_some_and(|param| is_open(param.default) && param.default.value() == *value)
}

pub(super) fn incompatible(params: &Resolved) -> Option<String> {
    if params.text("direct") != "off" && params.integer("chunk") < 4096 {
        return Some("direct needs chunks of at least 4096 bytes; raise chunk".into());
    }
    if params.text("content") == "symbolic-links" && params.integer("directories") > 1 {
        return Some(
            "symbolic links lead to the first file of the same directory; set directories = 1"
                .into(),
        );
    }
    if params.integer("size") == 0
        && params.integer("files") == 0
        && params.text("further") == "off"
    {
        return Some("size 0, files 0 and further off leave nothing to do".into());
    }
    None
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn resolve(asked: &Map<String, Value>) -> Result<Resolved, ParamError> {
        super::super::WORKLOAD.validate(asked)
    }

    fn resolved(asked: Value) -> Resolved {
        resolve(asked.as_object().unwrap()).unwrap()
    }

    #[test]
    fn what_is_resolved_resolves_to_itself() {
        for profile in ["modern", "bonnie"] {
            for scale in ["tiny", "small", "full"] {
                let params = resolved(json!({ "profile": profile, "scale": scale }));
                assert_eq!(params.params.len(), PARAMS.len());
                assert_eq!(resolve(&params.params).unwrap(), params);
                assert_eq!(incompatible(&params), None);
            }
        }
    }

    #[test]
    fn the_full_scale_is_what_the_article_ran() {
        let params = resolved(json!({ "scale": "full", "fsync": "each" }));
        let number = |name| params.integer(name);
        assert_eq!((number("size"), number("chunk")), (2000 << 20, 8192));
        assert_eq!((number("files"), number("char_size")), (512_000, 0));
        assert_eq!(params.text("fsync_creates"), "both");
        assert_eq!((number("seeks"), number("seekers")), (8192, 5));
    }

    #[test]
    fn each_parameter_can_be_set_beside_profile_and_scale() {
        let asked =
            json!({ "profile": "bonnie", "cache": "cold", "files": 77, "size": "by scale" });
        let params = resolved(asked);
        assert_eq!((params.text("cache"), params.text("data")), ("cold", "bonnie"));
        assert_eq!((params.integer("files"), params.integer("size")), (77, 64 << 20));
    }

    #[test]
    fn what_makes_no_sense_is_said_with_the_way_out() {
        let asked = json!({ "direct": "write", "chunk": 512 });
        assert!(incompatible(&resolved(asked)).unwrap().contains("raise chunk"));
        let asked = json!({ "size": 0, "files": 0, "profile": "bonnie" });
        assert!(incompatible(&resolved(asked)).unwrap().contains("nothing to do"));
        let error = resolve(json!({ "file_min": 5 }).as_object().unwrap()).unwrap_err();
        assert_eq!(error.param(), Some("file_min"));
        assert!(resolve(json!({ "size": 5000 }).as_object().unwrap()).is_err());
        assert!(resolve(json!({ "chunk": 5000 }).as_object().unwrap()).is_err());
        assert!(resolve(json!({ "seed": "mine" }).as_object().unwrap()).is_err());
    }
}
