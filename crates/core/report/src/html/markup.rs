use crate::svg::escape;

#[derive(Debug, Default)]
pub struct Page {
    pub text: String,
}

impl Page {
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    pub fn text(&mut self, words: &str) {
        self.text.push_str(&escape(words));
    }

    pub fn element(&mut self, tag: &str, words: &str) {
        self.raw(&format!("<{tag}>"));
        self.text(words);
        let name = tag.split(' ').next().unwrap_or(tag);
        self.raw(&format!("</{name}>\n"));
    }

    pub fn section(&mut self, id: &str, title: &str) {
        self.raw(&format!("<section id=\"{id}\">\n"));
        self.element("h2", title);
    }

    pub fn close_table(&mut self) {
        self.raw("</tbody></table></div>\n");
    }
}
