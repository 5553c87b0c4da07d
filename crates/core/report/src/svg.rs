//! On its own it carries its colours and a paper; in a page it carries class
//! names, and the page's style sheet chooses light or dark.

use std::fmt::Write;

use pickfs_record::visible::steers;

use crate::chart::{
    Anchor, Form, Ink, Item, Part, Scene, Shape,
    lettering::FAMILIES,
    palette::{COLOURS, FLOOR, GRID, HEAT_STEPS, MUTED, PAPER, Rgb, Slot, TEXT, heat, heat_class},
};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Setting {
    Alone,
    Page,
}

pub fn svg(scene: &Scene, setting: Setting) -> String {
    let mut out = String::with_capacity(scene.items.len() * 120);
    open(&mut out, scene, setting);
    let mut group = &Part::Plain;
    for item in &scene.items {
        if item.part != *group {
            switch_group(&mut out, group, &item.part);
            group = &item.part;
        }
        write_item(&mut out, item, setting);
    }
    switch_group(&mut out, group, &Part::Plain);
    out.push_str("</svg>\n");
    out
}

pub fn colours(dark: bool) -> String {
    let pick = |pair: (Rgb, Rgb)| if dark { pair.1 } else { pair.0 }.css();
    let mut out = String::new();
    for (name, pair) in [("paper", PAPER), ("ink", TEXT), ("muted", MUTED), ("grid", GRID)] {
        let _ = write!(out, "--{name}:{};", pick(pair));
    }
    for index in 0..COLOURS {
        let _ = write!(out, "--c{index}:{};", pick(Slot::Series(index).colours()));
    }
    let _ = write!(out, "--cf:{};", pick(FLOOR));
    for step in -HEAT_STEPS..=HEAT_STEPS {
        let _ = write!(out, "--{}:{};", heat_class(step), pick(heat(step)));
    }
    out
}

pub fn style_sheet() -> String {
    let series = (0..COLOURS).map(|index| format!("c{index}"));
    let names = ["paper", "ink", "muted", "grid", "cf"].map(String::from).into_iter().chain(series);
    let rule =
        |name: String| format!(".s-{name}{{stroke:var(--{name})}}.f-{name}{{fill:var(--{name})}}");
    names.map(rule).collect::<Vec<_>>().join("\n")
}

fn open(out: &mut String, scene: &Scene, setting: Setting) {
    let (w, h) = (number(scene.width), number(scene.height));
    let name = escape(&scene.description);
    let size = match setting {
        Setting::Alone => {
            format!(" width=\"{w}\" height=\"{h}\" xmlns=\"http://www.w3.org/2000/svg\"")
        }
        Setting::Page => String::new(),
    };
    let role = if setting == Setting::Alone { "img" } else { "group" };
    let _ = write!(out, "<svg{size} viewBox=\"0 0 {w} {h}\" role=\"{role}\" aria-label=\"{name}\"");
    if setting == Setting::Page {
        for (side, map) in [("x", scene.x), ("y", scene.y)] {
            let Some(map) = map else { continue };
            let (from, to) = (number(map.from), number(map.to));
            let _ = write!(
                out,
                " data-{side}=\"{},{:e},{:e},{from},{to},{}\"",
                map.kind, map.low, map.high, map.unit
            );
        }
    }
    let _ = writeln!(out, " font-family=\"{FAMILIES}\">");
    if setting == Setting::Alone {
        let _ = writeln!(
            out,
            "<title>{name}</title><rect width=\"{w}\" height=\"{h}\" fill=\"{}\"/>",
            PAPER.0.css()
        );
    }
}

fn switch_group(out: &mut String, last: &Part, next: &Part) {
    if *last != Part::Plain {
        out.push_str("</g>\n");
    }
    let _ = match next {
        Part::Plain => Ok(()),
        Part::Along => writeln!(out, "<g class=\"along\">"),
        Part::Up => writeln!(out, "<g class=\"up\">"),
        Part::Key(of) => writeln!(out, "<g class=\"key\" data-series=\"{}\">", escape(of)),
        Part::Data(of) => writeln!(out, "<g class=\"data\" data-series=\"{}\">", escape(of)),
    };
}

fn write_item(out: &mut String, item: &Item, setting: Setting) {
    let tip = item.tip.as_deref().map(|tip| format!("<title>{}</title>", escape(tip)));
    let tip = tip.unwrap_or_default();
    let (open, close) = match &item.shape {
        Shape::Line { points, ink, width, dash } => {
            let lengths: Vec<_> = dash.lengths().iter().map(|l| number(*l)).collect();
            let dashes = match lengths.is_empty() {
                true => String::new(),
                false => format!(" stroke-dasharray=\"{}\"", lengths.join(" ")),
            };
            let (ink, width) = (paint("stroke", *ink, setting), number(*width));
            (
                format!(
                    "<polyline points=\"{}\" fill=\"none\"{ink} stroke-width=\"{width}\"{dashes} stroke-linejoin=\"round\"",
                    path(points)
                ),
                "</polyline>",
            )
        }
        Shape::Bar { x, y, width, height, ink } => {
            let ink = paint("fill", *ink, setting);
            let [x, y, w, h] = [x, y, width, height].map(|v| number(*v));
            (format!("<rect x=\"{x}\" y=\"{y}\" width=\"{w}\" height=\"{h}\"{ink}"), "</rect>")
        }
        Shape::Marker { x, y, radius, form, ink, hollow } => {
            marker((*x, *y, *radius), *form, *ink, *hollow, setting)
        }
        Shape::Cells { cells, height, ink, share } => {
            let (ink, height) = (paint("stroke", *ink, setting), number(*height));
            let mut path = String::new();
            for (x, y, width) in cells {
                let _ = write!(path, "M{} {}h{}", number(*x), number(*y), number(*width));
            }
            let style = format!("{ink} stroke-width=\"{height}\" stroke-opacity=\"{share}\"");
            (format!("<path d=\"{path}\" fill=\"none\"{style}"), "</path>")
        }
        Shape::Words { x, y, size, anchor, ink, bold, text } => {
            let ink = paint("fill", *ink, setting);
            let bold = if *bold { " font-weight=\"700\"" } else { "" };
            let [x, y, size] = [x, y, size].map(|v| number(*v));
            let anchor = anchor_name(*anchor);
            let _ = writeln!(
                out,
                "<text x=\"{x}\" y=\"{y}\" font-size=\"{size}\" text-anchor=\"{anchor}\"{ink}{bold}>{tip}{}</text>",
                escape(text)
            );
            return;
        }
    };
    let _ = if tip.is_empty() {
        writeln!(out, "{open}/>")
    } else {
        writeln!(out, "{open}>{tip}{close}")
    };
}

