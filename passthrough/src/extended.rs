//! Calls that have no safe form elsewhere: extended attributes, and where a file has data or holes.

use nix::errno::Errno;
use nix::Result;
use std::ffi::{CString, OsStr};
use std::os::fd::{AsRawFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

const MOST: usize = 1 << 16; // what the kernel allows

pub fn get(path: &Path, name: &OsStr) -> Result<Vec<u8>> {
    let (path, name) = (text(path.as_os_str())?, text(name)?);
    fill(|room, size| {
        // SAFETY: both texts end in zero, and the room has that size.
        unsafe { libc::getxattr(path.as_ptr(), name.as_ptr(), room, size) }
    })
}

pub fn list(path: &Path) -> Result<Vec<u8>> {
    let path = text(path.as_os_str())?;
    fill(|room, size| {
        // SAFETY: the text ends in zero, and the room has that size.
        unsafe { libc::listxattr(path.as_ptr(), room.cast(), size) }
    })
}

pub fn set(path: &Path, name: &OsStr, value: &[u8], flags: i32) -> Result<()> {
    let (path, name) = (text(path.as_os_str())?, text(name)?);
    // SAFETY: both texts end in zero, and the value has that size.
    let done =
        unsafe { libc::setxattr(path.as_ptr(), name.as_ptr(), value.as_ptr().cast(), value.len(), flags) };
    Errno::result(done).map(drop)
}

pub fn remove(path: &Path, name: &OsStr) -> Result<()> {
    let (path, name) = (text(path.as_os_str())?, text(name)?);
    // SAFETY: both texts end in zero.
    Errno::result(unsafe { libc::removexattr(path.as_ptr(), name.as_ptr()) }).map(drop)
}

pub fn seek(file: &OwnedFd, offset: i64, whence: i32) -> Result<i64> {
    // SAFETY: the file is open.
    Errno::result(unsafe { libc::lseek(file.as_raw_fd(), offset, whence) })
}

fn fill(call: impl FnOnce(*mut libc::c_void, usize) -> isize) -> Result<Vec<u8>> {
    let mut room = vec![0u8; MOST];
    let size = Errno::result(call(room.as_mut_ptr().cast(), room.len()))?;
    room.truncate(size as usize);
    Ok(room)
}

fn text(words: &OsStr) -> Result<CString> {
    CString::new(words.as_bytes()).map_err(|_| Errno::EINVAL)
}
