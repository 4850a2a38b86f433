//! The operations on objects: which comes next, what is sent, and whether the answer is right.

use std::collections::VecDeque;

use serde::Deserialize;

use super::content;
use super::dialect::{name_status, Dialect, Verb};
use super::names::{Name, Names};
use crate::core::http::Answer;
use crate::core::random::Random;
use crate::core::{Ending, Load};

const PIECE: usize = 64 << 10;
const MOST_TEXT: usize = 1 << 20;

#[derive(Clone, Copy, PartialEq)]
pub enum Kind {
    Read,
    Write,
    List,
    Delete,
}

const KINDS: [(Kind, &str); 4] =
    [(Kind::Read, "read"), (Kind::Write, "write"), (Kind::List, "list"), (Kind::Delete, "delete")];

/// Weights of the operations.
#[derive(Clone, Deserialize)]
pub struct Mix {
    read: f64,
    write: f64,
    list: f64,
    delete: f64,
}

/// Where operations come from.
pub enum Plan {
    /// Write all that is to be prepared.
    Prepare { next: u64 },
    /// Operations of a mix. Deleted is what was written here, the oldest first.
    Mix { mix: Mix, random: Random, written: VecDeque<Name>, next: u64, owed: u64 },
    /// Delete these.
    Empty { names: VecDeque<(u64, String)> },
}

impl Plan {
    pub fn mix(mix: Mix, seed: u64) -> Self {
        Self::Mix { mix, random: Random::new(seed), written: VecDeque::new(), next: 0, owed: 0 }
    }
}

pub struct Work<'a> {
    pub names: &'a Names,
    pub dialect: &'a mut Dialect,
    pub plan: Plan,
    pub page: u64,
}

pub struct Operation {
    kind: Kind,
    name: Name,
    object: Option<String>,
    key: u64,
    size: u64,
    is_asked: bool,
    sent: u64,
    received: u64,
    is_wrong: bool,
    text: Vec<u8>,
    answer: Answer,
}

impl Work<'_> {
    fn operate(&self, kind: Kind, name: Name, object: Option<String>) -> Operation {
        let has_content = matches!(kind, Kind::Read | Kind::Write);
        Operation {
            kind,
            name,
            object,
            key: self.names.key(name),
            size: if has_content { self.names.size(name) } else { 0 },
            is_asked: false,
            sent: 0,
            received: 0,
            is_wrong: false,
            text: Vec::new(),
            answer: Answer::default(),
        }
    }

    fn choose(&mut self) -> Option<(Kind, Name, Option<String>)> {
        match &mut self.plan {
            Plan::Prepare { next } => {
                let name = self.names.prepared(*next)?;
                *next += 1;
                Some((Kind::Write, name, None))
            }
            Plan::Empty { names } => {
                let (container, object) = names.pop_front()?;
                Some((Kind::Delete, Name { container, number: 0, is_prepared: false }, Some(object)))
            }
            Plan::Mix { mix, random, written, next, owed } => {
                let kind = draw_kind(mix, random, written.is_empty(), owed);
                let container = random.below(self.names.containers.max(1));
                let name = match kind {
                    Kind::Delete => written.pop_front()?,
                    Kind::Write => {
                        *next += 1;
                        Name { container, number: *next, is_prepared: false }
                    }
                    Kind::Read | Kind::List => {
                        let number = random.below(self.names.objects.max(1));
                        Name { container, number, is_prepared: true }
                    }
                };
                Some((kind, name, None))
            }
        }
    }

    fn judge(&self, operation: &Operation) -> Option<String> {
        let status = operation.answer.status;
        if !(200..300).contains(&status) {
            return Some(name_status(status, &String::from_utf8_lossy(&operation.text)));
        }
        match operation.kind {
            Kind::Read if operation.received != operation.size => Some("wrong length".to_owned()),
            Kind::Read if operation.is_wrong => Some("wrong content".to_owned()),
            Kind::List => {
                let names = self.dialect.read_names(&String::from_utf8_lossy(&operation.text)).len() as u64;
                // What was prepared stays, so a page cannot have fewer names.
                (names < self.page.min(self.names.objects)).then(|| "incomplete list".to_owned())
            }
            _ => None,
        }
    }
}

