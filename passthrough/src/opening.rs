//! How files are opened below.

use nix::fcntl::{openat, OFlag};
use nix::sys::stat::Mode;
use nix::{NixPath, Result};
use std::os::fd::{FromRawFd, OwnedFd, RawFd};
use std::path::Path;

/// The flags of a program, below. Direct I/O would want its memory aligned as the program's was.
pub fn below(flags: i32) -> OFlag {
    OFlag::from_bits_truncate(flags & !(libc::O_CREAT | libc::O_EXCL | libc::O_NOFOLLOW | libc::O_DIRECT))
        | OFlag::O_CLOEXEC
}

pub fn open_at(path: &Path, flags: OFlag) -> Result<OwnedFd> {
    open_below(None, path, flags, Mode::empty())
}

/// In an open directory, or by a whole path. No program that is started has it.
pub fn open_below<P: ?Sized + NixPath>(
    directory: Option<RawFd>,
    name: &P,
    flags: OFlag,
    mode: Mode,
) -> Result<OwnedFd> {
    let descriptor = openat(directory, name, flags | OFlag::O_CLOEXEC, mode)?;
    // SAFETY: it was opened just now, and nobody else has it.
    Ok(unsafe { OwnedFd::from_raw_fd(descriptor) })
}
