//! The file system: each request is done below on what it names, told, and answered.
//!
//! Nothing is kept by the kernel longer than the program that changes it: names and attributes are asked for again
//! each time, since others may change the directory, too.

use crate::answers::{answer, answer_attributes, answer_entry, answer_extended, AT_ONCE};
use crate::asked::Asked;
use crate::handles::path_of;
use crate::mirror::Mirror;
use crate::nodes::{follow, link};
use crate::opening::{below, open_at};
use crate::segment::{Other, Told};
use crate::{calls, extended, listing};
use fuser::{
    Filesystem, ReplyAttr, ReplyCreate, ReplyData, ReplyDirectory, ReplyEmpty, ReplyEntry, ReplyLseek,
    ReplyOpen, ReplyStatfs, ReplyWrite, ReplyXattr, Request, TimeOrNow,
};
use nix::fcntl::{
    copy_file_range, fallocate, readlinkat, renameat2, AtFlags, FallocateFlags, OFlag, RenameFlags,
};
use nix::sys::stat::{fchmodat, mkdirat, mknodat, FchmodatFlags, Mode, SFlag};
use nix::sys::statvfs::statvfs;
use nix::sys::uio::{pread, pwrite};
use nix::unistd::{fchownat, fdatasync, fsync, linkat, symlinkat, unlinkat, Gid, Uid, UnlinkatFlags};
use nix::Result;
use std::ffi::OsStr;
use std::os::fd::{AsRawFd, RawFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;
use std::sync::Arc;
use std::thread;
use std::time::SystemTime;

impl Filesystem for Mirror {
    /// A name that is not there is the one lookup that a program asked for itself.
    fn lookup(&mut self, request: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let asked = Asked::by(request);
        let looked = self.nodes.look_up(parent, name);
        if looked.is_err() {
            let path = self.nodes.path_below(parent, name);
            asked.tell(
                &self.callers,
                &looked,
                |_| 0,
                Told { call: calls::STAT, path: &path, ..Told::default() },
            );
        }
        answer_entry(reply, looked);
    }

    fn forget(&mut self, _: &Request<'_>, number: u64, lookups: u64) {
        self.nodes.forget(number, lookups);
    }

    fn getattr(&mut self, request: &Request<'_>, number: u64, _: Option<u64>, reply: ReplyAttr) {
        let asked = Asked::by(request);
        let outcome = self.nodes.attributes(number);
        let path = self.nodes.path(number);
        asked.tell(
            &self.callers,
            &outcome,
            |_| 0,
            Told { call: calls::STAT, path: &path, ..Told::default() },
        );
        answer_attributes(reply, outcome);
    }

    fn setattr(
        &mut self,
        request: &Request<'_>,
        number: u64,
        mode: Option<u32>,
        user: Option<u32>,
        group: Option<u32>,
        size: Option<u64>,
        read: Option<TimeOrNow>,
        written: Option<TimeOrNow>,
        _: Option<SystemTime>,
        handle: Option<u64>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<SystemTime>,
        _: Option<u32>,
        reply: ReplyAttr,
    ) {
        let mut outcome = Ok(());
        if user.is_some() || group.is_some() {
            outcome = self.change_attribute(request, number, calls::CHOWN, 0, |path| {
                let (user, group) = (user.map(Uid::from_raw), group.map(Gid::from_raw));
                fchownat(None, path, user, group, AtFlags::empty())
            });
        }
        if let Some(mode) = mode {
            outcome = outcome.and_then(|()| {
                self.change_attribute(request, number, calls::CHMOD, mode, |path| {
                    fchmodat(None, path, Mode::from_bits_truncate(mode), FchmodatFlags::FollowSymlink)
                })
            });
        }
        if let Some(size) = size {
            outcome = outcome.and_then(|()| self.resize(request, number, size, handle));
        }
        if read.is_some() || written.is_some() {
            outcome = outcome.and_then(|()| self.set_times(request, number, (read, written)));
        }
        answer_attributes(reply, outcome.and_then(|()| self.nodes.attributes(number)));
    }

    fn readlink(&mut self, request: &Request<'_>, number: u64, reply: ReplyData) {
        let asked = Asked::by(request);
        let outcome = self.nodes.pin(number).and_then(|pin| readlinkat(Some(pin), ""));
        let path = self.nodes.path(number);
        let led = outcome.as_ref().map(|target| follow(&path, target));
        let other = led.as_ref().map_or(Other::Number(0), |led| Other::Path(led));
        let told = Told { call: calls::READLINK, path: &path, other, ..Told::default() };
        asked.tell(&self.callers, &outcome, |target| target.len() as i64, told);
        match outcome {
            Ok(target) => reply.data(target.as_bytes()),
            Err(error) => reply.error(error as i32),
        }
    }

    fn mknod(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        device: u32,
        reply: ReplyEntry,
    ) {
        let path = self.nodes.path_below(parent, name);
        let told = Told { call: calls::OPEN, path: &path, ..Told::default() };
        let (kind, mode) = (SFlag::from_bits_truncate(mode), Mode::from_bits_truncate(mode));
        let made = self.make_entry(request, parent, name, told, |pin| {
            mknodat(Some(pin), name, kind, mode, device.into())
        });
        answer_entry(reply, made);
    }

    fn mkdir(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        reply: ReplyEntry,
    ) {
        let path = self.nodes.path_below(parent, name);
        let told = Told { call: calls::MKDIR, path: &path, other: Other::Number(mode), ..Told::default() };
        let mode = Mode::from_bits_truncate(mode);
        let made = self.make_entry(request, parent, name, told, |pin| mkdirat(Some(pin), name, mode));
        answer_entry(reply, made);
    }

    fn unlink(&mut self, request: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        let path = self.nodes.path_below(parent, name);
        let told = Told { call: calls::UNLINK, path: &path, ..Told::default() };
        answer(
            reply,
            self.change(request, parent, told, |pin| unlinkat(Some(pin), name, UnlinkatFlags::NoRemoveDir)),
        );
    }

    fn rmdir(&mut self, request: &Request<'_>, parent: u64, name: &OsStr, reply: ReplyEmpty) {
        let path = self.nodes.path_below(parent, name);
        let told = Told { call: calls::RMDIR, path: &path, ..Told::default() };
        answer(
            reply,
            self.change(request, parent, told, |pin| unlinkat(Some(pin), name, UnlinkatFlags::RemoveDir)),
        );
    }

    fn symlink(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        target: &Path,
        reply: ReplyEntry,
    ) {
        let path = self.nodes.path_below(parent, name);
        let led = follow(&path, target.as_os_str());
        let told = Told { call: calls::SYMLINK, path: &path, other: Other::Path(&led), ..Told::default() };
        let made = self.make_entry(request, parent, name, told, |pin| symlinkat(target, Some(pin), name));
        answer_entry(reply, made);
    }

    fn rename(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        to: u64,
        new: &OsStr,
        flags: u32,
        reply: ReplyEmpty,
    ) {
        let (path, other) = (self.nodes.path_below(parent, name), self.nodes.path_below(to, new));
        let told = Told { call: calls::RENAME, path: &path, other: Other::Path(&other), ..Told::default() };
        let flags = RenameFlags::from_bits_truncate(flags);
        let target = self.nodes.pin(to);
        answer(
            reply,
            self.change(request, parent, told, |pin| renameat2(Some(pin), name, Some(target?), new, flags)),
        );
    }

    fn link(&mut self, request: &Request<'_>, number: u64, parent: u64, name: &OsStr, reply: ReplyEntry) {
        let (path, other) = (self.nodes.path(number), self.nodes.path_below(parent, name));
        let told = Told { call: calls::LINK, path: &path, other: Other::Path(&other), ..Told::default() };
        let file = self.nodes.pin(number).map(link);
        let made = self.make_entry(request, parent, name, told, |pin| {
            linkat(None, file?.as_os_str(), Some(pin), name, AtFlags::AT_SYMLINK_FOLLOW)
        });
        answer_entry(reply, made);
    }

    fn open(&mut self, request: &Request<'_>, number: u64, flags: i32, reply: ReplyOpen) {
        let asked = Asked::by(request);
        let opened = self.nodes.pin(number).and_then(|pin| open_at(&link(pin), below(flags)));
        let path = self.nodes.path(number);
        match self.keep(asked, opened, &path, flags, calls::OPEN) {
            Ok(handle) => reply.opened(handle, self.opened),
            Err(error) => reply.error(error as i32),
        }
    }

    fn create(
        &mut self,
        request: &Request<'_>,
        parent: u64,
        name: &OsStr,
        mode: u32,
        _: u32,
        flags: i32,
        reply: ReplyCreate,
    ) {
        let asked = Asked::by(request);
        let made = self.make_file(request, parent, name, flags, mode);
        let pinned = made
            .as_ref()
            .map_or_else(|error| Err(*error), |file| open_at(&link(file.as_raw_fd()), OFlag::O_PATH));
        let path = self.nodes.path_below(parent, name);
        let kept = self.keep(asked, made, &path, flags, calls::OPEN);
        match (kept, pinned.and_then(|pin| self.nodes.take_in(pin))) {
            (Ok(handle), Ok(attributes)) => reply.created(&AT_ONCE, &attributes, 0, handle, self.opened),
            (Err(error), _) | (_, Err(error)) => reply.error(error as i32),
        }
    }

    fn read(
        &mut self,
        request: &Request<'_>,
        _: u64,
        handle: u64,
        offset: i64,
        size: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyData,
    ) {
        let asked = Asked::by(request);
        if self.buffer.len() < size as usize {
            self.buffer.resize(size as usize, 0);
        }
        let room = self.buffer.get_mut(..size as usize).unwrap_or_default();
        let file = self.handles.find(handle);
        let outcome = file.and_then(|open| pread(&open.file, room, offset));
        let path = path_of(file);
        let told = Told {
            call: calls::READ,
            path,
            offset,
            size: size.into(),
            descriptor: handle as i32,
            ..Told::default()
        };
        asked.tell(&self.callers, &outcome, |read| *read as i64, told);
        match outcome {
            Ok(read) => reply.data(room.get(..read).unwrap_or_default()),
            Err(error) => reply.error(error as i32),
        }
    }

    fn write(
        &mut self,
        request: &Request<'_>,
        _: u64,
        handle: u64,
        offset: i64,
        data: &[u8],
        _: u32,
        _: i32,
        _: Option<u64>,
        reply: ReplyWrite,
    ) {
        let asked = Asked::by(request);
        let file = self.handles.find(handle);
        let outcome = file.and_then(|open| pwrite(&open.file, data, offset));
        let (path, size) = (path_of(file), data.len() as u64);
        let told =
            Told { call: calls::WRITE, path, offset, size, descriptor: handle as i32, ..Told::default() };
        asked.tell(&self.callers, &outcome, |written| *written as i64, told);
        match outcome {
            Ok(written) => reply.written(written as u32),
            Err(error) => reply.error(error as i32),
        }
    }

    /// A program closes a descriptor.
    fn flush(&mut self, request: &Request<'_>, _: u64, handle: u64, _: u64, reply: ReplyEmpty) {
        let path = path_of(self.handles.find(handle));
        let told = Told { call: calls::CLOSE, path, descriptor: handle as i32, ..Told::default() };
        Asked::by(request).tell(&self.callers, &Ok(()), |()| 0, told);
        reply.ok();
    }

    fn release(
        &mut self,
        _: &Request<'_>,
        _: u64,
        handle: u64,
        _: i32,
        _: Option<u64>,
        _: bool,
        reply: ReplyEmpty,
    ) {
        self.handles.close(handle);
        reply.ok();
    }

    /// Others need not wait for the disk meanwhile.
    fn fsync(&mut self, request: &Request<'_>, _: u64, handle: u64, data_only: bool, reply: ReplyEmpty) {
        let asked = Asked::by(request);
        let Ok(open) = self.handles.find(handle).cloned() else { return reply.error(libc::EBADF) };
        let callers = Arc::clone(&self.callers);
        let _ = thread::Builder::new().spawn(move || {
            let (sync, call): (fn(RawFd) -> Result<()>, u16) =
                if data_only { (fdatasync, calls::FDATASYNC) } else { (fsync, calls::FSYNC) };
            let outcome = sync(open.file.as_raw_fd());
            let told = Told { call, path: &open.path, descriptor: handle as i32, ..Told::default() };
            asked.tell(&callers, &outcome, |()| 0, told);
            answer(reply, outcome);
        });
    }

    fn fsyncdir(
        &mut self,
        request: &Request<'_>,
        number: u64,
        handle: u64,
        data_only: bool,
        reply: ReplyEmpty,
    ) {
        self.fsync(request, number, handle, data_only, reply);
    }

    fn opendir(&mut self, request: &Request<'_>, number: u64, flags: i32, reply: ReplyOpen) {
        let asked = Asked::by(request);
        let opened =
            self.nodes.pin(number).and_then(|pin| open_at(&link(pin), OFlag::O_RDONLY | OFlag::O_DIRECTORY));
        let path = self.nodes.path(number);
        match self.keep(asked, opened, &path, flags, calls::OPENDIR) {
            Ok(handle) => reply.opened(handle, 0),
            Err(error) => reply.error(error as i32),
        }
    }

    fn readdir(&mut self, _: &Request<'_>, number: u64, handle: u64, offset: i64, mut reply: ReplyDirectory) {
        let listed = self.handles.list(handle, offset == 0, |file| listing::read(&link(file), number));
        match listed {
            Ok(entries) => {
                for (entry, place) in entries.iter().zip(1..).skip(offset as usize) {
                    if reply.add(entry.inode, place, entry.kind, &entry.name) {
                        break;
                    }
                }
                reply.ok();
            }
            Err(error) => reply.error(error as i32),
        }
    }

    fn releasedir(&mut self, _: &Request<'_>, _: u64, handle: u64, _: i32, reply: ReplyEmpty) {
        self.handles.close(handle);
        reply.ok();
    }

    fn statfs(&mut self, request: &Request<'_>, number: u64, reply: ReplyStatfs) {
        let asked = Asked::by(request);
        let outcome = self.nodes.pin(number).and_then(|pin| statvfs(&link(pin)));
        let path = self.nodes.path(number);
        asked.tell(
            &self.callers,
            &outcome,
            |_| 0,
            Told { call: calls::STATFS, path: &path, ..Told::default() },
        );
        match outcome {
            Ok(it) => reply.statfs(
                it.blocks(),
                it.blocks_free(),
                it.blocks_available(),
                it.files(),
                it.files_free(),
                it.block_size() as u32,
                it.name_max() as u32,
                it.fragment_size() as u32,
            ),
            Err(error) => reply.error(error as i32),
        }
    }

    fn setxattr(
        &mut self,
        _: &Request<'_>,
        number: u64,
        name: &OsStr,
        value: &[u8],
        flags: i32,
        _: u32,
        reply: ReplyEmpty,
    ) {
        answer(reply, self.nodes.pin(number).and_then(|pin| extended::set(&link(pin), name, value, flags)));
    }

    fn getxattr(&mut self, _: &Request<'_>, number: u64, name: &OsStr, size: u32, reply: ReplyXattr) {
        answer_extended(reply, size, self.nodes.pin(number).and_then(|pin| extended::get(&link(pin), name)));
    }

    fn listxattr(&mut self, _: &Request<'_>, number: u64, size: u32, reply: ReplyXattr) {
        answer_extended(reply, size, self.nodes.pin(number).and_then(|pin| extended::list(&link(pin))));
    }

    fn removexattr(&mut self, _: &Request<'_>, number: u64, name: &OsStr, reply: ReplyEmpty) {
        answer(reply, self.nodes.pin(number).and_then(|pin| extended::remove(&link(pin), name)));
    }

    fn fallocate(
        &mut self,
        request: &Request<'_>,
        _: u64,
        handle: u64,
        offset: i64,
        length: i64,
        mode: i32,
        reply: ReplyEmpty,
    ) {
        let asked = Asked::by(request);
        let file = self.handles.find(handle);
        let flags = FallocateFlags::from_bits_truncate(mode);
        let outcome = file.and_then(|open| fallocate(open.file.as_raw_fd(), flags, offset, length));
        let (path, size) = (path_of(file), length as u64);
        let other = Other::Number(mode as u32);
        let descriptor = handle as i32;
        let told = Told { call: calls::FALLOCATE, path, offset, size, descriptor, other, ..Told::default() };
        asked.tell(&self.callers, &outcome, |()| 0, told);
        answer(reply, outcome);
    }

    /// Only looks for data and holes come here; the kernel knows positions itself.
    fn lseek(
        &mut self,
        request: &Request<'_>,
        _: u64,
        handle: u64,
        offset: i64,
        whence: i32,
        reply: ReplyLseek,
    ) {
        let asked = Asked::by(request);
        let file = self.handles.find(handle);
        let outcome = file.and_then(|open| extended::seek(&open.file, offset, whence));
        let path = path_of(file);
        let other = Other::Number(whence as u32);
        let told =
            Told { call: calls::SEEK, path, offset, descriptor: handle as i32, other, ..Told::default() };
        asked.tell(&self.callers, &outcome, |place| *place, told);
        match outcome {
            Ok(place) => reply.offset(place),
            Err(error) => reply.error(error as i32),
        }
    }

    fn copy_file_range(
        &mut self,
        request: &Request<'_>,
        _: u64,
        from: u64,
        mut offset: i64,
        _: u64,
        to: u64,
        mut offset_to: i64,
        length: u64,
        _: u32,
        reply: ReplyWrite,
    ) {
        let asked = Asked::by(request);
        let (Ok(from), Ok(target)) = (self.handles.find(from), self.handles.find(to)) else {
            return reply.error(libc::EBADF);
        };
        let outcome = copy_file_range(
            &from.file,
            Some(&mut offset),
            &target.file,
            Some(&mut offset_to),
            length as usize,
        );
        let (path, other, descriptor) = (&target.path[..], Other::Path(&from.path), to as i32);
        let told = Told { call: calls::COPY, path, size: length, descriptor, other, ..Told::default() };
        asked.tell(&self.callers, &outcome, |copied| *copied as i64, told);
        match outcome {
            Ok(copied) => reply.written(copied as u32),
            Err(error) => reply.error(error as i32),
        }
    }
}
