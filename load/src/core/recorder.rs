//! What is kept of requests: latencies, counts and causes by kind, for each interval.

use std::collections::BTreeMap;
use std::path::Path;

use serde::Serialize;

use super::clock::Clock;
use super::driver::Pace;
use super::log::Log;

const MOST_CAUSES: usize = 50;

/// What a driver says of its work. `waited` counts what was due while all connections were busy, `unsent` what was
/// due and not sent at all.
#[derive(Serialize)]
pub struct Summary {
    pub version: &'static str,
    pub began: f64,
    pub ended: f64,
    pub connections: usize,
    pub rate: f64,
    pub waited: u64,
    pub unsent: u64,
    pub intervals: Vec<Interval>,
    pub failures: BTreeMap<String, BTreeMap<String, u64>>,
}

/// `drain`: after the end, when only what was under way is answered.
#[derive(Serialize)]
pub struct Interval {
    at: f64,
    seconds: f64,
    drain: bool,
    kinds: BTreeMap<&'static str, Counts>,
}

#[derive(Clone, Default, Serialize)]
struct Counts {
    done: u64,
    failed: u64,
    bytes: u64,
}

struct Kind {
    name: &'static str,
    scheduled: Option<Log>,
    service: Log,
    counts: Counts,
}

pub struct Recorder {
    clock: Clock,
    kinds: Vec<Kind>,
    delay: Log,
    interval: u64,
    begin: u64,
    end: u64,
    intervals: Vec<Interval>,
    failures: BTreeMap<String, BTreeMap<String, u64>>,
    pub waited: u64,
}

impl Recorder {
    /// `end` is when the last interval that counts ends; u64::MAX where nobody knows.
    pub fn create(
        folder: &Path,
        names: &[&'static str],
        clock: Clock,
        interval: u64,
        end: u64,
        is_open: bool,
    ) -> Result<Self, String> {
        let make = |name: &&'static str| -> Result<Kind, String> {
            let scheduled =
                if is_open { Some(Log::create(folder, &format!("{name}-scheduled"), &clock)?) } else { None };
            Ok(Kind {
                name,
                scheduled,
                service: Log::create(folder, name, &clock)?,
                counts: Counts::default(),
            })
        };
        Ok(Self {
            clock,
            kinds: names.iter().map(make).collect::<Result<_, _>>()?,
            delay: Log::create(folder, "driver-delay", &clock)?,
            interval,
            begin: 0,
            end,
            intervals: Vec::new(),
            failures: BTreeMap::new(),
            waited: 0,
        })
    }

    /// A request is sent so long after it could have been.
    pub fn record_delay(&mut self, delay: u64) {
        self.delay.record(delay);
    }

    /// A request has ended. Latencies are of those that succeeded.
    pub fn record(&mut self, kind: usize, due: u64, sent: u64, now: u64, bytes: u64) {
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        kind.counts.done += 1;
        kind.counts.bytes += bytes;
        kind.service.record(now.saturating_sub(sent));
        if let Some(scheduled) = &mut kind.scheduled {
            scheduled.record(now.saturating_sub(due));
        }
    }

    pub fn record_failure(&mut self, kind: usize, cause: String) {
        let Some(kind) = self.kinds.get_mut(kind) else { return };
        kind.counts.failed += 1;
        let causes = self.failures.entry(kind.name.to_owned()).or_default();
        let known = causes.contains_key(&cause) || causes.len() < MOST_CAUSES;
        *causes.entry(if known { cause } else { "other".to_owned() }).or_default() += 1;
    }

    /// End the intervals that have passed.
    pub fn roll(&mut self, now: u64) -> Result<(), String> {
        while now >= self.next_end() {
            self.end_interval(self.next_end())?;
        }
        Ok(())
    }

    fn next_end(&self) -> u64 {
        self.begin.saturating_add(self.interval)
    }

    fn end_interval(&mut self, at: u64) -> Result<(), String> {
        let begin = self.begin;
        let mut kinds = BTreeMap::new();
        for kind in &mut self.kinds {
            kind.service.roll(begin, at)?;
            if let Some(scheduled) = &mut kind.scheduled {
                scheduled.roll(begin, at)?;
            }
            kinds.insert(kind.name, std::mem::take(&mut kind.counts));
        }
        self.delay.roll(begin, at)?;
        self.intervals.push(Interval {
            at: self.clock.epoch_at(at),
            seconds: at.saturating_sub(begin) as f64 / 1e9,
            drain: begin >= self.end,
            kinds,
        });
        self.begin = at;
        Ok(())
    }

    pub fn finish(mut self, now: u64, pace: &Pace, unsent: u64) -> Result<Summary, String> {
        self.roll(now)?;
        if now > self.begin {
            self.end_interval(now)?;
        }
        for kind in &mut self.kinds {
            kind.service.finish()?;
            if let Some(scheduled) = &mut kind.scheduled {
                scheduled.finish()?;
            }
        }
        self.delay.finish()?;
        Ok(Summary {
            version: env!("CARGO_PKG_VERSION"),
            began: self.clock.epoch_at(0),
            ended: self.clock.epoch_at(now),
            connections: pace.connections,
            rate: pace.rate.unwrap_or_default(),
            waited: self.waited,
            unsent,
            intervals: self.intervals,
            failures: self.failures,
        })
    }
}
