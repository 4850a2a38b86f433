//! What is to be replayed, as `steelyard.traces.replay` writes it: a line of JSON, then rows of numbers.

use std::collections::BTreeMap;
use std::fs;
use std::ops::Range;
use std::path::{Component, Path};

use serde::Deserialize;

const VERSION: u32 = 3;
const ROW: usize = 64;
const WAIT: usize = 8;
pub const NONE: u32 = u32::MAX;

/// The first line. `threads`: how many operations each has; the rows follow thread by thread.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    version: u32,
    paths: Vec<String>,
    given: Vec<Given>,
    threads: Vec<usize>,
    waits: usize,
    handles: usize,
    pages: usize,
    cores: Vec<Option<u32>>,
    trace: String,
    left_out: BTreeMap<String, u64>,
}

/// What is there before anything begins.
#[derive(Clone, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Given {
    pub path: u32,
    pub kind: Kind,
    pub size: u64,
    pub handle: Option<u32>, // that it is opened as, beforehand
    pub flags: i32,          // with which it is
    pub target: Option<u32>, // of a link: the path that it leads to
}

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Kind {
    File,
    Directory,
    Link,
}

/// A call, with what it did when it was recorded; times in ns since the trace began.
#[derive(Clone, Copy, Default)]
pub struct Operation {
    pub start: u64,
    pub duration: u64,
    pub result: i64,
    pub offset: i64,
    pub size: u64,
    pub call: u16,
    pub handle: u32,
    pub path: u32,
    pub other: u32,
    pub extra: u32,
    pub(super) waits_end: u32,
}

impl Operation {
    pub fn end(&self) -> u64 {
        self.start.saturating_add(self.duration)
    }
}

/// Until a thread has done so many operations.
#[derive(Clone, Copy)]
pub struct Wait {
    pub thread: u32,
    pub count: u32,
}

#[derive(Default)]
pub struct Plan {
    pub paths: Vec<String>,
    pub given: Vec<Given>,
    pub threads: Vec<Range<usize>>,
    pub operations: Vec<Operation>,
    pub handles: usize,
    pub pages: usize,            // of memory, that the data of transfers lie in
    pub cores: Vec<Option<u32>>, // of each thread, those that were bound to different ones
    pub trace: String,
    pub left_out: BTreeMap<String, u64>,
    pub(super) waits: Vec<Wait>,
}

impl Plan {
    pub fn read(path: &str) -> Result<Self, String> {
        let bytes = fs::read(path).map_err(|error| format!("{path}: {error}"))?;
        Self::parse(&bytes).map_err(|reason| format!("{path} is no plan of a replay: {reason}"))
    }

    fn parse(bytes: &[u8]) -> Result<Self, String> {
        let end = bytes.iter().position(|byte| *byte == b'\n').ok_or("it has no first line")?;
        let (line, rest) = bytes.split_at(end);
        let head: Head = serde_json::from_slice(line).map_err(|error| error.to_string())?;
        if head.version != VERSION {
            return Err(format!("it has version {}, not {VERSION}", head.version));
        }
        let count = head.threads.iter().try_fold(0usize, |sum, more| sum.checked_add(*more));
        let rows = rest.get(1..).unwrap_or_default();
        let expected =
            count.and_then(|count| count.checked_mul(ROW)?.checked_add(head.waits.checked_mul(WAIT)?));
        if expected != Some(rows.len()) {
            return Err("it was cut off, or is longer than it says".into());
        }
        let (operations, waits) = rows.split_at(rows.len() - head.waits * WAIT);
        let plan = Self {
            threads: split(&head.threads),
            paths: head.paths,
            given: head.given,
            operations: operations.chunks_exact(ROW).map(read_operation).collect(),
            handles: head.handles,
            pages: head.pages,
            cores: head.cores,
            trace: head.trace,
            left_out: head.left_out,
            waits: waits.chunks_exact(WAIT).map(read_wait).collect(),
        };
        plan.check()?;
        Ok(plan)
    }

    /// What an operation waits for; its place is that among all.
    pub fn waits(&self, place: usize) -> &[Wait] {
        let begin = place.checked_sub(1).and_then(|before| self.operations.get(before));
        let end = self.operations.get(place).map_or(0, |operation| operation.waits_end);
        self.waits.get(begin.map_or(0, |before| before.waits_end) as usize..end as usize).unwrap_or_default()
    }

    /// When what is waited for had ended.
    pub fn recorded_end(&self, wait: Wait) -> u64 {
        let range = self.threads.get(wait.thread as usize);
        let last = range.map(|range| range.start + (wait.count as usize).saturating_sub(1));
        last.and_then(|last| self.operations.get(last)).map_or(0, Operation::end)
    }

