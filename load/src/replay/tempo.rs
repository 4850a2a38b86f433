//! Waiting: until an instant, and until another thread has done so many operations.

use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Condvar, Mutex};
use std::thread;
use std::time::{Duration, Instant};

const SHORT: Duration = Duration::from_micros(100); // no sleep is as punctual
const TURNS: u32 = 1000;

/// How far a thread is.
#[derive(Default)]
pub struct Progress {
    done: AtomicU32,
    sleepers: AtomicU32,
    lock: Mutex<()>,
    bell: Condvar,
}

impl Progress {
    pub fn advance(&self) {
        self.done.fetch_add(1, Ordering::SeqCst);
        if self.sleepers.load(Ordering::SeqCst) > 0 {
            drop(self.lock.lock());
            self.bell.notify_all();
        }
    }

    pub fn wait_for(&self, count: u32) {
        for _ in 0..TURNS {
            if self.done.load(Ordering::Acquire) >= count {
                return;
            }
            std::hint::spin_loop();
        }
        let Ok(mut held) = self.lock.lock() else { return };
        self.sleepers.fetch_add(1, Ordering::SeqCst);
        while self.done.load(Ordering::SeqCst) < count {
            match self.bell.wait(held) {
                Ok(again) => held = again,
                Err(_) => return,
            }
        }
        self.sleepers.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The last part of it awake, as the program was that computed meanwhile.
pub fn wait_until(due: Instant) {
    let left = due.saturating_duration_since(Instant::now());
    if left > SHORT {
        thread::sleep(left - SHORT);
    }
    while Instant::now() < due {
        std::hint::spin_loop();
    }
}
