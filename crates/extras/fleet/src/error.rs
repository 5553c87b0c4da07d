use std::{io, path::PathBuf};

use thiserror::Error;

use crate::hosts::HOSTS_MAX;

/// Why nothing was begun on any host, or not on this one.
#[derive(Debug, Error)]
pub enum FleetError {
    #[error("cannot read {path}: {source}; name a file with one host a line, or `slurm`")]
    File { path: PathBuf, source: io::Error },
    #[error(
        "line {line} of {place}: `{host}` is no host: write letters, digits and ._@:%[]- as ssh takes them, the first \
         a letter or digit; all else belongs into the configuration of ssh"
    )]
    Name { place: String, line: usize, host: String },
    #[error("hosts in {place}: {count}, and 2 to {HOSTS_MAX} make a fleet")]
    Count { place: String, count: usize },
    #[error("no hosts of a job of Slurm: {0}; call it within an allocation: salloc -N3, or sbatch")]
    Job(String),
    #[error("asked by build {asked}, and this is {own}; put one program on all hosts")]
    Build { asked: String, own: &'static str },
    #[error("no request came: {0}; `run --as-host` is called by `run --hosts`")]
    Request(String),
}
