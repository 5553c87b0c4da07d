use thiserror::Error;

#[derive(Debug, Error)]
pub enum RanksError {
    #[error("no MPI library for this launcher: {tried}; name one with PICKFS_MPI, as libmpi.so.40")]
    NoLibrary { tried: String },
    #[error("{name} is not in {library}; name another library of MPI with PICKFS_MPI")]
    NoSymbol { name: &'static str, library: String },
    #[error("{call} gave {code}; see what the launcher says")]
    Call { call: &'static str, code: i32 },
    #[error(
        "{who} did not come to {what} in {limit_s:.0} s; look at that host, or wait longer with --ranks-patience"
    )]
    Missing { who: String, what: String, limit_s: f64 },
    #[error(
        "{who} sent {bytes} bytes, of {limit} that are taken; this is a bug in pickfs, please tell us"
    )]
    TooLong { who: String, bytes: u64, limit: u64 },
    #[error("{program} not started: {source}; name the launcher with its path")]
    NotStarted { program: String, source: std::io::Error },
    #[error("{0}")]
    Told(String),
    #[error("interrupted")]
    Interrupted,
}
