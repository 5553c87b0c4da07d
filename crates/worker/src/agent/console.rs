//! The console of a guest: the last place to say something, where no line to the lab is.

use pickfs_model::visible::visible;

/// Says why something failed.
pub fn say(reason: &str) {
    eprintln!("pickfs: {}", visible(reason));
}
