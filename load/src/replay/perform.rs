//! One call, made again.

use std::ffi::{CStr, CString, OsStr};
use std::os::unix::ffi::OsStrExt;
use std::path::PathBuf;
use std::sync::atomic::{AtomicI32, Ordering};

use nix::errno::Errno;
use nix::fcntl::AT_FDCWD;
use nix::unistd::symlinkat;

use super::memory::Memory;
use super::plan::{Given, Kind, Operation, Plan, NONE};

#[path = "../../../recorder/calls.rs"]
mod numbers;

use numbers::{number, LIST};

const OPEN: u16 = number(b"open");
const CLOSE: u16 = number(b"close");
const DUP: u16 = number(b"dup");
pub const READS: [u16; 4] = [number(b"read"), number(b"pread"), number(b"readv"), number(b"preadv")];
pub const WRITES: [u16; 4] = [number(b"write"), number(b"pwrite"), number(b"writev"), number(b"pwritev")];
const COPIES: [u16; 2] = [number(b"copy_file_range"), number(b"sendfile")];
const LSEEK: u16 = number(b"lseek");
const FSYNC: u16 = number(b"fsync");
const FDATASYNC: u16 = number(b"fdatasync");
const SYNC_FILE_RANGE: u16 = number(b"sync_file_range");
const SYNCFS: u16 = number(b"syncfs");
const FTRUNCATE: u16 = number(b"ftruncate");
const TRUNCATE: u16 = number(b"truncate");
const FALLOCATE: u16 = number(b"fallocate");
const STAT: u16 = number(b"stat");
const FSTAT: u16 = number(b"fstat");
const ACCESS: u16 = number(b"access");
const READLINK: u16 = number(b"readlink");
const OPENDIR: u16 = number(b"opendir");
const MKDIR: u16 = number(b"mkdir");
const RMDIR: u16 = number(b"rmdir");
const UNLINK: u16 = number(b"unlink");
const RENAME: u16 = number(b"rename");
const LINK: u16 = number(b"link");
const SYMLINK: u16 = number(b"symlink");
const CHMOD: u16 = number(b"chmod");
const UTIME: u16 = number(b"utime");
const STATFS: u16 = number(b"statfs");
const FADVISE: u16 = number(b"fadvise");

const CLOSED: i32 = -1;
const LINK_ROOM: usize = 4096;

pub fn is_read(call: u16) -> bool {
    READS.contains(&call)
}

pub fn is_write(call: u16) -> bool {
    WRITES.contains(&call)
}

/// The name of a call; a trace has only those of the list.
pub fn name(number: u16) -> &'static str {
    let text = std::str::from_utf8(LIST).unwrap_or_default();
    let mut calls = text.lines().filter_map(|line| line.strip_prefix("CALL(")?.split_once(", "));
    let found = calls.find(|(at, _)| at.parse() == Ok(number));
    found.and_then(|(_, rest)| rest.split(',').next()).unwrap_or("?")
}

/// The paths of one stream below its directory, what it has open, and the memory of its transfers.
pub struct Files {
    pub memory: Memory,
    paths: Vec<CString>,
    here: PathBuf,
    handles: Vec<AtomicI32>,
}

impl Files {
    pub fn new(plan: &Plan, directory: &str, memory: Memory) -> Result<Self, String> {
        let below = |path: &String| CString::new(format!("{directory}/{path}"));
        let paths =
            plan.paths.iter().map(below).collect::<Result<_, _>>().map_err(|error| error.to_string())?;
        let here = std::env::current_dir().map_err(|error| error.to_string())?;
        Ok(Self { memory, paths, here, handles: (0..plan.handles).map(|_| AtomicI32::new(CLOSED)).collect() })
    }

    fn path(&self, number: u32) -> Result<&CStr, Errno> {
        self.paths.get(number as usize).map(CString::as_c_str).ok_or(Errno::ENOENT)
    }

