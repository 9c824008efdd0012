//! The journal file: append-only, one entry per line of JSON, so that whatever kills scaler leaves everything up to the last line.
//!
//! Every entry reaches the kernel before the next thing is done (it survives scaler's death), and the disk at the end of every phase
//! (it survives the machine's). A journal that cannot be kept any more, because the disk is full or the file was removed, is an error at once
//! and not at the end. While a run writes its journal it holds a lock on it, which ends with the process.

use std::{
    fs::{self, File, OpenOptions},
    io::{self, BufRead, BufReader, Read, Write},
    os::unix::fs::MetadataExt,
    path::{Path, PathBuf},
};

use rustix::{
    fs::{FallocateFlags, FlockOperation, fallocate, flock},
    io::Errno,
};
use serde::Deserialize;
use serde_json::Value;

use super::{
    entry::{Entry, FORMAT, InDoubt},
    redact::Redactor,
};

/// The longest line that is read or written.
pub const LONGEST_LINE: usize = 64 * 1024 * 1024;

/// The largest journal that is read; reading takes memory in proportion.
pub const LARGEST_JOURNAL: u64 = 4 * 1024 * 1024 * 1024;

/// The room that a journal needs to begin, in bytes: the plan's text, the host, and the entries of the first seconds.
const RESERVED: u64 = 64 * 1024;

/// Readings in doubt in one line; more are written as several entries. A topic has at most 65,535 bytes.
const IN_DOUBT_PER_LINE: usize = 500;

/// A journal that is being written.
#[derive(Debug)]
pub struct Journal {
    file: File,
    path: PathBuf,
    redactor: Redactor,
    line: Vec<u8>,
}

impl Journal {
    /// Begins a journal; there must be no such file yet, and room for its first entries.
    pub fn create(path: &Path, redactor: Redactor) -> io::Result<Self> {
        let file = OpenOptions::new().append(true).create_new(true).open(path)?;
        flock(&file, FlockOperation::NonBlockingLockExclusive)?;
        if let Err(error) = reserve(&file) {
            // Nothing was written to it yet, and nobody else has seen it.
            let _ = fs::remove_file(path);
            return Err(error);
        }
        Ok(Self { file, path: path.to_owned(), redactor, line: Vec::new() })
    }

    /// Where it is.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Writes an entry without its secrets and hands it to the kernel.
    ///
    /// # Errors
    /// When the file cannot be written, or when an entry would not be understood again: a secret is a word of the format.
    pub fn append(&mut self, entry: &Entry) -> io::Result<()> {
        match entry {
            Entry::InDoubt(InDoubt { load, readings }) if readings.len() > IN_DOUBT_PER_LINE => {
                for readings in readings.chunks(IN_DOUBT_PER_LINE) {
                    self.write(&Entry::InDoubt(InDoubt { load: load.clone(), readings: readings.to_vec() }))?;
                }
                Ok(())
            }
            Entry::Sample(sample) => self.write(&Entry::Sample(sample.clone().finite())),
            entry => self.write(entry),
        }
    }

    /// Waits until everything is on the disk. For the ends of phases.
    pub fn sync(&self) -> io::Result<()> {
        self.file.sync_data()
    }

    /// What is written to a file without a name is lost with the process.
    fn require_name(&self) -> io::Result<()> {
        match self.file.metadata()?.nlink() {
            0 => Err(io::Error::new(io::ErrorKind::NotFound, "it was removed while the run wrote it")),
            _ => Ok(()),
        }
    }

