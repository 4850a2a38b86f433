//! Where the files of a worker lie.

use super::Job;

/// Directories, and files spread over them in turn. The owner's number is part of each name.
pub struct Tree {
    pub folders: Vec<String>,
    pub files: usize,
    owner: usize,
}

impl Tree {
    /// Of worker `number` of `total`; for what comes after the creation, of the one `shift` further on.
    pub fn of(job: &Job, total: usize, number: usize) -> Self {
        let shift = if job.operation.is_first() { 0 } else { job.shift };
        let owner = (number + shift) % total.max(1);
        let root = if job.shared { "shared".to_owned() } else { format!("own{owner}") };
        let below = "/n".repeat(job.depth - 1);
        let folders = (0..job.directories).map(|folder| format!("{root}/d{folder}{below}")).collect();
        Self { folders, files: job.files, owner }
    }

    /// Fill `path` with the name of a file, as it was created or as it is renamed.
    pub fn name(&self, file: usize, renamed: bool, path: &mut String) {
        use std::fmt::Write;
        path.clear();
        if let Some(folder) = self.folders.get(file % self.folders.len()) {
            path.push_str(folder);
        }
        let kind = if renamed { 'r' } else { 'f' };
        // Writing to a string does not fail.
        let _ = write!(path, "/{kind}{}.{file}", self.owner);
    }
}

#[cfg(test)]
mod tests {
    use super::super::operation::Operation;
    use super::*;

    fn job(operation: Operation, shared: bool) -> Job {
        Job { operation, workers: 2, files: 5, directories: 2, depth: 3, size: 0, shared, shift: 1 }
    }

    #[test]
    fn files_are_spread_over_the_directories() {
        let tree = Tree::of(&job(Operation::Create, false), 2, 0);
        let mut path = String::new();
        tree.name(3, false, &mut path);
        assert_eq!(path, "own0/d1/n/n/f0.3");
    }

    #[test]
    fn later_operations_go_to_the_files_of_the_next_worker() {
        let tree = Tree::of(&job(Operation::Stat, true), 2, 1);
        let mut path = String::new();
        tree.name(0, true, &mut path);
        assert_eq!(path, "shared/d0/n/n/r0.0");
    }
}
