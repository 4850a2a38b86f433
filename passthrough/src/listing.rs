//! What a directory has in it.

use crate::nodes::kind;
use fuser::FileType;
use nix::errno::Errno;
use nix::Result;
use std::ffi::OsString;
use std::fs;
use std::io;
use std::os::unix::fs::{DirEntryExt, FileTypeExt};
use std::path::Path;

pub struct Entry {
    pub inode: u64,
    pub kind: FileType,
    pub name: OsString,
}

pub fn read(path: &Path, number: u64) -> Result<Vec<Entry>> {
    let dots = [".", ".."].map(|name| Entry { inode: number, kind: FileType::Directory, name: name.into() });
    let entries = fs::read_dir(path)
        .and_then(|entries| entries.map(|entry| describe(&entry?)).collect::<io::Result<Vec<_>>>());
    let entries = entries.map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or(libc::EIO)))?;
    Ok(dots.into_iter().chain(entries).collect())
}

fn describe(entry: &fs::DirEntry) -> io::Result<Entry> {
    let file_type = entry.file_type()?;
    let mode = [
        (file_type.is_dir(), libc::S_IFDIR),
        (file_type.is_symlink(), libc::S_IFLNK),
        (file_type.is_fifo(), libc::S_IFIFO),
        (file_type.is_socket(), libc::S_IFSOCK),
        (file_type.is_char_device(), libc::S_IFCHR),
        (file_type.is_block_device(), libc::S_IFBLK),
    ];
    let mode = mode.into_iter().find(|(is, _)| *is).map_or(libc::S_IFREG, |(_, mode)| mode);
    Ok(Entry { inode: entry.ino(), kind: kind(mode), name: entry.file_name() })
}
