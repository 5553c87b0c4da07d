use std::path::Path;

use anyhow::bail;
use pickfs_analysis::{findings, rerun::rerun_named as judge};
use pickfs_model::{BackingSpec, Plan, RunRecord};
use pickfs_report::rerun::rerun_screen;

use crate::{
    agree,
    args::RerunArgs,
    commands::{
        compare::names,
        read_run,
        run::{finish, perform_plan},
        run_path,
    },
    exit::Exit,
    screen::columns,
    terminal,
};

pub fn rerun(args: &RerunArgs) -> anyhow::Result<Exit> {
    let (_, before) = read_run(&args.run)?;
    if let Some(by) = &args.by {
        let (_, now) = read_run(by)?;
        if now.plan.workload != before.plan.workload {
            bail!("{} ran {}, not {}", by.display(), now.plan.workload, before.plan.workload);
        }
        print(&before, &now, names([(&before, &args.run), (&now, by)]), args.json)?;
        return Ok(Exit::Done);
    }
    let nodes = [args.device.as_deref(), args.log_device.as_deref()];
    let plan = renamed(before.plan.clone(), nodes, args.erase)?;
    agree::to_run(&run_path(&args.run), &before, args.yes)?;
    let launched = perform_plan(&plan, &args.out, args.json)?;
    let exit = finish(&launched, args.json)?;
    if !args.json {
        terminal::put("\n");
    }
    let names = names([(&before, &args.run), (&launched.record, &launched.file)]);
    print(&before, &launched.record, names, args.json)?;
    Ok(exit)
}

/// A device is named again each time: a stored name may be another disk by now, and a stored
/// consent was for then.
fn renamed(
    mut plan: Plan,
    [device, log]: [Option<&Path>; 2],
    may_erase: bool,
) -> anyhow::Result<Plan> {
    match (&mut plan.backing, device) {
        (BackingSpec::Device { path, erase, log_device, .. }, Some(node)) => {
            match (log_device.as_mut(), log) {
                (Some(path), Some(node)) => *path = std::path::absolute(node)?,
                (Some(path), None) => bail!(
                    "the plan put logs on {}, and all on it would be lost; name the device again with \
                     --log-device",
                    path.display()
                ),
                (None, Some(_)) => bail!("the plan ran on no log device; leave --log-device out"),
                (None, None) => {}
            }
            *path = std::path::absolute(node)?;
            *erase = may_erase;
        }
        (BackingSpec::Device { path, .. }, None) => bail!(
            "the plan ran on {}, and all on it would be lost; name the device again with --device",
            path.display()
        ),
        (_, Some(_)) => bail!("the plan ran on no device; leave --device out"),
        (_, None) => {}
    }
    Ok(plan)
}

fn print(
    before: &RunRecord,
    now: &RunRecord,
    names: [String; 2],
    json: bool,
) -> anyhow::Result<()> {
    let names = [names[0].as_str(), names[1].as_str()];
    let judged = judge((before, &findings(before)), (now, &findings(now)), names);
    match json {
        true => terminal::put(&format!("{}\n", serde_json::to_string(&judged)?)),
        false => terminal::put(&rerun_screen(&judged, columns())),
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use pickfs_model::DeviceState;
    use pickfs_testkit::{FakeRun, fake_run};

    #[test]
    fn a_device_is_named_again_and_its_consent_given_again() {
        let image = fake_run(&FakeRun::default()).plan;
        let (path, state) = ("/dev/old".into(), DeviceState::Filled);
        let (size_bytes, log_device) = (None, Some("/dev/old-log".into()));
        let backing = BackingSpec::Device { path, erase: true, state, size_bytes, log_device };
        let device = Plan { backing, ..image.clone() };
        let again = |plan: &Plan, nodes: [Option<&str>; 2]| {
            renamed(plan.clone(), nodes.map(|node| node.map(Path::new)), false)
        };
        for (nodes, word) in
            [([None, None], "--device"), ([Some("/dev/new"), None], "--log-device")]
        {
            let refused = again(&device, nodes).unwrap_err().to_string();
            assert!(refused.contains("/dev/old") && refused.contains(word), "{refused}");
        }
        let new = again(&device, [Some("/dev/new"), Some("/dev/log")]).unwrap();
        let BackingSpec::Device { path, erase, log_device, .. } = new.backing else { panic!() };
        assert_eq!((path.to_str(), erase), (Some("/dev/new"), false));
        assert_eq!(log_device.unwrap().to_str(), Some("/dev/log"));
        assert!(again(&image, [Some("/dev/new"), None]).is_err());
        assert_eq!(again(&image, [None, None]).unwrap(), image);
    }
}