    fn file(&self, handle: u32) -> Result<i32, Errno> {
        let file = self.handles.get(handle as usize).map_or(CLOSED, |file| file.load(Ordering::Relaxed));
        if file == CLOSED {
            Err(Errno::EBADF)
        } else {
            Ok(file)
        }
    }

    fn keep(&self, handle: u32, opened: i64) -> i64 {
        match self.handles.get(handle as usize) {
            Some(file) if opened >= 0 => file.store(opened as i32, Ordering::Relaxed),
            // SAFETY: it was opened just now, and nobody is to have it.
            _ if opened >= 0 => drop(unsafe { libc::close(opened as i32) }),
            _ => {}
        }
        opened.min(0)
    }

    /// As what a process had open before it was recorded.
    pub fn open_given(&self, given: &Given, handle: u32) -> Result<(), Errno> {
        let flags = if given.kind == Kind::Directory { libc::O_RDONLY } else { given.flags };
        // SAFETY: the path ends in zero.
        let opened = unsafe { libc::open(self.path(given.path)?.as_ptr(), flags | libc::O_CLOEXEC, 0o600) };
        self.keep(handle, Errno::result(opened)?.into());
        Ok(())
    }

    /// What the call returns, as in the trace: below zero, an error.
    pub fn perform(&self, operation: &Operation, room: &mut [u8]) -> i64 {
        match self.attempt(operation, room) {
            Ok(-1) => -(Errno::last_raw() as i64),
            Ok(result) => result,
            Err(error) => -(error as i64),
        }
    }

    fn attempt(&self, operation: &Operation, room: &mut [u8]) -> Result<i64, Errno> {
        let call = operation.call;
        if is_read(call) || is_write(call) {
            return self.transfer(operation, room);
        }
        if operation.path != NONE && operation.handle == NONE {
            return self.name(operation, room);
        }
        let Operation { offset, size, extra, .. } = *operation;
        if call == OPEN {
            return self.open(operation);
        }
        if call == DUP {
            // SAFETY: a number of a file, or none, is all that it is given.
            return Ok(self.keep(operation.handle, unsafe { libc::dup(self.file(operation.other)?) }.into()));
        }
        let file = self.file(operation.handle)?;
        // SAFETY: of all of these, the file is open, and no memory is given but for a status of their size.
        let result: i64 = unsafe {
            match call {
                CLOSE => {
                    self.keep_closed(operation.handle);
                    libc::close(file).into()
                }
                LSEEK => libc::lseek(file, 0, libc::SEEK_CUR).min(0),
                FSYNC => libc::fsync(file).into(),
                FDATASYNC => libc::fdatasync(file).into(),
                SYNC_FILE_RANGE => libc::sync_file_range(file, offset, size as i64, extra).into(),
                SYNCFS => libc::syncfs(file).into(),
                FTRUNCATE => libc::ftruncate(file, size as i64).into(),
                FALLOCATE => libc::fallocate(file, extra as i32, offset.max(0), size as i64).into(),
                FADVISE => libc::posix_fadvise(file, offset.max(0), size as i64, extra as i32).min(0).into(),
                FSTAT => libc::fstat(file, std::mem::MaybeUninit::uninit().as_mut_ptr()).into(),
                _ if COPIES.contains(&call) => {
                    let (mut from_at, mut to_at) = (offset.max(0), offset.max(0));
                    let from = self.file(operation.other)?;
                    libc::copy_file_range(from, &mut from_at, file, &mut to_at, size as usize, 0) as i64
                }
                _ => return Err(Errno::ENOSYS),
            }
        };
        Ok(result)
    }

    fn keep_closed(&self, handle: u32) {
        if let Some(file) = self.handles.get(handle as usize) {
            file.store(CLOSED, Ordering::Relaxed);
        }
    }

    fn open(&self, operation: &Operation) -> Result<i64, Errno> {
        let (path, mode) = (self.path(operation.path)?, operation.size as libc::mode_t);
        let flags = operation.extra as i32 | libc::O_CLOEXEC;
        // SAFETY: the path ends in zero.
        let opened = unsafe { libc::open(path.as_ptr(), flags, libc::c_uint::from(mode)) };
        Errno::result(opened).map(|opened| self.keep(operation.handle, opened.into()))
    }

