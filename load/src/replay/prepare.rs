//! The files as they were before: directories, and files of the sizes that they had, with content that no disk shrinks.

use std::env;
use std::fs::{self, File};
use std::io::{self, Write};
use std::os::unix::fs::symlink;

use nix::sys::statvfs::statvfs;

use crate::core::random::Random;

use super::directory;
use super::plan::{Given, Kind, Plan, NONE};

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
    let place = |path: u32| format!("{below}/{}", plan.paths.get(path as usize).map_or("", String::as_str));
    for given in &plan.given {
        let path = place(given.path);
        let made = match (given.kind, given.target) {
            (Kind::Directory, _) => fs::create_dir_all(&path),
            (Kind::Link, target) => make_link(&place(target.unwrap_or(NONE)), &path),
            (Kind::File, _) => make_file(given, &path, content),
        };
        made.map_err(|error| format!("{path}: {error}"))?;
    }
    Ok(())
}

/// An absolute one, since its directory may be reached through another link.
fn make_link(target: &str, path: &str) -> io::Result<()> {
    symlink(env::current_dir()?.join(target), path)
}

fn make_file(given: &Given, path: &str, content: &[u8]) -> io::Result<()> {
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
