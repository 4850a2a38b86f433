//! The operations, and how long each call took.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::time::Instant;

use hdrhistogram::Histogram;
use serde::Deserialize;

use super::tree::Tree;

const LONGEST: u64 = 3_600_000_000_000; // ns; what takes longer counts as that
const DIGITS: u8 = 2; // so that a summary stays below 4 KiB

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Operation {
    Prepare,
    Create,
    Stat,
    Rename,
    List,
    Remove,
}

/// What a worker did: `items` are files, for a listing the entries that it gave.
pub struct Tally {
    pub items: u64,
    pub latency: Histogram<u64>,
    pub start: Instant,
    pub end: Instant,
}

pub fn new_histogram() -> Result<Histogram<u64>, String> {
    Histogram::new_with_bounds(1, LONGEST, DIGITS).map_err(|error| error.to_string())
}

impl Operation {
    pub fn name(self) -> &'static str {
        match self {
            Self::Prepare => "prepare",
            Self::Create => "create",
            Self::Stat => "stat",
            Self::Rename => "rename",
            Self::List => "list",
            Self::Remove => "remove",
        }
    }

    /// Whether a worker makes what is its own, rather than use what somebody made.
    pub fn is_first(self) -> bool {
        matches!(self, Self::Prepare | Self::Create)
    }

    /// For each file of the tree, or for each of its directories.
    pub fn carry_out(self, tree: &Tree, size: usize) -> Result<Tally, String> {
        match self {
            Self::Prepare => each_folder(tree, |folder| fs::create_dir_all(folder).map(|()| 1)),
            Self::List => each_folder(tree, list),
            Self::Create => {
                let content = vec![b'x'; size];
                each_file(tree, self, |path| create(path, &content))
            }
            Self::Stat => each_file(tree, self, |path| fs::symlink_metadata(path).map(drop)),
            Self::Remove => each_file(tree, self, |path| fs::remove_file(path)),
            Self::Rename => rename_each(tree),
        }
    }
}

fn create(path: &str, content: &[u8]) -> std::io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    if content.is_empty() {
        return Ok(());
    }
    file.write_all(content)
}

fn list(folder: &str) -> std::io::Result<u64> {
    let mut entries = 0;
    for entry in fs::read_dir(folder)? {
        entry?;
        entries += 1;
    }
    Ok(entries)
}

fn each_folder(tree: &Tree, act: impl Fn(&str) -> std::io::Result<u64>) -> Result<Tally, String> {
    let mut tally = Tally::new()?;
    for folder in &tree.folders {
        let start = Instant::now();
        let items = act(folder).map_err(|error| format!("{folder}: {error}"))?;
        tally.record(start, items);
    }
    Ok(tally)
}

fn each_file(
    tree: &Tree,
    operation: Operation,
    act: impl Fn(&str) -> std::io::Result<()>,
) -> Result<Tally, String> {
    let renamed = operation == Operation::Remove;
    let mut tally = Tally::new()?;
    let mut path = String::new();
    for file in 0..tree.files {
        tree.name(file, renamed, &mut path);
        let start = Instant::now();
        act(&path).map_err(|error| format!("{} of {path}: {error}", operation.name()))?;
        tally.record(start, 1);
    }
    Ok(tally)
}

fn rename_each(tree: &Tree) -> Result<Tally, String> {
    let mut tally = Tally::new()?;
    let (mut old, mut new) = (String::new(), String::new());
    for file in 0..tree.files {
        tree.name(file, false, &mut old);
        tree.name(file, true, &mut new);
        let start = Instant::now();
        fs::rename(&old, &new).map_err(|error| format!("rename of {old}: {error}"))?;
        tally.record(start, 1);
    }
    Ok(tally)
}

impl Tally {
    fn new() -> Result<Self, String> {
        let latency = new_histogram()?;
        let now = Instant::now();
        Ok(Self { items: 0, latency, start: now, end: now })
    }

    fn record(&mut self, start: Instant, items: u64) {
        self.end = Instant::now();
        let took = self.end.duration_since(start).as_nanos();
        self.latency.saturating_record(u64::try_from(took).unwrap_or(LONGEST).max(1));
        self.items += items;
    }
}
