//! The results folder: names, the lock that keeps a second run out, and writing that leaves either the old file or the whole new one.

use std::{
    fs::{self, File, OpenOptions, Permissions},
    io::{self, BufWriter, Read, Write},
    os::unix::fs::{OpenOptionsExt, PermissionsExt},
    path::{Path, PathBuf},
};

use rustix::fs::{FlockOperation, OFlags, flock};
use serde::{Deserialize, de::DeserializeOwned};
use serde_json::Value;

use super::{entry::FORMAT, folder_error::FolderError, journal::is_being_written};

/// The largest result that is read; reading takes memory in proportion.
pub const LARGEST_RESULT: u64 = 4 * 1024 * 1024 * 1024;

/// The end of the name of a result.
const RESULT: &str = "json";
/// The end of the name of a journal.
const JOURNAL: &str = "journal";

/// A folder with results.
#[derive(Clone, Debug)]
pub struct Folder {
    path: PathBuf,
}

/// What the folder has of one run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RunFiles {
    /// `RUN_ID-PLAN`, the stem of its files' names.
    pub name: String,
    /// Its result, if the run ended or was recovered.
    pub result: Option<PathBuf>,
    /// Its journal, if it is kept.
    pub journal: Option<PathBuf>,
}

/// Keeps other runs out of the folder for as long as it lives. The kernel ends it with the process, however that dies.
#[derive(Debug)]
pub struct Lock {
    _file: File,
}

impl Folder {
    /// Opens the folder; makes it when it is not there.
    pub fn create(path: &Path) -> Result<Self, FolderError> {
        fs::create_dir_all(path).map_err(|error| FolderError::Io("make the folder", path.to_owned(), error))?;
        Ok(Self { path: path.to_owned() })
    }

    /// The folder as it is, for reading.
    #[must_use]
    pub fn at(path: &Path) -> Self {
        Self { path: path.to_owned() }
    }

    /// Its path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Takes the folder for one run. `who` is what a second run is told, such as `run 20261130T180000Z (process 4711)`.
    pub fn lock(&self, who: &str) -> Result<Lock, FolderError> {
        let path = self.path.join(".lock");
        let failed = |error| FolderError::Io("lock", path.clone(), error);
        let mut open = OpenOptions::new();
        open.read(true).write(true).create(true).truncate(false);
        // A link would have another file written over.
        open.custom_flags(OFlags::NOFOLLOW.bits().cast_signed());
        let mut file = open.open(&path).map_err(failed)?;
        match flock(&file, FlockOperation::NonBlockingLockExclusive) {
            Ok(()) => {}
            Err(rustix::io::Errno::WOULDBLOCK) => {
                let mut holder = String::new();
                let read = (&file).take(200).read_to_string(&mut holder);
                let holder = if read.is_ok() && !holder.is_empty() { holder } else { "another run".to_owned() };
                return Err(FolderError::Locked(self.path.clone(), holder));
            }
            Err(error) => return Err(failed(error.into())),
        }
        file.set_len(0).and_then(|()| file.write_all(who.as_bytes())).map_err(failed)?;
        Ok(Lock { _file: file })
    }

    /// A run's identifier from the time at its start, `YYYYMMDDTHHMMSSZ`. When a run of that second is there already, the next
    /// free second is taken; the exact time is in the result.
    pub fn new_run_id(&self, unix_ms: u64) -> Result<String, FolderError> {
        let runs = self.runs()?;
        let mut second = unix_ms / 1000;
        loop {
            let id = run_id(second);
            if !runs.iter().any(|run| run.name.starts_with(&id)) {
                return Ok(id);
            }
            second += 1;
        }
    }

    /// Where the journal of a run is.
    #[must_use]
    pub fn journal_path(&self, run_id: &str, plan: &str) -> PathBuf {
        self.path.join(format!("{run_id}-{plan}.{JOURNAL}"))
    }

    /// Where the result of a run is.
    #[must_use]
    pub fn result_path(&self, run_id: &str, plan: &str) -> PathBuf {
        self.path.join(format!("{run_id}-{plan}.{RESULT}"))
    }

    /// All runs of the folder, the oldest first.
    pub fn runs(&self) -> Result<Vec<RunFiles>, FolderError> {
        let failed = |error| FolderError::Io("list", self.path.clone(), error);
        let mut runs = std::collections::BTreeMap::<String, RunFiles>::new();
        for entry in fs::read_dir(&self.path).map_err(failed)? {
            let path = entry.map_err(failed)?.path();
            let (Some(name), Some(kind)) = (path.file_stem().and_then(|s| s.to_str()), path.extension()) else {
                continue;
            };
            if !is_run_name(name) || (kind != RESULT && kind != JOURNAL) {
                continue;
            }
            // A pipe of that name would be waited for.
            if !path.is_file() {
                continue;
            }
            let files = RunFiles { name: name.to_owned(), result: None, journal: None };
            let run = runs.entry(name.to_owned()).or_insert(files);
            let slot = if kind == RESULT { &mut run.result } else { &mut run.journal };
            *slot = Some(path);
        }
        Ok(runs.into_values().collect())
    }

