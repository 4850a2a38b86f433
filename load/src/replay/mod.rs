//! Make the storage calls of a trace again: per thread in the same order, after what they depended on.
//!
//! What a call waits for is in the plan. Closed loop: a call comes as long after the one before it, and after what it
//! waited for, as when it was recorded. Open loop: when it came then, if what it waits for is done.

mod fidelity;
mod memory;
mod perform;
mod plan;
mod prepare;
mod run;
mod tempo;

use std::sync::Arc;

use serde::Deserialize;

use plan::Plan;

/// What is asked for. `speed`: so many times as fast, 0: without pauses. Each stream has a directory of its own.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Job {
    stage: Stage,
    plan: String,
    streams: usize,
    speed: f64,
    open: bool,
    stagger: f64, // seconds; each stream begins at a random instant up to it
    seed: u64,
}

#[derive(Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    Prepare,
    Run,
}

/// Do what the first argument, JSON, asks for, below the current directory; the summary.
pub fn run(job: Option<&str>) -> Result<String, String> {
    let text = job.ok_or("replay needs a JOB as its argument; see steelyard-load --help")?;
    let job: Job =
        serde_json::from_str(text).map_err(|error| format!("the job is not understood: {error}"))?;
    if job.streams == 0 || !(0.0..=1e9).contains(&job.speed) || !(0.0..=1e9).contains(&job.stagger) {
        return Err("the job needs a stream, and a speed and a stagger that are no less than 0".to_owned());
    }
    let plan = Arc::new(Plan::read(&job.plan)?);
    match job.stage {
        Stage::Prepare => prepare::prepare(&plan, job.streams),
        Stage::Run => {
            let streams = run::replay(&plan, &job)?;
            fidelity::describe(&plan, &job, &streams)
        }
    }
}

fn directory(stream: usize) -> String {
    format!("stream-{stream}")
}
