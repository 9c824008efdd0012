//! Reading plans: from files, and from a git revision as `REV:path`.

use std::{
    fs::File,
    io::{self, Read},
    path::Path,
    process::{Command, Stdio},
};

use super::Failure;
use crate::{
    host, plan,
    plan::{
        bounds::PLAN_BYTES,
        checked::{Checked, HostFacts},
    },
};

/// A plan and the variables to override in it.
#[derive(Debug, clap::Args)]
pub(super) struct PlanArgs {
    /// The plan, a TOML file.
    #[arg(value_name = "PLAN")]
    pub(super) path: String,
    #[command(flatten)]
    pub(super) sets: Sets,
}

/// Variables to override.
#[derive(Debug, Default, clap::Args)]
pub(in crate::cli) struct Sets {
    /// Give a variable of `[vars]` another value; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    pub(in crate::cli) pairs: Vec<(String, String)>,
}

impl PlanArgs {
    /// The plan, checked.
    pub(super) fn load(&self) -> Result<Checked, Failure> {
        load(&self.path, &self.sets.pairs)
    }
}

/// Reads a plan and checks it for this host.
pub(super) fn load(path: &str, sets: &[(String, String)]) -> Result<Checked, Failure> {
    load_for(path, sets, &this_host()?)
}

/// Reads a plan and checks it for a host, which may be that of an old run.
pub(in crate::cli) fn load_for(path: &str, sets: &[(String, String)], host: &HostFacts) -> Result<Checked, Failure> {
    let checked = match revision_and_path(path) {
        Some((revision, path)) => plan::load(path, &|path| read_revision(revision, path), sets, host),
        None => plan::load(path, &read_file, sets, host),
    };
    Ok(checked?)
}

/// Checks a plan that is read in a way of one's own.
pub(super) fn load_with(
    path: &str,
    read: &dyn Fn(&str) -> io::Result<String>,
    sets: &[(String, String)],
) -> Result<Checked, Failure> {
    Ok(plan::load(path, read, sets, &this_host()?)?)
}

fn this_host() -> Result<HostFacts, Failure> {
    host::facts().map_err(|error| Failure::file("read the facts of this host from", "/proc", &error))
}

/// `NAME=VALUE`.
pub(super) fn pair(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((name, value)) if !name.is_empty() => Ok((name.to_owned(), value.to_owned())),
        _ => Err("write NAME=VALUE".to_owned()),
    }
}

/// Splits `REV:path`; a file of that very name comes first.
fn revision_and_path(name: &str) -> Option<(&str, &str)> {
    let (revision, path) = name.split_once(':')?;
    (!revision.is_empty() && !path.is_empty() && !Path::new(name).exists()).then_some((revision, path))
}

/// A plan's file, no further than what a plan may have: a device has no end.
pub(super) fn read_file(path: &str) -> io::Result<String> {
    let mut text = String::new();
    File::open(path)?.take(PLAN_BYTES as u64 + 1).read_to_string(&mut text)?;
    Ok(text)
}

/// A file of a git revision; the path is seen from the present folder.
fn read_revision(revision: &str, path: &str) -> io::Result<String> {
    let output = Command::new("git")
        .args(["show", "--no-color", "--end-of-options", &format!("{revision}:./{path}")])
        .stdin(Stdio::null())
        .output()
        .map_err(|error| io::Error::new(error.kind(), format!("git cannot be run: {error}")))?;
    if !output.status.success() {
        let said = String::from_utf8_lossy(&output.stderr);
        return Err(io::Error::other(format!("revision {revision:?}: {}", said.trim())));
    }
    String::from_utf8(output.stdout).map_err(|_| io::Error::from(io::ErrorKind::InvalidData))
}

#[cfg(test)]
mod tests {
    use super::{pair, revision_and_path};

    #[test]
    fn a_revision_stands_before_the_colon() {
        assert_eq!(revision_and_path("main~2:plans/a.toml"), Some(("main~2", "plans/a.toml")));
        assert_eq!(revision_and_path("plans/a.toml"), None);
        assert_eq!(revision_and_path(":a"), None);
    }

    #[test]
    fn a_value_may_hold_more_signs() {
        assert_eq!(pair("a=b=c"), Ok(("a".into(), "b=c".into())));
        assert_eq!(pair("a="), Ok(("a".into(), String::new())));
        assert!(pair("a").is_err() && pair("=b").is_err());
    }
}
