//! Which rank of how many this is, as launchers say.

const NUMBERS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PMIX_RANK", "SLURM_NTASKS"),
    ("SLURM_PROCID", "SLURM_NTASKS"),
];

#[derive(Debug, PartialEq)]
pub struct Rank {
    pub number: usize,
    pub count: usize,
}

impl Rank {
    /// The only one where no launcher says otherwise. Fails where what it says makes no sense.
    pub fn find() -> Result<Self, String> {
        Self::read(|name| std::env::var(name).ok())
    }

    fn read(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        for (number, count) in NUMBERS {
            if let (Some(number), Some(count)) = (variable(number), variable(count)) {
                return match (number.parse(), count.parse()) {
                    (Ok(number), Ok(count)) if number < count => Ok(Self { number, count }),
                    _ => Err(format!("the launcher says rank '{number}' of '{count}'")),
                };
            }
        }
        Ok(Self { number: 0, count: 1 })
    }

    pub fn total(&self, workers: usize) -> usize {
        self.count.saturating_mul(workers)
    }

    pub fn first_worker(&self, workers: usize) -> usize {
        self.number.saturating_mul(workers)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(pairs: &[(&str, &str)]) -> Result<Rank, String> {
        Rank::read(|name| pairs.iter().find(|(key, _)| *key == name).map(|(_, value)| (*value).to_owned()))
    }

    #[test]
    fn without_a_launcher_there_is_one_rank() {
        assert_eq!(read(&[]), Ok(Rank { number: 0, count: 1 }));
    }

    #[test]
    fn each_launcher_says_it_its_own_way() {
        for (number, count) in NUMBERS {
            assert_eq!(read(&[(number, "2"), (count, "4")]), Ok(Rank { number: 2, count: 4 }));
        }
    }

    #[test]
    fn nonsense_is_refused() {
        assert!(read(&[("PMI_RANK", "4"), ("PMI_SIZE", "4")]).is_err());
        assert!(read(&[("PMI_RANK", "x"), ("PMI_SIZE", "4")]).is_err());
    }
}
