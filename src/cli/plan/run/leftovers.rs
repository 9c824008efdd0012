//! What a run that was killed left behind: its target's working folder. The next run in the same results folder removes it and says so; the
//! journal stays.

use std::path::Path;

use super::{WORK, screen};
use crate::{
    record::{
        folder::{Folder, is_run_name},
        journal,
    },
    target::folder::RunFolder,
};

/// Removes the working folders of runs that are over. The results folder must be locked, so that none of its runs goes on.
///
/// What cannot be removed is said, and stops nothing: no run uses the folder of another.
pub(super) fn remove(folder: &Folder) {
    let entries = std::fs::read_dir(folder.path()).into_iter().flatten().flatten();
    for path in entries.map(|entry| entry.path()) {
        let name = path.file_stem().and_then(|stem| stem.to_str()).unwrap_or_default().to_owned();
        let is_work = path.extension().is_some_and(|extension| extension == WORK);
        if !is_work || !is_run_name(&name) || journal::is_being_written(&folder.path().join(format!("{name}.journal")))
        {
            continue;
        }
        match RunFolder::remove(&path) {
            Ok(()) => screen::remark(&format!(
                "removed {}, which the run {name} left when it was killed{}",
                path.display(),
                advice(folder, &name)
            )),
            Err(error) => screen::remark(&format!(
                "{} was left by a killed run and could not be removed: {error}",
                path.display()
            )),
        }
    }
}

fn advice(folder: &Folder, name: &str) -> String {
    let there = |kind: &str| Path::new(folder.path()).join(format!("{name}.{kind}")).exists();
    if there("journal") && !there("json") {
        format!("; `scaler results recover {name}` makes a result of its journal")
    } else {
        String::new()
    }
}
