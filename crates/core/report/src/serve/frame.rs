use pickfs_analysis::compare::{Named, RunComparison};

use super::link;
use crate::{
    comparison::comparison_document,
    document::html::write,
    html::{markup::Page, open_page},
    svg::escape,
};

const STYLE: &str = include_str!("style.css");

pub(super) fn open(title: &str) -> Page {
    let mut page = Page::default();
    open_page(&mut page, title, STYLE);
    page
}

/// A page below the list, with links beside the one to the list.
pub(super) fn open_below(title: &str, links: &[(String, &str)], heading: &str) -> Page {
    let mut page = open(title);
    bar(&mut page, links);
    page.element("h1", heading);
    page
}

fn bar(page: &mut Page, links: &[(String, &str)]) {
    page.raw("<nav class=\"bar\" aria-label=\"Pages\"><a href=\"/\">All runs</a>");
    for (to, words) in links {
        page.raw(&format!("<a href=\"{}\">", escape(to)));
        page.text(words);
        page.raw("</a>");
    }
    page.raw("</nav>\n");
}

pub(super) fn close(mut page: Page, script: Option<&str>) -> String {
    if let Some(script) = script {
        page.raw(&format!("<script>\n{script}</script>\n"));
    }
    page.raw("</body></html>\n");
    page.text
}

pub fn with_bar(html: &str, name: &str, is_over: bool) -> String {
    let mut page = Page::default();
    let mut links = vec![(link::files(name), "Files")];
    if !is_over {
        links.push((link::live(name), "Follow"));
    }
    bar(&mut page, &links);
    let style = html.replacen("</style></head>", &format!("{STYLE}</style></head>"), 1);
    style.replacen("<body>\n", &format!("<body>\n{}", page.text), 1)
}

pub fn comparison_page(comparison: &RunComparison, runs: &[Named<'_>]) -> String {
    let document = comparison_document(comparison, runs);
    let links: Vec<_> = runs.iter().map(|one| (link::run(one.name), one.name)).collect();
    let mut page = open_below("compare", &links, &document.title);
    write(&mut page, &document.nodes);
    close(page, None)
}

pub fn message_page(heading: &str, text: &str) -> String {
    let mut page = open_below(heading, &[], heading);
    page.element("p", text);
    close(page, None)
}

pub fn token_page() -> String {
    let mut page = open("token");
    page.element("h1", "pickfs serve");
    let text = "This address asks for a token. It stands in the link that pickfs serve printed.";
    page.element("p", text);
    page.raw(
        "<form class=\"search\" action=\"/\"><input type=\"password\" name=\"token\" \
         aria-label=\"Token\" autocomplete=\"off\"><button>Go on</button></form>\n",
    );
    close(page, None)
}
