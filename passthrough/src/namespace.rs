//! Become a program that sees directories through FUSE, in a mount namespace that ends with it.
//!
//! The server stays outside, so that nothing holds the namespace but the program and those that it starts. It is
//! there before the namespace is, because only who is in the namespace may open /dev/fuse for it without root.

use crate::arguments::Arguments;
use crate::opening::open_at;
use crate::server::{serve, Shown};
use nix::fcntl::{Flock, FlockArg, OFlag};
use nix::mount::{mount, MsFlags};
use nix::sched::{unshare, CloneFlags};
use nix::sys::socket::{
    sendmsg, socketpair, AddressFamily, ControlMessage, MsgFlags, SockFlag, SockType, UnixAddr,
};
use nix::sys::wait::waitpid;
use nix::unistd::{execvp, fork, getegid, geteuid, ForkResult};
use std::convert::Infallible;
use std::env;
use std::ffi::{CString, OsStr};
use std::fs;
use std::io::IoSlice;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::process::exit;

const DIRECTORY: OFlag = OFlag::O_DIRECTORY.union(OFlag::O_CLOEXEC);

/// Returns only if that fails.
pub fn become_program(arguments: &Arguments) -> Result<Infallible, String> {
    let over = find_places(&arguments.over)?;
    let roots = over.iter().map(|path| open(path, OFlag::O_PATH | DIRECTORY)).collect::<Result<_, _>>()?;
    let place = arguments.into.as_deref().map(open_place).transpose()?;
    let here = env::current_dir().ok().filter(|here| over.iter().any(|path| here.starts_with(path)));
    let socket = start_server(Shown { roots, place, cached: arguments.cached })?;
    enter_namespace()?;
    for path in &over {
        hand_over(&socket, &mount_over(path)?)?;
    }
    drop(socket);
    // It was below one of them, and is to be in what covers it; elsewhere it stays, where it may not even enter.
    if let Some(here) = here {
        env::set_current_dir(&here).map_err(|error| format!("{}: {error}", here.display()))?;
    }
    execute(&arguments.program)
}

/// The directories, without those that are below another.
fn find_places(given: &[PathBuf]) -> Result<Vec<PathBuf>, String> {
    let found =
        |path: &PathBuf| fs::canonicalize(path).map_err(|error| format!("{}: {error}", path.display()));
    let mut places = given.iter().map(found).collect::<Result<Vec<_>, _>>()?;
    places.sort();
    places.dedup_by(|place, before| place.starts_with(before));
    Ok(places)
}

/// In a process that is nobody's child, so that the program can wait for all of its own.
fn start_server(shown: Shown) -> Result<OwnedFd, String> {
    let pair = socketpair(AddressFamily::Unix, SockType::SeqPacket, None, SockFlag::SOCK_CLOEXEC);
    let (ours, theirs) = pair.map_err(|error| format!("a socket: {error}"))?;
    let failed = |error| format!("a process: {error}");
    // SAFETY: there is one thread.
    match unsafe { fork() }.map_err(failed)? {
        ForkResult::Parent { child } => waitpid(child, None).map_err(failed)?,
        ForkResult::Child => {
            drop(ours);
            // SAFETY: there is one thread.
            let ended = matches!(unsafe { fork() }, Ok(ForkResult::Child)) && serve(shown, &theirs).is_err();
            exit(ended.into());
        }
    };
    Ok(ours)
}

fn open(path: &Path, flags: OFlag) -> Result<OwnedFd, String> {
    open_at(path, flags).map_err(|error| format!("{}: {error}", path.display()))
}

/// The directory of segments, locked, as by others, for as long as the server lives: a reader can wait for it.
fn open_place(path: &Path) -> Result<OwnedFd, String> {
    let opened = open(path, OFlag::O_RDONLY | DIRECTORY)?;
    let number = opened.as_raw_fd();
    match Flock::lock(opened, FlockArg::LockSharedNonblock) {
        Err((_, error)) => Err(format!("{}: somebody reads what was told there: {error}", path.display())),
        Ok(locked) => {
            std::mem::forget(locked); // it is the open file that has the lock, and not this value
                                      // SAFETY: the lock's owner was forgotten, and did not close it.
            Ok(unsafe { OwnedFd::from_raw_fd(number) })
        }
    }
}

/// Mount it; the other end of the file system.
fn mount_over(over: &Path) -> Result<OwnedFd, String> {
    let device = open(Path::new("/dev/fuse"), OFlag::O_RDWR | OFlag::O_CLOEXEC)?;
    let options = format!(
        "fd={},rootmode={:o},user_id={},group_id={},default_permissions,allow_other",
        device.as_raw_fd(),
        libc::S_IFDIR,
        geteuid(),
        getegid()
    );
    let flags = MsFlags::MS_NOSUID | MsFlags::MS_NODEV;
    mount(Some("steelyard"), over, Some("fuse.steelyard"), flags, Some(options.as_str()))
        .map_err(|error| format!("cannot mount over {}: {error}", over.display()))?;
    Ok(device)
}

fn enter_namespace() -> Result<(), String> {
    let (user, group) = (geteuid(), getegid());
    if unshare(CloneFlags::CLONE_NEWNS).is_err() {
        unshare(CloneFlags::CLONE_NEWUSER | CloneFlags::CLONE_NEWNS)
            .map_err(|error| format!("no mount namespace, neither as root nor as a user: {error}"))?;
        write("/proc/self/setgroups", "deny")?;
        write("/proc/self/uid_map", &format!("{user} {user} 1"))?;
        write("/proc/self/gid_map", &format!("{group} {group} 1"))?;
    }
    let none: Option<&str> = None;
    mount(none, "/", none, MsFlags::MS_REC | MsFlags::MS_SLAVE, none)
        .map_err(|error| format!("cannot keep our mounts to ourselves: {error}"))
}

fn write(path: &str, text: &str) -> Result<(), String> {
    fs::write(path, text).map_err(|error| format!("{path}: {error}"))
}

fn hand_over(socket: &OwnedFd, device: &OwnedFd) -> Result<(), String> {
    let (rights, byte) = ([device.as_raw_fd()], [IoSlice::new(b"!")]);
    let message = [ControlMessage::ScmRights(&rights)];
    let sent = sendmsg::<UnixAddr>(socket.as_raw_fd(), &byte, &message, MsgFlags::empty(), None);
    sent.map(drop).map_err(|error| format!("the server is gone: {error}"))
}

fn execute(program: &[impl AsRef<OsStr>]) -> Result<Infallible, String> {
    let words: Result<Vec<CString>, _> =
        program.iter().map(|word| CString::new(word.as_ref().as_bytes())).collect();
    let words = words.map_err(|error| error.to_string())?;
    let first = words.first().ok_or("no program")?;
    execvp(first, &words).map_err(|error| format!("{}: {error}", first.to_string_lossy()))
}
