//! What the agent knows of something that it started.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::mem::MaybeUninit;
use std::time::{Duration, Instant};

use nix::errno::Errno;

use crate::instant;
use crate::processes::Pids;
use crate::spawn::Report;

/// That what a program has left behind may take to end by itself.
const LEAVE_WITHIN: Duration = Duration::from_millis(200);
/// Between looks at a tree that still has time to end by itself.
const GLANCE: Duration = Duration::from_millis(20);
/// Between looks at processes that were sent SIGKILL.
const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// So much of a script's standard output is kept, in bytes.
const OUTPUT_LIMIT: usize = 16 << 20;
/// The code of a script whose time was up, as that of timeout(1).
const TIME_IS_UP: i32 = 124;

/// A program or script that was started, until nothing is left of it and its end is told.
pub struct Child {
    pub pid: i32,
    /// Where its reports come from; closed when it has begun.
    pub reports: Option<File>,
    /// A script's standard output; closed when enough was read.
    pub output: Option<File>,
    pub printed: Vec<u8>,
    pub ended: Option<Ended>,
    pub leftovers: usize,
    script: bool,
    timed: bool,
    told: bool,
    failed: bool,
    killed: bool,
    late: bool,
    released: Option<i64>,
    started: Option<i64>,
    clock: i64,
    deadline: Option<Instant>,
    pause: Duration,
    struck: Pids,
}

/// How it ended, and what it used (wait4(2)).
pub struct Ended {
    status: libc::c_int,
    wall: f64,
    user: f64,
    system: f64,
    peak: i64,
}

/// What there is to tell the controller of a child.
pub enum News {
    Began,
    Failed(&'static str, Errno),
    /// It was told to have begun, and then could not become the program. It exits like a shell would.
    FailedLate(Errno),
}

impl Child {
    /// A program; `timed` when it waits for an instant.
    pub fn program(pid: i32, reports: File, timed: bool) -> Self {
        Self {
            pid,
            reports: Some(reports),
            output: None,
            printed: Vec::new(),
            ended: None,
            leftovers: 0,
            script: false,
            timed,
            told: false,
            failed: false,
            killed: false,
            late: false,
            released: None,
            started: None,
            clock: instant::monotonic(),
            deadline: None,
            pause: PAUSE,
            struck: Pids::new(),
        }
    }

    /// A script that has so much time.
    pub fn script(pid: i32, reports: File, output: File, time: Duration) -> Self {
        Self {
            output: Some(output),
            script: true,
            deadline: Some(Instant::now() + time),
            ..Self::program(pid, reports, false)
        }
    }

    /// Take in its reports; `now` is the wall clock when they were seen to be there.
    pub fn hear(&mut self, now: i64) -> Vec<News> {
        let mut news = Vec::new();
        let mut bytes = [0; Report::SIZE];
        while let Some(pipe) = &mut self.reports {
            match pipe.read(&mut bytes) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(Report::SIZE) => news.extend(Report::decode(&bytes).and_then(|it| self.note(it))),
                _ => news.extend(self.begun(now)),
            }
        }
        news
    }

    fn note(&mut self, report: Report) -> Option<News> {
        match report {
            Report::Waits => {
                self.told = true;
                Some(News::Began)
            }
            Report::Released(when) => {
                self.released = Some(when);
                None
            }
            Report::Failed(_, errno) if self.told => {
                self.released = None;
                Some(News::FailedLate(errno))
            }
            Report::Failed(fault, errno) => {
                self.failed = true;
                Some(News::Failed(fault, errno))
            }
        }
    }

    /// Its pipe is closed: it has become the program, unless it failed or was killed while it waited.
    fn begun(&mut self, now: i64) -> Option<News> {
        self.reports = None;
        if self.failed {
            return None;
        }
        if self.released.is_some() || !self.timed {
            self.started = Some(now);
            self.clock = instant::monotonic();
        }
        (!self.told).then_some(News::Began)
    }

    /// Take in what a script printed, at most as much as is kept. Who writes more gets SIGPIPE.
    pub fn drain(&mut self) {
        let mut portion = vec![0; 1 << 16];
        while let Some(pipe) = &mut self.output {
            match pipe.read(&mut portion) {
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(count) if count > 0 => self.printed.extend(portion.iter().take(count)),
                _ => self.output = None,
            }
            if self.printed.len() >= OUTPUT_LIMIT {
                self.printed.truncate(OUTPUT_LIMIT);
                self.output = None;
            }
        }
    }

