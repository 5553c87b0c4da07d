use pickfs_record::visible::visible;

pub fn say(reason: &str) {
    eprintln!("pickfs: {}", visible(reason));
}
