//! `scaler plan init`: writes the secrets that a plan declares, random ones, where only their owner reads them and git does not.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
    process::{Command, Stdio},
};

use indexmap::IndexMap;
use rand::{
    distr::{Alphanumeric, SampleString},
    rand_core::UnwrapErr,
    rngs::SysRng,
};

use super::{Exit, Failure, Outcome, screen, source::PlanArgs};
use crate::plan::{
    checked::Header,
    env_file::{parse, with_values},
};

/// Letters and digits of a secret that does not say how many: 190 bits.
const LENGTH: u16 = 32;

/// Only the owner reads and writes.
const MODE: u32 = 0o600;

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan init plans/quickstart.toml
  scaler plan init plans/quickstart.toml --rotate    new values for all of the plan's secrets

Secrets with `env` come from the environment and are not written. Inside a git checkout the file must be ignored by git.")]
pub(in crate::cli) struct Args {
    #[command(flatten)]
    plan: PlanArgs,
    /// Write new values for secrets that have one already.
    #[arg(long)]
    rotate: bool,
}

pub(super) fn run(args: &Args) -> Outcome {
    let header = args.plan.load()?.header;
    let path = secrets_file(&args.plan.path, &header);
    if header.secrets.values().all(|secret| secret.env.is_some()) {
        screen::remark("the plan declares no secret that is kept in a file");
        return Ok(Exit::Pass);
    }
    let names = write_secrets(&path, &header, args.rotate)?;
    let shown = path.display();
    screen::remark(&if names.is_empty() {
        format!("{shown} has every secret of the plan already; `--rotate` gives them new values")
    } else {
        format!("{shown}: wrote {}", names.join(", "))
    });
    Ok(Exit::Pass)
}

/// Where the secrets of a plan are kept.
pub(super) fn secrets_file(plan: &str, header: &Header) -> PathBuf {
    Path::new(plan).parent().unwrap_or(Path::new("")).join(&header.secrets_file)
}

/// Writes the secrets that the file lacks, or all of them anew, and gives their names.
pub(super) fn write_secrets(path: &Path, header: &Header, rotate: bool) -> Result<Vec<String>, Failure> {
    refuse_tracked(path)?;
    let old = read(path)?;
    let known = parse(&old).map_err(|line| not_an_assignment(path, line))?;
    let values: IndexMap<String, String> = header
        .secrets
        .iter()
        .filter(|(name, secret)| secret.env.is_none() && (rotate || !known.contains_key(*name)))
        .map(|(name, secret)| (name.clone(), random(secret.random.unwrap_or(LENGTH))))
        .collect();
    write_private(path, &with_values(&old, &values)).map_err(|error| Failure::file("write", path.display(), &error))?;
    Ok(values.into_keys().collect())
}

fn read(path: &Path) -> Result<String, Failure> {
    match fs::read_to_string(path) {
        Ok(text) => Ok(text),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(String::new()),
        Err(error) => Err(Failure::file("read", path.display(), &error)),
    }
}

fn not_an_assignment(path: &Path, line: usize) -> Failure {
    let title = format!("line {line} of {} is no `NAME=VALUE`", path.display());
    Failure::arguments(title, "correct the line, or remove the file and run `scaler plan init` again")
}

/// Letters and digits from the operating system's randomness.
pub(super) fn random(length: u16) -> String {
    Alphanumeric.sample_string(&mut UnwrapErr(SysRng), usize::from(length))
}

/// Refuses a file that git would offer to commit.
fn refuse_tracked(path: &Path) -> Result<(), Failure> {
    let folder = match path.parent() {
        Some(folder) if !folder.as_os_str().is_empty() => folder.to_owned(),
        _ => PathBuf::from("."),
    };
    let Some(name) = path.file_name() else {
        return Err(Failure::arguments("the secrets file has no name", "set `secrets_file` in the plan"));
    };
    let asked = Command::new("git")
        .arg("-C")
        .arg(&folder)
        .args(["check-ignore", "--quiet", "--"])
        .arg(name)
        .stdin(Stdio::null())
        .stderr(Stdio::null())
        .status();
    let in_checkout =
        || folder.canonicalize().is_ok_and(|folder| folder.ancestors().any(|above| above.join(".git").exists()));
    match asked.map(|status| status.code()) {
        Ok(Some(0)) => Ok(()),
        // Git answers 128 outside of a checkout; without git, only a folder without one is safe.
        Ok(Some(1)) => Err(would_be_committed(path)),
        _ if in_checkout() => Err(would_be_committed(path)),
        _ => Ok(()),
    }
}

fn would_be_committed(path: &Path) -> Failure {
    let title = format!("git does not ignore {}: the secrets could be committed", path.display());
    Failure::arguments(title, "add `*.env` to .gitignore, then run this again")
}

/// Writes a file that only its owner reads, as a whole or not at all.
fn write_private(path: &Path, text: &str) -> io::Result<()> {
    // The ending stays, so that what git ignores of the file it also ignores of its forerunner.
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = path.with_file_name(format!(".new-{name}"));
    let mut file = private(&temporary)?;
    file.write_all(text.as_bytes())?;
    file.sync_all()?;
    fs::rename(&temporary, path)
}

fn private(path: &Path) -> io::Result<File> {
    let file = OpenOptions::new().write(true).create(true).truncate(true).mode(MODE).open(path)?;
    // A file that was left behind keeps the mode that it had.
    file.set_permissions(Permissions::from_mode(MODE))?;
    Ok(file)
}

#[cfg(test)]
mod tests {
    use super::random;

    #[test]
    fn secrets_are_letters_and_digits_and_never_the_same() {
        let (a, b) = (random(32), random(32));
        assert!(a.len() == 32 && a.chars().all(|c| c.is_ascii_alphanumeric()));
        assert_ne!(a, b);
    }
}
