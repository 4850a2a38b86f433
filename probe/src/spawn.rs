//! How the agent starts a program: in a session of its own, at once or at an instant.
//!
//! A copy of the agent prepares everything, waits where it is to wait, and becomes the program. What happens
//! travels to the agent through a pipe that closes when the program begins.

use std::ffi::{CString, OsStr};
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use nix::errno::Errno;
use nix::fcntl::{fcntl, open, FcntlArg, OFlag};
use nix::sys::prctl::set_pdeathsig;
use nix::sys::signal::{SigSet, Signal};
use nix::sys::stat::Mode;
use nix::unistd::{
    access, chdir, dup2_stderr, dup2_stdin, dup2_stdout, execve, fork, getppid, pipe2, setsid, AccessFlags,
    ForkResult, Pid,
};

use crate::instant;

const NULL: &str = "/dev/null";
/// Where programs are looked for when there is no PATH (Python's os.defpath).
const DEFAULT_PATH: &[u8] = b"/bin:/usr/bin";
/// Signals of Linux run from 1 to 64.
const LAST_SIGNAL: i32 = 64;

/// What is to be started. `-` as a stream stands for nothing.
pub struct Order {
    /// Ns of the wall clock at which the program begins; at once when absent.
    pub at: Option<i64>,
    pub directory: CString,
    pub stdin: CString,
    pub stdout: Output,
    pub stderr: CString,
    /// The whole environment, as NAME=VALUE.
    pub environment: Vec<CString>,
    /// The program and its arguments.
    pub words: Vec<CString>,
}

/// Where standard output goes.
pub enum Output {
    Path(CString),
    Pipe(OwnedFd),
}

/// What a copy of the agent reports on its way to becoming the program.
#[derive(Debug, PartialEq, Eq)]
pub enum Report {
    /// It is ready and waits for its instant.
    Waits,
    /// It was let go at this moment, in ns of the wall clock.
    Released(i64),
    /// It cannot become the program: what was at fault, and why.
    Failed(&'static str, Errno),
}

impl Report {
    pub const SIZE: usize = 9;
    const FAULTS: [&'static str; 5] = ["program", "directory", "stdin", "stdout", "stderr"];

    fn encode(&self) -> Vec<u8> {
        let (kind, value) = match self {
            Self::Waits => (b'w', 0),
            Self::Released(when) => (b'r', *when),
            Self::Failed(fault, errno) => {
                let index = Self::FAULTS.iter().position(|each| each == fault);
                (u8::try_from(index.unwrap_or(0)).unwrap_or(0), *errno as i64)
            }
        };
        [[kind].as_slice(), &value.to_le_bytes()].concat()
    }

    pub fn decode(bytes: &[u8]) -> Option<Self> {
        let (kind, value) = bytes.split_first()?;
        let value = i64::from_le_bytes(value.try_into().ok()?);
        match kind {
            b'w' => Some(Self::Waits),
            b'r' => Some(Self::Released(value)),
            index => {
                let fault = Self::FAULTS.get(usize::from(*index))?;
                Some(Self::Failed(fault, Errno::from_raw(i32::try_from(value).ok()?)))
            }
        }
    }
}

/// Start a program. Returns its pid, and where its reports come from; that ends when the program begins.
pub fn spawn(order: &Order) -> Result<(Pid, File), Errno> {
    let (heard, told) = pipe2(OFlag::O_CLOEXEC)?;
    let agent = Pid::this();
    // SAFETY: this process has a single thread, so the copy finds all locks free and may do anything.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            fcntl(&heard, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            Ok((child, File::from(heard)))
        }
        ForkResult::Child => become_program(order, agent, File::from(told)),
    }
}

