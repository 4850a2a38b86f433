//! Time since the beginning, in ns, and what that is on the wall.

use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

#[derive(Clone, Copy)]
pub struct Clock {
    began: Instant,
    wall: SystemTime,
}

impl Clock {
    pub fn start() -> Self {
        Self { began: Instant::now(), wall: SystemTime::now() }
    }

    pub fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }

    pub fn wall(&self) -> SystemTime {
        self.wall
    }

    /// Seconds since 1970.
    pub fn epoch_at(&self, at: u64) -> f64 {
        let began = self.wall.duration_since(UNIX_EPOCH).unwrap_or_default();
        (began + Duration::from_nanos(at)).as_secs_f64()
    }
}
