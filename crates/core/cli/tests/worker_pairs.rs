//! What the table calls incompatible must be skipped, all else must finish.

mod spoken;

use pickfs_journal::{Framing, Preallocation, Roll, Sync, WritePath};
use pickfs_record::WorkerMessage;
use serde_json::{Map, Value, json};

use crate::spoken::{converse, spec};

fn axes() -> Axes {
    fn words<T: ToString>(all: &[T]) -> Vec<Value> {
        all.iter().map(|word| word.to_string().into()).collect()
    }
    vec![
        ("preallocation", words(Preallocation::ALL)),
        ("write_path", words(WritePath::ALL)),
        ("sync", words(Sync::ALL)),
        ("sync_every", vec![json!("record"), json!(7), json!("group")]),
        ("roll", words(Roll::ALL)),
        ("framing", words(Framing::ALL)),
        ("batch", vec![json!(1), json!(5)]),
    ]
}

type Axes = Vec<(&'static str, Vec<Value>)>;

fn params(axes: &Axes, choice: &[usize]) -> Map<String, Value> {
    let named = axes.iter().zip(choice);
    let mut params: Map<String, Value> =
        named.map(|((name, all), at)| (name.to_string(), all[*at].clone())).collect();
    params.insert("file_size".into(), json!("16KiB"));
    params.insert("rate".into(), json!(3000));
    params.insert("fallback".into(), json!("allow"));
    params
}

fn refusal(params: &Map<String, Value>) -> Option<String> {
    let journal = pickfs_workload::find("journal").expect("a row");
    journal.incompatible(&journal.validate(params).expect("legal"))
}

/// Each is the best of some drawn ones (a linear congruential generator; the same every time).
fn choices(axes: &Axes) -> Vec<Vec<usize>> {
    let mut open = std::collections::BTreeSet::new();
    for (a, (_, left)) in axes.iter().enumerate() {
        for (b, (_, right)) in axes.iter().enumerate().skip(a + 1) {
            let pairs = (0..left.len()).flat_map(|i| (0..right.len()).map(move |j| (i, j)));
            open.extend(pairs.map(|(i, j)| (a, i, b, j)));
        }
    }
    let mut state = 1u64;
    let mut draw = |below: usize| {
        state =
            state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % below
    };
    let mut chosen = Vec::new();
    while let Some(&(a, i, b, j)) = open.first() {
        let mut drawn = || {
            let mut choice: Vec<_> = axes.iter().map(|(_, all)| draw(all.len())).collect();
            (choice[a], choice[b]) = (i, j);
            choice
        };
        let candidates: Vec<_> = (0..100).map(|_| drawn()).collect();
        let allowed = candidates.iter().filter(|choice| refusal(&params(axes, choice)).is_none());
        let held = |choice: &&Vec<usize>| {
            open.iter().filter(|(a, i, b, j)| choice[*a] == *i && choice[*b] == *j).count()
        };
        match allowed.max_by_key(held) {
            Some(best) => {
                open.retain(|(a, i, b, j)| best[*a] != *i || best[*b] != *j);
                chosen.push(best.clone());
            }
            None => {
                open.remove(&(a, i, b, j));
                chosen.push(candidates[0].clone());
            }
        }
    }
    chosen
}

#[test]
fn every_pair_of_axes_runs_and_verifies_or_is_refused_by_the_table() {
    let axes = axes();
    let (mut finished, mut skipped) = (0, 0);
    for choice in choices(&axes) {
        let params = params(&axes, &choice);
        let refused = refusal(&params);
        let folder = tempfile::tempdir().expect("a folder");
        let mut spec = spec("journal", Value::Object(params.clone()), folder.path());
        (spec.warmup_ns, spec.measure_ns) = (10_000_000, 60_000_000);
        match converse(&spec).pop() {
            Some(WorkerMessage::Finished) if refused.is_none() => finished += 1,
            Some(WorkerMessage::Skipped { reason }) if refused.as_ref() == Some(&reason) => {
                skipped += 1;
            }
            other => panic!("{params:?}: {other:?}, and the table says {refused:?}"),
        }
    }
    // Seven values times seven make 49 choices or more, and the three tables refuse some pairs.
    assert!(finished >= 30 && skipped >= 10, "{finished} finished, {skipped} skipped");
}
