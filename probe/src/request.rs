//! What a controller may ask for, taken out of the words of a line and checked.

use std::ffi::CString;
use std::str::FromStr;
use std::time::Duration;

use crate::wire::{is_bare, Word};

/// Events that name a child stay shorter than 512 bytes.
const ID_LIMIT: usize = 200;

/// A request, as in docs/reference/agent-protocol.md.
#[derive(Debug, PartialEq, Eq)]
pub enum Request {
    Beat,
    Clock,
    Read(Vec<Word>),
    Do { id: String, time: Duration, words: Vec<CString> },
    Fetch(String),
    Start(Start),
    Kill { id: String, grace: Duration },
    Write { path: Word, content: Word },
    Desk(Word),
    Scratch { path: Word, mark: Word },
    Remove { id: String, time: Duration, path: Word },
    Restore { path: Word, value: Word },
    Become(CString),
}

/// A program to be started.
#[derive(Debug, PartialEq, Eq)]
pub struct Start {
    pub id: String,
    pub at: Option<i64>,
    pub directory: CString,
    pub stdin: CString,
    pub stdout: CString,
    pub stderr: CString,
    pub variables: Vec<CString>,
    pub words: Vec<CString>,
}

/// Why a request cannot be understood, as the text of a reply with code 2.
type Reason = String;

impl Request {
    /// Understand a request.
    pub fn parse(words: Vec<Word>) -> Result<Self, Reason> {
        let mut words = Words(words.into_iter());
        let verb = words.next("request")?;
        let request = match verb.as_slice() {
            b"beat" => Self::Beat,
            b"clock" => Self::Clock,
            b"read" => Self::Read(words.0.by_ref().collect()),
            b"do" => words.script()?,
            b"fetch" => Self::Fetch(words.id()?),
            b"start" => Self::Start(words.start()?),
            b"kill" => Self::Kill { id: words.id()?, grace: words.seconds("GRACE")? },
            b"write" => Self::Write { path: words.path()?, content: words.next("CONTENT")? },
            b"desk" => Self::Desk(words.mark()?),
            b"scratch" => Self::Scratch { path: words.path()?, mark: words.mark()? },
            b"remove" => {
                Self::Remove { id: words.id()?, time: words.seconds("SECONDS")?, path: words.path()? }
            }
            b"restore" => Self::Restore { path: words.path()?, value: words.next("VALUE")? },
            b"become" => Self::Become(words.text("PATH")?),
            _ => return Err(format!("unknown request {}", show(&verb))),
        };
        match words.0.next() {
            None => Ok(request),
            Some(more) => Err(format!("{} does not take {}", show(&verb), show(&more))),
        }
    }
}

/// The words that are still to be understood.
struct Words(std::vec::IntoIter<Word>);

impl Words {
    fn next(&mut self, name: &str) -> Result<Word, Reason> {
        self.0.next().ok_or_else(|| format!("{name} is missing"))
    }

    fn text(&mut self, name: &str) -> Result<CString, Reason> {
        CString::new(self.next(name)?).map_err(|_| format!("{name} holds a NUL"))
    }

    fn rest(&mut self) -> Result<Vec<CString>, Reason> {
        let words = self.0.by_ref().map(CString::new);
        words.collect::<Result<_, _>>().map_err(|_| "a word holds a NUL".into())
    }

    fn id(&mut self) -> Result<String, Reason> {
        let word = self.next("ID")?;
        let plain = !word.is_empty() && word.len() <= ID_LIMIT && word.iter().all(|&byte| is_bare(byte));
        let text = String::from_utf8(word).map_err(|_| "ID is no text".to_string())?;
        plain.then_some(text).ok_or_else(|| format!("ID is not 1 to {ID_LIMIT} plain letters and digits"))
    }

    fn path(&mut self) -> Result<Word, Reason> {
        let word = self.next("PATH")?;
        if word.starts_with(b"/") {
            Ok(word)
        } else {
            Err(format!("{} does not begin with /", show(&word)))
        }
    }

    fn mark(&mut self) -> Result<Word, Reason> {
        let word = self.next("MARK")?;
        let plain = !word.is_empty() && word.iter().all(|&byte| is_bare(byte));
        plain.then_some(word).ok_or_else(|| "MARK is not made of plain letters and digits".into())
    }

    fn number<T: FromStr>(&mut self, name: &str) -> Result<T, Reason> {
        let word = self.next(name)?;
        let number = std::str::from_utf8(&word).ok().and_then(|text| text.parse().ok());
        number.ok_or_else(|| format!("{name} is no number: {}", show(&word)))
    }

