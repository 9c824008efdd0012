//! The run's folder: the only place that scaler ever empties, and only when scaler itself has claimed it.

use std::{
    fs, io,
    path::{Component, Path, PathBuf},
};

/// The file that says: scaler made this folder and may empty it.
const MARKER: &str = ".scaler-target";
/// The folder of the logs, which survive a fresh start.
const LOGS: &str = "logs";

/// A folder that belongs to the target of one run.
#[derive(Clone, Debug)]
pub struct RunFolder {
    path: PathBuf,
}

impl RunFolder {
    /// Takes a folder that is new, empty, or was claimed before.
    ///
    /// # Errors
    /// When it holds files that scaler did not put there, or cannot be made.
    pub fn claim(path: &Path) -> io::Result<Self> {
        fs::create_dir_all(path)?;
        let path = path.canonicalize()?;
        let marker = path.join(MARKER);
        if !marker.is_file() {
            if fs::read_dir(&path)?.next().is_some() {
                let why = format!("{} is not empty and not a run's folder; nothing in it is touched", path.display());
                return Err(io::Error::other(why));
            }
            fs::write(&marker, "The working folder of a target. scaler empties it before a fresh start.\n")?;
        }
        fs::create_dir_all(path.join(LOGS))?;
        Ok(Self { path })
    }

    /// Removes a claimed folder with all that is in it. Symbolic links are removed, never followed.
    ///
    /// # Errors
    /// When it is not there, was never claimed, or cannot be removed.
    pub fn remove(path: &Path) -> io::Result<()> {
        let marker = path.join(MARKER);
        if !fs::symlink_metadata(path)?.is_dir() || !marker.is_file() {
            return Err(io::Error::other("it is not a run's folder; nothing in it is touched"));
        }
        fs::remove_dir_all(path)
    }

    /// The folder itself.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The working folder of one service; it exists afterwards.
    ///
    /// # Errors
    /// When the name is no plain folder name, or the folder cannot be made.
    pub fn service(&self, name: &str) -> io::Result<PathBuf> {
        let folder = self.path.join(plain(name)?);
        fs::create_dir_all(&folder)?;
        Ok(folder)
    }

    /// The log of one service.
    ///
    /// # Errors
    /// When the name is no plain file name.
    pub fn log(&self, name: &str) -> io::Result<PathBuf> {
        Ok(self.path.join(LOGS).join(format!("{}.log", plain(name)?)))
    }

    /// Removes everything but the logs. Symbolic links are removed, never followed.
    ///
    /// # Errors
    /// When the folder is not claimed any more, or something cannot be removed.
    pub fn empty(&self) -> io::Result<()> {
        if !self.path.join(MARKER).is_file() {
            let why = format!("{} is no longer a run's folder; nothing in it is removed", self.path.display());
            return Err(io::Error::other(why));
        }
        for entry in fs::read_dir(&self.path)? {
            let entry = entry?;
            if entry.file_name() == MARKER || entry.file_name() == LOGS {
                continue;
            }
            if entry.file_type()?.is_dir() {
                fs::remove_dir_all(entry.path())?;
            } else {
                fs::remove_file(entry.path())?;
            }
        }
        Ok(())
    }
}

/// A name that stays inside its folder.
fn plain(name: &str) -> io::Result<&str> {
    let mut parts = Path::new(name).components();
    match (parts.next(), parts.next()) {
        (Some(Component::Normal(_)), None) if name != LOGS && name != MARKER => Ok(name),
        _ => Err(io::Error::other(format!("`{name}` cannot be the name of a folder"))),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stranger_s_folder_is_not_claimed() {
        let outer = tempfile::tempdir().unwrap();
        fs::write(outer.path().join("precious"), "1").unwrap();
        let error = RunFolder::claim(outer.path()).unwrap_err();
        assert!(error.to_string().contains("not empty"), "{error}");
        assert!(RunFolder::remove(outer.path()).is_err());
        assert!(outer.path().join("precious").exists());
    }

    #[test]
    fn emptying_spares_logs_and_what_a_link_points_to() {
        let outer = tempfile::tempdir().unwrap();
        let outside = outer.path().join("outside");
        fs::create_dir(&outside).unwrap();
        fs::write(outside.join("precious"), "1").unwrap();
        let folder = RunFolder::claim(&outer.path().join("run")).unwrap();
        std::os::unix::fs::symlink(&outside, folder.path().join("link")).unwrap();
        fs::write(folder.service("store").unwrap().join("data"), "1").unwrap();
        fs::write(folder.log("store").unwrap(), "kept").unwrap();
        folder.empty().unwrap();
        assert!(outside.join("precious").exists());
        assert!(!folder.path().join("store").exists());
        assert!(!folder.path().join("link").exists());
        assert!(folder.log("store").unwrap().exists());
        RunFolder::claim(folder.path()).unwrap();
        RunFolder::remove(folder.path()).unwrap();
        assert!(!folder.path().exists() && outside.join("precious").exists());
    }

    #[test]
    fn without_its_marker_a_folder_is_not_emptied() {
        let outer = tempfile::tempdir().unwrap();
        let folder = RunFolder::claim(&outer.path().join("run")).unwrap();
        fs::write(folder.path().join("data"), "1").unwrap();
        fs::remove_file(folder.path().join(MARKER)).unwrap();
        assert!(folder.empty().is_err());
        assert!(folder.path().join("data").exists());
    }

    #[test]
    fn names_stay_inside() {
        for bad in ["..", "a/b", "/etc", "", ".", "logs"] {
            assert!(plain(bad).is_err(), "{bad:?} was accepted");
        }
        assert!(plain("broker").is_ok());
    }
}