    /// Numbers lead to something, no path leads out, and nobody waits for ever.
    fn check(&self) -> Result<(), String> {
        if let Some(path) = self.paths.iter().find(|path| !stays_below(path)) {
            return Err(format!("the path {path:?} leads out of its directory"));
        }
        let is_path = |path: u32| path == NONE || (path as usize) < self.paths.len();
        let is_handle = |handle: u32| handle == NONE || (handle as usize) < self.handles;
        let mut before = 0;
        for operation in &self.operations {
            let sound =
                is_path(operation.path) && is_handle(operation.handle) && operation.waits_end >= before;
            if !sound || operation.waits_end as usize > self.waits.len() || operation.size > i64::MAX as u64 {
                return Err("an operation has a number that leads nowhere".into());
            }
            before = operation.waits_end;
        }
        let is_sound = |given: &Given| {
            is_path(given.path)
                && is_path(given.target.unwrap_or(NONE))
                && is_handle(given.handle.unwrap_or(NONE))
                && (given.kind == Kind::Link) == given.target.is_some()
        };
        if !self.given.iter().all(is_sound) {
            return Err("a file that is given has a number that leads nowhere".into());
        }
        self.check_waits()
    }

    /// Whoever is waited for ended before the waiting one began, so that there is no circle.
    fn check_waits(&self) -> Result<(), String> {
        for (place, operation) in self.operations.iter().enumerate() {
            for wait in self.waits(place) {
                let length = self.threads.get(wait.thread as usize).map_or(0, Range::len);
                if wait.count == 0
                    || wait.count as usize > length
                    || self.recorded_end(*wait) > operation.start
                {
                    return Err("an operation waits for one that is not before it".into());
                }
            }
        }
        Ok(())
    }
}

fn stays_below(path: &str) -> bool {
    let fine = |part| matches!(part, Component::Normal(_) | Component::CurDir);
    !path.is_empty() && !path.contains('\0') && Path::new(path).components().all(fine)
}

fn split(counts: &[usize]) -> Vec<Range<usize>> {
    let mut begin = 0;
    let part = |count: &usize| {
        let range = begin..begin + count;
        begin = range.end;
        range
    };
    counts.iter().map(part).collect()
}

fn read_operation(row: &[u8]) -> Operation {
    Operation {
        start: number(row, 0),
        duration: number(row, 8),
        result: number(row, 16) as i64,
        offset: number(row, 24) as i64,
        size: number(row, 32),
        call: number(row, 40) as u16,
        handle: number(row, 44) as u32,
        path: number(row, 48) as u32,
        other: number(row, 52) as u32,
        extra: number(row, 56) as u32,
        waits_end: number(row, 60) as u32,
    }
}

fn read_wait(row: &[u8]) -> Wait {
    Wait { thread: number(row, 0) as u32, count: number(row, 4) as u32 }
}

/// Up to eight bytes, little-endian; whoever wants fewer casts.
fn number(row: &[u8], at: usize) -> u64 {
    let mut bytes = [0; 8];
    for (to, from) in bytes.iter_mut().zip(row.iter().skip(at)) {
        *to = *from;
    }
    u64::from_le_bytes(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn head(path: &str) -> String {
        format!(
            r#"{{"version":3,"paths":[{path:?}],"given":[],"threads":[1],"waits":0,"handles":1,"pages":2,"cores":[null],"trace":"t","left_out":{{}}}}"#
        )
    }

    fn plan(head: &str, rows: &[u8]) -> Result<Plan, String> {
        Plan::parse(&[head.as_bytes(), b"\n", rows].concat())
    }

    #[test]
    fn a_plan_is_read_as_it_was_written() {
        let mut row = [0; ROW];
        row[0] = 7; // start
        row[40] = 21; // call
        let plan = plan(&head("a/b"), &row).expect("sound");
        let operation = plan.operations[0];
        assert_eq!((operation.start, operation.call, operation.path), (7, 21, 0));
        assert!(plan.waits(0).is_empty());
    }

    #[test]
    fn no_path_leads_out() {
        for path in ["/etc/passwd", "../a", "a/../../b", "", "a\0b"] {
            assert!(plan(&head(path), &[0; ROW]).is_err(), "{path}");
        }
    }

    #[test]
    fn what_was_cut_off_or_lies_is_refused() {
        assert!(plan(&head("a"), &[0; ROW - 1]).is_err());
        assert!(plan(&head("a"), &[0; ROW + 1]).is_err());
        assert!(plan("{}", &[]).is_err());
        assert!(plan(&head("a").replace("\"version\":3", "\"version\":1"), &[0; ROW]).is_err());
        assert!(plan(&head("a").replace("\"threads\":[1]", "\"threads\":[18446744073709551615]"), &[0; ROW])
            .is_err());
        let mut row = [0; ROW];
        row[48] = 9; // a path that is not there
        assert!(plan(&head("a"), &row).is_err());
    }

    #[test]
    fn nobody_waits_for_who_comes_later() {
        let head =
            head("a").replace("\"threads\":[1]", "\"threads\":[1,1]").replace("\"waits\":0", "\"waits\":1");
        let (mut one, mut two, mut wait) = ([0; ROW], [0; ROW], [0; WAIT]);
        one[60] = 1; // it waits for one
        two[60] = 1;
        two[0] = 9; // which begins later
        (wait[0], wait[4]) = (1, 1);
        assert!(plan(&head, &[&one[..], &two, &wait].concat()).is_err());
        one[0] = 10;
        assert!(plan(&head, &[&one[..], &two, &wait].concat()).is_ok());
    }
}
