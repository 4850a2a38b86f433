//! Processes as /proc shows them, and how a whole tree of them is ended.

use std::collections::{HashMap, HashSet};
use std::fs;
use std::path::Path;
use std::thread::sleep;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::sys::signal::{kill, Signal};
use nix::unistd::Pid;

pub type Pids = HashSet<i32>;
pub type Table = HashMap<i32, Process>;

const PF_KTHREAD: u64 = 0x0020_0000;
/// Longer than any exec but one from a file server that hangs.
const EXEC_WITHIN: Duration = Duration::from_millis(200);

/// What /proc/PID/stat says (proc_pid_stat(5)).
#[derive(Debug, PartialEq, Eq)]
pub struct Process {
    pub pid: i32,
    pub parent: i32,
    pub session: i32,
    /// It has ended and only waits to be collected by its parent.
    pub dead: bool,
    /// It certainly has no environment.
    bare: bool,
}

impl Process {
    /// The process with this pid, if there is one.
    pub fn find(pid: i32) -> Option<Self> {
        Self::parse(pid, &fs::read(format!("/proc/{pid}/stat")).ok()?)
    }

    fn parse(pid: i32, stat: &[u8]) -> Option<Self> {
        // The name of the program stands in parentheses and may itself hold blanks and parentheses.
        let end = stat.iter().rposition(|&byte| byte == b')')?;
        let fields: Vec<&str> = std::str::from_utf8(stat.get(end + 1..)?).ok()?.split_whitespace().collect();
        let dead = matches!(*fields.first()?, "Z" | "X");
        let kernel = fields.get(6)?.parse::<u64>().ok()? & PF_KTHREAD != 0;
        let (from, to) = (*fields.get(47)?, *fields.get(48)?);
        Some(Self {
            pid,
            parent: fields.get(1)?.parse().ok()?,
            session: fields.get(3)?.parse().ok()?,
            dead,
            bare: dead || kernel || (from == to && from != "0"), // both are 0 in the middle of an exec
        })
    }
}

/// All processes that can be seen.
pub fn table() -> Table {
    let Ok(entries) = fs::read_dir("/proc") else {
        return Table::new();
    };
    entries
        .flatten()
        .filter_map(|entry| entry.file_name().to_str()?.parse().ok())
        .filter_map(|pid| Some((pid, Process::find(pid)?)))
        .collect()
}

/// The roots and everything below them.
pub fn descendants(table: &Table, roots: impl IntoIterator<Item = i32>) -> Pids {
    let mut children: HashMap<i32, Vec<i32>> = HashMap::new();
    for process in table.values() {
        children.entry(process.parent).or_default().push(process.pid);
    }
    let mut ahead: Vec<i32> = roots.into_iter().collect();
    let mut found = Pids::new();
    while let Some(pid) = ahead.pop() {
        if found.insert(pid) {
            ahead.extend(children.get(&pid).into_iter().flatten());
        }
    }
    found
}

/// Our children as the kernel lists them; empty where it was built without CONFIG_PROC_CHILDREN.
pub fn listed_children() -> Vec<i32> {
    let me = Pid::this();
    let text = fs::read_to_string(format!("/proc/{me}/task/{me}/children")).unwrap_or_default();
    text.split_whitespace().filter_map(|pid| pid.parse().ok()).collect()
}

/// The environment that a process was started with; empty if hidden.
///
/// In the middle of an exec a process shows none; whoever believed that would take it for a stranger.
pub fn environment(pid: i32) -> Vec<u8> {
    let name = format!("/proc/{pid}/environ");
    let deadline = Instant::now() + EXEC_WITHIN;
    loop {
        let found = fs::read(Path::new(&name)).unwrap_or_default();
        let hides = found.is_empty() && Process::find(pid).is_some_and(|process| !process.bare);
        if !hides || Instant::now() > deadline {
            return found;
        }
        sleep(Duration::from_micros(500));
    }
}

/// The value of a variable of such an environment.
pub fn variable<'a>(environment: &'a [u8], name: &str) -> Option<&'a [u8]> {
    environment
        .split(|&byte| byte == 0)
        .find_map(|entry| entry.strip_prefix(name.as_bytes())?.strip_prefix(b"=".as_slice()))
}

/// Signal a process. Whether it was still there; EPERM for a program of another user.
pub fn send(pid: i32, signal: Signal) -> Result<bool, Errno> {
    match kill(Pid::from_raw(pid), signal) {
        Err(Errno::ESRCH) => Ok(false),
        outcome => outcome.map(|()| true),
    }
}

/// Kill all that `look` finds; return them without those that were gone or may not be signalled.
///
/// All are frozen before the first is killed, and looking goes on until nothing new is found: a frozen
/// process does not fork, so a program that forks faster than we look cannot win.
pub fn strike(mut look: impl FnMut() -> Pids) -> Pids {
    let (mut frozen, mut untouchable) = (Pids::new(), Pids::new());
    loop {
        let mut fresh = look();
        fresh.retain(|pid| !frozen.contains(pid) && !untouchable.contains(pid));
        if fresh.is_empty() {
            break;
        }
        for pid in fresh {
            match send(pid, Signal::SIGSTOP) {
                Ok(_) => frozen.insert(pid),
                Err(_) => untouchable.insert(pid),
            };
        }
    }
    frozen.retain(|&pid| send(pid, Signal::SIGKILL) == Ok(true));
    frozen
}

#[cfg(test)]
mod tests {
    use super::*;

    fn stat(name: &str, state: &str, flags: u64, environment: (u64, u64)) -> Vec<u8> {
        let middle = "0 ".repeat(40);
        let (from, to) = environment;
        format!("7 ({name}) {state} 3 7 5 0 -1 {flags} {middle}{from} {to} 0\n").into_bytes()
    }

    #[test]
    fn names_may_hold_anything() {
        for name in ["sh", "a b", ") R 1 1", "((", "", "\n1 (a) S 9 9 9 "] {
            let found = Process::parse(7, &stat(name, "S", 0, (10, 20))).unwrap();
            assert_eq!((found.parent, found.session), (3, 5), "{name}");
            assert!(!found.dead && !found.bare);
        }
    }

    #[test]
    fn who_has_no_environment() {
        let bare = |state, flags, range| Process::parse(7, &stat("x", state, flags, range)).unwrap().bare;
        assert!(bare("Z", 0, (0, 0)));
        assert!(bare("S", PF_KTHREAD, (0, 0)));
        assert!(bare("S", 0, (9, 9)));
        assert!(!bare("R", 0, (0, 0)));
    }

    #[test]
    fn what_is_no_stat_is_no_process() {
        let whole = stat("x", "S", 0, (1, 2));
        for length in 0..whole.len() - 8 {
            assert_eq!(Process::parse(7, &whole[..length]), None, "{length}");
        }
        assert_eq!(Process::parse(7, b"\xff) \xff \xfe"), None);
    }

    #[test]
    fn we_are_in_the_table_with_our_parent_above() {
        let (table, me) = (table(), Pid::this().as_raw());
        let parent = Pid::parent().as_raw();
        assert_eq!(table[&me].parent, parent);
        assert!(descendants(&table, [parent]).contains(&me));
        assert_eq!(descendants(&table, []), Pids::new());
    }

    #[test]
    fn variables() {
        let environment = b"A=1\0TOKEN_OF=2\0TOKEN=x=y\0EMPTY=\0";
        assert_eq!(variable(environment, "TOKEN"), Some(b"x=y".as_slice()));
        assert_eq!(variable(environment, "EMPTY"), Some(b"".as_slice()));
        assert_eq!(variable(environment, "KEN"), None);
    }
}
