use std::{
    fmt::Write as _,
    io::{self, Write},
};

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Response {
    pub status: u16,
    pub kind: &'static str,
    pub body: Vec<u8>,
    /// Further headers of ours: no value holds a line end.
    pub headers: Vec<(&'static str, String)>,
    policy: String,
}

/// Nothing may be loaded or run.
const STRICT: &str = "default-src 'none'; style-src 'unsafe-inline'; base-uri 'none'; \
                      form-action 'none'; frame-ancestors 'none'; sandbox";

pub const HTML: &str = "text/html; charset=utf-8";

impl Response {
    /// A page; its last script, which is ours, may run and no other.
    ///
    /// The last one: words from a run stand before it, and if one of them ever got out of its
    /// quotes, it would still not be given the nonce.
    pub fn page(status: u16, html: String, nonce: &str) -> Response {
        let html = match html.rfind("<script>") {
            Some(at) => {
                let (head, tail) = html.split_at(at);
                format!("{head}<script nonce=\"{nonce}\">{}", &tail["<script>".len()..])
            }
            None => html,
        };
        let policy = format!(
            "default-src 'none'; style-src 'unsafe-inline'; img-src data:; \
             script-src 'nonce-{nonce}'; base-uri 'none'; \
             form-action 'self'; frame-ancestors 'none'"
        );
        Response { status, kind: HTML, body: html.into_bytes(), headers: Vec::new(), policy }
    }

    pub fn file(name: &str, body: Vec<u8>) -> Response {
        let stem: String = name.chars().map(|c| if is_plain(c) { c } else { '_' }).collect();
        let kind = kind_of(name);
        let how = if is_shown(kind) { "inline" } else { "attachment" };
        let headers = vec![("Content-Disposition", format!("{how}; filename=\"{stem}\""))];
        Response { status: 200, kind, body, headers, policy: STRICT.into() }
    }

    pub fn redirect(to: &str) -> Response {
        let headers = vec![("Location", to.to_owned())];
        Response { status: 303, kind: HTML, body: Vec::new(), headers, policy: STRICT.into() }
    }

    pub fn with(mut self, name: &'static str, value: String) -> Response {
        self.headers.push((name, value));
        self
    }

    /// The head as it goes over the wire.
    pub fn head(&self) -> String {
        let mut out = format!("HTTP/1.1 {} {}\r\n", self.status, reason(self.status));
        let length = [("Content-Length", self.body.len().to_string())];
        let ours = [
            ("Content-Type", self.kind),
            ("Content-Security-Policy", &self.policy),
            ("X-Content-Type-Options", "nosniff"),
            ("X-Frame-Options", "DENY"),
            ("Referrer-Policy", "no-referrer"),
            ("Cross-Origin-Resource-Policy", "same-origin"),
            ("Cross-Origin-Opener-Policy", "same-origin"),
            ("Cache-Control", "no-store"),
            ("Connection", "close"),
        ];
        let further = self.headers.iter().map(|(name, value)| (*name, value.clone()));
        let all = ours.into_iter().map(|(name, value)| (name, value.to_owned()));
        for (name, value) in all.chain(length).chain(further) {
            let value: String = value.chars().filter(|c| !c.is_control()).collect();
            let _ = write!(out, "{name}: {value}\r\n");
        }
        out + "\r\n"
    }

    pub fn send(&self, to: &mut impl Write, head_only: bool) -> io::Result<()> {
        to.write_all(self.head().as_bytes())?;
        if !head_only {
            to.write_all(&self.body)?;
        }
        to.flush()
    }
}

fn is_plain(c: char) -> bool {
    c.is_ascii_alphanumeric() || "-_.".contains(c)
}

/// What a browser may show by itself; all else is kept.
fn is_shown(kind: &str) -> bool {
    kind == HTML || kind.starts_with("image/")
}

fn kind_of(name: &str) -> &'static str {
    match name.rsplit('.').next().unwrap_or_default() {
        "html" => HTML,
        "md" => "text/markdown; charset=utf-8",
        "csv" => "text/csv; charset=utf-8",
        "json" => "application/json",
        "svg" => "image/svg+xml",
        "png" => "image/png",
        "hlog" => "text/plain; charset=utf-8",
        _ => "application/octet-stream",
    }
}

fn reason(status: u16) -> &'static str {
    match status {
        200 => "OK",
        303 => "See Other",
        400 => "Bad Request",
        401 => "Unauthorized",
        403 => "Forbidden",
        404 => "Not Found",
        405 => "Method Not Allowed",
        408 => "Request Timeout",
        431 => "Request Header Fields Too Large",
        503 => "Service Unavailable",
        _ => "Internal Server Error",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_last_script_of_a_page_may_run() {
        let page = "<p>x<script>theirs</script><script>ours</script>".to_owned();
        let sent = Response::page(200, page, "n1");
        let body = String::from_utf8_lossy(&sent.body).into_owned();
        assert_eq!(body, "<p>x<script>theirs</script><script nonce=\"n1\">ours</script>");
        assert!(sent.head().contains("script-src 'nonce-n1';"));
    }

    #[test]
    fn a_header_cannot_be_broken() {
        let sent = Response::redirect("/a\r\nSet-Cookie: x=y").head();
        assert_eq!(sent.matches("\r\n").count(), sent.lines().count());
        assert!(!sent.contains("\nSet-Cookie"));
        let file = Response::file("a\"b\r\n.csv", vec![]).head();
        assert!(file.contains("attachment; filename=\"a_b__.csv\""), "{file}");
    }

    #[test]
    fn every_answer_is_guarded() {
        let file = Response::file("charts/a.svg", b"<svg/>".to_vec()).head();
        for line in ["nosniff", "default-src 'none'", "sandbox", "no-store", "Content-Length: 6"] {
            assert!(file.contains(line), "{line}: {file}");
        }
    }
}
