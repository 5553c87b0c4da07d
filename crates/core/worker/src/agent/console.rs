use pickfs_model::visible::visible;

pub fn say(reason: &str) {
    eprintln!("pickfs: {}", visible(reason));
}