    fn transfer(&self, operation: &Operation, room: &mut [u8]) -> Result<i64, Errno> {
        let file = self.file(operation.handle)?;
        let (own, offset) = (self.memory.find(operation), operation.offset);
        let size =
            if own.is_some() { operation.size as usize } else { (operation.size as usize).min(room.len()) };
        let bytes = own.unwrap_or(room.as_mut_ptr());
        // SAFETY: both have at least that size, and only the kernel touches what they point to.
        Ok(unsafe {
            match (is_read(operation.call), offset < 0) {
                (true, false) => libc::pread(file, bytes.cast(), size, offset),
                (true, true) => libc::read(file, bytes.cast(), size),
                (false, false) => libc::pwrite(file, bytes.cast(), size, offset),
                (false, true) => libc::write(file, bytes.cast(), size),
            }
        } as i64)
    }

    /// It leads to a path below the directory of the stream, wherever it lies itself.
    fn link(&self, operation: &Operation) -> Result<i64, Errno> {
        let target = self.here.join(OsStr::from_bytes(self.path(operation.other)?.to_bytes()));
        symlinkat(&target, AT_FDCWD, self.path(operation.path)?).map(|()| 0)
    }

    /// A call on a name.
    fn name(&self, operation: &Operation, room: &mut [u8]) -> Result<i64, Errno> {
        let path = self.path(operation.path)?.as_ptr();
        let Operation { size, extra, .. } = *operation;
        // SAFETY: of all of these, the paths end in zero, and the rooms have the size that is told.
        let result = unsafe {
            match operation.call {
                OPEN => return self.open(operation),
                STAT => libc::stat(path, std::mem::MaybeUninit::uninit().as_mut_ptr()),
                ACCESS => libc::access(path, extra as i32),
                MKDIR => libc::mkdir(path, extra as libc::mode_t),
                RMDIR => libc::rmdir(path),
                UNLINK => libc::unlink(path),
                RENAME => libc::rename(path, self.path(operation.other)?.as_ptr()),
                LINK => libc::link(path, self.path(operation.other)?.as_ptr()),
                SYMLINK => return self.link(operation),
                CHMOD => libc::chmod(path, extra as libc::mode_t | 0o600),
                UTIME => libc::utimensat(libc::AT_FDCWD, path, std::ptr::null(), 0),
                STATFS => libc::statfs(path, std::mem::MaybeUninit::uninit().as_mut_ptr()),
                TRUNCATE => libc::truncate(path, size as i64),
                READLINK => {
                    let most = room.len().min(LINK_ROOM);
                    return Ok(libc::readlink(path, room.as_mut_ptr().cast(), most) as i64);
                }
                OPENDIR => return Ok(list(path)),
                SYNCFS => return Ok(sync_below(path)),
                _ => return Err(Errno::ENOSYS),
            }
        };
        Ok(result.into())
    }
}

/// Open a directory, and read all that it has.
///
/// # Safety
/// The path ends in zero.
unsafe fn list(path: *const libc::c_char) -> i64 {
    // SAFETY: the caller's promise; the directory is open until it is closed.
    unsafe {
        let directory = libc::opendir(path);
        if directory.is_null() {
            return -1;
        }
        while !libc::readdir(directory).is_null() {}
        libc::closedir(directory);
    }
    0
}

/// The file system of a path; `sync` itself would be of the whole machine.
///
/// # Safety
/// The path ends in zero.
unsafe fn sync_below(path: *const libc::c_char) -> i64 {
    // SAFETY: the caller's promise; the file is open until it is closed.
    unsafe {
        let file = libc::open(path, libc::O_RDONLY | libc::O_CLOEXEC);
        if file < 0 {
            return -1;
        }
        let done = libc::syncfs(file);
        libc::close(file);
        done.into()
    }
}
