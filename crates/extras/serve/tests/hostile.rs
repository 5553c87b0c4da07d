#![allow(clippy::unwrap_used)]

mod shelf;

use std::{fs, io::Write, net::TcpStream};

use pickfs_testkit::until;
use shelf::{Folder, SECRET, folder, get, get_raw, get_with, raw, serve, status};

#[test]
fn no_path_outside_the_folder_can_be_reached() {
    let Folder { runs, outside, .. } = &folder();
    let address = serve(runs, None);
    let secret = outside.join("secret.txt").display().to_string();
    let away = outside.join("away").display().to_string();
    let mut names: Vec<String> = [
        "../outside/secret.txt",
        "..%2Foutside%2Fsecret.txt",
        "%2e%2e%2foutside%2fsecret.txt",
        "%252e%252e%252foutside%252fsecret.txt",
        "..%5coutside%5csecret.txt",
        "..;/outside/away",
        "first/../../outside/secret.txt",
        "first%2F..%2F..%2Foutside%2Faway",
        "....//outside/away",
        "linked-folder/secret.txt",
        "linked-folder%2Fsecret.txt",
        "linked-folder",
        "linked-run",
        "linked-run%2Frun.pickfs",
        "linked.pickfs",
        "secret.pickfs",
        "%c0%ae%c0%ae%c0%afoutside",
        "first%00.txt",
        "first/charts/../../../../outside/secret.txt",
        ".",
        "..",
        "",
        "%2e%2e",
        "first/charts%2F..%2F..%2Fsecret",
        "first/hlog/..%2F..%2F..%2Foutside%2Fsecret.txt",
        "/etc/passwd",
        "//etc/passwd",
        "%2Fetc%2Fpasswd",
        "file:%2F%2F%2Fetc%2Fpasswd",
    ]
    .map(String::from)
    .to_vec();
    names.extend([&secret, &away].map(|path| path.replace('/', "%2F")));
    names.extend([secret, away]);
    for name in &names {
        for page in [
            "/run/",
            "/files/",
            "/live/",
            "/events/",
            "/",
            "/compare?run=first&run=",
            "/files/first/",
        ] {
            let answer = get_raw(address, &format!("{page}{name}"));
            let code = status(&answer);
            assert!(!answer.contains(SECRET), "{page}{name}: {answer}");
            assert!(!answer.contains("root:x:0:0"), "{page}{name}");
            let is_ours = code == 200 && (name.is_empty() || name == ".");
            assert!(is_ours || matches!(code, 200 | 400 | 404 | 500), "{page}{name}: {answer}");
            if code == 200 {
                // What is answered is a page that the name does not change.
                assert!(!answer.contains("Content-Disposition"), "{page}{name}: {answer}");
            }
        }
    }
}

#[test]
fn a_link_that_is_put_in_later_is_not_followed_either() {
    let Folder { runs, outside, .. } = &folder();
    let address = serve(runs, None);
    assert_eq!(get(address, "/run/first").status, 200);
    let file = runs.join("first/run.pickfs");
    fs::remove_file(&file).unwrap();
    std::os::unix::fs::symlink(outside.join("away/run.pickfs"), &file).unwrap();
    let got = get(address, "/run/first");
    assert_eq!(got.status, 404);
    assert!(got.text().contains("is a link out of the folder") && !got.text().contains(SECRET));
}

#[test]
fn nothing_but_get_and_head_is_answered() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    for method in ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "PROPFIND"] {
        let ask = format!("{method} /run/first HTTP/1.1\r\nHost: localhost\r\n\r\n");
        let answer = raw(address, ask.as_bytes());
        assert_eq!(status(&answer), 405, "{method}");
        assert!(answer.contains("Allow: GET, HEAD\r\n"));
    }
    let head = raw(address, b"HEAD /run/first HTTP/1.1\r\nHost: localhost\r\n\r\n");
    assert_eq!(status(&head), 200);
    assert!(head.ends_with("\r\n\r\n"), "no body");
}

#[test]
fn a_name_that_a_stranger_points_at_loopback_is_not_answered() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    for host in ["evil.example", "evil.example:80", "127.0.0.1.nip.io", "[fe80::1]"] {
        let ask = format!("GET / HTTP/1.1\r\nHost: {host}\r\n\r\n");
        let answer = raw(address, ask.as_bytes());
        assert_eq!(status(&answer), 403, "{host}");
        assert!(!answer.contains("second%20run"), "{host}");
    }
    assert_eq!(status(&raw(address, b"GET / HTTP/1.0\r\n\r\n")), 403);
    assert_eq!(
        status(&raw(address, b"GET http://localhost/ HTTP/1.1\r\nHost: localhost\r\n\r\n")),
        400
    );
}

