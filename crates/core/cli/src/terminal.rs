//! Nothing that a label, a path, a command or a stranger's run file says can steer the terminal:
//! control characters and marks that turn the direction of writing are shown as `\u001b`.

use std::{
    io::{self, IsTerminal, Write},
    sync::OnceLock,
};

use indicatif::{ProgressDrawTarget, TermLike};
use pickfs_record::visible::push_visible;
use pickfs_report::{
    document::{Document, terminal::terminal},
    terminal::{colour_of, hanging, wrap},
};

static LOST: OnceLock<io::Error> = OnceLock::new();

const DRAWN_HZ: u8 = 20;

/// Nobody there to read it (`pickfs run | head`) is no reason to lose a run; any other failure
/// shows in the exit code.
pub fn put(text: &str) {
    let mut out = io::stdout().lock();
    let text = visible(text, has_colour());
    note_lost(out.write_all(text.as_bytes()).and_then(|()| out.flush()));
}

pub fn put_help(help: &clap::Error) {
    note_lost(help.print().and_then(|()| io::stdout().flush()));
}

fn note_lost(written: io::Result<()>) {
    if let Err(error) = written {
        if error.kind() != io::ErrorKind::BrokenPipe {
            let _ = LOST.set(error);
        }
    }
}

/// Puts a document on standard output, in the columns that there are.
pub fn show(document: &Document) {
    put(&terminal(document, crate::screen::columns(), has_colour()));
}

pub fn line(text: &str) {
    put(&format!("{text}\n"));
}

/// A line for somebody without whom there is no going on.
#[cfg(feature = "crash")]
pub fn say(line: &str) -> io::Result<()> {
    let mut out = io::stdout().lock();
    writeln!(out, "{line}").and_then(|()| out.flush())
}

/// Indented from the second line of a terminal on; one line elsewhere, for programs that read it.
pub fn flow(text: &str, indent: usize) {
    match width() {
        Some(columns) => put(&folded(text, columns, indent)),
        None => line(text),
    }
}

/// Columns of the terminal that standard output is, where it is one and says so.
pub fn width() -> Option<usize> {
    let size = rustix::termios::tcgetwinsize(io::stdout()).ok()?;
    Some(usize::from(size.ws_col)).filter(|columns| *columns > 0)
}

fn folded(text: &str, columns: usize, indent: usize) -> String {
    let words = text.trim_start();
    let blanks = text.len() - words.len();
    let mut lines = wrap(words, columns.saturating_sub(blanks)).into_iter();
    let mut all = format!("{:blanks$}{}\n", "", lines.next().unwrap_or_default());
    let rest = lines.collect::<Vec<_>>().join(" ");
    if !rest.is_empty() {
        all.push_str(&hanging("", rest.trim_start(), indent, columns));
    }
    all
}

pub fn tell(line: &str) {
    draw(&format!("{line}\n"));
}

pub fn draw(text: &str) {
    let colour = io::stderr().is_terminal() && std::env::var_os("NO_COLOR").is_none();
    write_errors(&visible(text, colour));
}

#[cfg(any(feature = "crash", feature = "features"))]
pub fn redraw(text: &str) {
    write_errors("\r\x1b[K");
    draw(text);
}

fn write_errors(text: &str) {
    let mut errors = io::stderr().lock();
    let _ = errors.write_all(text.as_bytes()).and_then(|()| errors.flush());
}

pub fn lost() -> Option<&'static io::Error> {
    LOST.get()
}

pub fn has_colour() -> bool {
    io::stdout().is_terminal() && std::env::var_os("NO_COLOR").is_none()
}

pub fn bar_target() -> ProgressDrawTarget {
    match io::stderr().is_terminal() {
        true => ProgressDrawTarget::term_like_with_hz(Box::new(Errors), DRAWN_HZ),
        false => ProgressDrawTarget::hidden(),
    }
}

/// A terminal that another program made may have no size.
fn told(otherwise: u16, of: fn(rustix::termios::Winsize) -> u16) -> u16 {
    let size = rustix::termios::tcgetwinsize(io::stderr()).map(of);
    size.ok().filter(|size| *size > 0).unwrap_or(otherwise)
}

#[derive(Debug)]
struct Errors;

impl Errors {
    fn steer(&self, count: usize, way: char) -> io::Result<()> {
        if count > 0 {
            write_errors(&format!("\x1b[{count}{way}"));
        }
        Ok(())
    }
}

impl TermLike for Errors {
    fn width(&self) -> u16 {
        told(80, |size| size.ws_col)
    }

    fn height(&self) -> u16 {
        told(20, |size| size.ws_row)
    }

    fn move_cursor_up(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'A')
    }

    fn move_cursor_down(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'B')
    }

    fn move_cursor_right(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'C')
    }

    fn move_cursor_left(&self, n: usize) -> io::Result<()> {
        self.steer(n, 'D')
    }

    fn write_line(&self, text: &str) -> io::Result<()> {
        tell(text);
        Ok(())
    }

    fn write_str(&self, text: &str) -> io::Result<()> {
        draw(text);
        Ok(())
    }

    fn clear_line(&self) -> io::Result<()> {
        write_errors("\r\x1b[2K");
        Ok(())
    }

    fn flush(&self) -> io::Result<()> {
        Ok(())
    }
}

/// A JSON string stays one, with the same meaning.
fn visible(text: &str, colour: bool) -> String {
    let mut shown = String::with_capacity(text.len());
    let mut is_painted = false;
    for c in text.chars() {
        if let Some(code) = colour_of(c) {
            if colour {
                shown.push_str(&code);
                is_painted = true;
            }
        } else {
            push_visible(&mut shown, c);
        }
    }
    // Whatever mark stood in a stranger's words, the next line is plain.
    if is_painted {
        shown.push_str("\x1b[0m");
    }
    shown
}

#[cfg(test)]
mod tests {
    use serde_json::Value;

    use super::*;

    #[test]
    fn nothing_that_steers_a_terminal_is_left() {
        let text = "a\x1b]52;c;ZQ==\x07\u{9b}31m\u{202e}b\u{2066}\u{200f}\r\x7f\n\tc";
        let shown = visible(text, true);
        assert_eq!(
            shown,
            "a\\u001b]52;c;ZQ==\\u0007\\u009b31m\\u202eb\\u2066\\u200f\\u000d\\u007f\n\tc"
        );
    }

    #[test]
    fn a_long_line_is_folded_and_loses_no_word() {
        let text =
            "2026-11-21  4 trials  completed     2026-11-21-quick  Which is the fastest here?";
        let shown = folded(text, 30, 4);
        assert!(shown.lines().all(|line| line.chars().count() <= 30), "{shown}");
        assert!(shown.lines().skip(1).all(|line| line.starts_with("    ")), "{shown}");
        let words = |text: &str| text.split_whitespace().map(String::from).collect::<Vec<_>>();
        assert_eq!(words(&shown), words(text));
        assert_eq!(folded("  run   one two three", 24, 8), "  run   one two three\n");
        let broken = "  run   c1  ext4 sync=none\n        [power loss, by all]\n";
        assert_eq!(folded("  run   c1  ext4 sync=none [power loss, by all]", 30, 8), broken);
    }

    #[test]
    fn json_means_the_same_as_before() {
        let value = Value::from("x\u{202e}y\u{9b}z");
        let shown = visible(&value.to_string(), false);
        assert!(!shown.contains('\u{202e}'), "{shown}");
        assert_eq!(serde_json::from_str::<Value>(&shown).expect("JSON"), value);
    }
}