/// Have a copy of us do something that may take long; it prints why it could not, and ends with 1 then.
pub fn spawn_work(
    printing: OwnedFd,
    work: impl FnOnce() -> Result<(), String>,
) -> Result<(Pid, File), Errno> {
    let (heard, told) = pipe2(OFlag::O_CLOEXEC)?;
    let agent = Pid::this();
    // SAFETY: as in `spawn`.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            fcntl(&heard, FcntlArg::F_SETFL(OFlag::O_NONBLOCK))?;
            Ok((child, File::from(heard)))
        }
        ForkResult::Child => {
            drop(told);
            let ready = stand_alone(agent).and_then(|()| connect_to(&printing));
            let outcome = ready.map_err(|errno| errno.desc().to_string()).and_then(|()| work());
            if let Err(reason) = &outcome {
                let _ = File::from(printing).write_all(reason.as_bytes());
            }
            // SAFETY: as in `become_program`.
            unsafe { libc::_exit(i32::from(outcome.is_err())) }
        }
    }
}

fn become_program(order: &Order, agent: Pid, mut told: File) -> ! {
    if let Err((fault, errno)) = attempt(order, agent, &mut told) {
        let _ = told.write_all(&Report::Failed(fault, errno).encode());
    }
    // SAFETY: _exit only ends this process; what the agent would do at its end is not ours to do.
    unsafe { libc::_exit(127) }
}

fn connect_to(printing: &OwnedFd) -> Result<(), Errno> {
    let nothing = CString::from(c"-");
    open_stream(&nothing, OFlag::O_RDONLY).and_then(dup2_stdin)?;
    open_stream(&nothing, OFlag::O_WRONLY).and_then(dup2_stderr)?;
    dup2_stdout(printing)
}

