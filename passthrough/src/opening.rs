//! How files are opened below.

use nix::fcntl::{open, OFlag};
use nix::sys::stat::Mode;
use nix::Result;
use std::os::fd::{FromRawFd, OwnedFd};
use std::path::Path;

/// The flags of a program, below. Direct I/O would want its memory aligned as the program's was.
pub fn below(flags: i32) -> OFlag {
    OFlag::from_bits_truncate(flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_DIRECT))
        | OFlag::O_CLOEXEC
}

pub fn open_at(path: &Path, flags: OFlag) -> Result<OwnedFd> {
    let descriptor = open(path, flags | OFlag::O_CLOEXEC, Mode::empty())?;
    // SAFETY: it was opened just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
