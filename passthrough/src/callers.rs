//! Who asks: the process of each thread, with its segment.

use crate::segment::{Process, Segment, Told};
use std::collections::HashMap;
use std::fs;
use std::os::fd::{AsFd, OwnedFd};
use std::path::Path;

/// Processes that are known before those that ended are forgotten, so that neither files nor numbers run out.
const MOST: usize = 256;

/// Where nothing is to be told, `place` is none.
pub struct Callers {
    place: Option<OwnedFd>,
    processes: HashMap<u32, u32>, // by their threads
    segments: HashMap<u32, Option<Segment>>,
}

impl Callers {
    pub fn new(place: Option<OwnedFd>) -> Callers {
        Callers { place, processes: HashMap::new(), segments: HashMap::new() }
    }

    pub fn tell(&mut self, thread: u32, told: &Told<'_>) {
        let Some(place) = &self.place else { return };
        let process = match self.processes.get(&thread) {
            Some(known) => *known,
            None => find_number(thread, "Tgid:").unwrap_or(thread),
        };
        if self.processes.insert(thread, process).is_none() && !self.segments.contains_key(&process) {
            let begun = begin(place, process);
            if self.segments.len() >= MOST {
                self.forget_ended();
            }
            self.segments.insert(process, begun);
        }
        if let Some(Some(segment)) = self.segments.get_mut(&process) {
            segment.tell(thread, told);
        }
    }

    fn forget_ended(&mut self) {
        self.segments.retain(|process, _| Path::new(&format!("/proc/{process}")).exists());
        let segments = &self.segments;
        self.processes.retain(|_, process| segments.contains_key(process));
    }
}

/// One that finds no room has none; `steelyard trace show` counts its empty file.
fn begin(place: &OwnedFd, process: u32) -> Option<Segment> {
    let arguments = fs::read(format!("/proc/{process}/cmdline")).unwrap_or_default();
    let parent = find_number(process, "PPid:").unwrap_or(0);
    Segment::begin(place.as_fd(), &Process { number: process, parent, arguments: &arguments }).ok()
}

/// A number in the status of a thread.
fn find_number(thread: u32, key: &str) -> Option<u32> {
    let status = fs::read_to_string(format!("/proc/{thread}/status")).ok()?;
    status.lines().find_map(|line| line.strip_prefix(key))?.trim().parse().ok()
}
