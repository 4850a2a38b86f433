//! The files as they were before: directories, and files of the sizes that they had, with content that no disk shrinks.

use std::fs::{self, File};
use std::io::Write;

use nix::sys::statvfs::statvfs;

use crate::core::random::Random;

use super::directory;
use super::plan::{Given, Kind, Plan};

const BLOCK: usize = 1 << 20;
const INODE: u64 = 4096;

/// Refuses before anything is written if there is no room for it.
pub fn prepare(plan: &Plan, streams: usize) -> Result<String, String> {
    let bytes: u64 = plan.given.iter().filter(|given| given.handle.is_none()).map(|given| given.size).sum();
    let wanted = bytes.saturating_add(plan.given.len() as u64 * INODE).saturating_mul(streams as u64);
    let there = statvfs(".").map_err(|error| format!("cannot see how much room there is: {error}"))?;
    let free = there.blocks_available() as u64 * there.fragment_size() as u64;
    if wanted > free {
        return Err(format!("the files of this trace need {wanted} bytes, and there are {free} here"));
    }
    let mut content = vec![0; BLOCK];
    Random::new(1).fill(&mut content);
    for stream in 0..streams {
        make_all(plan, &directory(stream), &content)?;
    }
    Ok(serde_json::json!({"files": plan.given.len() * streams, "bytes": bytes.saturating_mul(streams as u64)}).to_string())
}

fn make_all(plan: &Plan, below: &str, content: &[u8]) -> Result<(), String> {
    fs::create_dir(below).map_err(|error| format!("{below}: {error}"))?;
    for given in &plan.given {
        let path = plan.paths.get(given.path as usize).map_or("", String::as_str);
        make(given, &format!("{below}/{path}"), content).map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

fn make(given: &Given, path: &str, content: &[u8]) -> std::io::Result<()> {
    if given.kind == Kind::Directory {
        return fs::create_dir_all(path);
    }
    if given.handle.is_some() && fs::metadata(path).is_ok() {
        return Ok(()); // opened more than once
    }
    let mut file = File::create(path)?;
    let mut left = given.size;
    while left > 0 {
        let part = content.get(..content.len().min(left as usize)).unwrap_or(content);
        file.write_all(part)?;
        left -= part.len() as u64;
    }
    file.sync_all()
}
