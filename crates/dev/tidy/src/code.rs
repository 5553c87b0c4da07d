//! Rust source with its comments and literals blanked out, so that braces and
//! words can be found by simple search. It is not a parser: it knows nothing
//! but where comments, strings and characters begin and end.

/// The source, byte for byte as long and with the same lines, but with spaces in place of comments
/// and of what stands in quotes.
pub fn blanked(source: &str) -> String {
    let mut blanker = Blanker { rest: source.as_bytes(), out: Vec::with_capacity(source.len()) };
    while blanker.step() {}
    String::from_utf8_lossy(&blanker.out).into_owned()
}

struct Blanker<'a> {
    rest: &'a [u8],
    out: Vec<u8>,
}

impl Blanker<'_> {
    /// Takes one comment, one literal, or one byte; false at the end.
    fn step(&mut self) -> bool {
        let Some(&first) = self.rest.first() else { return false };
        if self.rest.starts_with(b"//") {
            self.blank(self.rest.iter().position(|&b| b == b'\n').unwrap_or(self.rest.len()));
        } else if self.rest.starts_with(b"/*") {
            self.blank(block_comment_length(self.rest));
        } else if let Some(hashes) = self.raw_string_hashes() {
            self.raw_string(hashes);
        } else if first == b'"' {
            self.quoted(string_length(self.rest));
        } else if let Some(length) = character_length(self.rest) {
            self.quoted(length);
        } else {
            self.keep(1);
        }
        true
    }

    fn keep(&mut self, count: usize) {
        self.out.extend_from_slice(&self.rest[..count]);
        self.rest = &self.rest[count..];
    }

    fn blank(&mut self, count: usize) {
        let blank = |&byte: &u8| if byte == b'\n' { b'\n' } else { b' ' };
        self.out.extend(self.rest[..count].iter().map(blank));
        self.rest = &self.rest[count..];
    }

    /// Blanks a literal but for its two quotes.
    fn quoted(&mut self, length: usize) {
        self.keep(1);
        self.blank(length.saturating_sub(2).min(self.rest.len()));
        self.keep(self.rest.len().min(1));
    }

    /// Number of hashes when a raw string begins here and not inside a word.
    fn raw_string_hashes(&self) -> Option<usize> {
        let inside_word = self.out.last().is_some_and(|&b| is_word(b) && b != b'b' && b != b'c');
        let after_r = self.rest.strip_prefix(b"r")?;
        let hashes = after_r.iter().take_while(|&&b| b == b'#').count();
        (!inside_word && after_r.get(hashes) == Some(&b'"')).then_some(hashes)
    }

    fn raw_string(&mut self, hashes: usize) {
        self.keep(hashes + 2);
        let end = [vec![b'"'], vec![b'#'; hashes]].concat();
        let found = self.rest.windows(end.len()).position(|window| window == end);
        self.blank(found.unwrap_or(self.rest.len()));
        self.keep(end.len().min(self.rest.len()));
    }
}

/// They nest.
fn block_comment_length(text: &[u8]) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        match &text[at..] {
            [b'/', b'*', ..] => (depth, at) = (depth + 1, at + 2),
            [b'*', b'/', ..] => (depth, at) = (depth - 1, at + 2),
            _ => at += 1,
        }
        if depth == 0 {
            break;
        }
    }
    at
}

fn string_length(text: &[u8]) -> usize {
    let mut at = 1;
    while at < text.len() {
        match text[at] {
            b'\\' => at += 2,
            b'"' => return at + 1,
            _ => at += 1,
        }
    }
    text.len()
}

/// Length of a character literal, or none: a lifetime also begins with a quote.
fn character_length(text: &[u8]) -> Option<usize> {
    match text {
        [b'\'', b'\\', ..] => Some(3 + text.iter().skip(3).position(|&b| b == b'\'')? + 1),
        [b'\'', ..] => {
            let first = std::str::from_utf8(&text[1..text.len().min(5)]);
            let valid = first.as_ref().map_or_else(|e| e.valid_up_to(), |s| s.len());
            let word = std::str::from_utf8(&text[1..1 + valid]).ok()?;
            let width = word.chars().next()?.len_utf8();
            (text.get(1 + width) == Some(&b'\'')).then_some(width + 2)
        }
        _ => None,
    }
}

pub fn is_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_'
}

/// As byte offsets.
pub fn word_offsets<'a>(text: &'a str, word: &'a str) -> impl Iterator<Item = usize> + 'a {
    let bytes = text.as_bytes();
    text.match_indices(word).map(|(at, _)| at).filter(move |&at| {
        let before = at.checked_sub(1).map(|i| bytes[i]);
        let after = bytes.get(at + word.len()).copied();
        !before.is_some_and(is_word) && !after.is_some_and(is_word)
    })
}

/// From 1.
pub fn line_of(text: &str, offset_bytes: usize) -> usize {
    text.as_bytes()[..offset_bytes].iter().filter(|&&b| b == b'\n').count() + 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn comments_strings_and_characters_are_blank() {
        let source = "f('{', \"}\\\"{\", r#\"{\"{\"#) /* { /* } */ { */ // {";
        let blank = blanked(source);
        assert_eq!(blank.len(), source.len());
        assert!(!blank.contains(['{', '}']), "{blank}");
    }

    #[test]
    fn lifetimes_and_escaped_quotes_do_not_open_a_literal() {
        assert_eq!(blanked("fn f<'a>(x: &'a str) {}"), "fn f<'a>(x: &'a str) {}");
        assert_eq!(blanked("['\\'', '{', b'\\\\', '\u{e9}'] {").matches('{').count(), 1);
        assert_eq!(blanked("let var\"x\";"), "let var\" \";");
    }

    #[test]
    fn words_are_whole() {
        assert_eq!(word_offsets("unsafe_code unsafe", "unsafe").collect::<Vec<_>>(), [12]);
        assert_eq!(line_of("a\nb\nc", 4), 3);
    }
}
