#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::{env, fs, path::Path};

use fixture::{Shape, fixture};
use pickfs_report::{
    Look, NextStep, Screen, Subject, charts, csv, first, html, markdown, png, svg, terminal,
};
use pickfs_testkit::{FakePhasedRun, FakeRun, Mishap, fake_phased_run, fake_run};

type Failure = Box<dyn std::error::Error>;

fn main() -> Result<(), Failure> {
    let folder = env::args().nth(1).ok_or("name a folder: gallery OUTDIR")?;
    simulated(&Path::new(&folder).join("simulated"))?;
    phased(Path::new(&folder))?;
    let axes = [
        ("capacity", fixture::axes::capacity()),
        ("roll", fixture::axes::roll()),
        ("write-path", fixture::axes::write_path()),
    ];
    for (name, (run, findings)) in &axes {
        let folder = Path::new(&folder).join(name);
        fs::create_dir_all(&folder)?;
        write_all(&Subject::new(run, findings), &folder, true)?;
    }
    let shapes = [
        ("first", Shape::first_screen()),
        ("preallocation", Shape::preallocation()),
        ("thousand", Shape::thousand()),
    ];
    for (name, shape) in shapes {
        let (run, findings) = fixture(&shape);
        let folder = Path::new(&folder).join(name);
        fs::create_dir_all(&folder)?;
        let pictures = name != "thousand";
        write_all(&Subject::new(&run, &findings), &folder, pictures)?;
    }
    Ok(())
}

fn simulated(folder: &Path) -> Result<(), Failure> {
    let mut ask = FakeRun { blocks: 8, measure_s: 60, ..FakeRun::default() };
    ask.mishaps.push(Mishap::failed("btrfs:noatime", "fdatasync", 2, "append: no space left"));
    let run = fake_run(&ask);
    fs::create_dir_all(folder)?;
    write_all(&Subject::new(&run, &pickfs_analysis::findings(&run)), folder, true)
}

fn phased(folder: &Path) -> Result<(), Failure> {
    let column = FakePhasedRun { blocks: 12, lanes: vec![1, 64], ..FakePhasedRun::column() };
    for (name, ask) in [("column", column), ("files", FakePhasedRun::files())] {
        let run = fake_phased_run(&ask);
        let findings = pickfs_analysis::findings(&run);
        let (folder, subject) = (folder.join(name), Subject::new(&run, &findings));
        fs::create_dir_all(&folder)?;
        write_all(&subject, &folder, true)?;
        fs::write(folder.join("tables.txt"), terminal::phase_tables(&subject, 100, false))?;
    }
    Ok(())
}

fn write_all(subject: &Subject, folder: &Path, pictures: bool) -> Result<(), Failure> {
    let next = NextStep { command: "./run journal".into(), duration_s: 2_700.0 };
    fs::write(folder.join("report.html"), html::html(subject, Some(&next)))?;
    fs::write(folder.join("report.md"), markdown::markdown(subject, Some(&next)))?;
    fs::write(folder.join("trials.csv"), csv::trials_csv(subject)?)?;
    fs::write(folder.join("summary.csv"), csv::summary_csv(subject)?)?;
    for columns in [80, 100] {
        let report = Some("pickfs-runs/2026-11-21-journal/report.html");
        let screen =
            Screen { columns, colour: columns == 100, next: Some(&next), report, run: None };
        let text = first::first_screen(subject, &screen);
        fs::write(folder.join(format!("screen-{columns}.txt")), text)?;
    }
    for chart in charts(subject, Look::SHEET)
        .into_iter()
        .filter(|c| pictures && c.panel.is_none_or(|p| p < 1))
    {
        let picture = svg::svg(&chart.scene, svg::Setting::Alone);
        fs::write(folder.join(format!("{}.svg", chart.name)), picture)?;
        fs::write(folder.join(format!("{}.png", chart.name)), png::png(&chart.scene, 1.5)?)?;
    }
    Ok(())
}
