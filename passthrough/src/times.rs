//! Times of files, as the kernel asks for them.

use fuser::TimeOrNow;
use nix::sys::time::TimeSpec;
use std::time::{Duration, UNIX_EPOCH};

pub fn time(given: Option<TimeOrNow>) -> TimeSpec {
    match given {
        None => TimeSpec::UTIME_OMIT,
        Some(TimeOrNow::Now) => TimeSpec::UTIME_NOW,
        Some(TimeOrNow::SpecificTime(time)) => time
            .duration_since(UNIX_EPOCH)
            .map_or_else(|error| before_epoch(error.duration()), TimeSpec::from),
    }
}

fn before_epoch(ago: Duration) -> TimeSpec {
    let (seconds, rest) = (ago.as_secs() as i64, i64::from(ago.subsec_nanos()));
    if rest == 0 {
        TimeSpec::new(-seconds, 0)
    } else {
        TimeSpec::new(-seconds - 1, 1_000_000_000 - rest)
    }
}