    fn seconds(&mut self, name: &str) -> Result<Duration, Reason> {
        let seconds = self.number::<f64>(name)?;
        duration(seconds).ok_or_else(|| format!("{name} is no time: {seconds}"))
    }

    fn script(&mut self) -> Result<Request, Reason> {
        let (id, time) = (self.id()?, self.seconds("SECONDS")?);
        let mut words = vec![c"sh".into(), c"-c".into(), self.text("SCRIPT")?, c"sh".into()];
        words.extend(self.rest()?);
        Ok(Request::Do { id, time, words })
    }

    fn start(&mut self) -> Result<Start, Reason> {
        let id = self.id()?;
        let at = self.instant()?;
        let directory = self.text("CWD")?;
        let [stdin, stdout, stderr] = [self.text("STDIN")?, self.text("STDOUT")?, self.text("STDERR")?];
        let variables = self.variables()?;
        let words = self.rest()?;
        if words.is_empty() {
            return Err("PROGRAM is missing".into());
        }
        Ok(Start { id, at, directory, stdin, stdout, stderr, variables, words })
    }

    fn instant(&mut self) -> Result<Option<i64>, Reason> {
        if self.0.as_slice().first().is_some_and(|word| word == b"-") {
            self.0.next();
            return Ok(None);
        }
        let at = self.number::<i64>("AT")?;
        (at >= 0).then_some(Some(at)).ok_or_else(|| format!("AT is no instant: {at}"))
    }

    fn variables(&mut self) -> Result<Vec<CString>, Reason> {
        let count = self.number::<usize>("ENVS")?;
        let mut found = Vec::new();
        for _ in 0..count {
            let variable = self.text("VAR=VALUE")?;
            if variable.as_bytes().iter().skip(1).all(|&byte| byte != b'=') {
                return Err(format!("not VAR=VALUE: {}", show(variable.as_bytes())));
            }
            found.push(variable);
        }
        Ok(found)
    }
}

/// A time in seconds, 0 or more; at most a century, so that it can be added to any instant.
pub fn duration(seconds: f64) -> Option<Duration> {
    (seconds >= 0.0).then(|| Duration::from_secs_f64(seconds.min(3e9)))
}

fn show(word: &[u8]) -> String {
    word.escape_ascii().take(100).map(char::from).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::words;

    fn parse(line: &str) -> Result<Request, Reason> {
        Request::parse(words(line.as_bytes()).unwrap())
    }

    #[test]
    fn a_start_in_full() {
        let line = "start 7 1795000000000000000 /tmp - /o /o 2 A=1 'B=x y' sh -c 'true \'\\'\' '";
        let Ok(Request::Start(start)) = parse(line) else {
            panic!("{:?}", parse(line));
        };
        assert_eq!((start.id.as_str(), start.at), ("7", Some(1_795_000_000_000_000_000)));
        assert_eq!(start.variables, [c"A=1".into(), CString::from(c"B=x y")]);
        assert_eq!(start.words.last().unwrap().as_c_str(), c"true ' ");
    }

    #[test]
    fn what_makes_no_sense_is_told() {
        for line in [
            "sing",
            "clock now",
            "fetch",
            "fetch ''",
            "fetch 'a b'",
            "kill 1",
            "kill 1 soon",
            "kill 1 -1",
            "kill 1 NaN",
            "scratch here run:1",
            "scratch /here",
            "scratch /here ''",
            "desk",
            "remove 1 /here",
            "write here x",
            "restore here x",
            "restore /here",
            "write /here",
            "become",
            "do 1",
            "do 1 5",
            "start 1",
            "start 1 - / - - - 0",
            "start 1 - / - - - 1 true",
            "start 1 - / - - - 9 A=1 true",
            "start 1 -5 / - - - 0 true",
            "start 1 x / - - - 0 true",
            "start 1 - / - - - 1 =A true",
            "''",
        ] {
            assert!(parse(line).is_err(), "{line}");
        }
        assert!(parse(&format!("fetch {}", "x".repeat(201))).is_err());
    }

    #[test]
    fn times() {
        assert_eq!(
            parse("kill 1 0.5"),
            Ok(Request::Kill { id: "1".into(), grace: Duration::from_millis(500) })
        );
        assert_eq!(parse("kill 1 inf").map(|_| ()), Ok(()));
    }
}
