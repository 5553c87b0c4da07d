//! The queries of `docs/run-file.md` run on a run file, and each finds something; its
//! tables name every table and column that a file has.

use pickfs_record::RunRecord;
use pickfs_store::RunFile;
use pickfs_testkit::{FakeRun, Mishap, MishapKind, explained, fake_run};
use rusqlite::Connection;

const PAGE: &str = include_str!("../../../../docs/run-file.md");

fn run_file(folder: &tempfile::TempDir) -> Connection {
    let flagged = MishapKind::Flagged("holes".into(), "4 KiB were missing".into());
    let mishaps = vec![Mishap::new("xfs:noatime", "none", 1, flagged)];
    let run = explained(fake_run(&FakeRun { blocks: 2, mishaps, ..FakeRun::default() }));
    let path = folder.path().join("a.pickfs");
    let empty = RunRecord { trials: vec![], ended: None, ..run.clone() };
    let mut file = RunFile::create(&path, &empty).expect("create");
    run.trials.iter().for_each(|trial| file.add_trial(trial).expect("add"));
    Connection::open(&path).expect("any SQLite client opens it")
}

#[test]
fn every_query_of_the_page_finds_something() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connection = run_file(&folder);
    let queries: Vec<&str> =
        PAGE.split("```sql\n").skip(1).filter_map(|rest| Some(rest.split_once("```")?.0)).collect();
    assert!(queries.len() >= 5, "the page shows {} queries", queries.len());
    for query in queries {
        let mut statement = connection.prepare(query).unwrap_or_else(|e| panic!("{e}\n{query}"));
        let mut rows = statement.query([]).expect("it runs");
        assert!(rows.next().expect("a row").is_some(), "nothing found by\n{query}");
    }
}

#[test]
fn the_page_names_every_table_and_column() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connection = run_file(&folder);
    let sql = "SELECT m.name, p.name FROM sqlite_master AS m, pragma_table_info(m.name) AS p \
               WHERE m.type = 'table'";
    let mut statement = connection.prepare(sql).expect("it is SQL");
    let columns = statement.query_map([], |row| Ok((row.get(0)?, row.get(1)?))).expect("it runs");
    for column in columns {
        let (table, column): (String, String) = column.expect("a row");
        let row = PAGE.lines().find(|line| line.starts_with(&format!("| `{table}` |")));
        let named = row.is_some_and(|row| row.contains(&format!("`{column}`")));
        assert!(named, "docs/run-file.md does not name {table}.{column}");
    }
}

#[test]
fn the_ledger_sums_to_the_time_of_slow_operations_and_so_do_its_parts() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let connection = run_file(&folder);
    let sql =
        "SELECT COUNT(*), SUM(total_ns = on_cpu_ns + blocked_ns + cpu_wait_ns + unexplained_ns),
                 SUM(total_ns = (SELECT SUM(total_ns) FROM stall_cause AS c
                                 WHERE c.trial = s.trial AND c.op = s.op))
               FROM stall AS s";
    let row = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
    let (all, split, summed): (u32, u32, u32) =
        connection.query_row(sql, [], row).expect("it is SQL");
    assert!(all > 0 && all == split && all == summed, "{all} {split} {summed}");
    let sql =
        "SELECT COUNT(*) FROM slow_operation WHERE cause_ns > end_ns - start_ns OR cause = ''";
    assert_eq!(connection.query_row(sql, [], |row| row.get::<_, u32>(0)), Ok(0));
}
