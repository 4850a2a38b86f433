//! `steelyard-load get`: one page again and again, to know what the driver itself can do.

use std::path::PathBuf;

use serde::Deserialize;

use crate::core::door::Door;
use crate::core::http::Answer;
use crate::core::{drive, read_job, Ending, Load, Pace};

#[derive(Deserialize)]
struct Job {
    server: String,
    port: u16,
    path: String,
    raw: PathBuf,
    pace: Pace,
}

struct Page {
    request: Vec<u8>,
}

struct Visit {
    answer: Answer,
    is_sent: bool,
    bytes: u64,
}

impl Load for Page {
    type Request = Visit;

    fn kinds(&self) -> Vec<&'static str> {
        vec!["get"]
    }

    fn next(&mut self) -> Option<Visit> {
        Some(Visit { answer: Answer::default(), is_sent: false, bytes: 0 })
    }

    fn kind(&self, _: &Visit) -> usize {
        0
    }

    fn fill(&mut self, visit: &mut Visit, out: &mut Vec<u8>) {
        if !visit.is_sent {
            out.extend_from_slice(&self.request);
            visit.is_sent = true;
        }
    }

    fn take(&mut self, visit: &mut Visit, bytes: &[u8]) -> Option<Ending> {
        let count = &mut visit.bytes;
        match visit.answer.take(bytes, &mut |_, body| *count += body.len() as u64) {
            Err(cause) => Some(Ending::failed(cause)),
            Ok(false) => None,
            Ok(true) => {
                let status = visit.answer.status;
                let failure = (status >= 400).then(|| format!("status {status}"));
                Some(Ending { failure, bytes: visit.bytes, keeps_open: visit.answer.keeps_open })
            }
        }
    }

    fn close(&mut self, _: &mut Visit) -> Ending {
        Ending::failed("connection closed")
    }
}

pub fn run() -> Result<String, String> {
    let job: Job = read_job()?;
    let door = Door::find(&job.server, job.port, false, None)?;
    let request = format!("GET {} HTTP/1.1\r\nHost: {}\r\n\r\n", job.path, door.name()).into_bytes();
    let summary = drive(&mut Page { request }, &door, &job.pace, &job.raw)?;
    serde_json::to_string(&summary).map_err(|error| error.to_string())
}
