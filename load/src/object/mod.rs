//! `steelyard-load object`: operations on objects, by S3 or Swift, after COSBench's model.

mod content;
mod dialect;
mod names;
mod signature;
mod work;

use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::Duration;

use serde::Deserialize;

use crate::core::door::Door;
use crate::core::{drive, read_job, Pace, Summary};
use dialect::{ask, name_status, Api, Dialect, Verb};
use names::Names;
use work::{Mix, Plan, Work};

const AUTHORITY: &str = "AUTHORITY";
const PAGE: u64 = 1000;

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
enum Stage {
    Prepare,
    Run,
    Cleanup,
}

#[derive(Deserialize)]
struct Job {
    stage: Stage,
    api: Api,
    server: String,
    port: u16,
    tls: bool,
    user: String,
    /// The name of the variable that has it.
    secret: String,
    /// Of S3: what signatures are for.
    region: String,
    /// Of Swift: where to log in.
    #[serde(default)]
    auth_path: String,
    names: Names,
    mix: Mix,
    page: u64,
    raw: PathBuf,
    pace: Pace,
}

/// A stage of the work; what came of it as JSON, where it is the one that is measured.
pub fn run() -> Result<String, String> {
    let job: Job = read_job()?;
    let authority = std::env::var(AUTHORITY).ok().filter(|text| !text.is_empty());
    let door = Door::find(&job.server, job.port, job.tls, authority.as_deref())?;
    let dialect = enter(&job, &door)?;
    let mut session = Session { job: &job, door: &door, dialect };
    match job.stage {
        Stage::Prepare => session.prepare().map(|()| String::new()),
        Stage::Cleanup => session.clean().map(|()| String::new()),
        Stage::Run => session.measure(),
    }
}

fn enter(job: &Job, door: &Door) -> Result<Dialect, String> {
    let secret = std::env::var(&job.secret)
        .map_err(|_| format!("the environment variable {} is not set: it holds the secret", job.secret))?;
    match job.api {
        Api::S3 => Ok(Dialect::s3(door, job.user.clone(), secret, job.region.clone())),
        Api::Swift => Dialect::swift(door, &job.auth_path, &job.user, &secret, patience(job)),
    }
}

fn patience(job: &Job) -> Duration {
    Duration::from_secs_f64(job.pace.timeout.clamp(0.1, 1e6))
}

struct Session<'a> {
    job: &'a Job,
    door: &'a Door,
    dialect: Dialect,
}

impl Session<'_> {
    fn prepare(&mut self) -> Result<(), String> {
        for number in 0..self.job.names.containers {
            let container = self.job.names.container(number);
            let head = self.dialect.head(Verb::Put(0), &container, None);
            let (answer, body) = ask(self.door, &head, patience(self.job))?;
            let is_ours = body.contains("BucketAlreadyOwnedByYou");
            if answer.status >= 300 && !is_ours {
                return Err(self.complain("create", &container, &name_status(answer.status, &body)));
            }
        }
        let summary = self.drive(Plan::Prepare { next: 0 })?;
        self.insist("write", &summary)
    }

    fn measure(&mut self) -> Result<String, String> {
        let plan = Plan::mix(self.job.mix.clone(), self.job.pace.seed);
        // No cleanup follows a run that fails.
        let summary = self.drive(plan).inspect_err(|_| drop(self.clean()))?;
        serde_json::to_string(&summary).map_err(|error| error.to_string())
    }

    /// Delete what is in our containers, and them.
    fn clean(&mut self) -> Result<(), String> {
        for number in 0..self.job.names.containers {
            self.empty(number)?;
            let container = self.job.names.container(number);
            let head = self.dialect.head(Verb::Delete, &container, None);
            let (answer, body) = ask(self.door, &head, patience(self.job))?;
            if answer.status >= 300 && answer.status != 404 {
                return Err(self.complain("delete", &container, &name_status(answer.status, &body)));
            }
        }
        Ok(())
    }

    fn empty(&mut self, number: u64) -> Result<(), String> {
        let container = self.job.names.container(number);
        loop {
            let head = self.dialect.head(Verb::List(PAGE, ""), &container, None);
            let (answer, body) = ask(self.door, &head, patience(self.job))?;
            if answer.status == 404 {
                return Ok(());
            }
            if answer.status >= 300 {
                return Err(self.complain("list", &container, &name_status(answer.status, &body)));
            }
            let names = self.dialect.read_names(&body);
            if names.is_empty() {
                return Ok(());
            }
            let names: VecDeque<_> = names.into_iter().map(|name| (number, name)).collect();
            let summary = self.drive(Plan::Empty { names })?;
            self.insist("delete", &summary)?;
        }
    }

    /// What is measured goes as its pace says; the rest as fast as it can.
    fn drive(&mut self, plan: Plan) -> Result<Summary, String> {
        let mut pace = self.job.pace.clone();
        if self.job.stage != Stage::Run {
            (pace.rate, pace.seconds, pace.operations) = (None, None, None);
        }
        let mut work = Work { names: &self.job.names, dialect: &mut self.dialect, plan, page: self.job.page };
        drive(&mut work, self.door, &pace, &self.job.raw)
    }

    fn insist(&self, what: &str, summary: &Summary) -> Result<(), String> {
        let Some((cause, count)) = summary.failures.values().flatten().next() else { return Ok(()) };
        Err(format!("{} could not {what} {count} objects: {cause}", self.door.name()))
    }

    fn complain(&self, what: &str, container: &str, cause: &str) -> String {
        format!("{} refuses to {what} the container {container}: {cause}", self.door.name())
    }
}
