use std::{
    io::Write,
    path::Path,
    process::{Command, Stdio},
};

/// Makes a file that can be executed at once. A child writes it: another test's child, begun while this process had
/// the file open for writing, would hold that descriptor until its own `execve`, and ours would end in `ETXTBSY`.
pub fn install(path: &Path, content: &[u8]) {
    let mut command = Command::new("install");
    command.args(["-m", "755", "/dev/stdin"]).arg(path).stdin(Stdio::piped());
    let mut child = command.spawn().expect("install is a program");
    let mut input = child.stdin.take().expect("a pipe");
    input.write_all(content).expect("install reads");
    drop(input);
    assert!(child.wait().expect("our child").success(), "install {}", path.display());
}
