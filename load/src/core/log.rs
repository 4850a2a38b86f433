//! A log of HdrHistogram: a histogram for each interval, in a file that its readers know.

use std::fs::File;
use std::io::{BufWriter, Write};
use std::path::Path;
use std::time::Duration;

use hdrhistogram::serialization::interval_log::IntervalLogWriterBuilder;
use hdrhistogram::serialization::V2DeflateSerializer;
use hdrhistogram::Histogram;

use super::clock::Clock;

const LONGEST: u64 = 3_600_000_000_000; // ns; what takes longer counts as that
const DIGITS: u8 = 3;

pub struct Log {
    histogram: Histogram<u64>,
    file: BufWriter<File>,
    serializer: V2DeflateSerializer,
}

impl Log {
    /// Values are in ns.
    pub fn create(folder: &Path, name: &str, clock: &Clock) -> Result<Self, String> {
        let path = folder.join(format!("{name}.hdr"));
        let complain = |error: &dyn std::fmt::Display| format!("cannot write {}: {error}", path.display());
        let histogram = Histogram::new_with_bounds(1, LONGEST, DIGITS).map_err(|error| complain(&error))?;
        let mut file = BufWriter::new(File::create(&path).map_err(|error| complain(&error))?);
        let mut serializer = V2DeflateSerializer::new();
        IntervalLogWriterBuilder::new()
            .add_comment("[Histogram log format version 1.3]")
            .with_start_time(clock.wall())
            .begin_log_with(&mut file, &mut serializer)
            .map_err(|error| complain(&error))?;
        Ok(Self { histogram, file, serializer })
    }

    pub fn record(&mut self, value: u64) {
        self.histogram.saturating_record(value.max(1));
    }

    /// Write what was recorded since the last time, unless that was nothing.
    pub fn roll(&mut self, begin: u64, end: u64) -> Result<(), String> {
        if self.histogram.is_empty() {
            return Ok(());
        }
        let (begin, end) = (Duration::from_nanos(begin), Duration::from_nanos(end));
        let mut writer = IntervalLogWriterBuilder::new()
            .begin_log_with(&mut self.file, &mut self.serializer)
            .map_err(|error| error.to_string())?;
        writer
            .write_histogram(&self.histogram, begin, end.saturating_sub(begin), None)
            .map_err(|error| error.to_string())?;
        self.histogram.reset();
        Ok(())
    }

    pub fn finish(&mut self) -> Result<(), String> {
        self.file.flush().map_err(|error| format!("cannot write a log: {error}"))
    }
}
