//! The files and directories that programs have open.

use crate::listing::Entry;
use nix::errno::Errno;
use nix::Result;
use std::collections::HashMap;
use std::os::fd::{AsRawFd, OwnedFd, RawFd};
use std::sync::Arc;

/// An open file, under the path that it had then.
#[derive(Clone)]
pub struct Handle {
    pub file: Arc<OwnedFd>,
    pub path: Arc<[u8]>,
}

/// A number is given once, so that it tells one opening from another.
#[derive(Default)]
pub struct Handles {
    last: u64,
    open: HashMap<u64, Handle>,
    listings: HashMap<u64, Vec<Entry>>,
}

impl Handles {
    pub fn add(&mut self, file: OwnedFd, path: &[u8]) -> u64 {
        self.last += 1;
        self.open.insert(self.last, Handle { file: Arc::new(file), path: path.into() });
        self.last
    }

    pub fn find(&self, number: u64) -> Result<&Handle> {
        self.open.get(&number).ok_or(Errno::EBADF)
    }

    pub fn close(&mut self, number: u64) {
        self.open.remove(&number);
        self.listings.remove(&number);
    }

    /// What an open directory has in it: read `anew`, or as it was read last.
    pub fn list(
        &mut self,
        number: u64,
        anew: bool,
        read: impl FnOnce(RawFd) -> Result<Vec<Entry>>,
    ) -> Result<&[Entry]> {
        if anew || !self.listings.contains_key(&number) {
            let entries = read(self.find(number)?.file.as_raw_fd())?;
            self.listings.insert(number, entries);
        }
        self.listings.get(&number).map(Vec::as_slice).ok_or(Errno::EBADF)
    }
}

/// Under which it was opened; nothing for one that is not open.
pub fn path_of(open: Result<&Handle>) -> &[u8] {
    open.map_or(&[], |open| &open.path)
}
