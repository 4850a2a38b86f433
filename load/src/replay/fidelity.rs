//! How faithful a replay was, and what it took.
//!
//! All figures are over all streams. The distance of two distributions is that of Kolmogorov and Smirnov: the largest
//! difference between the shares of calls that took at most so long.

use std::collections::BTreeMap;

use hdrhistogram::serialization::{Serializer, V2DeflateSerializer};
use hdrhistogram::Histogram;
use serde::Serialize;

use super::perform::{is_read, is_write, name};
use super::plan::{Operation, Plan, NONE};
use super::run::{Done, Stream};
use super::Job;

const LONGEST: u64 = 3_600_000_000_000; // ns; what takes longer counts as that
const DIGITS: u8 = 3;

/// `seconds`: of the longest stream. `interarrival_error`: what the times between calls of a thread were off, by those
/// times; none without pauses. `pairs`: calls of two threads on one file, one after the other as recorded;
/// `violations`: those that were not.
#[derive(Serialize)]
struct Summary<'a> {
    version: &'static str,
    trace: &'a str,
    left_out: &'a BTreeMap<String, u64>,
    streams: usize,
    operations: usize,
    seconds: f64,
    recorded_seconds: f64,
    reads: Transfers,
    writes: Transfers,
    other_results: BTreeMap<&'static str, usize>,
    pairs: usize,
    violations: usize,
    interarrival_error: Option<f64>,
}

#[derive(Serialize)]
struct Transfers {
    calls: usize,
    bytes: u64,
    latency: String,
    recorded: String,
    distance: Option<f64>,
}

pub fn describe(plan: &Plan, job: &Job, streams: &[Stream]) -> Result<String, String> {
    let pairs = find_pairs(plan);
    let broken = |stream: &Stream| pairs.iter().filter(|(one, two)| is_broken(stream, *one, *two)).count();
    let summary = Summary {
        version: env!("CARGO_PKG_VERSION"),
        trace: &plan.trace,
        left_out: &plan.left_out,
        streams: streams.len(),
        operations: plan.operations.len(),
        seconds: streams
            .iter()
            .map(|stream| span(stream.iter().map(|done| (done.start, done.end))))
            .fold(0.0, f64::max),
        recorded_seconds: span(plan.operations.iter().map(|each| (each.start, each.end()))),
        reads: sum_up(plan, streams, is_read)?,
        writes: sum_up(plan, streams, is_write)?,
        other_results: count_others(plan, streams),
        pairs: pairs.len() * streams.len(),
        violations: streams.iter().map(broken).sum(),
        interarrival_error: measure_arrivals(plan, job, streams),
    };
    serde_json::to_string(&summary).map_err(|error| error.to_string())
}

/// Seconds from the first start to the last end.
fn span(times: impl Iterator<Item = (u64, u64)>) -> f64 {
    let (first, last) =
        times.fold((u64::MAX, 0), |(first, last), (start, end)| (first.min(start), last.max(end)));
    last.saturating_sub(first) as f64 / 1e9
}

fn sum_up(plan: &Plan, streams: &[Stream], is_meant: fn(u16) -> bool) -> Result<Transfers, String> {
    let meant = |(each, _): &(&Operation, &Done)| is_meant(each.call);
    let all = || streams.iter().flat_map(|stream| plan.operations.iter().zip(stream).filter(meant));
    let mut took: Vec<u64> = all().map(|(_, done)| done.end - done.start).collect();
    let mut recorded: Vec<u64> =
        plan.operations.iter().filter(|each| is_meant(each.call)).map(|each| each.duration).collect();
    Ok(Transfers {
        calls: took.len(),
        bytes: all().map(|(_, done)| done.result.max(0) as u64).sum(),
        latency: write_histogram(&took)?,
        recorded: write_histogram(&recorded)?,
        distance: measure_distance(&mut took, &mut recorded),
    })
}

fn write_histogram(times: &[u64]) -> Result<String, String> {
    let mut histogram =
        Histogram::<u64>::new_with_bounds(1, LONGEST, DIGITS).map_err(|error| error.to_string())?;
    for time in times {
        histogram.saturating_record((*time).max(1));
    }
    let mut bytes = Vec::new();
    let written = V2DeflateSerializer::new().serialize(&histogram, &mut bytes);
    written.map_err(|error| format!("cannot write the histogram: {error:?}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

fn measure_distance(one: &mut [u64], two: &mut [u64]) -> Option<f64> {
    if one.is_empty() || two.is_empty() {
        return None;
    }
    one.sort_unstable();
    two.sort_unstable();
    let share =
        |sorted: &[u64], most: u64| sorted.partition_point(|each| *each <= most) as f64 / sorted.len() as f64;
    let apart = |most: &u64| (share(one, *most) - share(two, *most)).abs();
    Some(one.iter().chain(two.iter()).map(apart).fold(0.0, f64::max))
}

/// How many calls had another result than when they were recorded, by their names.
fn count_others(plan: &Plan, streams: &[Stream]) -> BTreeMap<&'static str, usize> {
    let differs = |(each, done): &(&Operation, &Done)| {
        let moves = is_read(each.call) || is_write(each.call);
        let seen = |result: i64| if moves { result } else { result.min(0) };
        seen(each.result) != seen(done.result)
    };
    let mut counts = BTreeMap::new();
    for (each, _) in streams.iter().flat_map(|stream| plan.operations.iter().zip(stream).filter(differs)) {
        *counts.entry(name(each.call)).or_insert(0) += 1;
    }
    counts
}

/// Neighbours on a file, by their starts, that belong to two threads and did not overlap.
fn find_pairs(plan: &Plan) -> Vec<(usize, usize)> {
    let mut placed: Vec<(u32, u64, usize, usize)> = Vec::new();
    for (thread, range) in plan.threads.iter().enumerate() {
        for place in range.clone() {
            if let Some(each) = plan.operations.get(place).filter(|each| each.path != NONE) {
                placed.push((each.path, each.start, place, thread));
            }
        }
    }
    placed.sort_unstable();
    let ended_before =
        |one: usize, start: u64| plan.operations.get(one).is_some_and(|each| each.end() <= start);
    let neighbours = placed.iter().zip(placed.iter().skip(1));
    let apart =
        neighbours.filter(|(one, two)| one.0 == two.0 && one.3 != two.3 && ended_before(one.2, two.1));
    apart.map(|(one, two)| (one.2, two.2)).collect()
}

fn is_broken(stream: &Stream, one: usize, two: usize) -> bool {
    stream.get(one).zip(stream.get(two)).is_some_and(|(one, two)| two.start < one.end)
}

fn measure_arrivals(plan: &Plan, job: &Job, streams: &[Stream]) -> Option<f64> {
    if job.speed == 0.0 {
        return None;
    }
    let (mut off, mut whole) = (0.0, 0.0);
    for stream in streams {
        for range in &plan.threads {
            let operations = plan.operations.get(range.clone()).unwrap_or_default();
            let done = stream.get(range.clone()).unwrap_or_default();
            for (recorded, again) in operations.windows(2).zip(done.windows(2)) {
                if let ([one, two], [first, second]) = (recorded, again) {
                    let expected = two.start.saturating_sub(one.start) as f64 / job.speed;
                    off += (second.start.saturating_sub(first.start) as f64 - expected).abs();
                    whole += expected;
                }
            }
        }
    }
    (whole > 0.0).then(|| off / whole)
}
