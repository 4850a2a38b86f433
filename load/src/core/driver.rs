//! The loop: send what is due on connections that are free, and take the answers as they come.

use std::collections::VecDeque;
use std::io;
use std::path::Path;
use std::time::Duration;

use mio::unix::SourceFd;
use mio::{Events, Interest, Poll, Token};
use nix::sys::time::TimeSpec;
use nix::sys::timerfd::{ClockId, Expiration, TimerFd, TimerFlags, TimerSetTimeFlags};
use serde::Deserialize;
use std::os::fd::{AsFd, AsRawFd};

use super::clock::Clock;
use super::door::Door;
use super::recorder::{Recorder, Summary};
use super::schedule::{Arrivals, Schedule};
use super::slot::{Ending, Load, Slot};

const SECOND: f64 = 1e9;
const BUFFER: usize = 256 << 10;
const TIMER: Token = Token(usize::MAX);
const LOOK_EVERY: u64 = 100_000_000; // ns, for requests that take too long
const REST: u64 = 100_000_000; // ns, after a connection could not be made
const SHORT: u64 = 30_000; // ns; waiting so long is left to a loop that looks again and again

/// How requests are sent: at a `rate` (open loop), or each as soon as its connection is free (closed loop).
#[derive(Clone, Deserialize)]
pub struct Pace {
    pub connections: usize,
    pub rate: Option<f64>,
    #[serde(default)]
    pub arrivals: Arrivals,
    pub seconds: Option<f64>,
    pub operations: Option<u64>,
    pub interval: f64,
    pub timeout: f64,
    pub seed: u64,
}

/// Carry out a load; logs of latencies go to the folder. Errors where the server cannot be reached at first.
pub fn drive<L: Load>(load: &mut L, door: &Door, pace: &Pace, folder: &Path) -> Result<Summary, String> {
    let slots = (0..pace.connections.max(1))
        .map(|_| door.open().map(Slot::new))
        .collect::<Result<Vec<Slot<L::Request>>, String>>()?;
    let mut driver = Driver::create(load, door, pace, folder, slots).map_err(|error| error.to_string())?;
    let mut events = Events::with_capacity(1024);
    while !driver.is_done() {
        driver.launch();
        driver.wait(&mut events).map_err(|error| format!("cannot wait for answers: {error}"))?;
        for event in &events {
            if event.token() != TIMER {
                driver.pump(event.token().0);
            }
        }
        driver.tick()?;
    }
    let (now, unsent) = (driver.clock.now(), driver.count_unsent());
    driver.recorder.finish(now, pace, unsent)
}

struct Driver<'a, L: Load> {
    load: &'a mut L,
    door: &'a Door,
    clock: Clock,
    poll: Poll,
    timer: TimerFd,
    slots: Vec<Slot<L::Request>>,
    free: VecDeque<usize>,
    resting: VecDeque<(u64, usize)>,
    schedule: Option<Schedule>,
    left: u64,
    end: u64,
    timeout: u64,
    is_exhausted: bool,
    in_flight: usize,
    next_look: u64,
    recorder: Recorder,
    buffer: Vec<u8>,
}

impl<'a, L: Load> Driver<'a, L> {
    fn create(
        load: &'a mut L,
        door: &'a Door,
        pace: &Pace,
        folder: &Path,
        mut slots: Vec<Slot<L::Request>>,
    ) -> io::Result<Self> {
        let poll = Poll::new()?;
        let timer = TimerFd::new(ClockId::CLOCK_MONOTONIC, TimerFlags::TFD_NONBLOCK)?;
        let descriptor = timer.as_fd().as_raw_fd();
        poll.registry().register(&mut SourceFd(&descriptor), TIMER, Interest::READABLE)?;
        for (index, slot) in slots.iter_mut().enumerate() {
            if let Some(stream) = &mut slot.stream {
                poll.registry().register(
                    &mut stream.socket,
                    Token(index),
                    Interest::READABLE | Interest::WRITABLE,
                )?;
            }
        }
        let clock = Clock::start();
        let end = pace.seconds.map_or(u64::MAX, |seconds| (seconds * SECOND) as u64);
        let interval = ((pace.interval * SECOND) as u64).max(1);
        let recorder = Recorder::create(folder, &load.kinds(), clock, interval, end, pace.rate.is_some())
            .map_err(io::Error::other)?;
        Ok(Self {
            load,
            door,
            clock,
            poll,
            timer,
            free: (0..slots.len()).collect(),
            slots,
            resting: VecDeque::new(),
            schedule: pace.rate.map(|rate| Schedule::new(rate, pace.arrivals, pace.seed)),
            left: pace.operations.unwrap_or(u64::MAX),
            end,
            timeout: (pace.timeout * SECOND) as u64,
            is_exhausted: false,
            in_flight: 0,
            next_look: LOOK_EVERY,
            recorder,
            buffer: vec![0; BUFFER],
        })
    }

    fn is_done(&self) -> bool {
        self.in_flight == 0 && (self.is_exhausted || self.left == 0 || self.clock.now() >= self.end)
    }

