//! One connection and the request under way on it.

use std::io::ErrorKind;

use super::door::Stream;

/// What a driver sends, and how it reads the answers. One answer follows one request; nothing is pipelined.
pub trait Load {
    type Request;

    /// The names of what is sent.
    fn kinds(&self) -> Vec<&'static str>;

    /// What is sent next; None where there is no more.
    fn next(&mut self) -> Option<Self::Request>;

    /// Which of the kinds it is.
    fn kind(&self, request: &Self::Request) -> usize;

    /// Append more of what is to be sent, in pieces of any size; nothing when that was all.
    fn fill(&mut self, request: &mut Self::Request, out: &mut Vec<u8>);

    /// The next bytes of the answer.
    fn take(&mut self, request: &mut Self::Request, bytes: &[u8]) -> Option<Ending>;

    /// The server has closed the connection.
    fn close(&mut self, request: &mut Self::Request) -> Ending;

    /// It has ended, well or not.
    fn finish(&mut self, _request: Self::Request, _well: bool) {}
}

/// How a request ended: `failure` is its cause, `bytes` what was carried either way.
pub struct Ending {
    pub failure: Option<String>,
    pub bytes: u64,
    pub keeps_open: bool,
}

impl Ending {
    pub fn failed(cause: impl Into<String>) -> Self {
        Self { failure: Some(cause.into()), bytes: 0, keeps_open: false }
    }
}

/// A request under way, with when it was due and when it was sent.
pub struct Active<R> {
    pub request: R,
    pub due: u64,
    pub sent: u64,
    is_written: bool,
}

pub struct Slot<R> {
    pub stream: Option<Stream>,
    pub active: Option<Active<R>>,
    pub free_since: u64,
    out: Vec<u8>,
    gone: usize,
}

impl<R> Slot<R> {
    pub fn new(stream: Stream) -> Self {
        Self { stream: Some(stream), active: None, free_since: 0, out: Vec::new(), gone: 0 }
    }

    pub fn begin(&mut self, request: R, due: u64, sent: u64) {
        self.out.clear();
        self.gone = 0;
        self.active = Some(Active { request, due, sent, is_written: false });
    }

    /// Send and receive as much as can be; how the request ended, if it did.
    pub fn pump<L: Load<Request = R>>(&mut self, load: &mut L, buffer: &mut [u8]) -> Option<Ending> {
        let stream = self.stream.as_mut()?;
        let Some(active) = &mut self.active else {
            // Nobody asked: the server closes, or breaks the rules.
            let is_quiet =
                matches!(stream.receive(buffer), Err(error) if error.kind() == ErrorKind::WouldBlock);
            if !is_quiet {
                self.stream = None;
            }
            return None;
        };
        if !active.is_written {
            match write(stream, &mut self.out, &mut self.gone, |out| load.fill(&mut active.request, out)) {
                Ok(written) => active.is_written = written,
                // It may have answered before it closed; then the answer says why.
                Err(cause) => {
                    return read(stream, buffer, load, &mut active.request).or(Some(Ending::failed(cause)))
                }
            }
        } else if stream.flush().is_err() {
            return Some(Ending::failed("connection broken"));
        }
        let mut ending = read(stream, buffer, load, &mut active.request)?;
        ending.keeps_open &= active.is_written;
        Some(ending)
    }
}

/// Send until the socket is full, or all is sent, which is true.
fn write(
    stream: &mut Stream,
    out: &mut Vec<u8>,
    gone: &mut usize,
    mut fill: impl FnMut(&mut Vec<u8>),
) -> Result<bool, String> {
    loop {
        if *gone == out.len() {
            out.clear();
            *gone = 0;
            fill(out);
            if out.is_empty() {
                return Ok(true);
            }
        }
        match stream.send(out.get(*gone..).unwrap_or_default()) {
            Ok(count) => *gone += count,
            Err(error) if is_later(error.kind()) => return Ok(false),
            Err(error) => return Err(name_cause(&error)),
        }
    }
}

fn read<L: Load>(
    stream: &mut Stream,
    buffer: &mut [u8],
    load: &mut L,
    request: &mut L::Request,
) -> Option<Ending> {
    loop {
        match stream.receive(buffer) {
            Ok(0) => return Some(load.close(request)),
            Ok(count) => {
                let ending = load.take(request, buffer.get(..count).unwrap_or_default());
                if ending.is_some() {
                    return ending;
                }
                if stream.is_plain() && count < buffer.len() {
                    return None;
                }
            }
            Err(error) if is_later(error.kind()) => return None,
            Err(error) => return Some(Ending::failed(name_cause(&error))),
        }
    }
}

fn is_later(kind: ErrorKind) -> bool {
    matches!(kind, ErrorKind::WouldBlock | ErrorKind::NotConnected | ErrorKind::Interrupted)
}

fn name_cause(error: &std::io::Error) -> String {
    match error.kind() {
        ErrorKind::ConnectionRefused => "connection refused".to_owned(),
        ErrorKind::ConnectionReset | ErrorKind::BrokenPipe => "connection broken".to_owned(),
        ErrorKind::UnexpectedEof => "connection closed".to_owned(),
        _ => error.to_string(),
    }
}
