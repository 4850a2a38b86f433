//! The agent on a host: one loop that waits on the lease and on all it has started (docs/reference/agent-protocol.md).

mod answers;

use std::collections::BTreeMap;
use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::sys::signal::{signal, SigHandler, SigSet, Signal};
use nix::sys::signalfd::{SfdFlags, SignalFd};

use crate::children::{adopt_orphans, Children};
use crate::lease::{Heard, Lease};
use crate::request::{duration, Request};
use crate::scratch::Scratch;
use crate::spawn::close_range;
use crate::{files, instant, wire};

const NOT_FOR_US: [Signal; 6] =
    [Signal::SIGINT, Signal::SIGQUIT, Signal::SIGHUP, Signal::SIGPIPE, Signal::SIGUSR1, Signal::SIGUSR2];

/// Serve the lease on standard input; `words` are TOKEN BEAT PATIENCE and perhaps more, which is ignored.
pub fn serve(words: &[OsString]) -> Result<(), String> {
    let [token, _beat, patience, ..] = words else {
        return Err("agent needs TOKEN BEAT PATIENCE".into());
    };
    let patience = patience.to_str().and_then(|text| text.parse().ok()).and_then(duration);
    let patience = patience.filter(|time| !time.is_zero()).ok_or("PATIENCE is no time in seconds")?;
    let signals = prepare().map_err(|errno| format!("cannot be an agent here: {}", errno.desc()))?;
    let mut agent = Agent::new(words, token.as_bytes(), patience, signals);
    let end = agent.work();
    agent.end(&end);
    Ok(())
}

/// Make this process one that nothing below it escapes; return where SIGCHLD and SIGTERM are heard.
fn prepare() -> Result<SignalFd, Errno> {
    close_range(3, libc::c_uint::MAX); // whatever a careless controller let through
    nix::unistd::chdir("/")?;
    for each in NOT_FOR_US {
        // SAFETY: SIG_IGN is no code of ours that could run at a bad moment.
        unsafe { signal(each, SigHandler::SigIgn) }?;
    }
    // SAFETY: as above. Were it ignored, the kernel would collect our children before us.
    unsafe { signal(Signal::SIGCHLD, SigHandler::SigDfl) }?;
    let mask = our_signals();
    mask.thread_set_mask()?;
    adopt_orphans()?;
    SignalFd::with_flags(&mask, SfdFlags::SFD_CLOEXEC | SfdFlags::SFD_NONBLOCK)
}

/// What is heard through a descriptor instead of interrupting us.
fn our_signals() -> SigSet {
    [Signal::SIGCHLD, Signal::SIGTERM].into_iter().collect()
}

/// Why a lease is over.
enum End {
    /// Standard input ended: the usual way.
    Closed,
    Otherwise(&'static str),
}

struct Agent {
    /// Its own arguments, handed on to the program that it may become.
    words: Vec<OsString>,
    token: Vec<u8>,
    lease: Lease,
    signals: SignalFd,
    children: Children,
    scratch: BTreeMap<Vec<u8>, Scratch>,
    /// What files of the kernel are to say again, by their paths.
    settings: BTreeMap<Vec<u8>, Vec<u8>>,
}

impl Agent {
    fn new(words: &[OsString], token: &[u8], patience: Duration, signals: SignalFd) -> Self {
        Self {
            words: words.to_vec(),
            token: token.to_vec(),
            lease: Lease::new(patience),
            signals,
            children: Children::new(token),
            scratch: BTreeMap::new(),
            settings: BTreeMap::new(),
        }
    }

    /// Do what the controller asks for until the lease is over; return why it is.
    fn work(&mut self) -> End {
        self.lease.reply(hello().as_bytes());
        loop {
            if !self.lease.flush() {
                return End::Otherwise("the controller does not read any more");
            }
            let (heard, gone) = self.wait();
            let now = instant::wall();
            // Before the dead are collected: a SIGCHLD taken away after that could be news of another.
            let ends = self.is_told_to_end();
            self.attend(now);
            if gone {
                return End::Otherwise("the controller is gone");
            }
            if ends {
                return End::Otherwise("SIGTERM");
            }
            if let Some(end) = self.look_after_lease(heard) {
                return end;
            }
        }
    }