fn marker(
    (x, y, radius): (f32, f32, f32),
    form: Form,
    ink: Ink,
    hollow: bool,
    setting: Setting,
) -> (String, &'static str) {
    let fill = paint("fill", if hollow { Ink::Paper } else { ink }, setting);
    // Both attributes may need a class: a hollow marker takes its stroke by style.
    let (fill, stroke) = match setting {
        Setting::Alone => (fill, paint("stroke", ink, setting)),
        Setting::Page => {
            let inside = if hollow { "paper".into() } else { ink_class(ink) };
            (format!(" class=\"f-{inside} s-{}\"", ink_class(ink)), String::new())
        }
    };
    let style = format!("{fill}{stroke} stroke-width=\"1.4\"");
    match form {
        Form::Disc => {
            let [x, y, r] = [x, y, radius].map(number);
            (format!("<circle cx=\"{x}\" cy=\"{y}\" r=\"{r}\"{style}"), "</circle>")
        }
        Form::Cross => {
            let [from, to, up, long] =
                [x - radius, y - radius, y + radius, 2.0 * radius].map(number);
            let path = format!("M{from} {to}l{long} {long}M{from} {up}l{long}-{long}");
            (format!("<path d=\"{path}\"{style}"), "</path>")
        }
        _ => {
            let corners = path(&form.corners(x, y, radius));
            (format!("<polygon points=\"{corners}\"{style}"), "</polygon>")
        }
    }
}

fn paint(what: &str, ink: Ink, setting: Setting) -> String {
    match setting {
        Setting::Alone => format!(" {what}=\"{}\"", ink_colour(ink).css()),
        Setting::Page => format!(" class=\"{}-{}\"", &what[..1], ink_class(ink)),
    }
}

pub(crate) fn ink_colour(ink: Ink) -> Rgb {
    match ink {
        Ink::Paper => PAPER.0,
        Ink::Text => TEXT.0,
        Ink::Muted => MUTED.0,
        Ink::Grid => GRID.0,
        Ink::Series(slot) => slot.colours().0,
    }
}

fn ink_class(ink: Ink) -> String {
    match ink {
        Ink::Paper => "paper".into(),
        Ink::Text => "ink".into(),
        Ink::Muted => "muted".into(),
        Ink::Grid => "grid".into(),
        Ink::Series(slot) => slot.class(),
    }
}

fn anchor_name(anchor: Anchor) -> &'static str {
    match anchor {
        Anchor::Start => "start",
        Anchor::Middle => "middle",
        Anchor::End => "end",
    }
}

fn path(points: &[(f32, f32)]) -> String {
    points
        .iter()
        .map(|(x, y)| format!("{},{}", number(*x), number(*y)))
        .collect::<Vec<_>>()
        .join(" ")
}

fn number(value: f32) -> String {
    let text = format!("{value:.1}");
    text.strip_suffix(".0").map_or(text.clone(), String::from)
}

/// Control characters that XML forbids become a replacement sign.
pub fn escape(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    for c in text.chars() {
        match c {
            '&' => out.push_str("&amp;"),
            '<' => out.push_str("&lt;"),
            '>' => out.push_str("&gt;"),
            '"' => out.push_str("&quot;"),
            '\'' => out.push_str("&#39;"),
            '\n' | '\t' => out.push(c),
            c if steers(c) => out.push('\u{FFFD}'),
            c => out.push(c),
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hostile_text_stays_text() {
        let hostile = "\"><script>alert('&')</script>\u{0}";
        let safe = escape(hostile);
        assert_eq!(safe, "&quot;&gt;&lt;script&gt;alert(&#39;&amp;&#39;)&lt;/script&gt;\u{FFFD}");
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!(number(12.0), "12");
        assert_eq!(number(12.345), "12.3");
    }

    #[test]
    fn a_picture_of_its_own_needs_no_style_sheet() {
        let mut scene = Scene {
            width: 10.0,
            height: 10.0,
            description: "d".into(),
            items: Vec::new(),
            x: None,
            y: None,
        };
        scene.words((1.0, 2.0), 3.0, Anchor::Start, Ink::Text, "a<b");
        let text = svg(&scene, Setting::Alone);
        assert!(text.contains("xmlns=") && !text.contains("class="));
        assert!(text.contains("a&lt;b"));
        assert!(svg(&scene, Setting::Page).contains("class=\"f-ink\""));
    }
}
