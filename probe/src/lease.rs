//! The lease: requests come in by standard input, replies and events leave by standard output and error.
//!
//! Nothing here waits for the controller. The streams stay as they are, blocking, because their other holders
//! would be surprised by anything else: a stream that poll calls ready takes or gives one small portion at once.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::{Duration, Instant};

use nix::errno::Errno;
use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::unistd::{read, write};

/// A request is at most so long, and at most so much waits to be fetched by the controller, in bytes.
const LIMIT: usize = 64 << 20;
/// What a pipe that is ready takes without blocking, in bytes (PIPE_BUF of Linux).
const PORTION: usize = 4096;

/// What standard input gave.
pub enum Heard {
    Lines(Vec<Vec<u8>>),
    /// The lease is over.
    End,
}

pub struct Lease {
    inbox: Vec<u8>,
    replies: Outbox,
    events: Outbox,
    patience: Duration,
    last: Instant,
}

impl Lease {
    pub fn new(patience: Duration) -> Self {
        Self {
            inbox: Vec::new(),
            replies: Outbox::default(),
            events: Outbox::default(),
            patience,
            last: Instant::now(),
        }
    }

    /// Read what is there. Only to be called when poll says that something is.
    pub fn listen(&mut self) -> Heard {
        let mut portion = vec![0; 1 << 16];
        let count = match read(io::stdin(), &mut portion) {
            Ok(0) | Err(_) => return Heard::End,
            Ok(count) => count,
        };
        portion.truncate(count);
        self.last = Instant::now();
        let lines = self.take_in(&portion);
        if self.inbox.len() > LIMIT {
            return Heard::End;
        }
        Heard::Lines(lines)
    }

    /// Add a portion to what was heard so far, and return the lines that are complete now.
    fn take_in(&mut self, portion: &[u8]) -> Vec<Vec<u8>> {
        let mut lines = Vec::new();
        for piece in portion.split_inclusive(|&byte| byte == b'\n') {
            self.inbox.extend_from_slice(piece);
            if self.inbox.last() == Some(&b'\n') {
                self.inbox.pop();
                lines.push(std::mem::take(&mut self.inbox));
            }
        }
        lines
    }

    /// When the controller counts as gone unless it is heard before.
    pub fn silent_at(&self) -> Instant {
        self.last + self.patience
    }

    pub fn reply(&mut self, bytes: &[u8]) {
        self.replies.pending.extend_from_slice(bytes);
    }

    pub fn tell(&mut self, event: &str) {
        let line = crate::wire::event(event);
        self.events.pending.extend_from_slice(&line);
    }

    /// Hand over as much as the controller takes without making us wait. False when it is gone, or has
    /// stopped to read.
    pub fn flush(&mut self) -> bool {
        let replied = self.replies.flush(io::stdout().as_fd());
        let told = self.events.flush(io::stderr().as_fd());
        let waiting = self.replies.pending.len() + self.events.pending.len();
        replied.is_ok() && told.is_ok() && waiting <= 2 * LIMIT
    }

    /// What poll is to look for: room where something waits, and always whether the other end is gone.
    pub fn wishes(&self) -> [PollFlags; 2] {
        [self.replies.wish(), self.events.wish()]
    }
}

#[derive(Default)]
struct Outbox {
    pending: Vec<u8>,
}

impl Outbox {
    fn wish(&self) -> PollFlags {
        if self.pending.is_empty() {
            PollFlags::empty()
        } else {
            PollFlags::POLLOUT
        }
    }

    fn flush(&mut self, stream: BorrowedFd) -> Result<(), Errno> {
        let mut sent = 0;
        while let Some(rest) = self.pending.get(sent..).filter(|rest| !rest.is_empty()) {
            if !has_room(stream) {
                break;
            }
            sent += write(stream, rest.get(..PORTION).unwrap_or(rest))?;
        }
        self.pending.drain(..sent);
        Ok(())
    }
}

fn has_room(stream: BorrowedFd) -> bool {
    let mut look = [PollFd::new(stream, PollFlags::POLLOUT)];
    poll(&mut look, PollTimeout::ZERO).is_ok_and(|count| count > 0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_may_come_in_pieces() {
        let mut lease = Lease::new(Duration::from_secs(1));
        assert!(lease.take_in(b"be").is_empty());
        assert_eq!(lease.take_in(b"at\nclock\nre"), [b"beat".to_vec(), b"clock".to_vec()]);
        assert_eq!(lease.take_in(b"ad\n\n"), [b"read".to_vec(), b"".to_vec()]);
    }
}
