#![allow(clippy::unwrap_used)]

mod shelf;

use pickfs_record::RunRecord;
use pickfs_testkit::{FakeRun, fake_run};
use shelf::{Folder, folder, get, put, serve};

fn links(html: &str) -> Vec<String> {
    let parts = html.split(" href=\"").skip(1);
    parts.map(|part| part.split('"').next().unwrap().replace("&amp;", "&")).collect()
}

#[test]
fn the_list_has_every_run_and_says_which_cannot_be_read() {
    let Folder { runs, .. } = &folder();
    let page = get(serve(runs, None), "/").text();
    assert!(page.contains("<a href=\"/run/first\">first</a>"));
    assert!(page.contains("<a href=\"/run/second%20run\">second run</a>"));
    assert!(page.contains("junk.pickfs is not a pickfs run") || page.contains("not a database"));
    assert!(page.contains("is a link out of the folder; it is not served"));
    assert!(page.contains("40 trials") && page.contains("16 of 16 trials"));
    assert_eq!(page.matches("cannot be read").count(), 4, "junk and three links");
}

#[test]
fn a_search_leaves_what_matches() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    let page = get(address, "/?q=6.19.0-other").text();
    assert!(page.contains("/run/second%20run\"") && !page.contains("/run/first\""));
    assert!(get(address, "/?q=no+such+thing").text().contains("0 of 7 in"));
}

#[test]
fn every_link_of_every_page_leads_somewhere() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    let mut seen = vec!["/".to_string()];
    let mut at = 0;
    while at < seen.len() {
        let got = get(address, &seen[at]);
        assert_eq!(got.status, 200, "{}", seen[at]);
        let is_page = got.kind.starts_with("text/html") && !seen[at].contains("report.html");
        let found = if is_page { links(&got.text()) } else { Vec::new() };
        // One chart of one run and one log stand for all of them.
        for link in found.into_iter().filter(|link| link.starts_with('/')) {
            let is_another = link.contains("/charts/")
                && !link.contains("first/charts/percentiles.")
                || link.contains("/hlog/") && !link.contains("trial-0001");
            if !is_another && !seen.contains(&link) {
                seen.push(link);
            }
        }
        at += 1;
    }
    assert!(seen.len() > 25, "{seen:?}");
}

#[test]
fn the_page_of_a_run_is_its_report_with_a_bar() {
    let Folder { runs, .. } = &folder();
    let got = get(serve(runs, None), "/run/second%20run");
    let page = got.text();
    assert!(page.contains("All runs</a>") && page.contains("id=\"ranking\""));
    assert!(page.contains("href=\"/files/second%20run\""));
    let policy = &got.head.iter().find(|(name, _)| name == "content-security-policy").unwrap().1;
    let nonce = policy.split("'nonce-").nth(1).unwrap().split('\'').next().unwrap();
    assert_eq!(nonce.len(), 32);
    assert_eq!(page.matches(&format!("<script nonce=\"{nonce}\">")).count(), 1);
}

#[test]
fn each_export_is_of_its_kind() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    for (file, kind, begins) in [
        ("report.html", "text/html", "<!doctype html>"),
        ("report.md", "text/markdown", "#"),
        ("trials.csv", "text/csv", ""),
        ("summary.csv", "text/csv", ""),
        ("report.json", "application/json", "{"),
        ("charts/percentiles.svg", "image/svg+xml", "<svg"),
        ("hlog/trial-0001-append.hlog", "text/plain", "#[pickfs run: first]"),
    ] {
        let got = get(address, &format!("/files/first/{file}"));
        assert_eq!(got.status, 200, "{file}");
        assert!(got.kind.starts_with(kind), "{file}: {}", got.kind);
        assert!(got.text().starts_with(begins), "{file}");
    }
    let json: serde_json::Value =
        serde_json::from_slice(&get(address, "/files/first/report.json").body).unwrap();
    assert_eq!(json["run"]["trials"].as_array().unwrap().len(), 40);
    let png = get(address, "/files/first/charts/percentiles.png");
    assert!(png.body.starts_with(b"\x89PNG"));
    assert_eq!(get(address, "/files/first/report.exe").status, 404);
}

#[test]
fn two_runs_differ_in_their_machines_first_and_the_older_is_divided_by() {
    let Folder { runs, .. } = &folder();
    let address = serve(runs, None);
    let page = get(address, "/compare?run=second%20run&run=first").text();
    let changed = page.find("6.19.0-other").unwrap();
    assert!(changed < page.find("What differs in the results").unwrap());
    assert!(page.contains("xfs:noatime") && page.contains("Before you believe a ratio"));
    let summary = page.split("class=\"article\"").nth(1).unwrap().split("</div>").next().unwrap();
    let around = summary.find("of machine and plan differ").unwrap();
    assert!(around < summary.find("Results: between ").unwrap(), "{summary}");
    assert!(summary.contains("kernel.release"), "{summary}");
    let cells = page.split("Every quantile").nth(1).unwrap();
    assert!(cells.contains("<td>p99.9</td>") && cells.contains("<figure><svg"), "{cells}");
    assert_eq!(get(address, "/compare?run=first").status, 400);
    assert_eq!(get(address, "/compare?run=first&run=nowhere").status, 404);
    assert_eq!(get(address, "/compare?run=first&run=junk.pickfs").status, 500);
}

#[test]
fn three_runs_are_a_chain_in_the_order_of_their_start() {
    let Folder { runs, .. } = &folder();
    let mut third = fake_run(&FakeRun { seed: 11, ..FakeRun::default() });
    third.started = "2026-12-01T00:00:00Z".into();
    third.environment.put("kernel.release", "7.0");
    put(&runs.join("third"), &third);
    let page = get(serve(runs, None), "/compare?run=third&run=first&run=second+run").text();
    assert!(page.contains("<h1>first -&gt; second run -&gt; third</h1>"), "{page}");
    assert!(page.find("6.19.0-other").unwrap() < page.find("-&gt; 7.0</dd>").unwrap());
    assert!(page.find("7.0").unwrap() < page.find("What differs in the results").unwrap());
    assert!(page.contains("<th>3 / 1</th>"), "{page}");
}

#[test]
fn a_run_that_goes_on_is_followed_to_its_end() {
    let Folder { runs, .. } = &folder();
    let ask = FakeRun { name: "live".into(), blocks: 1, ..FakeRun::default() };
    let run = fake_run(&ask);
    let (first, later) = run.trials.split_at(3);
    let begun = RunRecord { trials: first.to_vec(), ended: None, ..run.clone() };
    let mut file = put(&runs.join("live"), &begun);
    let address = serve(runs, None);
    let page = get(address, "/live/live").text();
    assert!(page.contains("<strong id=\"count\">3</strong>"), "{page}");
    let is_again = |path: &str| get(address, path).head.iter().any(|(name, _)| name == "refresh");
    assert!(is_again("/live/live"), "a browser asks again");
    later.iter().for_each(|trial| file.add_trial(trial).unwrap());
    file.end(run.ended.as_ref().unwrap()).unwrap();
    let page = get(address, "/live/live").text();
    assert!(
        page.contains(&format!("<strong id=\"count\">{}</strong>", run.trials.len())),
        "{page}"
    );
    assert!(page.contains("Ended: completed") && !is_again("/live/live"), "{page}");
}
