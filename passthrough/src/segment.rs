//! A segment: what one process asked for, in the format of `recorder/format.h`.
//!
//! Each record is one write, so that nothing is lost when this program is killed.

use crate::calls::NAME;
use crate::opening::open_below;
use crc32c::crc32c;
use nix::fcntl::OFlag;
use nix::sys::stat::Mode;
use nix::time::{clock_gettime, ClockId};
use std::collections::HashMap;
use std::fs::File;
use std::io::Result;
use std::os::fd::{AsRawFd, BorrowedFd};
use std::os::unix::fs::FileExt;

const MAGIC: &[u8; 16] = b"steelyard trace1";
const PAGE: usize = 4096;
const ARGUMENTS: usize = 256;
const LOST: u64 = 64; // where its counter is
const RECORD: usize = 64;
const UNKNOWN: i64 = -1;
const MOST_NAMES: usize = 4096;

/// One request. `result` is below zero for an error; `other` is the second path or what `extra` holds.
pub struct Told<'a> {
    pub call: u16,
    pub start: u64,
    pub duration: u64,
    pub result: i64,
    pub offset: i64,
    pub size: u64,
    pub descriptor: i32,
    pub path: &'a [u8],
    pub other: Other<'a>,
}

pub enum Other<'a> {
    Number(u32),
    Path(&'a [u8]),
}

impl Default for Told<'_> {
    fn default() -> Self {
        Told {
            call: 0,
            start: 0,
            duration: 0,
            result: 0,
            offset: UNKNOWN,
            size: 0,
            descriptor: UNKNOWN as i32,
            path: &[],
            other: Other::Number(0),
        }
    }
}

pub struct Process<'a> {
    pub number: u32,
    pub parent: u32,
    pub arguments: &'a [u8],
}

pub struct Segment {
    file: File,
    end: u64,
    lost: u64,
    named: u32,
    names: HashMap<Box<[u8]>, u32>,
}

impl Segment {
    /// Begin that of a process in a directory.
    pub fn begin(place: BorrowedFd<'_>, process: &Process<'_>) -> Result<Segment> {
        let name = format!("{}-{}.segment", process.number, read_wall_clock());
        let flags = OFlag::O_RDWR | OFlag::O_CREAT | OFlag::O_EXCL | OFlag::O_NOFOLLOW;
        let mode = Mode::S_IRUSR | Mode::S_IWUSR;
        let file = File::from(open_below(Some(place.as_raw_fd()), name.as_str(), flags, mode)?);
        file.write_all_at(&make_header(process), 0)?;
        Ok(Segment { file, end: PAGE as u64, lost: 0, named: 0, names: HashMap::new() })
    }

    pub fn tell(&mut self, thread: u32, told: &Told<'_>) {
        let name = self.name(thread, told.path);
        let extra = match told.other {
            Other::Number(number) => number,
            Other::Path(path) => self.name(thread, path),
        };
        let mut record = make_record(told, thread, name, extra);
        seal(&mut record);
        self.write(&record);
    }

    /// The number of a path, which is written when it is new.
    fn name(&mut self, thread: u32, path: &[u8]) -> u32 {
        if path.is_empty() {
            return 0;
        }
        if let Some(known) = self.names.get(path) {
            return *known;
        }
        if self.names.len() == MOST_NAMES {
            self.names.clear();
        }
        self.named += 1;
        self.names.insert(path.into(), self.named);
        let about = Told { call: NAME, start: now(), size: path.len() as u64, ..Told::default() };
        let mut written = make_record(&about, thread, self.named, crc32c(path)).to_vec();
        seal(&mut written);
        written.extend_from_slice(path);
        written.resize(written.len().next_multiple_of(RECORD), 0);
        self.write(&written);
        self.named
    }

    /// What finds no room is counted. The next one takes its place.
    fn write(&mut self, bytes: &[u8]) {
        if self.file.write_all_at(bytes, self.end).is_ok() {
            self.end += bytes.len() as u64;
        } else {
            self.lost += 1;
            let _ = self.file.write_all_at(&self.lost.to_le_bytes(), LOST);
        }
    }
}

/// Nanoseconds by the clock of the records.
pub fn now() -> u64 {
    read_clock(ClockId::CLOCK_MONOTONIC)
}

fn read_clock(clock: ClockId) -> u64 {
    let nanoseconds = |time: nix::sys::time::TimeSpec| time.tv_sec() * 1_000_000_000 + time.tv_nsec();
    clock_gettime(clock).map_or(0, nanoseconds) as u64
}

/// Put values in a row, little-endian.
macro_rules! lay {
    ($into:expr, $from:expr, $($value:expr),+) => {{
        let mut at: usize = $from;
        $(for byte in $value.to_le_bytes() {
            if let Some(place) = $into.get_mut(at) {
                *place = byte;
            }
            at += 1;
        })+
        at
    }};
}

fn read_wall_clock() -> u64 {
    read_clock(ClockId::CLOCK_REALTIME)
}

fn make_header(process: &Process<'_>) -> Vec<u8> {
    let arguments = process.arguments.get(..PAGE - ARGUMENTS).unwrap_or(process.arguments);
    let mut header = MAGIC.to_vec();
    header.resize(ARGUMENTS, 0);
    let (number, parent) = (process.number as i32, process.parent as i32);
    let checked = MAGIC.len() + 4;
    lay!(header, checked, (RECORD as u32), number, parent, read_wall_clock(), now(), (arguments.len() as u64), 0u64);
    let checksum = crc32c(header.get(checked..LOST as usize).unwrap_or_default());
    lay!(header, MAGIC.len(), checksum);
    header.extend_from_slice(arguments);
    header.resize(PAGE, 0);
    header
}

fn make_record(told: &Told<'_>, thread: u32, name: u32, extra: u32) -> [u8; RECORD] {
    let mut record = [0; RECORD];
    let at = lay!(record, 4, told.call, 0u16, told.start, told.duration, told.result, told.offset, told.size);
    lay!(record, at, told.descriptor, thread, name, extra);
    record
}

fn seal(record: &mut [u8]) {
    let checksum = crc32c(record.get(4..).unwrap_or_default());
    lay!(record, 0, checksum);
}