    /// Send what is due, as far as connections are free.
    fn launch(&mut self) {
        while let Some(&index) = self.free.front() {
            let now = self.clock.now();
            let Some(due) = self.find_due(now) else { break };
            let Some(request) = self.load.next() else {
                self.is_exhausted = true;
                break;
            };
            self.left -= 1;
            if let Some(schedule) = &mut self.schedule {
                schedule.advance();
            }
            self.free.pop_front();
            self.start(index, request, due, now);
        }
    }

    /// When the next request was due, where it is by now.
    fn find_due(&self, now: u64) -> Option<u64> {
        if self.is_exhausted || self.left == 0 || now >= self.end {
            return None;
        }
        let due = self.schedule.as_ref().map_or(now, Schedule::due);
        (due <= now).then_some(due)
    }

    fn start(&mut self, index: usize, request: L::Request, due: u64, now: u64) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        if self.schedule.is_some() {
            self.recorder.record_delay(now.saturating_sub(due.max(slot.free_since)));
            self.recorder.waited += u64::from(slot.free_since > due);
        }
        slot.begin(request, due, now);
        self.in_flight += 1;
        if slot.stream.is_none() {
            match connect(self.door, &self.poll, index) {
                Ok(stream) => slot.stream = Some(stream),
                Err(error) => return self.end_request(index, Ending::failed(error.to_string())),
            }
        }
        self.pump(index);
    }

    fn pump(&mut self, index: usize) {
        let Some(slot) = self.slots.get_mut(index) else { return };
        if let Some(ending) = slot.pump(self.load, &mut self.buffer) {
            self.end_request(index, ending);
        }
    }

    fn end_request(&mut self, index: usize, ending: Ending) {
        let now = self.clock.now();
        let Some(slot) = self.slots.get_mut(index) else { return };
        let Some(active) = slot.active.take() else { return };
        self.in_flight -= 1;
        slot.free_since = now;
        if !ending.keeps_open {
            slot.stream = None;
        }
        let kind = self.load.kind(&active.request);
        let well = ending.failure.is_none();
        match ending.failure {
            None => self.recorder.record(kind, active.due, active.sent, now, ending.bytes),
            Some(cause) => self.recorder.record_failure(kind, cause),
        }
        self.load.finish(active.request, well);
        // A server that is gone is not asked as fast as it can refuse.
        if well || ending.keeps_open {
            self.free.push_back(index);
        } else {
            self.resting.push_back((now + REST, index));
        }
    }

    /// Wait until something comes, or is to be done.
    fn wait(&mut self, events: &mut Events) -> io::Result<()> {
        let now = self.clock.now();
        let due =
            self.schedule.as_ref().filter(|_| !self.free.is_empty() && self.left > 0).map(Schedule::due);
        let closed = self.schedule.is_none() && !self.free.is_empty() && self.find_due(now).is_some();
        let rested = self.resting.front().map(|(at, _)| *at);
        let next = due
            .into_iter()
            .chain(rested)
            .min()
            .unwrap_or(u64::MAX)
            .min(self.next_look)
            .min(self.end.max(now));
        let left = if closed { 0 } else { next.saturating_sub(now) };
        if left < SHORT {
            return self.poll.poll(events, Some(Duration::ZERO)).or_else(ignore_interruption);
        }
        let alarm = Expiration::OneShot(TimeSpec::from_duration(Duration::from_nanos(left)));
        self.timer.set(alarm, TimerSetTimeFlags::empty())?;
        self.poll.poll(events, Some(Duration::from_secs(1))).or_else(ignore_interruption)
    }

    /// What is to be done now and then: intervals end, connections have rested, requests took too long.
    fn tick(&mut self) -> Result<(), String> {
        let now = self.clock.now();
        self.recorder.roll(now)?;
        while self.resting.front().is_some_and(|(at, _)| *at <= now) {
            self.free.extend(self.resting.pop_front().map(|(_, index)| index));
        }
        if now < self.next_look {
            return Ok(());
        }
        self.next_look = now + LOOK_EVERY;
        for index in 0..self.slots.len() {
            let sent = self.slots.get(index).and_then(|slot| slot.active.as_ref()).map(|active| active.sent);
            if sent.is_some_and(|sent| now.saturating_sub(sent) > self.timeout) {
                self.end_request(index, Ending::failed("timeout"));
            }
        }
        Ok(())
    }

    /// How many were due and never sent, as no connection was free until the end.
    fn count_unsent(&mut self) -> u64 {
        let Some(schedule) = self.schedule.as_mut().filter(|_| self.end < u64::MAX) else { return 0 };
        let mut count = 0;
        while schedule.due() < self.end && count < self.left {
            schedule.advance();
            count += 1;
        }
        count
    }
}

fn connect(door: &Door, poll: &Poll, index: usize) -> io::Result<super::door::Stream> {
    let mut stream = door.begin()?;
    poll.registry().register(&mut stream.socket, Token(index), Interest::READABLE | Interest::WRITABLE)?;
    Ok(stream)
}

fn ignore_interruption(error: io::Error) -> io::Result<()> {
    if error.kind() == io::ErrorKind::Interrupted {
        Ok(())
    } else {
        Err(error)
    }
}
