//! What a child printed: one file per service, of which errors quote the end.

use std::{
    fs::{File, OpenOptions},
    io::{self, Read, Seek, SeekFrom},
    path::{Path, PathBuf},
};

/// How much of a log an error quotes, in bytes and in lines.
const QUOTED_BYTES: u64 = 4096;
const QUOTED_LINES: usize = 12;
/// How much of a log is read for what a process says while it starts.
const BEGINNING_BYTES: u64 = 1 << 20;

/// A log from the start of one process on.
#[derive(Clone, Debug)]
pub struct Log {
    path: PathBuf,
    from: u64,
}

impl Log {
    /// Opens a log for appending; what is in it already belongs to earlier processes and is not quoted.
    ///
    /// # Errors
    /// When the file cannot be opened.
    pub fn open(path: &Path) -> io::Result<(Self, File)> {
        let file = OpenOptions::new().create(true).append(true).open(path)?;
        let from = file.metadata()?.len();
        Ok((Self { path: path.to_owned(), from }, file))
    }

    /// The last lines, with the path before them.
    #[must_use]
    pub fn quote(&self) -> String {
        match self.tail() {
            Ok(tail) if tail.trim().is_empty() => format!("it printed nothing ({})", self.path.display()),
            Ok(tail) => format!("its last lines ({}):\n{tail}", self.path.display()),
            Err(error) => format!("its log {} cannot be read: {error}", self.path.display()),
        }
    }

    /// What was printed since the start of the process, at most the first mebibyte of it.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn beginning(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        file.seek(SeekFrom::Start(self.from))?;
        let mut bytes = Vec::new();
        file.take(BEGINNING_BYTES).read_to_end(&mut bytes)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn tail(&self) -> io::Result<String> {
        let mut file = File::open(&self.path)?;
        let length = file.metadata()?.len();
        file.seek(SeekFrom::Start(self.from.max(length.saturating_sub(QUOTED_BYTES)).min(length)))?;
        let mut bytes = Vec::new();
        file.take(QUOTED_BYTES).read_to_end(&mut bytes)?;
        Ok(last_lines(&String::from_utf8_lossy(&bytes)))
    }
}

/// The last lines of a text, as many as an error quotes.
#[must_use]
pub fn last_lines(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    lines[lines.len().saturating_sub(QUOTED_LINES)..].join("\n")
}
