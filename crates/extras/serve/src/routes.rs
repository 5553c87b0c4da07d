use std::sync::Arc;

use pickfs_analysis::compare::{Named, compare};
use pickfs_record::{Findings, RunRecord, record::OpRecord};
use pickfs_report::{NextStep, Subject, exports, hlog, html};

use crate::{
    access::{Gate, Passage, random_token},
    pages::{comparison_page, files_page, list_page, live_page, token_page, with_bar},
    request::Request,
    response::Response,
    server::refusal,
    shelf::{Loaded, Place, Shelf},
};

pub struct Routes {
    pub shelf: Shelf,
    pub next: fn(&RunRecord, &Findings) -> Option<NextStep>,
}

/// Seconds after which a browser asks again for the page of a run that goes on.
const AGAIN_S: &str = "5";
/// Most runs of a comparison.
const COMPARED_MAX: usize = 12;

type Made = Result<Response, Response>;

impl Routes {
    pub fn answer(&self, gate: &Gate, request: &Request) -> Response {
        match gate.passage(request) {
            Passage::Open => {}
            Passage::Welcome { cookie } => {
                return Response::redirect("/").with("Set-Cookie", cookie);
            }
            Passage::ForeignHost => {
                let text = "the name in the address is not one of this machine's own; open \
                            http://localhost with this port";
                return refusal(403, text);
            }
            Passage::Closed => return page(401, token_page()),
        }
        let parts: Vec<&str> = request.parts.iter().map(String::as_str).collect();
        self.page(&parts, request).unwrap_or_else(|refused| refused)
    }

    fn page(&self, parts: &[&str], request: &Request) -> Made {
        match parts {
            [] => self.list(request.value("q").unwrap_or_default()),
            ["run", name] => self.report(name),
            ["live", name] => self.live(name),
            ["files", name] => self.files(name),
            ["files", name, file @ ..] => self.file(name, &file.join("/")),
            ["compare"] => self.compare(&request.values("run").collect::<Vec<_>>()),
            _ => Err(refusal(404, "there is no such page")),
        }
    }

    fn place(&self, name: &str) -> Result<Place, Response> {
        let found = self.shelf.find(name);
        let place = found.ok_or_else(|| refusal(404, "there is no such run in the folder"))?;
        match place.outside() {
            Some(why) => Err(refusal(404, &why)),
            None => Ok(place),
        }
    }

    fn load(&self, name: &str) -> Result<Arc<Loaded>, Response> {
        let place = self.place(name)?;
        self.shelf.load(&place).map_err(|why| refusal(500, &why))
    }

    fn list(&self, search: &str) -> Made {
        let lines =
            self.shelf.lines().map_err(|why| refusal(500, &format!("cannot list: {why}")))?;
        let folder = self.shelf.folder().display().to_string();
        Ok(page(200, list_page(&folder, &lines, search)))
    }

    fn report(&self, name: &str) -> Made {
        let loaded = self.load(name)?;
        let subject = Subject::new(&loaded.run, &loaded.findings);
        let next = (self.next)(&loaded.run, &loaded.findings);
        let html = html::html(&subject, next.as_ref());
        Ok(page(200, with_bar(&html, name, loaded.run.ended.is_some())))
    }

    fn live(&self, name: &str) -> Made {
        let place = self.place(name)?;
        let file = place.open().map_err(|why| refusal(500, &why))?;
        let told = |error: pickfs_store::StoreError| refusal(500, &error.to_string());
        let head = file.read_head().map_err(told)?;
        let rows: Vec<_> = file.trials_after(0).map_err(told)?;
        let page = page(200, live_page(name, &head, &rows, place.idle_s()));
        Ok(if head.ended.is_none() { page.with("Refresh", AGAIN_S.into()) } else { page })
    }

    fn files(&self, name: &str) -> Made {
        let loaded = self.load(name)?;
        let subject = Subject::new(&loaded.run, &loaded.findings);
        let mut files = exports::file_names(&subject);
        let opened = self.place(name)?.open().map_err(|why| refusal(500, &why))?;
        let kept = opened.interval_logs().map_err(|error| refusal(500, &error.to_string()))?;
        for trial in &loaded.run.trials {
            let has_log = |op: &&OpRecord| {
                !op.service.histogram.is_empty() || kept.contains(&(trial.number, op.op.clone()))
            };
            let ops = trial.ops.iter().filter(has_log);
            files.extend(ops.map(|op| format!("hlog/{}", hlog::file_name(trial, op))));
        }
        Ok(page(200, files_page(name, &files)))
    }

    fn file(&self, name: &str, file: &str) -> Made {
        let loaded = self.load(name)?;
        if file.starts_with("hlog/") {
            let text = self.interval_log(name, &loaded.run, file)?;
            return Ok(Response::file(file, text.into_bytes()));
        }
        let subject = Subject::new(&loaded.run, &loaded.findings);
        let next = (self.next)(&loaded.run, &loaded.findings);
        match exports::render(&subject, next.as_ref(), file) {
            Ok(Some(bytes)) if file.ends_with(".html") => {
                Ok(page(200, String::from_utf8_lossy(&bytes).into_owned()))
            }
            Ok(Some(bytes)) => Ok(Response::file(&file.replace('/', "-"), bytes)),
            Ok(None) => Err(refusal(404, "there is no such file of this run")),
            Err(error) => Err(refusal(500, &error.to_string())),
        }
    }

    fn interval_log(&self, name: &str, run: &RunRecord, file: &str) -> Result<String, Response> {
        let wanted = file.trim_start_matches("hlog/");
        let ops = run.trials.iter().flat_map(|trial| trial.ops.iter().map(move |op| (trial, op)));
        let named = ops.into_iter().find(|(trial, op)| hlog::file_name(trial, op) == wanted);
        let none = || refusal(404, "there is no such log of this run");
        let (trial, op) = named.ok_or_else(none)?;
        let opened = self.place(name)?.open().map_err(|why| refusal(500, &why))?;
        let log = opened.interval_log(trial.number, &op.op);
        let log = log.map_err(|error| refusal(500, &error.to_string()))?;
        let (mut trial, mut op) = (trial.clone(), op.clone());
        op.interval_log = log.unwrap_or_default();
        trial.ops = vec![op];
        let one = RunRecord { trials: vec![trial], ..without_trials(run) };
        hlog::interval_logs(&one).pop().map(|log| log.text).ok_or_else(none)
    }

    fn compare(&self, names: &[&str]) -> Made {
        if !(2..=COMPARED_MAX).contains(&names.len()) {
            let text = format!("choose two to {COMPARED_MAX} runs in the list, then compare them");
            return Err(refusal(400, &text));
        }
        let loaded = names.iter().map(|name| Ok((*name, self.load(name)?)));
        let mut loaded = loaded.collect::<Result<Vec<_>, Response>>()?;
        loaded.sort_by(|(_, one), (_, other)| one.run.started.cmp(&other.run.started));
        let named = loaded.iter().map(|(name, loaded)| {
            let Loaded { run, findings } = &**loaded;
            Named { name, run, findings }
        });
        let named: Vec<_> = named.collect();
        Ok(page(200, comparison_page(&compare(&named), &named)))
    }
}

fn without_trials(run: &RunRecord) -> RunRecord {
    let mut bare = run.clone();
    bare.trials.clear();
    bare
}

fn page(status: u16, html: String) -> Response {
    match random_token() {
        Ok(nonce) => Response::page(status, html, &nonce),
        Err(_) => Response::page(status, html, ""),
    }
}