#[test]
fn with_a_token_nothing_is_shown_without_it() {
    const TOKEN: &str = "a-token-of-22-letters-";
    let Folder { runs, .. } = &folder();
    let address = serve(runs, Some(TOKEN));
    for path in ["/", "/run/first", "/files/first/report.json", "/events/going", "/?token=wrong"] {
        let got = get(address, path);
        assert_eq!(got.status, 401, "{path}");
        assert!(!got.text().contains("second%20run"), "{path}");
    }
    let welcome = get(address, &format!("/?token={TOKEN}"));
    assert_eq!(welcome.status, 303);
    let value = |name: &str| welcome.head.iter().find(|(n, _)| n == name).unwrap().1.clone();
    assert_eq!(value("location"), "/");
    let cookie = value("set-cookie");
    assert!(cookie.contains("HttpOnly; SameSite=Strict"));
    let pair = cookie.split(';').next().unwrap();
    assert_eq!(get_with(address, "/run/first", &[("Cookie", pair)]).status, 200);
    let bearer = format!("Bearer {TOKEN}");
    assert_eq!(get_with(address, "/", &[("Authorization", &bearer)]).status, 200);
    assert_eq!(get_with(address, "/", &[("Authorization", "Bearer a-token")]).status, 401);
}

#[test]
fn every_answer_carries_the_guarding_headers() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    for path in ["/", "/run/first", "/nowhere", "/files/first/charts/bars.svg", "/live/going"] {
        let got = get(address, path);
        let value = |name: &str| {
            let found = got.head.iter().find(|(known, _)| known == name);
            found.map(|(_, value)| value.clone()).unwrap_or_default()
        };
        let policy = value("content-security-policy");
        assert!(policy.starts_with("default-src 'none';"), "{path}");
        assert!(policy.contains("frame-ancestors 'none'") && !policy.contains("unsafe-eval"));
        assert!(!policy.contains("script-src 'unsafe-inline'"), "{path}");
        assert_eq!(value("x-content-type-options"), "nosniff", "{path}");
        assert_eq!(value("referrer-policy"), "no-referrer", "{path}");
        assert_eq!(value("cache-control"), "no-store", "{path}");
        assert_eq!(value("access-control-allow-origin"), "", "{path}");
    }
}

#[test]
fn broken_and_endless_requests_do_not_keep_others_out() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    let endless = format!("GET / HTTP/1.1\r\nHost: localhost\r\nA: {}", "a".repeat(20_000));
    assert_eq!(status(&raw(address, endless.as_bytes())), 431);
    assert_eq!(status(&raw(address, b"\x16\x03\x01\x00\xa5\x01\r\n\r\n")), 400);
    let silent: Vec<TcpStream> = (0..12).map(|_| TcpStream::connect(address).unwrap()).collect();
    assert_eq!(get(address, "/").status, 200);
    drop(silent);
    // Those that have just left may still be counted: one more comes before each look.
    let mut many = Vec::new();
    until("a refusal of too many", || {
        many.push(TcpStream::connect(address).unwrap());
        (get(address, "/").status == 503).then_some(())
    });
    drop(many);
    until("room where some left", || (get(address, "/").status == 200).then_some(()));
    let mut half = TcpStream::connect(address).unwrap();
    half.write_all(b"GET / HT").unwrap();
    assert_eq!(get(address, "/").status, 200);
}

#[test]
fn a_run_that_is_damaged_in_its_records_is_told_and_not_fatal() {
    let Folder { runs, .. } = &folder();
    let path = runs.join("first/run.pickfs");
    let mut bytes = fs::read(&path).unwrap();
    let text = br#""format":1,"name":"first""#;
    let at = bytes.windows(text.len()).position(|window| window == text).unwrap();
    bytes[at] = b'#';
    fs::write(&path, &bytes).unwrap();
    let address = serve(runs, None);
    assert!(get(address, "/").text().contains("is damaged"));
    let got = get(address, "/run/first");
    assert_eq!(got.status, 500);
    assert!(got.text().contains("is damaged"), "{}", got.text());
    assert_eq!(get(address, "/run/going").status, 200);
}
