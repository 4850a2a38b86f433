//! Serve the requests, away from the program that makes them: what ends it does not end us, but its last one does.

use crate::callers::Callers;
use crate::mirror::Mirror;
use fuser::{Session, SessionACL};
use nix::cmsg_space;
use nix::fcntl::{open, OFlag};
use nix::sys::resource::{getrlimit, setrlimit, Resource};
use nix::sys::signal::{signal, SigHandler, Signal};
use nix::sys::socket::{recvmsg, ControlMessageOwned, MsgFlags, UnixAddr};
use nix::sys::stat::{umask, Mode};
use nix::unistd::{chdir, close, dup2, setsid};
use std::fs;
use std::io::{IoSliceMut, Result};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd, RawFd};
use std::sync::{Arc, Mutex};
use std::thread;

const IGNORED: [Signal; 4] = [Signal::SIGINT, Signal::SIGTERM, Signal::SIGHUP, Signal::SIGQUIT];

/// What is shown: the directories, where requests are told, and whether the kernel may cache.
pub struct Shown {
    pub roots: Vec<OwnedFd>,
    pub place: Option<OwnedFd>,
    pub cached: bool,
}

/// Until all of it is unmounted. The other ends of the file systems come through the socket once they are mounted.
pub fn serve(shown: Shown, socket: &OwnedFd) -> Result<()> {
    let used = shown.roots.iter().chain(&shown.place).chain([socket]).map(AsRawFd::as_raw_fd);
    detach(&used.collect::<Vec<_>>())?;
    let callers = Arc::new(Mutex::new(Callers::new(shown.place)));
    let mut sessions = Vec::new();
    for root in shown.roots {
        let Some(device) = receive(socket)? else { break };
        let mirror = Mirror::new(root, Arc::clone(&callers), shown.cached)?;
        sessions.push(
            thread::Builder::new().spawn(move || Session::from_fd(mirror, device, SessionACL::All).run())?,
        );
    }
    for session in sessions {
        let _ = session.join();
    }
    Ok(())
}

/// Let go of whatever the program and its parents use: their session, streams, directory and files.
fn detach(kept: &[RawFd]) -> Result<()> {
    setsid()?;
    for ignored in IGNORED {
        // SAFETY: no handler of ours is replaced or run.
        unsafe { signal(ignored, SigHandler::SigIgn) }?;
    }
    chdir("/")?;
    umask(Mode::empty()); // the kernel has applied the program's
    let (_, most) = getrlimit(Resource::RLIMIT_NOFILE)?;
    setrlimit(Resource::RLIMIT_NOFILE, most, most)?; // each file that the kernel knows takes one
    let nothing = open("/dev/null", OFlag::O_RDWR, Mode::empty())?;
    for stream in 0..=2 {
        dup2(nothing, stream)?;
    }
    for descriptor in list_descriptors()? {
        if descriptor > 2 && !kept.contains(&descriptor) {
            let _ = close(descriptor); // that of the list itself is closed already
        }
    }
    Ok(())
}

fn list_descriptors() -> Result<Vec<RawFd>> {
    let names = fs::read_dir("/proc/self/fd")?.flatten().map(|entry| entry.file_name());
    Ok(names.filter_map(|name| name.to_str()?.parse().ok()).collect())
}

/// The descriptor that comes through a socket; none when its other end is closed.
fn receive(socket: &OwnedFd) -> Result<Option<OwnedFd>> {
    let (mut byte, mut room) = ([0], cmsg_space!([RawFd; 1]));
    let mut into = [IoSliceMut::new(&mut byte)];
    let message =
        recvmsg::<UnixAddr>(socket.as_raw_fd(), &mut into, Some(&mut room), MsgFlags::MSG_CMSG_CLOEXEC)?;
    let descriptor = message.cmsgs()?.find_map(|part| match part {
        ControlMessageOwned::ScmRights(descriptors) => descriptors.first().copied(),
        _ => None,
    });
    // SAFETY: it came just now, and nobody else has it.
    Ok(descriptor.map(|descriptor| unsafe { OwnedFd::from_raw_fd(descriptor) }))
}