type Fault = (&'static str, Errno);

/// Return only when something is at fault.
fn attempt(order: &Order, agent: Pid, told: &mut File) -> Result<(), Fault> {
    let blame = |fault| move |errno| (fault, errno);
    stand_alone(agent).map_err(blame("program"))?;
    chdir(order.directory.as_c_str()).map_err(blame("directory"))?;
    connect(order)?;
    let program = find_program(order).map_err(blame("program"))?;
    close_others(told);
    if let Some(at) = order.at {
        let _ = told.write_all(&Report::Waits.encode());
        let _ = told.write_all(&Report::Released(instant::wait_until(at)).encode());
    }
    let outcome = execve(&program, &order.words, &order.environment);
    outcome.map(|_| ()).map_err(blame("program"))
}

/// Be the head of a session, with signals as a program expects them.
fn stand_alone(agent: Pid) -> Result<(), Errno> {
    setsid()?;
    default_signals()?;
    // Should the agent be killed, so are we, waiting or already the program (prctl(2)). What we start
    // is then found by its environment.
    set_pdeathsig(Signal::SIGKILL)?;
    if getppid() == agent {
        Ok(())
    } else {
        Err(Errno::ESRCH)
    }
}

/// Give every signal its default action, and block none.
fn default_signals() -> Result<(), Errno> {
    for number in 1..=LAST_SIGNAL {
        // SAFETY: SIG_DFL is no code of ours that could run at a bad moment.
        unsafe { libc::signal(number, libc::SIG_DFL) };
    }
    SigSet::empty().thread_set_mask()
}

/// Open the three streams; the last two share one open file when their paths are equal.
fn connect(order: &Order) -> Result<(), Fault> {
    let blame = |fault| move |errno| (fault, errno);
    let stdin = open_stream(&order.stdin, OFlag::O_RDONLY).and_then(dup2_stdin);
    stdin.map_err(blame("stdin"))?;
    let stdout = match &order.stdout {
        Output::Path(path) => open_stream(path, writing()).and_then(dup2_stdout),
        Output::Pipe(pipe) => dup2_stdout(pipe),
    };
    stdout.map_err(blame("stdout"))?;
    let stderr = match &order.stdout {
        Output::Path(path) if *path == order.stderr => dup2_stderr(io::stdout()),
        _ => open_stream(&order.stderr, writing()).and_then(dup2_stderr),
    };
    stderr.map_err(blame("stderr"))
}

fn writing() -> OFlag {
    OFlag::O_WRONLY | OFlag::O_CREAT | OFlag::O_TRUNC
}

/// Open a file; without waiting, should it be a named pipe whose other end nobody holds.
fn open_stream(path: &CString, flags: OFlag) -> Result<OwnedFd, Errno> {
    let path = if path.as_bytes() == b"-" { OsStr::new(NULL) } else { OsStr::from_bytes(path.as_bytes()) };
    let extra = OFlag::O_NONBLOCK | OFlag::O_NOCTTY | OFlag::O_CLOEXEC;
    let file = open(path, flags | extra, Mode::from_bits_truncate(0o666))?;
    fcntl(&file, FcntlArg::F_SETFL(flags & OFlag::O_ACCMODE))?;
    Ok(file)
}

/// What a shell in the current directory would run for the first word.
fn find_program(order: &Order) -> Result<CString, Errno> {
    let name = order.words.first().ok_or(Errno::ENOENT)?;
    if name.as_bytes().contains(&b'/') {
        // Execve would tell as well, but only at the instant.
        access(name.as_c_str(), AccessFlags::X_OK)?;
        return Ok(name.clone());
    }
    let entries = order.environment.iter();
    let path = entries.rev().find_map(|entry| entry.as_bytes().strip_prefix(b"PATH="));
    search(name.as_bytes(), path.unwrap_or(DEFAULT_PATH))
}

fn search(name: &[u8], path: &[u8]) -> Result<CString, Errno> {
    let mut reason = Errno::ENOENT;
    for folder in path.split(|&byte| byte == b':') {
        let folder: &[u8] = if folder.is_empty() { b"." } else { folder };
        let candidate = [folder, b"/", name].concat();
        if name.is_empty() || !Path::new(OsStr::from_bytes(&candidate)).is_file() {
            continue;
        }
        match access(candidate.as_slice(), AccessFlags::X_OK) {
            Ok(()) => return CString::new(candidate).map_err(|_| Errno::EINVAL),
            Err(_) => reason = Errno::EACCES,
        }
    }
    Err(reason)
}

/// Close everything but the three streams and `told`: a waiting copy must not hold what the agent closes.
fn close_others(told: &File) {
    let told = libc::c_uint::try_from(told.as_raw_fd()).unwrap_or(3);
    close_range(3, told.saturating_sub(1));
    close_range(told.saturating_add(1), libc::c_uint::MAX);
}

/// Close these descriptors. Kernels before 5.9 cannot; all that we open closes itself on exec anyway.
pub fn close_range(first: libc::c_uint, last: libc::c_uint) {
    if first <= last {
        // SAFETY: nothing that owns one of these descriptors is used in this process any more, or yet.
        unsafe { libc::syscall(libc::SYS_close_range, first, last, 0) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn reports_survive_the_pipe() {
        for report in [
            Report::Waits,
            Report::Released(1_795_000_000_123_456_789),
            Report::Failed("program", Errno::ENOENT),
            Report::Failed("stderr", Errno::EACCES),
        ] {
            assert_eq!(report.encode().len(), Report::SIZE);
            assert_eq!(Report::decode(&report.encode()), Some(report));
        }
        assert_eq!(Report::decode(b"w"), None);
        assert_eq!(Report::decode(b"?12345678"), None);
    }

    #[test]
    fn programs_are_found_as_a_shell_would() {
        assert_eq!(search(b"sh", b"/nowhere:/bin"), Ok(c"/bin/sh".into()));
        assert_eq!(search(b"no such program", b"/bin"), Err(Errno::ENOENT));
        assert_eq!(search(b"passwd", b"/etc"), Err(Errno::EACCES));
        assert_eq!(search(b"", b"/bin"), Err(Errno::ENOENT));
    }
}