    fn write(&mut self, entry: &Entry) -> io::Result<()> {
        let mut value = serde_json::to_value(entry)?;
        if self.redactor.json(&mut value) && Entry::deserialize(&value).is_err() {
            let reason = "the value of a secret is a word of the result's format; give the secret another value";
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        self.line.clear();
        serde_json::to_writer(&mut self.line, &value)?;
        self.line.push(b'\n');
        if self.line.len() > LONGEST_LINE {
            let reason = format!("an entry of {} bytes is longer than a journal's line may be", self.line.len());
            return Err(io::Error::new(io::ErrorKind::InvalidData, reason));
        }
        self.require_name()?;
        // One write for one line: what is torn off is always the last line.
        self.file.write_all(&self.line)
    }
}

/// Makes sure of some room on the disk, without making the file longer. A file system that cannot promise any is no error.
fn reserve(file: &File) -> io::Result<()> {
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, RESERVED) {
        Err(error @ (Errno::NOSPC | Errno::DQUOT)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// What could be read of a journal.
#[derive(Debug, PartialEq)]
pub struct JournalRead {
    /// The entries up to the end, or up to the first line that is none.
    pub entries: Vec<Entry>,
    /// The rest that could not be read, if there is one.
    pub torn: Option<Torn>,
}

/// The end of a journal that could not be read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Torn {
    /// The first line that is no entry, from 1.
    pub line: usize,
    /// Why it is none.
    pub why: String,
    /// The lines behind it, which were not read: none when the journal was torn off, some when it was damaged.
    pub behind: usize,
}

/// Reads a journal, even one that was torn off at any byte.
///
/// # Errors
/// When the file cannot be read, is too large, was made by a newer scaler, or is still being written by a run.
pub fn read(path: &Path) -> io::Result<JournalRead> {
    let file = File::open(path)?;
    let refuse = |kind, reason: String| Err(io::Error::new(kind, reason));
    if flock(&file, FlockOperation::NonBlockingLockShared).is_err() {
        return refuse(io::ErrorKind::ResourceBusy, "a run is still writing it".to_owned());
    }
    let size = file.metadata()?.len();
    if size > LARGEST_JOURNAL {
        return refuse(io::ErrorKind::FileTooLarge, format!("it has {size} bytes; at most {LARGEST_JOURNAL} are read"));
    }
    read_entries(BufReader::new(file))
}

/// Whether a run is writing the journal. One that cannot be opened is not being written by anyone who could be waited for.
#[must_use]
pub fn is_being_written(path: &Path) -> bool {
    File::open(path).is_ok_and(|file| flock(&file, FlockOperation::NonBlockingLockShared).is_err())
}

/// Reads entries until the end or the first line that is none.
fn read_entries(mut input: impl BufRead) -> io::Result<JournalRead> {
    let mut entries = Vec::new();
    let mut line = Vec::new();
    loop {
        line.clear();
        let length = input.by_ref().take(LONGEST_LINE as u64 + 1).read_until(b'\n', &mut line)?;
        if length == 0 {
            return Ok(JournalRead { entries, torn: None });
        }
        match parse(&line) {
            Ok(entry) => entries.push(entry),
            Err(why) => {
                if entries.is_empty() {
                    refuse_newer(&line)?;
                }
                let behind = input.lines().count();
                let torn = Torn { line: entries.len() + 1, why, behind };
                return Ok(JournalRead { entries, torn: Some(torn) });
            }
        }
    }
}

fn parse(line: &[u8]) -> Result<Entry, String> {
    if line.len() > LONGEST_LINE {
        return Err(format!("the line is longer than {LONGEST_LINE} bytes"));
    }
    serde_json::from_slice(line).map_err(|error| error.to_string())
}

/// A first line that is not understood may come from a newer scaler; that is no damage.
fn refuse_newer(line: &[u8]) -> io::Result<()> {
    let value: Value = serde_json::from_slice(line).unwrap_or_default();
    match value.pointer("/run_started/format").and_then(Value::as_u64) {
        Some(format) if format > u64::from(FORMAT) => {
            let reason = format!("it has format {format}; this scaler reads formats up to {FORMAT}: use a newer one");
            Err(io::Error::new(io::ErrorKind::Unsupported, reason))
        }
        _ => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use std::sync::LazyLock;

    use indexmap::IndexMap;
    use proptest::prelude::*;

    use super::*;
    use crate::record::{
        entry::{Reading, Sample},
        fixture,
        fold::fold,
    };

    static FEW_LINES: LazyLock<Vec<u8>> = LazyLock::new(|| written(&fixture::run()[..9]));

    fn written(entries: &[Entry]) -> Vec<u8> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let mut journal = Journal::create(&path, Redactor::default()).unwrap();
        for entry in entries {
            journal.append(entry).unwrap();
        }
        journal.sync().unwrap();
        std::fs::read(&path).unwrap()
    }

    #[test]
    fn what_is_written_is_read_back() {
        let entries = fixture::run();
        let bytes = written(&entries);
        assert_eq!(read_entries(bytes.as_slice()).unwrap(), JournalRead { entries, torn: None });
    }

    /// The journal of a run that was killed in its first soak: what this format's files look like, for good.
    #[test]
    fn the_committed_journal_is_what_is_written() {
        let path = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/golden/killed.journal");
        let entries = &fixture::run()[..30];
        let mut made = written(entries);
        made.extend(br#"{"sample":{"at":7.5,"wat"#);
        if std::env::var_os("SCALER_UPDATE").is_some() {
            std::fs::write(path, &made).unwrap();
        }
        let committed = std::fs::read(path).unwrap_or_default();
        assert!(committed == made, "tests/golden/killed.journal differs: a change of it is a change of the format");
        let read = read_entries(committed.as_slice()).unwrap();
        assert_eq!((read.entries.as_slice(), read.torn.unwrap().line), (entries, 31));
    }

    #[test]
    fn torn_off_at_any_byte_everything_before_is_read() {
        let whole = fixture::run();
        let start = &whole[..12];
        let bytes = written(start);
        for length in 0..=bytes.len() {
            let read = read_entries(&bytes[..length]).unwrap();
            let newlines = bytes[..length].split(|byte| *byte == b'\n').count() - 1;
            let known = read.entries.len();
            assert_eq!(read.entries, start[..known], "cut at {length}");
            // A last line that lacks nothing but its newline is whole.
            assert!(known == newlines || known == newlines + 1 && read.torn.is_none(), "cut at {length}");
            match fold(read.entries) {
                Ok(record) => assert!(record.interrupted()),
                Err(error) => assert!(known == 0, "cut at {length}: {error}"),
            }
        }
    }

    #[test]
    fn a_damaged_line_ends_what_is_read_and_is_named() {
        let mut bytes = written(&fixture::run()[..4]);
        bytes.extend(b"\0\0\0\0");
        let read = read_entries(bytes.as_slice()).unwrap();
        assert_eq!((read.entries.len(), read.torn.unwrap().line), (4, 5));
    }

    #[test]
    fn a_newer_format_is_refused_and_not_called_damage() {
        let error = read_entries(&b"{\"run_started\":{\"format\":2,\"planet\":\"Mars\"}}\n"[..]).unwrap_err();
        assert_eq!(error.to_string(), "it has format 2; this scaler reads formats up to 1: use a newer one");
    }

    #[test]
    fn a_journal_in_use_is_not_read() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let journal = Journal::create(&path, Redactor::default()).unwrap();
        assert!(is_being_written(&path));
        assert_eq!(read(&path).unwrap_err().to_string(), "a run is still writing it");
        assert_eq!(Journal::create(&path, Redactor::default()).unwrap_err().kind(), io::ErrorKind::AlreadyExists);
        drop(journal);
        assert!(!is_being_written(&path));
        assert_eq!(read(&path).unwrap(), JournalRead { entries: Vec::new(), torn: None });
    }

    #[test]
    fn secrets_never_reach_the_file() {
        let secrets = IndexMap::from([("PASSWORD".to_owned(), "hunter2/hunter2".to_owned())]);
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("a.journal");
        let mut journal = Journal::create(&path, Redactor::new(&secrets)).unwrap();
        journal.append(&fixture::event(1.0, "mqtt://scalegen:hunter2%2Fhunter2@host refused hunter2/hunter2")).unwrap();
        drop(journal);
        let text = std::fs::read_to_string(&path).unwrap();
        assert!(!text.contains("hunter2"), "{text}");
        let clean = "mqtt://scalegen:[redacted:PASSWORD]@host refused [redacted:PASSWORD]";
        assert_eq!(read(&path).unwrap().entries, [fixture::event(1.0, clean)]);
    }

    #[test]
    fn a_secret_that_is_a_word_of_the_format_is_refused() {
        let secrets = IndexMap::from([("WEAK".to_owned(), "note".to_owned())]);
        let folder = tempfile::tempdir().unwrap();
        let mut journal = Journal::create(&folder.path().join("a.journal"), Redactor::new(&secrets)).unwrap();
        let error = journal.append(&fixture::event(1.0, "all well")).unwrap_err();
        assert!(error.to_string().starts_with("the value of a secret is a word"), "{error}");
    }

    #[test]
    fn many_readings_in_doubt_are_written_in_pieces() {
        let readings: Vec<Reading> = (0..1201).map(|value| Reading { second: 1, topic: "a/b".into(), value }).collect();
        let bytes = written(&[Entry::InDoubt(InDoubt { load: "readings".into(), readings: readings.clone() })]);
        let read = read_entries(bytes.as_slice()).unwrap().entries;
        let all = read.iter().flat_map(|entry| match entry {
            Entry::InDoubt(in_doubt) => in_doubt.readings.clone(),
            _ => Vec::new(),
        });
        assert_eq!((read.len(), all.collect::<Vec<_>>()), (3, readings));
    }

    #[test]
    fn a_number_that_json_cannot_hold_does_not_spoil_the_line() {
        let values = IndexMap::from([("depth".to_owned(), f64::INFINITY)]);
        let sample = Sample { at: 1.0, watch: "queue".into(), values, gaps: IndexMap::new() };
        let bytes = written(&[Entry::Sample(sample.clone())]);
        assert_eq!(read_entries(bytes.as_slice()).unwrap().entries, [Entry::Sample(sample.finite())]);
    }

    proptest! {
        #[test]
        fn no_bytes_make_it_panic(bytes in proptest::collection::vec(any::<u8>(), 0..2000)) {
            let read = read_entries(bytes.as_slice());
            prop_assert!(read.is_ok_and(|read| read.entries.is_empty()));
        }

        #[test]
        fn no_changed_byte_makes_it_panic(place in any::<prop::sample::Index>(), byte in any::<u8>()) {
            let mut bytes = FEW_LINES.clone();
            let place = place.index(bytes.len());
            bytes[place] = byte;
            if let Ok(read) = read_entries(bytes.as_slice()) {
                // What is read may be folded or refused; either way without a panic.
                prop_assert!(read.entries.len() <= 10);
                let _ = fold(read.entries);
            }
        }
    }
}
