//! Facts of the host: what a plan may ask for when it is checked, and what a result says of the machine.

use std::{
    collections::BTreeSet,
    fs, io,
    num::NonZero,
    path::Path,
    process::{Command, Stdio},
};

use indexmap::IndexMap;
use jiff::Timestamp;
use procfs::Current;
use rustix::thread::{CpuSet, sched_getaffinity};

use crate::{plan::checked::HostFacts, record::entry::Host};

/// What a plan may ask of the host.
///
/// # Errors
/// When `/proc` cannot be read.
pub fn facts() -> io::Result<HostFacts> {
    // Unlike the number of CPUs online, this respects affinity and the quota of a container.
    let cpus = std::thread::available_parallelism().map(NonZero::get)?;
    Ok(HostFacts { cpus: cpus as u64, memory_bytes: memory_bytes()?, name: kernel_word("hostname")? })
}

/// What tells one build of a program from another without reading all of it: the size of its file, and when it was written.
///
/// # Errors
/// When the file cannot be looked at.
pub fn build(program: &Path) -> io::Result<String> {
    let file = fs::metadata(program)?;
    let written = Timestamp::try_from(file.modified()?).map_err(io::Error::other)?;
    Ok(format!("{} bytes of {written}", file.len()))
}

/// What a result says of the machine; `results` is the folder whose disk is looked at.
///
/// # Errors
/// When `/proc` or the disk cannot be read.
pub fn describe(results: &Path) -> io::Result<Host> {
    let cpus = procfs::CpuInfo::current().map_err(io::Error::other)?;
    let load = procfs::LoadAverage::current().map_err(io::Error::other)?;
    Ok(Host {
        name: kernel_word("hostname")?,
        cpus: cpus.num_cores() as u64,
        cpu_model: cpus.model_name(0).unwrap_or("unknown").to_owned(),
        affinity: affinity()?,
        memory_bytes: memory_bytes()?,
        disk_free_bytes: disk_free_bytes(results)?,
        load1_at_start: f64::from(load.one),
        kernel: kernel_word("osrelease")?,
    })
}

/// The bytes that an ordinary user may still write to the disk of a folder.
///
/// # Errors
/// When the folder is not there.
pub fn disk_free_bytes(folder: &Path) -> io::Result<u64> {
    let disk = rustix::fs::statvfs(folder)?;
    Ok(disk.f_bavail.saturating_mul(disk.f_frsize))
}

/// The commit that is checked out in each folder, with `-dirty` behind it when files differ from it. A folder without one says
/// why, because a result must not hide it.
#[must_use]
pub fn commits(folders: &IndexMap<String, String>, base: &Path) -> IndexMap<String, String> {
    folders.iter().map(|(name, folder)| (name.clone(), commit(&base.join(folder)))).collect()
}

fn commit(folder: &Path) -> String {
    let state = git(folder, &["rev-parse", "--verify", "HEAD"])
        .and_then(|head| Ok((head, git(folder, &["status", "--porcelain"])?)));
    match state {
        Ok((head, changes)) if changes.is_empty() => head,
        Ok((head, _)) => format!("{head}-dirty"),
        Err(reason) => format!("unknown: {reason}"),
    }
}

fn git(folder: &Path, arguments: &[&str]) -> Result<String, String> {
    let output = Command::new("git")
        .arg("-C")
        .arg(folder)
        .args(arguments)
        // Looking must not write to a checkout that others use.
        .env("GIT_OPTIONAL_LOCKS", "0")
        .stdin(Stdio::null())
        .output()
        .map_err(|error| format!("git cannot be run: {error}"))?;
    if output.status.success() {
        return Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned());
    }
    let reason = String::from_utf8_lossy(&output.stderr);
    Err(reason.lines().next().unwrap_or("git failed").to_owned())
}

fn kernel_word(name: &str) -> io::Result<String> {
    Ok(fs::read_to_string(format!("/proc/sys/kernel/{name}"))?.trim().to_owned())
}

fn memory_bytes() -> io::Result<u64> {
    procfs::Meminfo::current().map(|memory| memory.mem_total).map_err(io::Error::other)
}

fn affinity() -> io::Result<String> {
    let set = sched_getaffinity(None)?;
    Ok(ranges(&(0..CpuSet::MAX_CPU).filter(|cpu| set.is_set(*cpu)).collect()))
}

/// Writes numbers as the kernel does: `0-3,6`.
fn ranges(numbers: &BTreeSet<usize>) -> String {
    let mut spans: Vec<(usize, usize)> = Vec::new();
    for number in numbers {
        match spans.last_mut() {
            Some((_, last)) if *last + 1 == *number => *last = *number,
            _ => spans.push((*number, *number)),
        }
    }
    let words = spans.iter().map(|(from, to)| if from == to { from.to_string() } else { format!("{from}-{to}") });
    words.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_written_as_ranges() {
        let cases: [(&[usize], &str); 4] =
            [(&[], ""), (&[5], "5"), (&[0, 1, 2, 3], "0-3"), (&[0, 2, 3, 7, 8], "0,2-3,7-8")];
        for (numbers, text) in cases {
            assert_eq!(ranges(&numbers.iter().copied().collect()), text);
        }
    }

    #[test]
    fn this_host_is_described() {
        let facts = facts().unwrap();
        let host = describe(Path::new(".")).unwrap();
        assert!(facts.cpus >= 1 && host.cpus >= 1);
        assert!(facts.memory_bytes > 1_000_000 && host.memory_bytes == facts.memory_bytes);
        assert_eq!(facts.name, host.name);
        assert!(!host.affinity.is_empty() && !host.kernel.is_empty() && host.disk_free_bytes > 0);
        assert!(describe(Path::new("/no/such/folder")).is_err());
    }

    #[test]
    fn a_checkout_says_its_commit_and_whether_files_differ() {
        let folder = tempfile::tempdir().unwrap();
        let run = |arguments: &[&str]| git(folder.path(), arguments).unwrap();
        run(&["init", "--quiet"]);
        let identity = ["-c", "user.name=a", "-c", "user.email=a@example.org"];
        run(&[&identity[..], &["commit", "--quiet", "--allow-empty", "-m", "first"]].concat());
        let folders = IndexMap::from([("here".to_owned(), ".".to_owned()), ("gone".to_owned(), "gone".to_owned())]);
        let clean = commits(&folders, folder.path());
        assert_eq!(clean["here"].len(), 40);
        assert!(clean["gone"].starts_with("unknown: "), "{}", clean["gone"]);
        fs::write(folder.path().join("new"), "").unwrap();
        assert_eq!(commits(&folders, folder.path())["here"], format!("{}-dirty", clean["here"]));
    }
}
