//! `gate`: become a program at an instant, and leave a record of when it was let go and when it began.
//!
//! For programs that a launcher starts (mpirun, srun), where the agent is not their parent. A program cannot
//! write down when it began, so a helper does: it sees a pipe close that closes on exec.

use std::ffi::{CString, OsString};
use std::fs::{File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::OsStringExt;

use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::signal::{signal, SigHandler, Signal};
use nix::sys::wait::waitpid;
use nix::unistd::{dup2_stderr, dup2_stdin, dup2_stdout, execvp, fork, pipe2, ForkResult};

use crate::instant;

/// Returns only when the program cannot be started. `words` are AT RECORD PROGRAM WORD...
pub fn gate(words: &[OsString]) -> Result<(), String> {
    let [at, record, program @ ..] = words else {
        return Err("gate needs AT RECORD PROGRAM WORD...".into());
    };
    let at = at.to_str().and_then(|text| text.parse().ok()).filter(|&at: &i64| at >= 0);
    let at = at.ok_or("AT is no instant in ns of the wall clock")?;
    let program = program.iter().map(|word| CString::new(word.clone().into_vec()));
    let program: Vec<CString> = program.collect::<Result<_, _>>().map_err(|_| "a word holds a NUL")?;
    let name = program.first().ok_or("gate needs a PROGRAM")?;
    let file = OpenOptions::new().write(true).create(true).truncate(true).open(record);
    let file = file.map_err(|error| format!("cannot write {}: {error}", record.to_string_lossy()))?;
    let mut told = post_helper(file).map_err(|errno| format!("cannot start a helper: {}", errno.desc()))?;
    let errno = pass(at, &mut told, name, &program);
    Err(format!("cannot start {}: {}", name.to_string_lossy(), errno.desc()))
}

fn pass(at: i64, told: &mut File, name: &CString, program: &[CString]) -> Errno {
    // SAFETY: SIG_DFL is no code of ours. Rust ignores SIGPIPE; the program is to have it as usual.
    let _ = unsafe { signal(Signal::SIGPIPE, SigHandler::SigDfl) };
    let released = instant::wait_until(at);
    let _ = told.write_all(&released.to_le_bytes());
    let errno = execvp(name, program).map_or_else(|errno| errno, |_| Errno::UnknownErrno);
    let _ = told.write_all(b"failed");
    errno
}

/// Start the helper, and return what it listens to. It is forked twice, so that the program never finds a
/// child that it did not start.
fn post_helper(record: File) -> Result<File, Errno> {
    let (heard, told) = pipe2(OFlag::O_CLOEXEC)?;
    // SAFETY: this process has a single thread, so the copy may do anything.
    match unsafe { fork() }? {
        ForkResult::Parent { child } => {
            waitpid(child, None)?;
            Ok(File::from(told))
        }
        ForkResult::Child => {
            drop(told);
            // SAFETY: as above.
            if let Ok(ForkResult::Child) = unsafe { fork() } {
                let _ = watch(File::from(heard), record);
            }
            // SAFETY: _exit only ends this process.
            unsafe { libc::_exit(0) }
        }
    }
}

/// Wait until the program begins, then write the record; none when it does not begin.
fn watch(mut heard: File, mut record: File) -> io::Result<()> {
    let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
    dup2_stdin(&null)?; // who waits for the end of the program's streams must not wait for us
    dup2_stdout(&null)?;
    dup2_stderr(&null)?;
    // A short program must not have ended before we wrote: who minds it would end us as a leftover.
    instant::Scheduling::raise();
    let mut bytes = Vec::new();
    heard.read_to_end(&mut bytes)?;
    let started = instant::wall();
    let Ok(released) = <[u8; 8]>::try_from(bytes.as_slice()) else {
        return Ok(());
    };
    record.write_all(format!("{} {started}\n", i64::from_le_bytes(released)).as_bytes())
}
