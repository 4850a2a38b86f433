//! The files that the kernel knows by a number. A descriptor pins each, so that no other can get its number.

use crate::opening::open_below;
use fuser::{FileAttr, FileType, FUSE_ROOT_ID};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{fstat, FileStat, Mode};
use nix::Result;
use std::collections::HashMap;
use std::ffi::OsStr;
use std::fs;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::PathBuf;
use std::time::{Duration, SystemTime, UNIX_EPOCH};

const PIN: OFlag = OFlag::O_PATH.union(OFlag::O_NOFOLLOW).union(OFlag::O_CLOEXEC);
const FOREIGN: u64 = 1 << 63;

struct Node {
    pin: OwnedFd,
    lookups: u64,
    identity: (u64, u64),
}

pub struct Nodes {
    device: u64,
    foreign: u64,
    nodes: HashMap<u64, Node>,
    numbers: HashMap<(u64, u64), u64>, // by device and inode
}

impl Nodes {
    pub fn new(root: OwnedFd) -> Result<Nodes> {
        let status = fstat(root.as_raw_fd())?;
        let identity = (status.st_dev, status.st_ino);
        let node = Node { pin: root, lookups: u64::MAX / 2, identity };
        Ok(Nodes {
            device: status.st_dev,
            foreign: FOREIGN,
            nodes: HashMap::from([(FUSE_ROOT_ID, node)]),
            numbers: HashMap::from([(identity, FUSE_ROOT_ID)]),
        })
    }

    pub fn pin(&self, number: u64) -> Result<RawFd> {
        self.nodes.get(&number).map(|node| node.pin.as_raw_fd()).ok_or(Errno::ESTALE)
    }

    /// What the kernel calls it now, and nothing for one that is not known.
    pub fn path(&self, number: u64) -> Vec<u8> {
        let link = self.pin(number).map(link);
        link.ok()
            .and_then(|link| fs::read_link(link).ok())
            .map_or(Vec::new(), |path| path.into_os_string().into_vec())
    }

    pub fn path_below(&self, parent: u64, name: &OsStr) -> Vec<u8> {
        [&self.path(parent), b"/".as_slice(), name.as_bytes()].concat()
    }

    pub fn look_up(&mut self, parent: u64, name: &OsStr) -> Result<FileAttr> {
        self.take_in(open_below(Some(self.pin(parent)?), name, PIN, Mode::empty())?)
    }

    /// Count one more lookup of what a descriptor pins.
    pub fn take_in(&mut self, pin: OwnedFd) -> Result<FileAttr> {
        let status = fstat(pin.as_raw_fd())?;
        let identity = (status.st_dev, status.st_ino);
        let number = match self.numbers.get(&identity) {
            Some(known) => *known,
            None => self.number(identity),
        };
        let node = self.nodes.entry(number).or_insert(Node { pin, lookups: 0, identity });
        node.lookups += 1;
        self.numbers.insert(identity, number);
        Ok(describe(number, &status))
    }

    /// The inode's own number, which programs see, unless it is of another file system below.
    fn number(&mut self, (device, inode): (u64, u64)) -> u64 {
        if device == self.device && inode > FUSE_ROOT_ID && inode < FOREIGN {
            return inode;
        }
        self.foreign += 1;
        self.foreign
    }

    pub fn forget(&mut self, number: u64, lookups: u64) {
        let Some(node) = self.nodes.get_mut(&number) else { return };
        node.lookups = node.lookups.saturating_sub(lookups);
        if node.lookups == 0 {
            let identity = node.identity;
            self.nodes.remove(&number);
            self.numbers.remove(&identity);
        }
    }

    pub fn attributes(&self, number: u64) -> Result<FileAttr> {
        Ok(describe(number, &fstat(self.pin(number)?)?))
    }
}

/// The path by which what a descriptor pins can be opened or changed.
pub fn link(pin: RawFd) -> PathBuf {
    format!("/proc/self/fd/{pin}").into()
}

/// The path that a link leads to, by what it contains.
pub fn follow(path: &[u8], target: &OsStr) -> Vec<u8> {
    let target = target.as_bytes();
    let name = path.iter().rposition(|byte| *byte == b'/').map_or(0, |at| at + 1);
    let above = if target.starts_with(b"/") { 0 } else { name };
    [path.get(..above).unwrap_or_default(), target].concat()
}

fn describe(number: u64, status: &FileStat) -> FileAttr {
    FileAttr {
        ino: number,
        size: status.st_size as u64,
        blocks: status.st_blocks as u64,
        atime: time(status.st_atime, status.st_atime_nsec),
        mtime: time(status.st_mtime, status.st_mtime_nsec),
        ctime: time(status.st_ctime, status.st_ctime_nsec),
        crtime: UNIX_EPOCH,
        kind: kind(status.st_mode),
        perm: (status.st_mode & 0o7777) as u16,
        nlink: status.st_nlink as u32,
        uid: status.st_uid,
        gid: status.st_gid,
        rdev: status.st_rdev as u32,
        blksize: status.st_blksize as u32,
        flags: 0,
    }
}

pub fn kind(mode: u32) -> FileType {
    match mode & libc::S_IFMT {
        libc::S_IFDIR => FileType::Directory,
        libc::S_IFLNK => FileType::Symlink,
        libc::S_IFIFO => FileType::NamedPipe,
        libc::S_IFSOCK => FileType::Socket,
        libc::S_IFCHR => FileType::CharDevice,
        libc::S_IFBLK => FileType::BlockDevice,
        _ => FileType::RegularFile,
    }
}

fn time(seconds: i64, nanoseconds: i64) -> SystemTime {
    let whole = Duration::from_secs(seconds.unsigned_abs());
    let begin = if seconds < 0 { UNIX_EPOCH - whole } else { UNIX_EPOCH + whole };
    begin + Duration::from_nanos(nanoseconds as u64)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_link_leads_on_from_its_directory() {
        assert_eq!(follow(b"/d/link", OsStr::new("../file")), b"/d/../file");
        assert_eq!(follow(b"/d/link", OsStr::new("/file")), b"/file");
    }
}
