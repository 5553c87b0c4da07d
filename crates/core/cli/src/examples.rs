pub const PICKFS: &str = "What are you choosing for?
  pickfs quick                            a journal, a log
  pickfs postgresql                       a database; also sqlite, redis, rocksdb
  pickfs column                           kdb+, a column store
  pickfs files                            a file server, a NAS
  pickfs queue                            a memory-mapped queue (Chronicle-like)
  pickfs -- make -j4                      a program of yours
  pickfs --fio my-jobs.fio                your fio jobs

Examples:
  pickfs quick --fs ext4:noatime --fs xfs
  pickfs journal --device /dev/nvme1n1 --erase
  pickfs plan quick --steps               the exact commands, nothing touched
  pickfs compare pickfs-runs/a pickfs-runs/b
  pickfs serve                            all runs in a browser

A plan in place of a command is run: pickfs quick is pickfs run quick; pickfs plan --list shows all.
pickfs COMMAND --help has examples of each command; pickfs man is the manual.";

pub const RUN: &str = "Examples:
  pickfs run                              the plan `quick`, about five minutes
  pickfs run --ram                        on a loop image in RAM: the software path alone
  pickfs run tour                         twenty-five minutes: every workload at its smallest honest scale
  pickfs run trust                        ten minutes: the smallest difference that this machine can resolve
  pickfs run quick --fs ext4:noatime --fs xfs --blocks 8
  pickfs run quick --fs 'ext4:noatime;mkfs=-O ^has_journal' --fs ext4
  pickfs run journal --device /dev/nvme1n1 --erase
  pickfs run quick --dir /data            in a folder that exists: no root, no mkfs
  pickfs run quick --dir /data --dir /srv    two that exist, compared with each other
  pickfs run quick --cpus measure=2-3,help=0-1
  pickfs run quick --axis size=64,256 --set sync=fdatasync
  pickfs run quick --until-decided --budget 30m
  pickfs run --fio my-jobs.fio --fs ext4,xfs   a job file of fio, run by fio
  pickfs run quick --hosts hosts.txt      on many hosts at once by ssh; docs/fleet.md
  pickfs run --resume pickfs-runs/2026-11-21-quick
  pickfs run --again pickfs-runs/2026-11-21-journal    the same plan once more: which choices still hold?
  pickfs run --again pickfs-runs/2026-11-21-device --device /dev/nvme1n1 --erase

With --again the plan is the stored one; its seed is drawn anew unless --seed names one. The commands and options
of a run that was not begun on this machine are shown first, and run after a yes or with --yes.

Exit codes: 0 WINNER (or nothing was to be compared), 4 NO ANSWER (not decided, or nothing to compare;
the fix is printed), 5 EQUAL; 1 could not be done, 2 usage error, 130 interrupted,
3 no trial finished, one failed where nothing was to be compared, or a host was lost.";

pub const PLAN: &str = "Examples:
  pickfs plan --list                      the built-in plans with their questions
  pickfs plan quick                       its cells, blocks and time
  pickfs plan quick --steps               the exact commands, nothing touched
  pickfs plan quick --parameters          what --set and --axis may name
  pickfs plan journal --fs xfs --json     the plan as it would be kept";

pub const DOCTOR: &str = "Examples:
  pickfs doctor
  pickfs doctor --json
  pickfs doctor --guests                  each file system tried in a guest kernel; no root
  sudo pickfs doctor --clean /srv/runs    removes what killed runs left";

pub const FEATURES: &str = "Examples:
  pickfs features --fs ext4,xfs,btrfs     where they differ
  pickfs features --fs jfs,hpfs           in a guest where this kernel lacks them
  pickfs features --all --markdown features.md
  pickfs features --dir /data             a directory that exists: no root";

pub const SHOW: &str = "Examples:
  pickfs show                             the runs in pickfs-runs
  pickfs show /srv/runs --json
  pickfs show pickfs-runs/2026-11-21-quick
  pickfs show pickfs-runs/2026-11-21-quick --trial 7
  pickfs show pickfs-runs/2026-11-21-column --phases";

pub const REPORT: &str = "Examples:
  pickfs report pickfs-runs/2026-11-21-quick
  pickfs report pickfs-runs/2026-11-21-quick --format markdown --format csv --out table/
  pickfs report pickfs-runs/2026-11-21-quick --format png --out pictures/
  pickfs report pickfs-runs/2026-11-21-quick --format png --chart slide
  pickfs report pickfs-runs/2026-11-21-column --format png --chart slide
  pickfs report pickfs-runs/2026-11-21-files --format bonnie";

pub const EXPLAIN: &str = "Examples:
  pickfs explain pickfs-runs/2026-11-21-article-001-readers
  pickfs explain pickfs-runs/a --operations 10 --stacks
  pickfs explain pickfs-runs/a --json
  sudo pickfs explain -- git checkout main
  sudo pickfs explain --over 1ms --operations 10 --stacks -o calls.txt -- make
  sudo pickfs explain -p 4711 --seconds 30";