    /// The result that a person means: a path, a run's name, its identifier, or the beginning of one that no other run shares.
    pub fn find_result(&self, name: &str) -> Result<PathBuf, FolderError> {
        if Path::new(name).is_file() {
            return Ok(PathBuf::from(name));
        }
        let run = self.find(name)?;
        match (run.result, run.journal) {
            (Some(result), _) => Ok(result),
            (None, Some(journal)) if is_being_written(&journal) => Err(FolderError::GoesOn(journal)),
            (None, Some(journal)) => Err(FolderError::OnlyJournal(journal)),
            (None, None) => Err(FolderError::NotFound(name.to_owned(), self.path.clone())),
        }
    }

    /// The journal that a person means, named in the same way.
    pub fn find_journal(&self, name: &str) -> Result<PathBuf, FolderError> {
        if Path::new(name).is_file() {
            return Ok(PathBuf::from(name));
        }
        self.find(name)?.journal.ok_or_else(|| FolderError::NotFound(name.to_owned(), self.path.clone()))
    }

    fn find(&self, name: &str) -> Result<RunFiles, FolderError> {
        let all = self.runs()?;
        if let Some(run) = all.iter().find(|run| run.name == name) {
            return Ok(run.clone());
        }
        let mut found: Vec<RunFiles> = all.into_iter().filter(|run| run.name.starts_with(name)).collect();
        match (found.pop(), found.is_empty()) {
            (Some(run), true) if !name.is_empty() => Ok(run),
            (Some(last), _) => {
                let names = found.into_iter().chain([last]).map(|run| run.name).collect();
                Err(FolderError::Ambiguous(name.to_owned(), names))
            }
            (None, _) => Err(FolderError::NotFound(name.to_owned(), self.path.clone())),
        }
    }
}

/// Writes a JSON value as a whole or not at all: to a new file beside it, to the disk, then under its name. Everyone may read it.
pub fn write_json(path: &Path, value: &Value) -> Result<(), FolderError> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let name = path.file_name().unwrap_or_default().to_string_lossy();
    let temporary = folder.join(format!(".{name}.{}", std::process::id()));
    let written = write_and_rename(&temporary, path, folder, value);
    if written.is_err() {
        // The reason of the failure is what matters; what is left behind is hidden and small.
        let _ = fs::remove_file(&temporary);
    }
    written.map_err(|error| FolderError::Io("write", path.to_owned(), error))
}

fn write_and_rename(temporary: &Path, path: &Path, folder: &Path, value: &Value) -> io::Result<()> {
    let mut out = BufWriter::new(File::create(temporary)?);
    serde_json::to_writer(&mut out, value)?;
    out.write_all(b"\n")?;
    let file = out.into_inner().map_err(io::IntoInnerError::into_error)?;
    file.set_permissions(Permissions::from_mode(0o644))?;
    file.sync_all()?;
    fs::rename(temporary, path)?;
    File::open(folder)?.sync_all()
}

/// Reads a result, or a part of one, of a format that this program knows.
pub fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, FolderError> {
    let failed = |error| FolderError::Io("read", path.to_owned(), error);
    let no_result = |why: String| FolderError::NoResult(path.to_owned(), why);
    let mut text = Vec::new();
    let length = File::open(path).and_then(|file| file.take(LARGEST_RESULT + 1).read_to_end(&mut text));
    if length.map_err(failed)? as u64 > LARGEST_RESULT {
        return Err(no_result(format!("it has more than {LARGEST_RESULT} bytes")));
    }
    let known: Format = serde_json::from_slice(&text).map_err(|error| no_result(error.to_string()))?;
    if known.format != FORMAT {
        return Err(no_result(format!("it has format {}, and this scaler reads format {FORMAT}", known.format)));
    }
    serde_json::from_slice(&text).map_err(|error| no_result(error.to_string()))
}

/// The first thing to know of a result.
#[derive(Deserialize)]
struct Format {
    format: u32,
}

/// `YYYYMMDDTHHMMSSZ` of a Unix second. Times that no calendar has become the latest one.
fn run_id(second: u64) -> String {
    let second = i64::try_from(second).unwrap_or(i64::MAX);
    let time = jiff::Timestamp::from_second(second).unwrap_or(jiff::Timestamp::MAX);
    time.strftime("%Y%m%dT%H%M%SZ").to_string()
}

