//! What a process and its descendants use, added up (`proc_pid_stat(5)`, `proc_pid_status(5)`, `proc_pid_io(5)`).

use std::{collections::HashMap, fs};

use procfs::process::Process;

/// The usage of a tree of processes at one moment.
pub(super) struct Usage {
    /// CPU seconds so far, those of ended descendants that were waited for included.
    pub(super) cpu_s: f64,
    /// Resident memory.
    pub(super) rss_bytes: Result<f64, String>,
    /// Resident memory that no file is behind.
    pub(super) anon_bytes: Result<f64, String>,
    /// Resident memory of files and shared memory; pages shared within the tree count once for each process.
    pub(super) file_bytes: Result<f64, String>,
    /// Memory in swap.
    pub(super) swap_bytes: Result<f64, String>,
    /// The most resident memory so far, added up over the processes that live.
    pub(super) peak_rss_bytes: Result<f64, String>,
    /// Threads.
    pub(super) threads: f64,
    /// Bytes that were fetched from disks.
    pub(super) read_bytes: Result<f64, String>,
    /// Bytes that were sent to disks.
    pub(super) write_bytes: Result<f64, String>,
    /// Context switches of each thread so far.
    pub(super) switches_by_thread: HashMap<i32, u64>,
}

impl Usage {
    /// Reads a process and its descendants.
    ///
    /// # Errors
    /// When the process itself cannot be read.
    pub(super) fn of_tree(pid: u32) -> Result<Self, String> {
        let mut usage = Self {
            cpu_s: 0.0,
            rss_bytes: Ok(0.0),
            anon_bytes: Ok(0.0),
            file_bytes: Ok(0.0),
            swap_bytes: Ok(0.0),
            peak_rss_bytes: Ok(0.0),
            threads: 0.0,
            read_bytes: Ok(0.0),
            write_bytes: Ok(0.0),
            switches_by_thread: HashMap::new(),
        };
        let root = i32::try_from(pid).map_err(|error| error.to_string())?;
        usage.add(root).map_err(|error| format!("process {pid} cannot be read: {error}"))?;
        let mut parents = vec![root];
        while let Some(parent) = parents.pop() {
            for child in children(parent) {
                // A descendant may end at any moment; then its parent counts it.
                if usage.add(child).is_ok() {
                    parents.push(child);
                }
            }
        }
        Ok(usage)
    }

    fn add(&mut self, pid: i32) -> procfs::ProcResult<()> {
        let process = Process::new(pid)?;
        let (stat, status) = (process.stat()?, process.status()?);
        let ticks = stat.utime + stat.stime + (stat.cutime + stat.cstime).unsigned_abs();
        self.cpu_s += float(ticks) / float(procfs::ticks_per_second());
        let shared = status.rssfile.zip(status.rssshmem).map(|(file, shared)| file + shared);
        add_kib(&mut self.rss_bytes, status.vmrss);
        add_kib(&mut self.anon_bytes, status.rssanon);
        add_kib(&mut self.file_bytes, shared);
        add_kib(&mut self.swap_bytes, status.vmswap);
        add_kib(&mut self.peak_rss_bytes, status.vmhwm);
        self.threads += float(status.threads);
        match process.io() {
            Ok(io) => {
                add(&mut self.read_bytes, Ok(float(io.read_bytes)));
                add(&mut self.write_bytes, Ok(float(io.write_bytes)));
            }
            Err(error) => {
                add(&mut self.read_bytes, Err(error.to_string()));
                add(&mut self.write_bytes, Err(error.to_string()));
            }
        }
        for task in process.tasks()?.flatten() {
            let Ok(status) = task.status() else { continue };
            let switches = status.voluntary_ctxt_switches.zip(status.nonvoluntary_ctxt_switches);
            self.switches_by_thread.insert(task.tid, switches.map_or(0, |(own, forced)| own + forced));
        }
        Ok(())
    }
}

/// Context switches that never go backwards: what a thread did before it ended stays counted.
#[derive(Debug, Default)]
pub(super) struct Switches {
    total: u64,
    by_thread: HashMap<i32, u64>,
}

impl Switches {
    /// Takes the counts of the threads that live and gives the total.
    pub(super) fn add(&mut self, now: &HashMap<i32, u64>) -> f64 {
        for (thread, count) in now {
            self.total += count.saturating_sub(self.by_thread.get(thread).copied().unwrap_or(0));
        }
        self.by_thread.clone_from(now);
        float(self.total)
    }
}

/// The children of all threads of a process; none when the kernel does not tell.
fn children(pid: i32) -> Vec<i32> {
    let Ok(threads) = fs::read_dir(format!("/proc/{pid}/task")) else { return Vec::new() };
    let lists = threads.flatten().filter_map(|thread| fs::read_to_string(thread.path().join("children")).ok());
    lists.flat_map(|list| list.split_whitespace().filter_map(|pid| pid.parse().ok()).collect::<Vec<i32>>()).collect()
}

fn add_kib(sum: &mut Result<f64, String>, kib: Option<u64>) {
    // A process that has just ended and was not waited for has no memory any more, and no such line.
    add(sum, Ok(kib.map_or(0.0, |kib| float(kib) * 1024.0)));
}

fn add(sum: &mut Result<f64, String>, value: Result<f64, String>) {
    *sum = match (std::mem::replace(sum, Ok(0.0)), value) {
        (Ok(sum), Ok(value)) => Ok(sum + value),
        (Err(why), _) | (_, Err(why)) => Err(why),
    };
}

#[expect(clippy::cast_precision_loss, reason = "bytes, ticks and counts stay below 2^53")]
pub(crate) fn float(number: u64) -> f64 {
    number as f64
}

#[cfg(test)]
#[expect(clippy::float_cmp, reason = "the numbers are exact")]
mod tests {
    use super::*;

    #[test]
    fn this_process() {
        let usage = Usage::of_tree(std::process::id()).unwrap();
        let (rss, anon, file) = (usage.rss_bytes.unwrap(), usage.anon_bytes.unwrap(), usage.file_bytes.unwrap());
        assert!(rss > 0.0 && anon > 0.0 && file > 0.0 && usage.peak_rss_bytes.unwrap() >= rss);
        assert!(usage.threads >= 1.0 && usage.switches_by_thread.contains_key(&std::process::id().cast_signed()));
    }

    #[test]
    fn a_process_that_is_not_there() {
        assert!(Usage::of_tree(u32::MAX).is_err());
        assert!(Usage::of_tree(4_194_305).is_err());
    }

    #[test]
    fn switches_of_ended_threads_stay_counted() {
        let mut switches = Switches::default();
        assert_eq!(switches.add(&HashMap::from([(1, 10), (2, 5)])), 15.0);
        assert_eq!(switches.add(&HashMap::from([(1, 12), (3, 1)])), 18.0);
    }
}
