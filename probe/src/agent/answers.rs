//! What the agent does for each request, and what it replies.

use std::collections::BTreeMap;
use std::ffi::CString;
use std::fs::File;
use std::os::fd::OwnedFd;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::time::Duration;

use nix::errno::Errno;
use nix::fcntl::{fcntl, FcntlArg, OFlag};
use nix::sys::signal::SigSet;
use nix::unistd::{execve, pipe2};

use super::{our_signals, Agent};
use crate::child::Child;
use crate::children::{CHILD_VARIABLE, TOKEN_VARIABLE};
use crate::request::{Request, Start};
use crate::scratch::{make_own, Scratch};
use crate::spawn::{spawn, spawn_work, Order, Output};
use crate::{files, instant, wire};

/// So much is read at once, in bytes.
const READ_LIMIT: usize = 32 << 20;

/// What a reply says: nothing but success, content, or a code with the reason.
type Answer = Result<Vec<u8>, (u8, String)>;

impl Agent {
    pub(super) fn answer(&mut self, request: Request) -> Answer {
        match request {
            Request::Beat => Ok(Vec::new()),
            Request::Clock => Ok(instant::wall().to_string().into_bytes()),
            Request::Read(patterns) => read(&patterns),
            Request::Do { id, time, words } => self.run_script(&id, time, words),
            Request::Fetch(id) => {
                self.children.fetch(&id).ok_or_else(|| (1, format!("{id} printed nothing")))
            }
            Request::Start(start) => self.start(start),
            Request::Kill { id, grace } => {
                self.children.kill(&id, grace);
                Ok(Vec::new())
            }
            Request::Write { path, content } => write(&path, &content),
            Request::Desk(mark) => self.make_desk(&mark),
            Request::Scratch { path, mark } => self.make_scratch(path, &mark),
            Request::Remove { id, time, path } => self.remove_scratch(&id, time, &path),
            Request::Restore { path, value } => {
                self.settings.remove(&path);
                if !value.is_empty() {
                    self.settings.insert(path, value);
                }
                Ok(Vec::new())
            }
            Request::Become(path) => Err(self.hand_over(&path)),
        }
    }

    fn start(&mut self, start: Start) -> Answer {
        self.check_new(&start.id)?;
        let order = Order {
            at: start.at,
            directory: start.directory,
            stdin: start.stdin,
            stdout: Output::Path(start.stdout),
            stderr: start.stderr,
            environment: self.environment(&start.id, &start.variables),
            words: start.words,
        };
        match spawn(&order) {
            Ok((pid, reports)) => {
                self.children.add(&start.id, Child::program(pid.as_raw(), reports, order.at.is_some()));
            }
            Err(errno) => self.lease.tell(&format!("failed {} program {errno:?}", start.id)),
        }
        Ok(Vec::new())
    }

    fn run_script(&mut self, id: &str, time: Duration, words: Vec<CString>) -> Answer {
        self.check_new(id)?;
        let (output, printing) = pipe()?;
        let order = Order {
            at: None,
            directory: c"/".into(),
            stdin: c"-".into(),
            stdout: Output::Pipe(printing),
            stderr: c"-".into(),
            environment: self.environment(id, &[]),
            words,
        };
        let (pid, reports) = spawn(&order).map_err(refuse)?;
        self.children.add(id, Child::script(pid.as_raw(), reports, output, time));
        Ok(Vec::new())
    }

    /// Have a copy of us remove a directory, since that may take long.
    fn remove_scratch(&mut self, id: &str, time: Duration, path: &[u8]) -> Answer {
        self.check_new(id)?;
        let (output, printing) = pipe()?;
        let (path, known) = (files::path(path), self.scratch.get(path));
        let work = || match known {
            Some(scratch) => scratch.remove(path),
            None if path.symlink_metadata().is_err() => Ok(()),
            None => Err(format!("{} is no scratch directory of this agent's", path.display())),
        };
        let (pid, reports) = spawn_work(printing, work).map_err(refuse)?;
        self.children.add(id, Child::script(pid.as_raw(), reports, output, time));
        Ok(Vec::new())
    }