/// A delete that finds nothing becomes a write, and a later write becomes a delete.
fn draw_kind(mix: &Mix, random: &mut Random, is_empty: bool, owed: &mut u64) -> Kind {
    let weights = [(Kind::Read, mix.read), (Kind::Write, mix.write), (Kind::List, mix.list)];
    let mut left = random.fraction() * (mix.read + mix.write + mix.list + mix.delete);
    let drawn = weights.iter().find(|(_, weight)| {
        left -= weight;
        left < 0.0
    });
    match drawn.map_or(Kind::Delete, |(kind, _)| *kind) {
        Kind::Delete if is_empty => {
            *owed += 1;
            Kind::Write
        }
        Kind::Write if *owed > 0 && !is_empty => {
            *owed -= 1;
            Kind::Delete
        }
        kind => kind,
    }
}

impl Load for Work<'_> {
    type Request = Operation;

    fn kinds(&self) -> Vec<&'static str> {
        KINDS.iter().map(|(_, name)| *name).collect()
    }

    fn next(&mut self) -> Option<Operation> {
        let (kind, name, object) = self.choose()?;
        Some(self.operate(kind, name, object))
    }

    fn kind(&self, operation: &Operation) -> usize {
        KINDS.iter().position(|(kind, _)| *kind == operation.kind).unwrap_or_default()
    }

    fn fill(&mut self, operation: &mut Operation, out: &mut Vec<u8>) {
        if !operation.is_asked {
            operation.is_asked = true;
            let container = self.names.container(operation.name.container);
            let object = operation.object.clone().unwrap_or_else(|| self.names.object(operation.name));
            let head = match operation.kind {
                Kind::Read => self.dialect.head(Verb::Get, &container, Some(&object)),
                Kind::Write => self.dialect.head(Verb::Put(operation.size), &container, Some(&object)),
                Kind::Delete => self.dialect.head(Verb::Delete, &container, Some(&object)),
                Kind::List => self.dialect.head(Verb::List(self.page, ""), &container, None),
            };
            out.extend_from_slice(head.as_bytes());
        }
        if operation.kind == Kind::Write && operation.sent < operation.size {
            let left = usize::try_from(operation.size - operation.sent).unwrap_or(usize::MAX);
            let (before, length) = (out.len(), left.min(PIECE));
            out.resize(before + length, 0);
            content::fill(operation.key, operation.sent, out.get_mut(before..).unwrap_or_default());
            operation.sent += length as u64;
        }
    }

    fn take(&mut self, operation: &mut Operation, bytes: &[u8]) -> Option<Ending> {
        let Operation { kind, key, received, is_wrong, text, answer, .. } = operation;
        let done = answer.take(bytes, &mut |status, part| {
            if *kind == Kind::Read && status < 300 {
                *is_wrong |= !content::is_right(*key, *received, part);
            } else if text.len() < MOST_TEXT {
                text.extend_from_slice(part);
            }
            *received += part.len() as u64;
        });
        match done {
            Err(cause) => Some(Ending::failed(cause)),
            Ok(false) => None,
            Ok(true) => Some(Ending {
                failure: self.judge(operation),
                bytes: operation.sent.max(if operation.kind == Kind::Read { operation.received } else { 0 }),
                keeps_open: operation.answer.keeps_open,
            }),
        }
    }

    fn close(&mut self, operation: &mut Operation) -> Ending {
        if operation.answer.ends_when_closed() {
            return Ending { failure: self.judge(operation), bytes: operation.received, keeps_open: false };
        }
        Ending::failed("connection closed")
    }

    fn finish(&mut self, operation: Operation, well: bool) {
        if let Plan::Mix { written, .. } = &mut self.plan {
            if well && operation.kind == Kind::Write {
                written.push_back(operation.name);
            }
        }
    }
}
