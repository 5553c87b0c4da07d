use super::{frame, link};
use crate::svg::escape;

pub fn files_page(name: &str, files: &[String]) -> String {
    let links = [(link::run(name), name)];
    let mut page = frame::open_below("files", &links, &format!("Files of {name}"));
    page.element("p class=\"muted\"", "Each is written when you ask for it.");
    let groups = [
        ("Reports and tables", None),
        ("Charts", Some("charts")),
        ("Tables as KX Nano writes them", Some("psv")),
        ("HdrHistogram interval logs", Some("hlog")),
    ];
    for (title, folder) in groups {
        let of = |file: &&String| file.split_once('/').map(|(folder, _)| folder) == folder;
        let mine: Vec<_> = files.iter().filter(of).collect();
        if mine.is_empty() {
            continue;
        }
        page.element("h2", title);
        page.raw("<ul class=\"files\">\n");
        for file in mine {
            page.raw(&format!("<li><a href=\"{}\">", escape(&link::file(name, file))));
            page.text(file.rsplit('/').next().unwrap_or(file));
            page.raw("</a></li>\n");
        }
        page.raw("</ul>\n");
    }
    frame::close(page, None)
}
