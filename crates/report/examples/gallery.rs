//! Writes every format of three runs that never were, for looking.
//!
//! `cargo run -p pickfs-report --example gallery -- OUTDIR`

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::{env, fs, path::Path};

use fixture::{Shape, fixture};
use pickfs_report::{Look, Subject, charts, png, svg};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let folder = env::args().nth(1).ok_or("name a folder: gallery OUTDIR")?;
    let shapes = [
        ("first", Shape::first_screen()),
        ("preallocation", Shape::preallocation()),
        ("thousand", Shape::thousand()),
    ];
    for (name, shape) in shapes {
        let (run, findings) = fixture(&shape);
        let folder = Path::new(&folder).join(name);
        fs::create_dir_all(&folder)?;
        write_all(&Subject::new(&run, &findings), &folder)?;
    }
    Ok(())
}

fn write_all(subject: &Subject, folder: &Path) -> Result<(), Failure> {
    for chart in charts(subject, Look::SHEET).into_iter().filter(|c| c.panel.is_none_or(|p| p < 2))
    {
        let picture = svg::svg(&chart.scene, svg::Setting::Alone);
        fs::write(folder.join(format!("{}.svg", chart.name)), picture)?;
        fs::write(folder.join(format!("{}.png", chart.name)), png::png(&chart.scene, 1.5)?)?;
    }
    Ok(())
}
