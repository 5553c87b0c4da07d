//! A run with a known answer: whether its intervals held it.

use pickfs_analysis::trust::trust;

use crate::{
    Subject,
    document::{Node, Role, facts, under_one_name},
};

/// Sentences of a trust run; nothing of any other.
pub(crate) fn nodes(subject: &Subject) -> Option<Node> {
    let sentences = trust(subject.run, subject.findings)?.sentences.into_iter();
    Some(facts(under_one_name("TRUST", sentences.map(|text| Role::Strong.of(text)))))
}
