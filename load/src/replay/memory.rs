//! The memory of transfers: its pages are touched in the order in which the application touched its own.
//!
//! What a page costs when it is touched for the first time, or comes from memory and not from a cache, is part of what
//! a call takes. What was written from before anything was read to it is filled; the rest is untouched until then.

use std::io;

use crate::core::random::Random;

use super::perform::{is_read, is_write};
use super::plan::{Operation, Plan};

pub const PAGE: usize = 4096;
const MOST: usize = 1 << 30; // bytes, of all streams

/// Pages of one stream.
pub struct Memory {
    begin: usize, // the address; whoever uses it gives it to the kernel alone
    pages: usize,
}

impl Memory {
    pub fn new(plan: &Plan, streams: usize) -> io::Result<Self> {
        let mut memory = Self { begin: 0, pages: plan.pages.min(MOST / PAGE / streams.max(1)) };
        if memory.pages == 0 {
            return Ok(memory);
        }
        let (protection, flags) = (
            libc::PROT_READ | libc::PROT_WRITE,
            libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE,
        );
        // SAFETY: the kernel chooses where, so that nothing else is there.
        let begin =
            unsafe { libc::mmap(std::ptr::null_mut(), memory.pages * PAGE, protection, flags, -1, 0) };
        if begin == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        memory.begin = begin as usize;
        memory.fill(plan);
        Ok(memory)
    }

    /// Where the data of a transfer lie; none if that was not recorded.
    pub fn find(&self, operation: &Operation) -> Option<*mut u8> {
        self.first(operation).map(|first| (self.begin + first * PAGE) as *mut u8)
    }

    /// Its first page. Of more than there may be, pages serve for several.
    fn first(&self, operation: &Operation) -> Option<usize> {
        let first = (operation.extra as usize).checked_sub(1)?;
        let spare = self.pages.checked_sub((operation.size as usize).div_ceil(PAGE))?;
        Some(if first <= spare { first } else { first % (spare + 1) })
    }

    fn fill(&mut self, plan: &Plan) {
        let mut random = Random::new(self.pages as u64);
        for page in self.find_written(plan) {
            // SAFETY: it lies in our memory, which nobody else uses yet.
            random
                .fill(unsafe { std::slice::from_raw_parts_mut((self.begin + page * PAGE) as *mut u8, PAGE) });
        }
    }

    /// The pages of which the first transfer is a write.
    fn find_written(&self, plan: &Plan) -> Vec<usize> {
        let mut firsts = vec![(u64::MAX, false); self.pages];
        for operation in plan.operations.iter().filter(|each| is_read(each.call) || is_write(each.call)) {
            let Some(first) = self.first(operation) else { continue };
            let touched = firsts.iter_mut().skip(first).take((operation.size as usize).div_ceil(PAGE));
            for page in touched.filter(|page| operation.start < page.0) {
                *page = (operation.start, is_write(operation.call));
            }
        }
        firsts.iter().enumerate().filter_map(|(page, first)| first.1.then_some(page)).collect()
    }
}

impl Drop for Memory {
    fn drop(&mut self) {
        if self.pages > 0 {
            // SAFETY: it is ours as a whole, and the threads that used it have ended.
            unsafe { libc::munmap(self.begin as *mut libc::c_void, self.pages * PAGE) };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::replay::perform::{READS, WRITES};

    fn operation(call: u16, start: u64, extra: u32, size: u64) -> Operation {
        Operation { start, call, extra, size, ..Operation::default() }
    }

    fn plan(operations: Vec<Operation>, pages: usize) -> Plan {
        Plan { operations, pages, ..Plan::default() }
    }

    #[test]
    fn only_what_is_written_first_is_filled() {
        let all = vec![
            operation(READS[1], 1, 1, PAGE as u64),
            operation(WRITES[1], 2, 1, PAGE as u64 + 1),
            operation(WRITES[1], 3, 4, 10),
        ];
        let plan = plan(all, 5);
        let memory = Memory::new(&plan, 1).expect("little");
        assert_eq!(memory.find_written(&plan), [1, 3]);
    }

    #[test]
    fn whatever_the_plan_says_data_lie_in_our_memory() {
        let plan = plan(Vec::new(), 4);
        let memory = Memory::new(&plan, 1).expect("little");
        for extra in [1, 3, 4, 5, 1000, u32::MAX] {
            for pages in [0, 1, 3, 4, 5, 1 << 40] {
                let first = memory.first(&operation(READS[1], 0, extra, (pages * PAGE) as u64));
                assert!(first.map_or(pages > 4, |first| first + pages <= 4), "{extra} {pages}");
            }
        }
        assert!(memory.find(&operation(READS[1], 0, 0, 1)).is_none());
    }

    #[test]
    fn streams_share_what_there_may_be() {
        let plan = plan(Vec::new(), usize::MAX);
        assert_eq!(Memory::new(&plan, 1 << 14).expect("little").pages, MOST / PAGE / (1 << 14));
    }
}
