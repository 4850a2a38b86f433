//! All that the agent started, and what came of it: who belongs to whom, and how it ends.

use std::collections::BTreeMap;
use std::os::fd::{AsFd, BorrowedFd};
use std::thread::sleep;
use std::time::Duration;

use nix::errno::Errno;
use nix::sys::signal::Signal;
use nix::unistd::Pid;

use crate::child::{collect, Child, News};
use crate::processes::{
    descendants, environment, listed_children, send, strike, table, variable, Pids, Process,
};

pub const TOKEN_VARIABLE: &str = "STEELYARD_TOKEN";
pub const CHILD_VARIABLE: &str = "STEELYARD_CHILD";

const PAUSE: Duration = Duration::from_millis(2);
const LONGEST_PAUSE: Duration = Duration::from_millis(500);

pub struct Children {
    token: Vec<u8>,
    running: BTreeMap<String, Child>,
    /// What scripts printed that have ended, until it is fetched.
    outputs: BTreeMap<String, Vec<u8>>,
}

impl Children {
    pub fn new(token: &[u8]) -> Self {
        Self { token: token.to_vec(), running: BTreeMap::new(), outputs: BTreeMap::new() }
    }

    pub fn add(&mut self, id: &str, child: Child) {
        self.running.insert(id.into(), child);
    }

    pub fn knows(&self, id: &str) -> bool {
        self.running.contains_key(id) || self.outputs.contains_key(id)
    }

    pub fn is_empty(&self) -> bool {
        self.running.is_empty()
    }

    /// What a finished script printed; forgotten by this.
    pub fn fetch(&mut self, id: &str) -> Option<Vec<u8>> {
        self.outputs.remove(id)
    }

    /// The descriptors through which children may be heard.
    pub fn pipes(&self) -> impl Iterator<Item = BorrowedFd<'_>> {
        let children = self.running.values();
        children.flat_map(|child| child.reports.iter().chain(&child.output).map(AsFd::as_fd))
    }

    /// In how much time a child wants attention by itself.
    pub fn next_look(&self) -> Option<Duration> {
        self.running.values().filter_map(Child::next_look).min()
    }

    /// Take in all there is to hear, settle what is due, and return the events to tell.
    pub fn attend(&mut self, now: i64) -> Vec<String> {
        let mut events = self.hear(now);
        self.reap();
        events.extend(self.hear(now)); // of those that have just been found dead, all there is
        let due = self.running.iter().filter(|(_, child)| child.is_due());
        let due: Vec<String> = due.map(|(id, _)| id.clone()).collect();
        events.extend(due.iter().filter_map(|id| self.settle(id)));
        events
    }

    fn hear(&mut self, now: i64) -> Vec<String> {
        let mut events = Vec::new();
        for (id, child) in &mut self.running {
            child.drain();
            for news in child.hear(now) {
                match news {
                    _ if child.is_script() => {} // `done` tells it all
                    News::Began => events.push(format!("started {id} {}", child.pid)),
                    News::Failed(what, errno) => events.push(format!("failed {id} {what} {errno:?}")),
                    News::FailedLate(errno) => events.push(format!("say {id} could not begin: {errno:?}")),
                }
            }
        }
        events
    }

    /// Collect every dead child; other dead are orphans that came to us. False when no child is left at all.
    fn reap(&mut self) -> bool {
        loop {
            match collect() {
                Ok(Some((pid, status, usage))) => {
                    if let Some(child) = self.alive(pid) {
                        child.end(status, &usage);
                    }
                }
                Ok(None) => return true,
                Err(_) => return false,
            }
        }
    }

    fn alive(&mut self, pid: i32) -> Option<&mut Child> {
        let mut children = self.running.values_mut();
        children.find(|child| child.pid == pid && child.ended.is_none())
    }

    /// Ask a child and all below it to end, within a grace.
    pub fn kill(&mut self, id: &str, grace: Duration) {
        let Some(child) = self.running.get_mut(id) else {
            return; // it has just ended by itself
        };
        child.ask_to_end(grace);
        for pid in self.tree(id) {
            let _ = send(pid, Signal::SIGTERM); // EPERM: a program of another user
            let _ = send(pid, Signal::SIGCONT); // a stopped process would not hear the other
        }
    }

    /// End what is left of a child whose time is over, and return the news of its end when nothing is.
    fn settle(&mut self, id: &str) -> Option<String> {
        let mut left = self.tree(id);
        if !left.is_empty() && self.running.get(id)?.is_over() {
            left = strike(|| self.tree(id));
            self.running.get_mut(id)?.note_struck(&left);
        }
        if self.running.get(id)?.ended.is_none() || !left.is_empty() {
            return None;
        }
        let mut child = self.running.remove(id)?;
        child.drain();
        if child.is_script() {
            self.outputs.insert(id.into(), std::mem::take(&mut child.printed));
        }
        child.farewell(id)
    }

    /// The pids of a child and all its descendants, also of those whose parents are gone.
    fn tree(&mut self, id: &str) -> Pids {
        if !self.may_have_left(id) {
            return Pids::new();
        }
        let (table, me) = (table(), Pid::this().as_raw());
        let mine = table.values().filter(|each| each.parent == me);
        let roots = mine.filter(|each| self.owner(each, id) == Some(id));
        let mut found = descendants(&table, roots.map(|each| each.pid));
        // The dead are collected by their parent, or by us once the parent is killed.
        found.retain(|pid| table.get(pid).is_some_and(|each| !each.dead || each.parent == me));
        found
    }

    /// Whether there may be processes of this child: a quick look that spares a walk through /proc.
    fn may_have_left(&mut self, id: &str) -> bool {
        if self.running.get(id).is_some_and(|child| child.ended.is_none()) {
            return true;
        }
        if !self.reap() {
            return false;
        }
        let listed = listed_children();
        let alive = |pid| self.running.values().any(|child| child.pid == pid && child.ended.is_none());
        listed.is_empty() || !listed.iter().copied().all(alive)
    }

    /// The child that one of our direct children is, or from which it came, should it be an orphan.
    ///
    /// Its session or its environment tells. One whose child is gone already goes with the child that is
    /// ending now, and one that hides both with the last child there is.
    fn owner<'a>(&'a self, mine: &Process, ending: &'a str) -> Option<&'a str> {
        let mut children = self.running.iter();
        let near = children.find(|(_, child)| child.pid == mine.pid || child.pid == mine.session);
        if let Some((id, _)) = near {
            return Some(id);
        }
        let environment = environment(mine.pid);
        if variable(&environment, TOKEN_VARIABLE) == Some(&self.token) {
            let named = variable(&environment, CHILD_VARIABLE).and_then(|id| std::str::from_utf8(id).ok());
            let known = named.and_then(|id| self.running.get_key_value(id));
            return Some(known.map_or(ending, |(id, _)| id));
        }
        (self.running.len() == 1).then_some(ending)
    }

    /// End every descendant, again until none is left, or only programs of other users.
    pub fn end_all(&mut self) {
        let (me, mut pause) = (Pid::this().as_raw(), PAUSE);
        while self.reap() {
            let below = || {
                let mut found = descendants(&table(), [me]);
                found.remove(&me);
                found
            };
            if strike(below).is_empty() {
                break;
            }
            sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}

/// Make orphans below us our children, so that none escapes. Fails where the kernel has no subreapers.
pub fn adopt_orphans() -> Result<(), Errno> {
    nix::sys::prctl::set_child_subreaper(true)
}
