//! The files behind the effective config, as they are on this host: symbolic links resolved, references followed.

use std::{
    collections::HashSet,
    fs,
    path::{Path, PathBuf},
};

use super::Refused;
use crate::guard::{DrawnIn, Reference, ReferenceKind, references};

/// The path without symbolic links; what does not exist keeps its name under what does.
pub(super) fn real(path: &Path) -> PathBuf {
    if let Ok(real) = path.canonicalize() {
        return real;
    }
    match (path.parent(), path.file_name()) {
        (Some(parent), Some(name)) => real(parent).join(name),
        _ => path.to_owned(),
    }
}

/// The nearest folder above a file that is a git checkout; else the file's own folder.
pub(super) fn checkout_of(file: &Path) -> PathBuf {
    let folder = file.parent().unwrap_or(Path::new("/"));
    folder.ancestors().find(|folder| folder.join(".git").exists()).unwrap_or(folder).to_owned()
}

/// The names that an env file sets.
pub(super) fn variables(env_file: &str) -> Vec<String> {
    let lines = env_file.lines().map(|line| line.trim().trim_start_matches("export ").trim_start());
    lines
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_once(['=', ':']))
        .map(|(name, _)| name.trim().to_owned())
        .collect()
}

/// Follows what the Compose files draw in, through every file that they extend or include.
///
/// Compose takes a path relative to the project's folder, to the file's own, or to an included file's `project_directory`, by
/// context; every one of these that exists is looked at, so that no choice of Compose can go unseen.
pub(super) fn drawn_in(files: &[PathBuf], names: &[String], folder: &Path) -> Result<Vec<DrawnIn>, Refused> {
    let mut found = Vec::new();
    let mut seen = HashSet::new();
    let mut open: Vec<(PathBuf, String, Vec<PathBuf>)> =
        files.iter().zip(names).map(|(file, name)| (file.clone(), name.clone(), vec![folder.to_owned()])).collect();
    while let Some((file, name, mut bases)) = open.pop() {
        if !seen.insert(file.clone()) {
            continue;
        }
        bases.extend(file.parent().map(Path::to_owned));
        let text = fs::read_to_string(&file).map_err(|error| Refused(format!("{name} cannot be read: {error}")))?;
        let references = references(&text).map_err(|error| Refused(format!("{name} is not YAML: {error}")))?;
        let folders = references.iter().filter(|reference| reference.kind == ReferenceKind::Folder);
        let folders: Vec<PathBuf> =
            folders.flat_map(|reference| meanings(reference, &bases).unwrap_or_default()).collect();
        for reference in references {
            let means = meanings(&reference, &bases);
            if matches!(reference.kind, ReferenceKind::Extends | ReferenceKind::Include) {
                let nested = || bases.iter().chain(&folders).cloned().collect();
                open.extend(means.iter().flatten().map(|file| (file.clone(), reference.path.clone(), nested())));
            }
            let means = means.map(|files| files.iter().map(|file| file.display().to_string()).collect());
            found.push(DrawnIn { file: name.clone(), reference, means });
        }
    }
    Ok(found)
}

/// The existing files that a reference can mean; none when it depends on a variable or lies elsewhere.
fn meanings(reference: &Reference, bases: &[PathBuf]) -> Option<Vec<PathBuf>> {
    let path = reference.path.as_str();
    if path.contains('$') || path.contains("://") || path.starts_with(['~']) || path.starts_with("git@") {
        return None;
    }
    let mut files: Vec<PathBuf> =
        bases.iter().map(|base| base.join(path)).filter(|file| file.exists()).map(|file| real(&file)).collect();
    files.sort();
    files.dedup();
    Some(files)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_that_is_not_there_keeps_its_name_under_what_is() {
        let folder = tempfile::tempdir().expect("a folder");
        let folder = folder.path().canonicalize().expect("it is there");
        std::os::unix::fs::symlink("/usr", folder.join("link")).expect("a link");
        assert_eq!(real(&folder.join("link/no/such")), Path::new("/usr/no/such"));
    }

    #[test]
    fn names_of_an_env_file() {
        assert_eq!(variables("# A=1\nB=2\n export C = 3\nD: 4\n\nE\n"), ["B", "C", "D"]);
    }
}
