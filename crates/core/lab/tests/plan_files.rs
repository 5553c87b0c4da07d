use std::path::Path;

use pickfs_lab::plan_file::read_plan_file;

#[test]
fn what_never_ends_or_is_no_plan_is_not_read() {
    let folder = tempfile::tempdir().expect("a folder");
    let said = |path: &Path| read_plan_file(path).expect_err("refused").to_string();
    assert_eq!(
        said(Path::new("/dev/zero")),
        "/dev/zero: is a device or a pipe; name a plan file (.toml)"
    );
    let pipe = folder.path().join("pipe.toml");
    rustix::fs::mknodat(rustix::fs::CWD, &pipe, rustix::fs::FileType::Fifo, 0o600.into(), 0)
        .expect("a pipe");
    assert!(said(&pipe).ends_with("is a device or a pipe; name a plan file (.toml)"));
    assert!(said(folder.path()).ends_with(": is a folder; name a plan file (.toml)"));
    let large = folder.path().join("large.toml");
    std::fs::write(&large, "#".repeat(5 << 20)).expect("written");
    assert!(said(&large).contains("has 5 MiB, a plan has at most 4 MiB"), "{}", said(&large));
    let absent = said(&folder.path().join("none.toml"));
    assert!(absent.contains("none.toml: cannot read the plan: No such file"), "{absent}");
}
