//! A request while it is served: who asks, since when, and what is told of it.

use crate::callers::Callers;
use crate::segment::{now, Told};
use fuser::Request;
use nix::Result;
use std::sync::Mutex;

/// Who asks, and since when.
#[derive(Clone, Copy)]
pub struct Asked {
    thread: u32,
    start: u64,
}

impl Asked {
    pub fn by(request: &Request<'_>) -> Asked {
        Asked { thread: request.pid(), start: now() }
    }

    pub fn tell<T>(
        self,
        callers: &Mutex<Callers>,
        outcome: &Result<T>,
        value: impl FnOnce(&T) -> i64,
        told: Told<'_>,
    ) {
        let result = outcome.as_ref().map_or_else(|error| -(*error as i64), value);
        let told = Told { start: self.start, duration: now() - self.start, result, ..told };
        if let Ok(mut callers) = callers.lock() {
            callers.tell(self.thread, &told);
        }
    }
}
