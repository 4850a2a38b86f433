//! The replay itself: a thread for each that was recorded, in each stream.

use std::ops::Range;
use std::sync::{Arc, Barrier};
use std::thread;
use std::time::{Duration, Instant};

use nix::sched::{sched_getaffinity, sched_setaffinity, CpuSet};
use nix::unistd::Pid;

use crate::core::random::Random;

use super::memory::{Memory, PAGE};
use super::perform::{is_read, is_write, Files};
use super::plan::{Operation, Plan};
use super::tempo::{wait_until, Progress};
use super::{directory, Job};

const STACK: usize = 256 << 10;
const MOST_THREADS: usize = 10_000;
const LARGEST: usize = 0x7fff_f000; // what the kernel moves in one call
const LEAD: Duration = Duration::from_millis(20);

/// What came of an operation; ns since the stream began.
#[derive(Clone, Copy, Default)]
pub struct Done {
    pub start: u64,
    pub end: u64,
    pub result: i64,
}

/// All that a stream did, as the plan's operations lie.
pub type Stream = Vec<Done>;

struct Setting {
    plan: Arc<Plan>,
    files: Files,
    progress: Vec<Progress>,
    speed: f64,
    open: bool,
}

pub fn replay(plan: &Arc<Plan>, job: &Job) -> Result<Vec<Stream>, String> {
    if plan.threads.len().saturating_mul(job.streams) > MOST_THREADS {
        return Err(format!(
            "{} threads in {} streams are more than {MOST_THREADS}; `steelyard trace cut` makes less of a trace",
            plan.threads.len(),
            job.streams
        ));
    }
    let mut random = Random::new(job.seed);
    let barrier = Arc::new(Barrier::new(plan.threads.len() * job.streams + 1));
    let start = Arc::new(std::sync::OnceLock::new());
    let mut streams = Vec::new();
    for stream in 0..job.streams {
        let later = Duration::from_secs_f64(job.stagger * random.fraction());
        let setting = Arc::new(set_up(plan, job, stream)?);
        let threads = (0..plan.threads.len())
            .map(|thread| start_thread(&setting, (stream, thread), &barrier, &start, later))
            .collect::<Result<Vec<_>, _>>()?;
        streams.push(threads);
    }
    let _ = start.set(Instant::now() + LEAD);
    barrier.wait();
    streams.into_iter().map(join).collect()
}

fn set_up(plan: &Arc<Plan>, job: &Job, stream: usize) -> Result<Setting, String> {
    let memory = Memory::new(plan, job.streams)
        .map_err(|error| format!("there is no memory for what is moved: {error}"))?;
    let files = Files::new(plan, &directory(stream), memory)?;
    for given in &plan.given {
        if let Some(handle) = given.handle {
            let opened = files.open_given(given, handle);
            opened.map_err(|error| format!("a file that was open before cannot be opened: {error}"))?;
        }
    }
    let progress = plan.threads.iter().map(|_| Progress::default()).collect();
    Ok(Setting { plan: Arc::clone(plan), files, progress, speed: job.speed, open: job.open })
}

type Joined = thread::JoinHandle<Vec<Done>>;

fn start_thread(
    setting: &Arc<Setting>,
    (stream, thread): (usize, usize),
    barrier: &Arc<Barrier>,
    start: &Arc<std::sync::OnceLock<Instant>>,
    later: Duration,
) -> Result<Joined, String> {
    let (setting, barrier, start) = (Arc::clone(setting), Arc::clone(barrier), Arc::clone(start));
    let work = move || {
        let range = setting.plan.threads.get(thread).cloned().unwrap_or_default();
        let mut done = vec![Done::default(); range.len()];
        let mut room = make_room(&setting, range);
        bind(&setting.plan, thread, stream);
        barrier.wait();
        let begin = *start.get_or_init(Instant::now) + later;
        wait_until(begin);
        work_off(&setting, thread, begin, room.bytes(), &mut done);
        done
    };
    thread::Builder::new()
        .stack_size(STACK)
        .spawn(work)
        .map_err(|error| format!("cannot start a thread: {error}"))
}

