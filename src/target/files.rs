//! The files of a process: written into its working folder before it starts, for its user alone.

use std::{
    fs::{self, OpenOptions},
    io::{self, Write},
    os::unix::fs::{OpenOptionsExt, chown},
    path::Path,
};

use indexmap::IndexMap;

use super::user::User;

/// Gives the folder to the process's user and writes its files there, each with mode 600.
///
/// # Errors
/// When a file cannot be written, with its path.
pub(super) fn prepare(folder: &Path, files: &IndexMap<String, String>, user: Option<User>) -> io::Result<()> {
    give(folder, user)?;
    for (name, text) in files {
        let path = folder.join(name);
        write(&path, text, user)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", path.display())))?;
    }
    Ok(())
}

fn write(path: &Path, text: &str, user: Option<User>) -> io::Result<()> {
    // The process may have put anything there, even a link to a file that is not its own: it is replaced, never followed.
    match fs::remove_file(path) {
        Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
        _ => {}
    }
    OpenOptions::new().write(true).create_new(true).mode(0o600).open(path)?.write_all(text.as_bytes())?;
    give(path, user)
}

fn give(path: &Path, user: Option<User>) -> io::Result<()> {
    user.map_or(Ok(()), |user| chown(path, Some(user.uid), Some(user.gid)))
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::{PermissionsExt, symlink};

    use super::*;

    #[test]
    fn files_are_for_one_user_and_links_are_replaced() {
        let outer = tempfile::tempdir().unwrap();
        let folder = outer.path().join("service");
        fs::create_dir(&folder).unwrap();
        fs::write(outer.path().join("precious"), "1").unwrap();
        symlink(outer.path().join("precious"), folder.join("conf")).unwrap();
        let files = IndexMap::from([("conf".to_owned(), "port 1\n".to_owned())]);
        prepare(&folder, &files, None).unwrap();
        prepare(&folder, &files, None).unwrap();
        assert_eq!(fs::read_to_string(folder.join("conf")).unwrap(), "port 1\n");
        assert_eq!(fs::metadata(folder.join("conf")).unwrap().permissions().mode() & 0o777, 0o600);
        assert_eq!(fs::read_to_string(outer.path().join("precious")).unwrap(), "1");
    }
}
