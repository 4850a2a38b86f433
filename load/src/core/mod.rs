//! The core of every driver: requests that are due at their instants, over connections that wait for nobody.

mod clock;
pub mod door;
mod driver;
pub mod http;
mod log;
pub mod random;
mod recorder;
mod schedule;
mod slot;

pub use driver::{drive, Pace};
pub use recorder::Summary;
pub use slot::{Ending, Load};

use std::io::Read;

/// The job on standard input, as JSON.
pub fn read_job<T: serde::de::DeserializeOwned>() -> Result<T, String> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text).map_err(|error| format!("cannot read the job: {error}"))?;
    serde_json::from_str(&text).map_err(|error| format!("the job on standard input is wrong: {error}"))
}