/// To a core that is not that of others, as when it was recorded; they share cores where there are fewer.
fn bind(plan: &Plan, thread: usize, stream: usize) {
    let Some(Some(core)) = plan.cores.get(thread) else { return };
    let Ok(there) = sched_getaffinity(Pid::from_raw(0)) else { return };
    let there: Vec<usize> = (0..CpuSet::count()).filter(|cpu| there.is_set(*cpu).unwrap_or(false)).collect();
    let cores = plan.cores.iter().flatten().max().map_or(1, |last| *last as usize + 1);
    let Some(cpu) = there.get((*core as usize + stream * cores) % there.len().max(1)) else { return };
    let mut chosen = CpuSet::new();
    if chosen.set(*cpu).is_ok() {
        let _ = sched_setaffinity(Pid::from_raw(0), &chosen); // where that is forbidden, it runs anywhere
    }
}

fn work_off(setting: &Setting, thread: usize, begin: Instant, room: &mut [u8], done: &mut [Done]) {
    let range = setting.plan.threads.get(thread).cloned().unwrap_or_default();
    let (mut recorded, mut ready) = (0, begin);
    for (place, done) in range.zip(done) {
        let Some(operation) = setting.plan.operations.get(place) else { return };
        for wait in setting.plan.waits(place) {
            if let Some(progress) = setting.progress.get(wait.thread as usize) {
                progress.wait_for(wait.count);
            }
            if setting.plan.recorded_end(*wait) > recorded {
                (recorded, ready) = (setting.plan.recorded_end(*wait), Instant::now());
            }
        }
        if setting.speed > 0.0 {
            let scaled = |time: u64| Duration::from_secs_f64(time as f64 / 1e9 / setting.speed);
            let pause = scaled(operation.start.saturating_sub(recorded));
            wait_until(if setting.open { begin + scaled(operation.start) } else { ready + pause });
        }
        let started = Instant::now();
        let result = setting.files.perform(operation, room);
        let ended = Instant::now();
        *done = Done { start: since(begin, started), end: since(begin, ended), result };
        (recorded, ready) = (operation.end(), ended);
        if let Some(progress) = setting.progress.get(thread) {
            progress.advance();
        }
    }
}

fn since(begin: Instant, at: Instant) -> u64 {
    u64::try_from(at.saturating_duration_since(begin).as_nanos()).unwrap_or(u64::MAX)
}

/// Memory for the largest transfer of a thread of which no other memory is known; it begins at a page, for files that
/// are open for direct I/O.
fn make_room(setting: &Setting, range: Range<usize>) -> Room {
    let operations = setting.plan.operations.get(range).unwrap_or_default();
    let is_transfer = |each: &&Operation| is_read(each.call) || is_write(each.call);
    let transfers =
        operations.iter().filter(is_transfer).filter(|each| setting.files.memory.find(each).is_none());
    let largest = transfers.map(|each| each.size as usize).max().unwrap_or(0).clamp(PAGE, LARGEST);
    let mut bytes = vec![0; largest + PAGE];
    Random::new(largest as u64).fill(&mut bytes);
    let begin = bytes.as_ptr().align_offset(PAGE).min(PAGE);
    Room { bytes, begin, size: largest }
}

struct Room {
    bytes: Vec<u8>,
    begin: usize,
    size: usize,
}

impl Room {
    fn bytes(&mut self) -> &mut [u8] {
        self.bytes.get_mut(self.begin..self.begin + self.size).unwrap_or_default()
    }
}

fn join(threads: Vec<Joined>) -> Result<Stream, String> {
    let mut stream = Stream::new();
    for thread in threads {
        stream.extend(thread.join().map_err(|_| "a thread ended early".to_owned())?);
    }
    Ok(stream)
}
