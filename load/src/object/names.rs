//! Which objects there are, and how large each one is: all of it follows from the seed.

use serde::Deserialize;

use crate::core::random::{scramble, Random};

/// Sizes from `low` to `high` bytes, with a weight.
#[derive(Clone, Deserialize)]
pub struct Band {
    weight: f64,
    low: u64,
    high: u64,
}

/// An object: prepared before the measurement, or written in its course.
#[derive(Clone, Copy, PartialEq)]
pub struct Name {
    pub container: u64,
    pub number: u64,
    pub is_prepared: bool,
}

#[derive(Deserialize)]
pub struct Names {
    prefix: String,
    pub containers: u64,
    /// In each container.
    pub objects: u64,
    sizes: Vec<Band>,
    seed: u64,
}

impl Names {
    pub fn container(&self, number: u64) -> String {
        format!("{}-{number}", self.prefix)
    }

    pub fn object(&self, name: Name) -> String {
        format!("{}{:010}", if name.is_prepared { 'p' } else { 'w' }, name.number)
    }

    /// From which its bytes follow.
    pub fn key(&self, name: Name) -> u64 {
        let part = scramble(self.seed ^ name.container.rotate_left(32)) ^ u64::from(name.is_prepared);
        scramble(part.wrapping_add(name.number.rotate_left(8)))
    }

    pub fn size(&self, name: Name) -> u64 {
        let mut random = Random::new(self.key(name));
        let total: f64 = self.sizes.iter().map(|band| band.weight).sum();
        let mut left = random.fraction() * total;
        let chosen = self.sizes.iter().find(|band| {
            left -= band.weight;
            left < 0.0
        });
        chosen
            .or(self.sizes.last())
            .map_or(0, |band| band.low + random.below(band.high.saturating_sub(band.low).saturating_add(1)))
    }

    /// All that are prepared, container after container.
    pub fn prepared(&self, at: u64) -> Option<Name> {
        let container = at / self.objects.max(1);
        (container < self.containers && self.objects > 0).then(|| Name {
            container,
            number: at % self.objects,
            is_prepared: true,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes_lie_in_their_bands_and_stay() {
        let job = r#"{"prefix": "a", "containers": 2, "objects": 50, "seed": 3,
            "sizes": [{"weight": 1, "low": 1, "high": 9}, {"weight": 3, "low": 100, "high": 100}]}"#;
        let names: Names = serde_json::from_str(job).unwrap();
        let sizes: Vec<u64> = (0..).map_while(|at| names.prepared(at)).map(|name| names.size(name)).collect();
        assert_eq!(sizes.len(), 100);
        assert!(sizes.iter().all(|&size| (1..10).contains(&size) || size == 100));
        let large = sizes.iter().filter(|&&size| size == 100).count();
        assert!((60..90).contains(&large), "{large}");
    }
}