pub const COMPARE: &str = "Examples:
  pickfs compare pickfs-runs/old-kernel pickfs-runs/new-kernel
  pickfs compare pickfs-runs/a pickfs-runs/b --json
  pickfs compare pickfs-runs/old pickfs-runs/new-kernel pickfs-runs/new-kernel-xfs
  pickfs compare pickfs-runs/2026-11-21-column --with kx-2025-rhel9
  pickfs compare pickfs-runs/2026-11-21-files --with bonnie.csv --html beside.html
  pickfs compare pickfs-runs/2026-11-21-column --with nano/xfs.psv
  pickfs compare pickfs-runs/2026-11-21-article-001-readers --with claims --article 001
  pickfs compare pickfs-runs/a pickfs-runs/b --with claims --features features.json

Of two runs or more it says which choices of the first hold in the last, changed, or cannot be told; of runs of
one plan on several hosts, whether the choice holds across them.";

pub const SERVE: &str = "Examples:
  pickfs serve                            http://127.0.0.1:7433/ for this machine alone
  pickfs serve /srv/runs --listen 127.0.0.1:8080
  pickfs serve --listen 0.0.0.0:7433      for others: a token is made and printed

Nothing is written, and no file outside the folder is shown. From another machine, a tunnel needs
no token: ssh -L 7433:localhost:7433 HOST, then http://localhost:7433/";

pub const MAN: &str = "Examples:
  pickfs man
  pickfs man --out /usr/local/share/man/man1
  pickfs man --completions bash

bash: pickfs man --completions bash > /usr/share/bash-completion/completions/pickfs
zsh:  pickfs man --completions zsh > /usr/share/zsh/site-functions/_pickfs
fish: pickfs man --completions fish > ~/.config/fish/completions/pickfs.fish";

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use clap::{CommandFactory, Parser};

    use std::{ffi::OsString, fs, path::Path};

    use crate::{args::Cli, verb::with_verb};

    fn words(line: &str) -> Vec<String> {
        let line = line.trim();
        let command = line.split("  ").next().unwrap();
        let mut words = vec![String::new()];
        let mut quoted = false;
        for c in command.chars() {
            match c {
                '\'' => quoted = !quoted,
                ' ' if !quoted => words.push(String::new()),
                c => words.last_mut().unwrap().push(c),
            }
        }
        words
    }

    #[test]
    fn every_command_has_examples_and_each_is_read() {
        let program = Cli::command();
        let mut texts = vec![("pickfs".to_string(), program.get_after_help().unwrap().to_string())];
        for command in program.get_subcommands() {
            let name = command.get_name();
            let text = command.get_after_help().unwrap_or_else(|| panic!("{name} has no examples"));
            texts.push((name.into(), text.to_string()));
        }
        for (name, text) in texts {
            let lines: Vec<_> = text.lines().filter(|line| line.starts_with("  pickfs ")).collect();
            assert!(!lines.is_empty(), "{name}");
            for line in lines {
                let words = words(line);
                assert!(name == "pickfs" || words[1] == name, "{line}");
                let words = with_verb(words.into_iter().map(OsString::from).collect());
                Cli::try_parse_from(&words).unwrap_or_else(|why| panic!("{line}: {why}"));
            }
        }
    }

    #[test]
    fn commands_on_pages_are_read() {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let folders = ["docs", "docs/questions"].map(|name| root.join(name));
        let entries = folders.iter().flat_map(|folder| fs::read_dir(folder).unwrap());
        let files = entries.map(|entry| entry.unwrap().path()).chain([root.join("README.md")]);
        let (mut read, mut wrong) = (0, Vec::new());
        for file in files.filter(|file| file.extension().is_some_and(|end| end == "md")) {
            let page = fs::read_to_string(&file).unwrap();
            let spans = page.split('`').skip(1).step_by(2).flat_map(str::lines);
            let code = page.lines().filter(|line| line.starts_with("    "));
            for line in spans.chain(code) {
                let command = line.trim().trim_start_matches("$ ").trim_start_matches("sudo ");
                let command = command.split(" #").next().unwrap();
                let is_ours = ["./run ", "pickfs "].iter().any(|own| command.starts_with(own));
                // Two words are a name.
                let is_name = command.split_whitespace().count() < 3;
                if !is_ours || is_name || command.contains("...") || command.contains(['|', '<']) {
                    continue;
                }
                let words = with_verb(words(command).into_iter().map(OsString::from).collect());
                let told = Cli::try_parse_from(&words).err().filter(|why| why.use_stderr());
                let told = told.map(|why| why.to_string().lines().next().unwrap().to_owned());
                wrong.extend(told.map(|why| format!("{}: {command}: {why}", file.display())));
                read += 1;
            }
        }
        assert!(read > 60 && wrong.is_empty(), "of {read} commands:\n{}", wrong.join("\n"));
    }
}
