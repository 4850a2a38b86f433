//! How an operation is asked for: in S3's words, or in Swift's.

use std::time::Duration;

use serde::Deserialize;

use super::signature::{Signer, EMPTY, UNSIGNED};
use crate::core::door::Door;
use crate::core::http::Answer;

const MOST_SAID: usize = 4 << 20;

#[derive(Clone, Copy, Deserialize, PartialEq)]
#[serde(rename_all = "lowercase")]
pub enum Api {
    S3,
    Swift,
}

/// Who asks, and where the containers lie.
pub struct Dialect {
    host: String,
    access: Access,
}

enum Access {
    S3(Box<Signer>),
    Swift { base: String, token: String },
}

/// What is asked for: a container, or an object in it.
#[derive(Clone, Copy)]
pub enum Verb<'a> {
    Get,
    /// With a body of so many bytes.
    Put(u64),
    Delete,
    /// So many names after this one.
    List(u64, &'a str),
}

impl Dialect {
    pub fn s3(door: &Door, user: String, secret: String, region: String) -> Self {
        Self { host: door.name(), access: Access::S3(Box::new(Signer::new(user, secret, region))) }
    }

    /// Log in as the first version of Swift's authentication has it.
    pub fn swift(
        door: &Door,
        path: &str,
        user: &str,
        secret: &str,
        patience: Duration,
    ) -> Result<Self, String> {
        let head = format!(
            "GET {path} HTTP/1.1\r\nHost: {}\r\nX-Auth-User: {user}\r\nX-Auth-Key: {secret}\r\n\r\n",
            door.name()
        );
        let (answer, _) = ask(door, &head, patience)?;
        let url = answer.header("x-storage-url").filter(|_| answer.status < 300);
        let (Some(url), Some(token)) = (url, answer.header("x-auth-token")) else {
            return Err(format!(
                "{} refuses to log {user} in at {path}: status {}",
                door.name(),
                answer.status
            ));
        };
        let after = url.split_once("://").map_or(url.as_str(), |(_, rest)| rest);
        let base = after.find('/').and_then(|at| after.get(at..)).unwrap_or_default();
        let base = base.trim_end_matches('/').to_owned();
        Ok(Self { host: door.name(), access: Access::Swift { base, token } })
    }

    /// The head of a request; names need no encoding.
    pub fn head(&mut self, verb: Verb<'_>, container: &str, object: Option<&str>) -> String {
        let place = object.map_or_else(|| format!("/{container}"), |name| format!("/{container}/{name}"));
        let method = match verb {
            Verb::Get | Verb::List(..) => "GET",
            Verb::Put(_) => "PUT",
            Verb::Delete => "DELETE",
        };
        let (path, query, access) = match &mut self.access {
            Access::S3(signer) => {
                let query = match verb {
                    Verb::List(count, "") => format!("list-type=2&max-keys={count}"),
                    Verb::List(count, after) => format!("list-type=2&max-keys={count}&start-after={after}"),
                    _ => String::new(),
                };
                let body = if matches!(verb, Verb::Put(_)) && object.is_some() { UNSIGNED } else { EMPTY };
                let signed = signer.sign(method, &self.host, &place, &query, body);
                (place, query, signed)
            }
            Access::Swift { base, token } => {
                let query = match verb {
                    Verb::List(count, after) => format!("limit={count}&marker={after}"),
                    _ => String::new(),
                };
                (format!("{base}{place}"), query, format!("X-Auth-Token: {token}\r\n"))
            }
        };
        let length = match verb {
            Verb::Put(length) => format!("Content-Length: {length}\r\n"),
            _ => String::new(),
        };
        let mark = if query.is_empty() { "" } else { "?" };
        format!("{method} {path}{mark}{query} HTTP/1.1\r\nHost: {}\r\n{access}{length}\r\n", self.host)
    }

    /// The names in a listing.
    pub fn read_names(&self, body: &str) -> Vec<String> {
        match self.access {
            Access::S3(_) => {
                let parts = body.split("<Key>").skip(1);
                parts.filter_map(|part| part.split_once("</Key>")).map(|(name, _)| name.to_owned()).collect()
            }
            Access::Swift { .. } => body.lines().map(str::to_owned).collect(),
        }
    }
}

/// Ask once, and wait for the answer and its body.
pub fn ask(door: &Door, head: &str, patience: Duration) -> Result<(Answer, String), String> {
    let complain = |error: std::io::Error| format!("{} does not answer: {error}", door.name());
    let mut stream = door.open_blocking(patience)?;
    stream.write_all(head.as_bytes()).map_err(complain)?;
    let (mut answer, mut body, mut buffer) = (Answer::default(), Vec::new(), vec![0; 64 << 10]);
    loop {
        let count = stream.read(&mut buffer).map_err(complain)?;
        if count == 0 && !answer.ends_when_closed() {
            return Err(format!("{} closed the connection", door.name()));
        }
        let bytes = buffer.get(..count).unwrap_or_default();
        let done = answer
            .take(bytes, &mut |_, part| body.extend_from_slice(part))
            .map_err(|cause| format!("{}: {cause}", door.name()))?;
        if body.len() > MOST_SAID {
            return Err(format!("{} says more than {MOST_SAID} bytes", door.name()));
        }
        if done || count == 0 {
            return Ok((answer, String::from_utf8_lossy(&body).into_owned()));
        }
    }
}

/// What a server says is wrong: its status, and the code in its answer.
pub fn name_status(status: u16, body: &str) -> String {
    let code =
        body.split_once("<Code>").and_then(|(_, rest)| rest.split_once("</Code>")).map(|(code, _)| code);
    match code.filter(|code| code.len() < 60 && code.chars().all(|letter| letter.is_ascii_alphanumeric())) {
        Some(code) => format!("status {status} {code}"),
        None => format!("status {status}"),
    }
}
