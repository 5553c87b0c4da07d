//! The answer as one picture to show to others: question, verdict, chart, machine and date.

use pickfs_record::finding::AnswerEnd;

use super::{
    Anchor, Ink, Look, Scene, Slot,
    lettering::{cut, hanging, width},
    strip::lead,
};
use crate::{Subject, card::machine_line, wording::backing_text};

const SIZE: (f32, f32) = (960.0, 540.0);
const MARGIN: f32 = 36.0;
/// Where the line at the foot stands.
const FOOT: f32 = 516.0;
const LINES_MAX: usize = 3;
/// Rows of its chart, as many of them as have room.
const ROWS: [usize; 4] = [10, 6, 4, 3];
const FONTS: [f32; 3] = [18.0, 16.0, 14.0];

pub fn draw(subject: &Subject) -> Option<Scene> {
    let run = subject.run;
    let ending = subject.findings.endings.first()?;
    let mut scene = Scene { width: SIZE.0, height: SIZE.1, ..Scene::default() };
    scene.description = format!("{} {}", ending.end, ending.sentence);
    let room = SIZE.0 - 2.0 * MARGIN;
    let question = cut(&run.plan.question, 16.0, room);
    scene.words((MARGIN, 42.0), 16.0, Anchor::Start, Ink::Muted, &question);

    let (size, word) = (23.0, ending.end.to_string());
    // Bold letters are wider than those that are measured.
    let indent = width(&word, size) * 1.12 + size * 0.4;
    let ink = match ending.end {
        AnswerEnd::Winner => Ink::Series(Slot::Series(2)),
        AnswerEnd::Equal => Ink::Text,
        AnswerEnd::NoAnswer => Ink::Series(Slot::Series(5)),
    };
    scene.bold((MARGIN, 82.0), size, ink, &word);
    let mut lines = hanging(&ending.sentence, size, room, indent);
    if lines.len() > LINES_MAX {
        let rest = lines.split_off(LINES_MAX - 1).join(" ");
        lines.push(cut(&rest, size, room));
    }
    let mut y = 82.0;
    for (index, line) in lines.iter().enumerate() {
        let x = if index == 0 { MARGIN + indent } else { MARGIN };
        scene.words((x, y), size, Anchor::Start, Ink::Text, line);
        y += size * 1.35;
    }

    let looks = FONTS.map(|font| Look { width: room, font, ..Look::WIDE });
    let sizes = ROWS.iter().flat_map(|rows| looks.map(|look| (look, *rows)));
    let charts = sizes.filter_map(|(look, rows)| lead(subject, look, rows));
    let mut charts = charts.skip_while(|chart| y + chart.height > FOOT - 24.0);
    scene.items.extend(charts.next().into_iter().flat_map(|chart| chart.moved(MARGIN, y).items));

    let date = run.started.get(..10).unwrap_or(&run.started);
    let right = format!("{date}   pickfs {}", run.build.trim_start_matches("pickfs "));
    let left = format!("{}; {}", machine_line(&run.environment), backing_text(&run.plan.backing));
    let left = cut(&left, 12.0, room - width(&right, 12.0) - 24.0);
    scene.words((MARGIN, FOOT), 12.0, Anchor::Start, Ink::Muted, &left);
    scene.words((SIZE.0 - MARGIN, FOOT), 12.0, Anchor::End, Ink::Muted, &right);
    Some(scene)
}
