//! Prints the parameters of a workload as a Markdown table, the one in `docs/journal-workload.md`.
//!
//! ```text
//! cargo run -p pickfs-workload --example params             the journal
//! cargo run -p pickfs-workload --example params -- null     another one
//! ```

fn main() -> Result<(), pickfs_workload::ParamError> {
    let name = std::env::args().nth(1).unwrap_or_else(|| "journal".into());
    let workload = pickfs_workload::find(&name)?;
    print!("{}", pickfs_workload::params_markdown(workload.params()));
    Ok(())
}
