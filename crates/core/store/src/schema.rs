//! The tables of a run file (format 1, kept in `PRAGMA user_version`).
//!
//! In a reduced file (format 3) the `record` of `run` holds the trials, too, packed by bzip2, each `record` of `trial`
//! and `interval_log` are empty, and derived tables are missing.
//!
//! Records, written once:
//!
//! | table | a row is | columns |
//! | --- | --- | --- |
//! | `run` | the run (one row) | `name`, `started` (RFC 3339), `build`, `record`: JSON of plan, environment, card, cells, skipped |
//! | `trial` | a trial | `number` from 1, `cell`, `block`, `attempt`, `outcome`, `record`: JSON of the whole trial |
//! | `interval_log` | the times of an operation by second | `trial`, `op`, `log`: HdrHistogram interval log, tags `service` and `response` |
//! | `ended` | how the run ended (last row counts) | `at`, `how`, `note` |
//!
//! Derived, for SQL clients; times are nanoseconds:
//!
//! | table | a row is |
//! | --- | --- |
//! | `cell` | a cell: candidate, workload, levels as text |
//! | `op` | an operation of a trial, by view (`service`, `response`): count, mean, SD, min, max |
//! | `quantile` | one quantile of such a row, with the episodes beyond it |
//! | `second` | one second of an operation: count, minimum, median, maximum |
//! | `spike` | one of the worst operations, on the CLOCK_MONOTONIC line |
//! | `fact` | an environment value, of the run (`trial` = 0) or of a trial |
//! | `step` | a command or call that made, mounted or unmade a candidate |
//! | `flag` | a doubt about a trial |
//! | `counted` | a counted fact of a trial |
//! | `stall` | the slow times of an operation of a trial, split: on a processor, blocked, waiting, not known |
//! | `stall_cause` | such a row by cause and holder, with both stacks |
//! | `slow_operation` | a slow operation that was opened, with the cause of most of its time |

pub const CREATE: &str = "
CREATE TABLE run (name TEXT NOT NULL, started TEXT NOT NULL, build TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE trial (number INTEGER PRIMARY KEY, cell TEXT NOT NULL, block INTEGER NOT NULL,
  attempt INTEGER NOT NULL, outcome TEXT NOT NULL, record TEXT NOT NULL);
CREATE TABLE interval_log (trial INTEGER NOT NULL, op TEXT NOT NULL, log TEXT NOT NULL,
  PRIMARY KEY (trial, op));
CREATE TABLE ended (at TEXT NOT NULL, how TEXT NOT NULL, note TEXT NOT NULL);
";

pub const CREATE_DERIVED: &str = "
CREATE TABLE cell (id TEXT PRIMARY KEY, candidate TEXT, fs TEXT, specification TEXT,
  workload TEXT, version INTEGER, levels TEXT, durability TEXT);
CREATE TABLE op (trial INTEGER, op TEXT, view TEXT, count INTEGER, mean_ns REAL, sd_ns REAL,
  min_ns INTEGER, max_ns INTEGER);
CREATE TABLE quantile (trial INTEGER, op TEXT, view TEXT, q REAL, value_ns INTEGER, episodes INTEGER);
CREATE TABLE second (trial INTEGER, op TEXT, second INTEGER, count INTEGER, service_min_ns INTEGER,
  service_p50_ns INTEGER, service_max_ns INTEGER, response_max_ns INTEGER);
CREATE TABLE spike (trial INTEGER, op TEXT, due_ns INTEGER, start_ns INTEGER, end_ns INTEGER,
  offset_bytes INTEGER);
CREATE TABLE fact (trial INTEGER, key TEXT, value TEXT);
CREATE TABLE step (trial INTEGER, position INTEGER, purpose TEXT, command TEXT, elapsed_ms REAL,
  succeeded INTEGER, output TEXT);
CREATE TABLE flag (trial INTEGER, kind TEXT, text TEXT);
CREATE TABLE counted (trial INTEGER, name TEXT, value REAL);
CREATE TABLE phase (trial INTEGER, position INTEGER, phase TEXT, label TEXT, suite TEXT, heat TEXT,
  outcome TEXT, is_derived INTEGER, unit TEXT, work REAL, real_bytes INTEGER, rate_per_s REAL,
  elapsed_ns INTEGER, start_skew_ns INTEGER, lanes INTEGER, threads INTEGER, cpu_user_ns INTEGER,
  cpu_system_ns INTEGER, flags TEXT);
CREATE TABLE phase_value (trial INTEGER, phase TEXT, name TEXT, value REAL);
CREATE TABLE stall (trial INTEGER, op TEXT, above_ns INTEGER, operations INTEGER, total_ns INTEGER,
  on_cpu_ns INTEGER, blocked_ns INTEGER, cpu_wait_ns INTEGER, unexplained_ns INTEGER);
CREATE TABLE stall_cause (trial INTEGER, op TEXT, cause TEXT, title TEXT, who TEXT, operations INTEGER,
  times INTEGER, total_ns INTEGER, max_ns INTEGER, stack TEXT, waker_stack TEXT);
CREATE TABLE slow_operation (trial INTEGER, op TEXT, start_ns INTEGER, end_ns INTEGER, offset_bytes INTEGER,
  thread TEXT, cause TEXT, who TEXT, cause_ns INTEGER);
";

/// Of a reduced file, which readers of format 1 alone cannot read.
pub const FORMAT_REDUCED: u32 = pickfs_record::FORMAT + 2;

/// Reduced files before 27 November 2026: a deflated record for each trial.
pub const FORMAT_PACKED_BY_TRIAL: u32 = pickfs_record::FORMAT + 1;

/// Marks the file as ours for file(1) and for [`crate::RunFile::open`]: `pkfs`.
pub const APPLICATION_ID: i32 = 0x706b_6673;
