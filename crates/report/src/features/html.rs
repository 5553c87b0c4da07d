use pickfs_model::features::{Answer, Class, FeatureRow, FeatureTable, Group, Presence, Verdict};

use super::view::{EXPLAINED, Line, View, class_of, dissent};
use crate::html::markup::Page;
use crate::svg::colours;

const STYLE: &str = include_str!("../html/style.css");
const OWN_STYLE: &str = include_str!("page.css");

pub fn features_html(table: &FeatureTable) -> String {
    let view = View::new(table);
    let mut page = Page::default();
    head(&mut page);
    opening(&mut page, &view);
    classes(&mut page, &view);
    matrix(&mut page, &view);
    seen(&mut page, &view);
    origins(&mut page, &view);
    absent(&mut page, &view);
    foot(&mut page, table);
    page.text
}

fn head(page: &mut Page) {
    let (light, dark) = (colours(false), colours(true));
    page.raw("<!doctype html>\n<html lang=\"en\"><head><meta charset=\"utf-8\">\n");
    page.raw("<meta name=\"viewport\" content=\"width=device-width,initial-scale=1\">\n");
    page.raw("<link rel=\"icon\" href=\"data:,\">\n<title>What file systems do - pickfs</title>\n");
    page.raw(&format!(
        "<style>\n:root{{{light}}}\n@media screen and (prefers-color-scheme:dark){{:root{{{dark}}}}}\n\
         {STYLE}{OWN_STYLE}</style></head>\n<body>\n"
    ));
}

fn opening(page: &mut Page, view: &View) {
    let table = view.table;
    page.raw("<header>\n");
    page.element("h1", &format!("What {} file systems do", view.asked.len()));
    page.raw("<p>");
    page.text(&format!(
        "Every cell is the answer of the mounted file system itself, asked on {} (kernel {}, {}).",
        table.started.split('T').next().unwrap_or_default(),
        table.machine.get("kernel.release").unwrap_or("not told"),
        table.ground
    ));
    page.raw("</p>\n<nav><a href=\"#answers\">answers</a> <a href=\"#seen\">what was seen</a> ");
    page.raw(
        "<a href=\"#origins\">where they come from</a> <a href=\"#absent\">not here</a></nav>",
    );
    page.raw("\n</header>\n");
}

fn class_name(class: Class) -> &'static str {
    match class {
        Class::Native => "native",
        Class::ForeignSupported => "foreign-supported",
        Class::ForeignUnsupported => "foreign-unsupported",
    }
}

fn class_meaning(class: Class) -> &'static str {
    match class {
        Class::Native => "designed for Linux",
        Class::ForeignSupported => "designed elsewhere; does all that Unix programs need",
        Class::ForeignUnsupported => "designed elsewhere; lacks something that Unix programs need",
    }
}

fn classes(page: &mut Page, view: &View) {
    page.raw("<div class=\"classes\">\n");
    for (class, rows) in view.classes() {
        page.raw(&format!("<div class=\"{}\">", class_name(class)));
        page.element("h3", class.name());
        page.element("p class=\"muted\"", class_meaning(class));
        let names: Vec<_> = rows.iter().map(|row| row.label.as_str()).collect();
        page.element("p class=\"members\"", &names.join(", "));
        for row in rows {
            if let Some(dissent) = dissent(row) {
                let because = class_of(row).map(|found| found.because.as_str());
                page.raw("<p><span class=\"name\">");
                page.text(&row.label);
                page.raw("</span> ");
                page.text(&format!("{}; {dissent}.", because.unwrap_or_default()));
                page.raw("</p>");
            }
        }
        page.raw("</div>\n");
    }
    page.raw("</div>\n");
}

fn matrix(page: &mut Page, view: &View) {
    page.section("answers", "Answers");
    page.raw(
        "<div class=\"key\"><span class=\"yes\">yes</span> does it <span class=\"partly\">partly</span> \
         see the notes <span class=\"no\">no</span> does not <span class=\"failed\">FAILED</span> \
         an error that should not be</div>\n\
         <label class=\"switch\"><input type=\"checkbox\" id=\"differ\"> only where they differ</label>\n\
         <div class=\"wide\" tabindex=\"0\" role=\"region\" aria-label=\"answers\">\
         <table class=\"matrix\"><thead><tr><th></th>",
    );
    for row in &view.asked {
        page.element("th scope=\"col\"", &row.label);
    }
    page.raw("</tr></thead><tbody>\n");
    for (group, lines) in view.groups() {
        group_row(page, view, group, &lines);
        lines.iter().for_each(|line| matrix_row(page, view, line));
    }
    page.raw("</tbody></table></div>\n<ul class=\"notes\">\n");
    for remark in view.remarks(&EXPLAINED) {
        page.raw("<li><span class=\"name\">");
        page.text(&format!("{}, {}", remark.label, remark.who.join(", ")));
        page.raw("</span>: ");
        page.text(&remark.words);
        page.raw("</li>\n");
    }
    page.raw("</ul>\n</section>\n");
}

