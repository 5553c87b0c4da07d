//! A page that grows: markup goes in raw, everything else goes in escaped.

use crate::svg::escape;

/// A page that grows.
#[derive(Debug, Default)]
pub struct Page {
    /// What is written so far.
    pub text: String,
}

impl Page {
    /// Markup of our own.
    pub fn raw(&mut self, markup: &str) {
        self.text.push_str(markup);
    }

    /// Words from anywhere, escaped.
    pub fn text(&mut self, words: &str) {
        self.text.push_str(&escape(words));
    }

    /// An element that holds only words.
    pub fn element(&mut self, tag: &str, words: &str) {
        self.raw(&format!("<{tag}>"));
        self.text(words);
        let name = tag.split(' ').next().unwrap_or(tag);
        self.raw(&format!("</{name}>\n"));
    }

    /// A row of a list of facts.
    pub fn fact(&mut self, name: &str, value: &str) {
        self.element("dt", name);
        self.element("dd", value);
    }

    /// Opens a section with a heading that links can reach.
    pub fn section(&mut self, id: &str, title: &str) {
        self.raw(&format!("<section id=\"{id}\">\n"));
        self.element("h2", title);
    }

    /// Opens a table that scrolls on its own where it is too wide.
    pub fn open_table(&mut self, header: &[&str]) {
        self.raw("<div class=\"wide\" tabindex=\"0\" role=\"region\"><table><thead><tr>");
        for name in header {
            let tag = match *name {
                "notes" => "th class=\"text notes\"",
                "what" | "cause" | "by" | "asleep in" | "woken from" => "th class=\"word\"",
                "reason" | "remedy" | "doubts" | "outcome" => "th class=\"text\"",
                _ => "th",
            };
            self.element(tag, name);
        }
        self.raw("</tr></thead><tbody>\n");
    }

    /// Closes a table.
    pub fn close_table(&mut self) {
        self.raw("</tbody></table></div>\n");
    }
}