    /// Its end is wanted within a grace.
    pub fn ask_to_end(&mut self, grace: Duration) {
        let limit = Instant::now() + grace;
        self.deadline = Some(self.deadline.map_or(limit, |before| before.min(limit)));
        self.killed = true;
    }

    /// Keep how it ended. What it left behind has a moment left, unless a grace still runs.
    pub fn end(&mut self, status: libc::c_int, usage: &libc::rusage) {
        self.ended = Some(Ended {
            status,
            wall: (instant::monotonic() - self.clock) as f64 / 1e9,
            user: seconds(usage.ru_utime),
            system: seconds(usage.ru_stime),
            peak: usage.ru_maxrss * 1024,
        });
        if !self.killed {
            let moment = if self.script { Duration::ZERO } else { LEAVE_WITHIN };
            self.deadline = Some(Instant::now() + moment);
        }
    }

    /// Whether it wants attention: it has ended, or its time is over.
    pub fn is_due(&self) -> bool {
        self.ended.is_some() || self.is_over()
    }

    /// Whether nothing of it has any time left.
    pub fn is_over(&self) -> bool {
        self.deadline.is_some_and(|deadline| Instant::now() >= deadline)
    }

    /// In how much time it wants attention; never by itself when that is None.
    pub fn next_look(&self) -> Option<Duration> {
        if self.is_over() {
            return Some(self.pause);
        }
        let left = self.deadline.map(|deadline| deadline - Instant::now());
        if self.ended.is_some() {
            return Some(left.map_or(GLANCE, |left| left.min(GLANCE)));
        }
        left
    }

    /// Take note of what was killed of it.
    pub fn note_struck(&mut self, pids: &Pids) {
        self.pause = (self.pause * 2).min(LONGEST_PAUSE);
        if self.ended.is_some() {
            self.leftovers += pids.difference(&self.struck).count();
        } else {
            self.late = !self.killed;
        }
        self.struck.extend(pids);
    }

    /// The event that tells of its end, if there is one.
    pub fn farewell(&self, id: &str) -> Option<String> {
        let ended = self.ended.as_ref()?;
        if self.script {
            return Some(format!("done {id} {}", self.script_code(ended)));
        }
        if self.failed {
            return None; // told already
        }
        let (code, signal) = ended.code_and_signal();
        let moment = |at: Option<i64>| at.map_or("-".into(), |at| at.to_string());
        let figures = format!("{:.6} {:.6} {:.6} {}", ended.wall, ended.user, ended.system, ended.peak);
        let moments = format!("{} {}", moment(self.started), moment(self.released));
        Some(format!("exited {id} {code} {signal} {figures} {moments} {}", self.leftovers))
    }

    fn script_code(&self, ended: &Ended) -> i32 {
        if self.late {
            TIME_IS_UP
        } else if libc::WIFSIGNALED(ended.status) {
            128 + libc::WTERMSIG(ended.status)
        } else {
            libc::WEXITSTATUS(ended.status)
        }
    }

    /// Whether its output can be fetched when it is finished.
    pub fn is_script(&self) -> bool {
        self.script
    }
}

impl Ended {
    fn code_and_signal(&self) -> (String, String) {
        if libc::WIFSIGNALED(self.status) {
            ("-".into(), libc::WTERMSIG(self.status).to_string())
        } else {
            (libc::WEXITSTATUS(self.status).to_string(), "-".into())
        }
    }
}

fn seconds(time: libc::timeval) -> f64 {
    time.tv_sec as f64 + time.tv_usec as f64 / 1e6
}

/// Collect a dead child without waiting: its pid, status and figures. ECHILD when no child is left at all.
pub fn collect() -> Result<Option<(i32, libc::c_int, libc::rusage)>, Errno> {
    let mut status = 0;
    let mut usage = MaybeUninit::<libc::rusage>::zeroed();
    // SAFETY: both pointers lead to variables of this function; zeros are a rusage.
    let (pid, usage) = unsafe {
        let pid = libc::wait4(-1, &mut status, libc::WNOHANG, usage.as_mut_ptr());
        (pid, usage.assume_init())
    };
    Ok((Errno::result(pid)? > 0).then_some((pid, status, usage)))
}