fn group_row(page: &mut Page, view: &View, group: Group, lines: &[Line]) {
    let same = if lines.iter().all(|line| line.shared().is_some()) { " same" } else { "" };
    page.raw(&format!("<tr class=\"group{same}\"><th scope=\"colgroup\">"));
    page.text(group.title());
    page.raw(&format!("</th><td colspan=\"{}\"></td></tr>\n", view.asked.len()));
}

fn matrix_row(page: &mut Page, view: &View, line: &Line) {
    let is_same = view.asked.len() > 1 && line.shared().is_some();
    page.raw(if is_same { "<tr class=\"same\">" } else { "<tr>" });
    page.raw("<th scope=\"row\" title=\"");
    page.text(line.capability.how);
    page.raw("\">");
    page.text(line.capability.label);
    page.raw("</th>");
    for answer in &line.answers {
        page.raw(&format!("<td class=\"{}\" title=\"", verdict_class(answer)));
        page.text(&answer.words);
        page.raw("\">");
        page.text(answer.cell());
        page.raw("</td>");
    }
    page.raw("</tr>\n");
}

fn verdict_class(answer: &Answer) -> &'static str {
    match answer.verdict {
        Verdict::Yes => "yes",
        Verdict::Partly => "partly",
        Verdict::No => "no",
        Verdict::Measured => "measured",
        Verdict::Failed => "failed",
        Verdict::NotAsked => "not-asked",
    }
}

fn seen(page: &mut Page, view: &View) {
    page.section("seen", "What was asked, and what was seen");
    let all = [
        Verdict::Yes,
        Verdict::Partly,
        Verdict::No,
        Verdict::Measured,
        Verdict::Failed,
        Verdict::NotAsked,
    ];
    let remarks = view.remarks(&all);
    for (group, lines) in view.groups() {
        page.raw("<details><summary>");
        page.text(group.title());
        page.raw("</summary><dl class=\"seen\">\n");
        for line in lines {
            page.element("dt", line.capability.label);
            page.element("dd", line.capability.how);
            for remark in remarks.iter().filter(|remark| remark.label == line.capability.label) {
                page.raw("<dd><span class=\"name\">");
                page.text(&remark.who.join(", "));
                page.raw("</span>: ");
                page.text(&remark.words);
                page.raw("</dd>\n");
            }
        }
        page.raw("</dl></details>\n");
    }
    page.raw("</section>\n");
}

fn origins(page: &mut Page, view: &View) {
    page.section("origins", "Where they come from");
    page.element(
        "p class=\"muted\"",
        "Facts from manuals, papers and kernel documentation, not measured; each with its source.",
    );
    view.table.rows.iter().for_each(|row| origin(page, row));
    page.raw("</section>\n");
}

fn origin(page: &mut Page, row: &FeatureRow) {
    let Some(origin) = row.origin else { return };
    page.raw("<details><summary>");
    page.text(&row.label);
    if let Some(found) = class_of(row) {
        page.raw(" <span class=\"muted\">");
        page.text(found.class.name());
        page.raw("</span>");
    }
    page.raw("</summary><dl class=\"facts\">\n");
    for (name, fact) in origin.facts() {
        page.element("dt", name);
        page.raw("<dd>");
        page.text(fact.text);
        page.raw(" <span class=\"source\">");
        page.text(fact.source);
        page.raw("</span></dd>\n");
    }
    if let Some(found) = class_of(row) {
        page.fact("class", &format!("{}: {}", found.class.name(), found.because));
        if let Some(article) = found.article {
            let why = match found.differs_because.as_str() {
                "" => String::new(),
                why => format!(": {why}"),
            };
            page.fact("class in the article of 2011", &format!("{}{why}", article.name()));
        }
    }
    if let Presence::Asked { driver, options } = &row.presence {
        page.fact("mounted here by", &format!("{driver}, with {options}"));
    }
    page.fact("looked up", origin.looked_up);
    page.raw("</dl></details>\n");
}

fn absent(page: &mut Page, view: &View) {
    page.section("absent", "Not here");
    let absent = view.absent();
    if absent.is_empty() {
        page.element("p", "Every candidate was asked.");
    } else {
        page.open_table(&["file system", "reason"]);
        for (row, reason) in absent {
            page.raw("<tr><td>");
            page.text(&row.label);
            page.raw("</td><td class=\"text\">");
            page.text(&reason);
            page.raw("</td></tr>\n");
        }
        page.close_table();
    }
    page.raw("</section>\n");
}

fn foot(page: &mut Page, table: &FeatureTable) {
    page.raw("<footer><p class=\"muted\">");
    page.text(&format!("Made by {} at {}.", table.build, table.started));
    page.raw("</p></footer>\n</body></html>\n");
}