    fn look_after_lease(&mut self, heard: bool) -> Option<End> {
        if heard {
            return self.listen();
        }
        let silent = Instant::now() >= self.lease.silent_at();
        silent.then_some(End::Otherwise("the controller was silent for too long"))
    }

    /// Wait until something happens. Whether there is something to hear, and whether the controller is gone.
    fn wait(&self) -> (bool, bool) {
        let (stdin, stdout, stderr) = (io::stdin(), io::stdout(), io::stderr());
        let [replies, events] = self.lease.wishes();
        let input = PollFlags::POLLIN;
        let mut look = vec![
            PollFd::new(stdin.as_fd(), input),
            PollFd::new(stdout.as_fd(), replies),
            PollFd::new(stderr.as_fd(), events),
            PollFd::new(self.signals.as_fd(), input),
        ];
        look.extend(self.children.pipes().map(|pipe: BorrowedFd| PollFd::new(pipe, input)));
        let _ = poll(&mut look, self.timeout()); // EINTR: then nothing is ready, and we look again
        let seen = |index| look.get(index).and_then(PollFd::revents).unwrap_or(PollFlags::empty());
        let broken = PollFlags::POLLERR | PollFlags::POLLHUP | PollFlags::POLLNVAL;
        (!seen(0).is_empty(), (seen(1) | seen(2)).intersects(broken))
    }

    fn timeout(&self) -> PollTimeout {
        let silence = self.lease.silent_at().saturating_duration_since(Instant::now());
        let time = self.children.next_look().map_or(silence, |look| look.min(silence));
        let milliseconds = time.as_micros().div_ceil(1000); // rounded up: rather late than round and round
        i32::try_from(milliseconds)
            .ok()
            .and_then(|time| PollTimeout::try_from(time).ok())
            .unwrap_or(PollTimeout::MAX)
    }

    fn attend(&mut self, now: i64) {
        for event in self.children.attend(now) {
            self.lease.tell(&event);
        }
    }

    fn is_told_to_end(&self) -> bool {
        let mut heard = std::iter::from_fn(|| self.signals.read_signal().ok().flatten());
        heard.any(|signal| signal.ssi_signo == libc::SIGTERM as u32)
    }

    // Requests -------------------------------------------------------------------------------------------

    /// Do what was asked; why that is the end of the lease, where it is.
    fn listen(&mut self) -> Option<End> {
        let Heard::Lines(lines) = self.lease.listen() else {
            return Some(End::Closed);
        };
        let understood = lines.iter().all(|line| self.obey(line).is_ok());
        (!understood).then_some(End::Otherwise("a request made no sense"))
    }

    fn obey(&mut self, line: &[u8]) -> Result<(), wire::Garbage> {
        let answer = match Request::parse(wire::words(line)?) {
            Ok(Request::Beat) => return Ok(()),
            Ok(request) => self.answer(request),
            Err(reason) => Err((2, reason)),
        };
        let reply = match answer {
            Ok(content) => wire::reply(0, &content),
            Err((code, reason)) => wire::reply(code, reason.as_bytes()),
        };
        self.lease.reply(&reply);
        Ok(())
    }

    // The end --------------------------------------------------------------------------------------------

    /// End every descendant, then put settings back and remove the scratch directories.
    fn end(&mut self, why: &End) {
        if let End::Otherwise(why) = why {
            self.lease.tell(&format!("say the agent ends: {why}"));
        }
        self.children.end_all();
        for (path, value) in &self.settings {
            let _ = files::write_old(files::path(path), value); // nobody is left to be told
        }
        for (path, scratch) in &self.scratch {
            let _ = scratch.remove(files::path(path)); // what stays is found by its marker
        }
        self.lease.flush();
    }
}

/// The line that says who is there.
fn hello() -> String {
    let name = nix::sys::utsname::uname();
    let (system, machine) = name.as_ref().map_or(("Linux".into(), "unknown".into()), |name| {
        (name.sysname().to_string_lossy(), name.machine().to_string_lossy())
    });
    format!("steelyard-agent 1 probe {system} {machine}\n")
}
