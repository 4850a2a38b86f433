//! `sample`: the content of files again and again, for telemetry, until standard input ends.
//!
//! Each round is `sample WALL_NS MONOTONIC_NS BYTES` on a line, and so many bytes of frames as `read` gives
//! them. Files stay open and are read again from their beginning, which spares the look-up of their names.

use std::collections::HashMap;
use std::ffi::OsString;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, Instant};

use nix::poll::{poll, PollFd, PollFlags, PollTimeout};
use nix::unistd::read;

use crate::{files, instant, wire};

/// So many files are kept open at most; the others are opened each time.
const KEPT: usize = 500;

/// Sample until standard input ends or nobody reads any more. `words` are EVERY_MS PATTERN...
pub fn sample(words: &[OsString]) -> Result<(), String> {
    let [every, patterns @ ..] = words else {
        return Err("sample needs EVERY_MS PATTERN...".into());
    };
    let every = every.to_str().and_then(|text| text.parse().ok()).filter(|&every| every > 0);
    let every = Duration::from_millis(every.ok_or("EVERY_MS is no number of milliseconds")?);
    if patterns.is_empty() {
        return Err("sample needs a PATTERN".into());
    }
    let mut sampler = Sampler::new(patterns);
    let mut next = Instant::now();
    while sampler.round().is_ok() {
        next = following(next, every);
        if !rest_until(next) {
            break;
        }
    }
    Ok(())
}

/// The next moment of the beat; those that were missed are left out.
fn following(moment: Instant, every: Duration) -> Instant {
    let missed = moment.elapsed().as_nanos() / every.as_nanos();
    moment + every * u32::try_from(missed).unwrap_or(u32::MAX).saturating_add(1)
}

/// Wait for the moment; false when standard input has ended before.
fn rest_until(moment: Instant) -> bool {
    loop {
        let left = moment.saturating_duration_since(Instant::now());
        let time = i32::try_from(left.as_micros().div_ceil(1000)).unwrap_or(i32::MAX);
        let stdin = io::stdin();
        let mut look = [PollFd::new(stdin.as_fd(), PollFlags::POLLIN)];
        match poll(&mut look, PollTimeout::try_from(time).unwrap_or(PollTimeout::MAX)) {
            Ok(0) if left.is_zero() => return true,
            Ok(1) if !matches!(read(&stdin, &mut [0; 4096]), Ok(count) if count > 0) => return false,
            _ => {}
        }
    }
}

struct Sampler {
    patterns: Vec<Vec<u8>>,
    open: HashMap<Vec<u8>, File>,
    content: Vec<u8>,
}

impl Sampler {
    fn new(patterns: &[OsString]) -> Self {
        Self {
            patterns: patterns.iter().map(|pattern| pattern.as_bytes().to_vec()).collect(),
            open: HashMap::new(),
            content: Vec::new(),
        }
    }

    fn round(&mut self) -> io::Result<()> {
        let (wall, monotonic) = (instant::wall(), instant::monotonic());
        let frames = self.frames();
        let mut out = io::stdout().lock();
        out.write_all(format!("sample {wall} {monotonic} {}\n", frames.len()).as_bytes())?;
        out.write_all(&frames)?;
        out.flush()
    }

    fn frames(&mut self) -> Vec<u8> {
        let paths: Vec<_> = self.patterns.iter().flat_map(|pattern| files::expand(pattern)).collect();
        self.open.retain(|path, _| paths.contains(path));
        let mut frames = Vec::new();
        for path in &paths {
            if self.read(path).is_ok() {
                wire::add_frame(&mut frames, path, &self.content);
            }
        }
        frames
    }

    /// Read a file into `content`.
    fn read(&mut self, path: &[u8]) -> io::Result<()> {
        if let Some(file) = self.open.get(path) {
            if files::reread(file, &mut self.content).is_ok() {
                return Ok(());
            }
            self.open.remove(path); // its process has ended; another may have its name
        }
        let file = files::open(path)?;
        if files::reread(&file, &mut self.content).is_err() {
            self.content = files::read(path)?; // it cannot be read from a place, as a pipe
        } else if self.open.len() < KEPT {
            self.open.insert(path.to_vec(), file);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beat_leaves_out_what_was_missed() {
        let every = Duration::from_millis(10);
        let start = Instant::now() - Duration::from_millis(35);
        let next = following(start, every);
        assert!(next > Instant::now() - Duration::from_millis(1));
        assert_eq!((next - start).as_millis() % 10, 0);
    }

    #[test]
    fn files_that_stay_are_kept_open() {
        let patterns = ["/proc/self/sta*".into(), "/proc/uptime".into(), "/nowhere".into()];
        let mut sampler = Sampler::new(&patterns);
        let first = sampler.frames();
        let kept = sampler.open.len();
        assert!(kept >= 3 && !first.is_empty(), "{kept}");
        sampler.frames();
        assert_eq!(sampler.open.len(), kept);
    }
}
