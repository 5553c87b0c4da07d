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

    pub fn fact(&mut self, name: &str, value: &str) {
        self.element("dt", name);
        self.element("dd", value);
    }

    pub fn section(&mut self, id: &str, title: &str) {
        self.raw(&format!("<section id=\"{id}\">\n"));
        self.element("h2", title);
    }

    pub fn open_table(&mut self, header: &[&str]) {
        self.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"><table><thead><tr>");
        for name in header {
            self.element("th", name);
        }
        self.raw("</tr></thead><tbody>\n");
    }

    pub fn close_table(&mut self) {
        self.raw("</tbody></table></div>\n");
    }
}
