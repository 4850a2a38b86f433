//! Answers to requests: what was found, or the error.

use fuser::{FileAttr, ReplyAttr, ReplyEmpty, ReplyEntry, ReplyXattr};
use nix::Result;
use std::time::Duration;

/// How long the kernel may keep names and attributes.
pub const AT_ONCE: Duration = Duration::ZERO;

pub fn answer(reply: ReplyEmpty, outcome: Result<()>) {
    match outcome {
        Ok(()) => reply.ok(),
        Err(error) => reply.error(error as i32),
    }
}

pub fn answer_entry(reply: ReplyEntry, outcome: Result<FileAttr>) {
    match outcome {
        Ok(attributes) => reply.entry(&AT_ONCE, &attributes, 0),
        Err(error) => reply.error(error as i32),
    }
}

pub fn answer_attributes(reply: ReplyAttr, outcome: Result<FileAttr>) {
    match outcome {
        Ok(attributes) => reply.attr(&AT_ONCE, &attributes),
        Err(error) => reply.error(error as i32),
    }
}

/// With room for nothing, only the size is asked for.
pub fn answer_extended(reply: ReplyXattr, room: u32, outcome: Result<Vec<u8>>) {
    match outcome {
        Ok(value) if room == 0 => reply.size(value.len() as u32),
        Ok(value) if value.len() > room as usize => reply.error(libc::ERANGE),
        Ok(value) => reply.data(&value),
        Err(error) => reply.error(error as i32),
    }
}
