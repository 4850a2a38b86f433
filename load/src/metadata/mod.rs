//! Operations on names: create, stat, rename, list and remove files, each as fast as the answers come.
//!
//! Workers are threads with a table of open files each, so that they share no more than processes would.
//! Under a launcher every rank has such workers; a rank knows its number from the launcher's variables.

mod operation;
mod rank;
mod tree;

use std::sync::{Arc, Barrier};
use std::thread;

use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use hdrhistogram::Histogram;
use serde::Deserialize;

use operation::{Operation, Tally};
use rank::Rank;
use tree::Tree;

/// What is asked for; the same for every rank. `shift`: whose files, counted from a worker's own number.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Job {
    operation: Operation,
    workers: usize,
    files: usize,
    directories: usize,
    depth: usize,
    size: usize,
    shared: bool,
    shift: usize,
}

/// Do what the first argument, JSON, asks for, below the current directory; the summary, one short line.
pub fn run(job: Option<&str>) -> Result<String, String> {
    let text = job.ok_or("metadata needs a JOB as its argument; see steelyard-load --help")?;
    let job: Job =
        serde_json::from_str(text).map_err(|error| format!("the job is not understood: {error}"))?;
    if job.workers == 0 || job.directories == 0 || job.depth == 0 {
        return Err("the job needs at least one worker, one directory and a depth of 1".to_owned());
    }
    let rank = Rank::find()?;
    let (tallies, seconds) = work(&job, &rank)?;
    describe(&job, &rank, &tallies, seconds)
}

/// All workers from a common start; their tallies, and the time from the first one's start to the last one's end.
fn work(job: &Job, rank: &Rank) -> Result<(Vec<Tally>, f64), String> {
    let barrier = Arc::new(Barrier::new(job.workers + 1));
    let threads: Vec<_> = (0..job.workers)
        .map(|number| {
            let tree = Tree::of(job, rank.total(job.workers), rank.first_worker(job.workers) + number);
            let (operation, size, barrier) = (job.operation, job.size, Arc::clone(&barrier));
            thread::spawn(move || {
                let ready = own_file_table();
                barrier.wait();
                ready.and_then(|()| operation.carry_out(&tree, size))
            })
        })
        .collect();
    barrier.wait();
    let mut tallies = Vec::new();
    let mut problem = None;
    for thread in threads {
        match thread.join() {
            Ok(Ok(tally)) => tallies.push(tally),
            Ok(Err(reason)) => problem = problem.or(Some(reason)),
            Err(_) => problem = problem.or(Some("a worker ended early".to_owned())),
        }
    }
    problem.map_or_else(|| Ok(measure_span(tallies)), Err)
}

/// This thread may be late to see that the workers are off, so that only theirs are the times that count.
fn measure_span(tallies: Vec<Tally>) -> (Vec<Tally>, f64) {
    let start = tallies.iter().map(|tally| tally.start).min();
    let end = tallies.iter().map(|tally| tally.end).max();
    let span = start.zip(end).map_or(0.0, |(start, end)| (end - start).as_secs_f64());
    (tallies, span)
}

/// Threads of a process share one table of open files, and with it a lock that is no part of the file system.
fn own_file_table() -> Result<(), String> {
    nix::sched::unshare(nix::sched::CloneFlags::CLONE_FILES)
        .map_err(|error| format!("cannot give a worker its own table of open files: {error}"))
}

/// One line below 4 KiB, which the kernel passes on as a whole, so that ranks' lines do not mix.
fn describe(job: &Job, rank: &Rank, tallies: &[Tally], seconds: f64) -> Result<String, String> {
    let mut latency: Histogram<u64> = operation::new_histogram()?;
    for tally in tallies {
        latency.add(&tally.latency).map_err(|error| error.to_string())?;
    }
    let mut bytes = Vec::new();
    V2DeflateSerializer::new()
        .serialize(&latency, &mut bytes)
        .map_err(|error| format!("cannot write the histogram: {error:?}"))?;
    let text: String = bytes.iter().map(|byte| format!("{byte:02x}")).collect();
    let summary = serde_json::json!({
        "operation": job.operation.name(),
        "rank": rank.number,
        "ranks": rank.count,
        "workers": job.workers,
        "items": tallies.iter().map(|tally| tally.items).sum::<u64>(),
        "seconds": seconds,
        "latency": text,
    });
    Ok(summary.to_string())
}