    fn check_new(&self, id: &str) -> Result<(), (u8, String)> {
        if self.children.knows(id) {
            return Err((2, format!("{id} is taken")));
        }
        Ok(())
    }

    /// Our own environment, with these variables and the marks of ours on top.
    fn environment(&self, id: &str, variables: &[CString]) -> Vec<CString> {
        let mut whole: BTreeMap<Vec<u8>, Vec<u8>> =
            std::env::vars_os().map(|(name, value)| (name.into_vec(), value.into_vec())).collect();
        for variable in variables {
            let mut parts = variable.as_bytes().splitn(2, |&byte| byte == b'=');
            let name = parts.next().unwrap_or_default();
            whole.insert(name.into(), parts.next().unwrap_or_default().into());
        }
        whole.insert(TOKEN_VARIABLE.into(), self.token.clone());
        whole.insert(CHILD_VARIABLE.into(), id.into());
        let entries = whole.into_iter().map(|(name, value)| [name, value].join(&b'='));
        entries.filter_map(|entry| CString::new(entry).ok()).collect()
    }

    fn make_scratch(&mut self, path: Vec<u8>, mark: &[u8]) -> Answer {
        let scratch = Scratch::make(files::path(&path), mark).map_err(|reason| (1, reason))?;
        self.scratch.entry(path).or_default().join(scratch);
        Ok(Vec::new())
    }

    fn make_desk(&mut self, mark: &[u8]) -> Answer {
        let (path, scratch) = make_own(mark).map_err(|reason| (1, reason))?;
        let path = path.into_os_string().into_vec();
        self.scratch.insert(path.clone(), scratch);
        Ok(path)
    }

    /// Be replaced by another agent. Returns only when that cannot be, with the reason.
    fn hand_over(&self, path: &CString) -> (u8, String) {
        if !self.children.is_empty() {
            return (1, "something is still running".into());
        }
        let words =
            [path.as_bytes(), b"agent"].into_iter().chain(self.words.iter().map(|word| word.as_bytes()));
        let words: Vec<CString> = words.filter_map(|word| CString::new(word).ok()).collect();
        let own = std::env::vars_os().map(|(name, value)| [name.as_bytes(), value.as_bytes()].join(&b'='));
        let environment: Vec<CString> = own.filter_map(|entry| CString::new(entry).ok()).collect();
        let _ = SigSet::empty().thread_set_mask();
        let errno = execve(path, &words, &environment).map_or_else(|errno| errno, |_| Errno::UnknownErrno);
        let _ = our_signals().thread_set_mask();
        (1, format!("cannot become {}: {}", path.to_string_lossy(), errno.desc()))
    }
}

fn write(path: &[u8], content: &[u8]) -> Answer {
    let outcome = files::write_new(files::path(path), content);
    outcome.map_err(|error| (1, format!("cannot write {}: {error}", path.escape_ascii())))?;
    Ok(Vec::new())
}

/// What a script prints into, and where that comes out without making us wait.
fn pipe() -> Result<(File, OwnedFd), (u8, String)> {
    let (output, printing) = pipe2(OFlag::O_CLOEXEC).map_err(refuse)?;
    fcntl(&output, FcntlArg::F_SETFL(OFlag::O_NONBLOCK)).map_err(refuse)?;
    Ok((File::from(output), printing))
}

fn read(patterns: &[Vec<u8>]) -> Answer {
    let mut frames = Vec::new();
    for path in patterns.iter().flat_map(|pattern| files::expand(pattern)) {
        if let Ok(content) = files::read(&path) {
            wire::add_frame(&mut frames, &path, &content);
        }
        if frames.len() > READ_LIMIT {
            return Err((1, format!("these files hold more than {} MiB", READ_LIMIT >> 20)));
        }
    }
    Ok(frames)
}

fn refuse(errno: Errno) -> (u8, String) {
    (1, errno.desc().into())
}
