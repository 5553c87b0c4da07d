//! What the program says where it is the core alone.

use crate::pickfs::pickfs;

#[test]
fn a_verb_that_is_left_out_names_its_feature() {
    for (words, feature) in [
        (&["serve"][..], "serve"),
        (&["crash"], "crash"),
        (&["features", "--dir", "."], "features"),
        (&["explain", "--", "true"], "explain"),
        (&["doctor", "--guests"], "guest"),
        (&["run", "quick", "--hosts", "hosts"], "fleet"),
        (&["plan", "queue"], "engines"),
    ] {
        let said = pickfs(words);
        assert_eq!(said.code, Some(1), "{words:?}: {}", said.err);
        assert!(said.err.contains(&format!("feature {feature}")), "{words:?}: {}", said.err);
    }
}
