//! A directory as it is shown, and what several requests for it have in common.

use crate::asked::Asked;
use crate::callers::Callers;
use crate::calls;
use crate::handles::Handles;
use crate::nodes::{link, Nodes};
use crate::opening::{below, open_below};
use crate::owner::Owner;
use crate::segment::{Other, Told};
use crate::times::time;
use fuser::consts::FOPEN_DIRECT_IO;
use fuser::{FileAttr, Request, TimeOrNow};
use nix::errno::Errno;
use nix::fcntl::OFlag;
use nix::sys::stat::{fstat, utimensat, Mode, UtimensatFlags};
use nix::unistd::{ftruncate, truncate};
use nix::Result;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::path::Path;
use std::sync::{Arc, Mutex};

pub struct Mirror {
    pub nodes: Nodes,
    pub handles: Handles,
    pub callers: Arc<Mutex<Callers>>,
    pub opened: u32, // flags of each opening
    pub buffer: Vec<u8>,
}

impl Mirror {
    pub fn new(root: OwnedFd, callers: Arc<Mutex<Callers>>, cached: bool) -> Result<Mirror> {
        Ok(Mirror {
            nodes: Nodes::new(root)?,
            handles: Handles::default(),
            callers,
            opened: if cached { 0 } else { FOPEN_DIRECT_IO },
            buffer: Vec::new(),
        })
    }

    /// Do what changes a directory, and tell it.
    pub fn change(
        &self,
        request: &Request<'_>,
        parent: u64,
        told: Told<'_>,
        change: impl FnOnce(RawFd) -> Result<()>,
    ) -> Result<()> {
        let asked = Asked::by(request);
        let outcome = self.nodes.pin(parent).and_then(|pin| {
            let _owner = Owner::of(request);
            change(pin)
        });
        asked.tell(&self.callers, &outcome, |()| 0, told);
        outcome
    }

    pub fn change_attribute(
        &self,
        request: &Request<'_>,
        number: u64,
        call: u16,
        extra: u32,
        change: impl FnOnce(&Path) -> Result<()>,
    ) -> Result<()> {
        let asked = Asked::by(request);
        let outcome = self.nodes.pin(number).and_then(|pin| change(&link(pin)));
        let told =
            Told { call, path: &self.nodes.path(number), other: Other::Number(extra), ..Told::default() };
        asked.tell(&self.callers, &outcome, |()| 0, told);
        outcome
    }

    pub fn resize(&self, request: &Request<'_>, number: u64, size: u64, handle: Option<u64>) -> Result<()> {
        let asked = Asked::by(request);
        let open = handle.and_then(|handle| self.handles.find(handle).ok());
        let outcome = match open {
            Some(handle) => ftruncate(&handle.file, size as i64),
            None => self.nodes.pin(number).and_then(|pin| truncate(&link(pin), size as i64)),
        };
        let told = Told { call: calls::TRUNCATE, path: &self.nodes.path(number), size, ..Told::default() };
        asked.tell(&self.callers, &outcome, |()| 0, told);
        outcome
    }

    /// Keep an open file, and tell its opening.
    pub fn keep(
        &mut self,
        asked: Asked,
        outcome: Result<OwnedFd>,
        path: &[u8],
        flags: i32,
        call: u16,
    ) -> Result<u64> {
        let status = outcome.as_ref().map_or(None, |file| fstat(file.as_raw_fd()).ok());
        let (size, inode, mode) = status.map_or((0, 0, 0), |it| (it.st_size, it.st_ino, it.st_mode));
        let opened = outcome.map(|file| self.handles.add(file, path));
        let other = Other::Number(flags as u32);
        let told =
            Told { call, path, offset: size, size: inode, descriptor: mode as i32, other, ..Told::default() };
        asked.tell(&self.callers, &opened, |handle| *handle as i64, told);
        opened
    }

    /// A new file, which nobody may have made before, so that it belongs to who asks.
    pub fn make_file(
        &self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        flags: i32,
        mode: u32,
    ) -> Result<OwnedFd> {
        let _owner = Owner::of(request);
        let how = below(flags) | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        match open_below(Some(self.nodes.pin(parent)?), name, how, Mode::from_bits_truncate(mode)) {
            // Made in between: the kernel looks for it again, and asks to open it.
            Err(Errno::EEXIST) if flags & libc::O_EXCL == 0 => Err(Errno::ESTALE),
            opened => opened,
        }
    }

    /// Make what has a name, tell it, and look it up.
    pub fn make_entry(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        told: Told<'_>,
        make: impl FnOnce(RawFd) -> Result<()>,
    ) -> Result<FileAttr> {
        self.change(request, parent, told, make)?;
        self.nodes.look_up(parent, name)
    }

    pub fn set_times(
        &self,
        request: &Request<'_>,
        number: u64,
        times: (Option<TimeOrNow>, Option<TimeOrNow>),
    ) -> Result<()> {
        let (read, written) = (time(times.0), time(times.1));
        self.change_attribute(request, number, calls::UTIME, 0, |path| {
            utimensat(None, path, &read, &written, UtimensatFlags::FollowSymlink)
        })
    }
}