/// Whether a file's stem begins with a run's identifier.
#[must_use]
pub fn is_run_name(name: &str) -> bool {
    let id = name.as_bytes();
    id.len() > 17
        && id[..8].iter().all(u8::is_ascii_digit)
        && id[8] == b'T'
        && id[9..15].iter().all(u8::is_ascii_digit)
        && &id[15..17] == b"Z-"
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::problem::Problem;

    fn folder() -> (tempfile::TempDir, Folder) {
        let temporary = tempfile::tempdir().unwrap();
        let folder = Folder::create(&temporary.path().join("results")).unwrap();
        (temporary, folder)
    }

    #[test]
    fn run_ids_are_the_time_and_never_used_twice() {
        let (_guard, folder) = folder();
        assert_eq!(folder.new_run_id(1_796_061_600_999).unwrap(), "20261130T180000Z");
        fs::write(folder.journal_path("20261130T180000Z", "quickstart"), "").unwrap();
        fs::write(folder.result_path("20261130T180001Z", "crash"), "").unwrap();
        assert_eq!(folder.new_run_id(1_796_061_600_000).unwrap(), "20261130T180002Z");
        assert!(folder.new_run_id(u64::MAX).is_ok());
    }

    #[test]
    fn a_second_run_is_refused_by_the_name_of_the_first() {
        let (_guard, folder) = folder();
        let lock = folder.lock("run 20261130T180000Z (process 4711)").unwrap();
        let error = folder.lock("run B").unwrap_err().to_string();
        assert!(error.contains("is in use by run 20261130T180000Z (process 4711)"), "{error}");
        drop(lock);
        folder.lock("run B").unwrap();
    }

    #[test]
    fn a_lock_file_that_a_dead_run_left_does_no_harm() {
        let (_guard, folder) = folder();
        fs::write(folder.path().join(".lock"), "run of someone who died long ago").unwrap();
        let _lock = folder.lock("run B").unwrap();
        assert_eq!(fs::read_to_string(folder.path().join(".lock")).unwrap(), "run B");
    }

    #[test]
    fn runs_are_found_by_path_name_identifier_and_unique_beginning() {
        let (_guard, folder) = folder();
        let first = folder.result_path("20261130T180000Z", "quickstart");
        let second = folder.result_path("20261130T180500Z", "quickstart");
        let killed = folder.journal_path("20261201T000000Z", "crash");
        for path in [&first, &second, &killed, &folder.path().join("notes.json")] {
            fs::write(path, "{}").unwrap();
        }
        assert_eq!(folder.runs().unwrap().len(), 3);
        for name in ["20261130T180000Z-quickstart", "20261130T180000Z", "20261130T1800", first.to_str().unwrap()] {
            assert_eq!(folder.find_result(name).unwrap(), first, "{name}");
        }
        let error = |name: &str| folder.find_result(name).unwrap_err().to_string();
        assert!(error("20261130").contains("20261130T180000Z-quickstart, 20261130T180500Z-quickstart"));
        assert!(error("").starts_with("\"\" may mean "), "{}", error(""));
        assert!(error("2025").starts_with("no run \"2025\" in "));
        let problem = Problem::from(folder.find_result("20261201").unwrap_err());
        assert!(problem.help.unwrap().starts_with("`scaler results recover "), "{}", problem.title);
        assert_eq!(folder.find_journal("20261201").unwrap(), killed);
    }

    #[test]
    fn a_file_is_written_whole_readable_and_replaced() {
        let (_guard, folder) = folder();
        let path = folder.result_path("20261130T180000Z", "quickstart");
        write_json(&path, &json!({ "format": 1, "a": 1 })).unwrap();
        write_json(&path, &json!({ "format": 1, "a": 0.1 })).unwrap();
        assert_eq!(read_json::<Value>(&path).unwrap(), json!({ "format": 1, "a": 0.1 }));
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o644);
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 1, "nothing else is left behind");
    }

    #[test]
    fn a_folder_that_cannot_be_written_is_named_with_advice() {
        let (_guard, folder) = folder();
        let path = folder.path().join("missing").join("a.json");
        let error = write_json(&path, &json!({})).unwrap_err().to_string();
        assert!(error.starts_with("cannot write ") && error.contains("No such file"), "{error}");
        let full = FolderError::Io("write", path, io::ErrorKind::StorageFull.into());
        assert_eq!(Problem::from(full).help.unwrap(), "free some space, or choose another folder with --results");
    }

    #[test]
    fn what_is_no_result_is_refused_with_the_reason() {
        let (_guard, folder) = folder();
        let path = folder.path().join("a.json");
        let cases = [
            ("", "EOF while parsing"),
            ("{}", "missing field `format`"),
            (r#"{"format":2}"#, "it has format 2, and this scaler reads format 1"),
            (&format!("{{\"format\":1,\"a\":{}{}}}", "[".repeat(500), "]".repeat(500)), "recursion limit exceeded"),
        ];
        for (text, reason) in cases {
            fs::write(&path, text).unwrap();
            let error = read_json::<Value>(&path).unwrap_err().to_string();
            assert!(error.contains("is no result: ") && error.contains(reason), "{text:.20} gave {error}");
        }
    }
}
