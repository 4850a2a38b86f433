//! When requests are due: at a rate, whatever became of those before.

use serde::Deserialize;

use super::random::Random;

const SECOND: f64 = 1e9;

#[derive(Clone, Copy, Default, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Arrivals {
    #[default]
    Constant,
    Poisson,
}

/// Instants in ns since the beginning, one after the other.
pub struct Schedule {
    gap: f64,
    arrivals: Arrivals,
    random: Random,
    next: f64,
}

impl Schedule {
    /// At so many a second. The first comes within a gap, so that several drivers do not send in step.
    pub fn new(rate: f64, arrivals: Arrivals, seed: u64) -> Self {
        let mut random = Random::new(seed);
        let gap = SECOND / rate;
        let next = gap * random.fraction();
        Self { gap, arrivals, random, next }
    }

    pub fn due(&self) -> u64 {
        self.next as u64
    }

    pub fn advance(&mut self) {
        self.next += match self.arrivals {
            Arrivals::Constant => self.gap,
            Arrivals::Poisson => -self.gap * (1.0 - self.random.fraction()).ln(),
        };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn count_within(arrivals: Arrivals, seconds: u64) -> u64 {
        let mut schedule = Schedule::new(1000.0, arrivals, 3);
        let mut count = 0;
        while schedule.due() < seconds * 1_000_000_000 {
            schedule.advance();
            count += 1;
        }
        count
    }

    #[test]
    fn as_many_are_due_as_the_rate_says() {
        assert_eq!(count_within(Arrivals::Constant, 10), 10_000);
        let poisson = count_within(Arrivals::Poisson, 10);
        assert!((9_500..10_500).contains(&poisson) && poisson != 10_000, "{poisson}");
    }
}
