//! An answer of HTTP/1.1, as its bytes come.

const MOST_HEAD: usize = 64 << 10;
const MOST_LINE: usize = 1 << 10;

#[derive(Default)]
pub struct Answer {
    head: Vec<u8>,
    framing: Option<Framing>,
    pub status: u16,
    pub keeps_open: bool,
}

enum Framing {
    Length(u64),
    Chunked(Chunk),
    UntilClosed,
}

enum Chunk {
    Size(Vec<u8>),
    Data(u64),
    DataEnd(Vec<u8>),
    Trailer(Vec<u8>),
}

impl Answer {
    /// More of it; `sink` is handed what belongs to the body. True when it is complete.
    pub fn take(&mut self, bytes: &[u8], sink: &mut dyn FnMut(u16, &[u8])) -> Result<bool, String> {
        if self.framing.is_some() {
            return self.take_body(bytes, sink);
        }
        let before = self.head.len();
        self.head.extend_from_slice(bytes);
        let Some(length) = self.parse_head()? else {
            return if self.head.len() > MOST_HEAD { Err(malformed("endless head")) } else { Ok(false) };
        };
        self.head.truncate(length);
        self.take_body(bytes.get(length.saturating_sub(before)..).unwrap_or_default(), sink)
    }

    /// Whether the end of the connection is the end of the answer.
    pub fn ends_when_closed(&self) -> bool {
        matches!(self.framing, Some(Framing::UntilClosed))
    }

    /// A header's value; only of an answer whose head is complete.
    pub fn header(&self, name: &str) -> Option<String> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        response.parse(&self.head).ok()?;
        let header = response.headers.iter().find(|header| header.name.eq_ignore_ascii_case(name))?;
        Some(String::from_utf8_lossy(header.value).into_owned())
    }

    /// How long the head is, when it is complete.
    fn parse_head(&mut self) -> Result<Option<usize>, String> {
        let mut headers = [httparse::EMPTY_HEADER; 64];
        let mut response = httparse::Response::new(&mut headers);
        let parsed = response.parse(&self.head).map_err(|error| malformed(&error.to_string()))?;
        let httparse::Status::Complete(length) = parsed else { return Ok(None) };
        self.status = response.code.unwrap_or_default();
        self.keeps_open = response.version == Some(1);
        let mut framing = Framing::UntilClosed;
        for header in response.headers.iter() {
            if header.name.eq_ignore_ascii_case("content-length") {
                let text = std::str::from_utf8(header.value).unwrap_or_default().trim();
                framing = Framing::Length(text.parse().map_err(|_| malformed("content-length"))?);
            } else if header.name.eq_ignore_ascii_case("transfer-encoding") {
                framing = Framing::Chunked(Chunk::Size(Vec::new()));
                break;
            }
        }
        for header in response.headers.iter().filter(|one| one.name.eq_ignore_ascii_case("connection")) {
            self.keeps_open &= !header.value.eq_ignore_ascii_case(b"close");
        }
        if matches!(self.status, 204 | 304) {
            framing = Framing::Length(0);
        }
        self.keeps_open &= !matches!(framing, Framing::UntilClosed);
        self.framing = Some(framing);
        Ok(Some(length))
    }

    fn take_body(&mut self, bytes: &[u8], sink: &mut dyn FnMut(u16, &[u8])) -> Result<bool, String> {
        let status = self.status;
        match &mut self.framing {
            Some(Framing::Length(left)) => {
                let length = u64::try_from(bytes.len()).unwrap_or(u64::MAX);
                if length > *left {
                    return Err(malformed("it goes on after its end"));
                }
                *left -= length;
                sink(status, bytes);
                Ok(*left == 0)
            }
            Some(Framing::Chunked(chunk)) => take_chunks(chunk, bytes, status, sink),
            Some(Framing::UntilClosed) => {
                sink(status, bytes);
                Ok(false)
            }
            None => Ok(false),
        }
    }
}

fn take_chunks(
    chunk: &mut Chunk,
    mut bytes: &[u8],
    status: u16,
    sink: &mut dyn FnMut(u16, &[u8]),
) -> Result<bool, String> {
    while !bytes.is_empty() {
        match chunk {
            Chunk::Data(left) => {
                let length = usize::try_from(*left).unwrap_or(usize::MAX).min(bytes.len());
                let (data, rest) = bytes.split_at(length);
                sink(status, data);
                bytes = rest;
                *left -= length as u64;
                if *left == 0 {
                    *chunk = Chunk::DataEnd(Vec::new());
                }
            }
            Chunk::Size(line) | Chunk::DataEnd(line) | Chunk::Trailer(line) => {
                let Some(whole) = take_line(line, &mut bytes)? else { return Ok(false) };
                match chunk {
                    Chunk::Size(_) => {
                        let size = whole.split(';').next().unwrap_or_default().trim();
                        let size = u64::from_str_radix(size, 16).map_err(|_| malformed("size of a chunk"))?;
                        *chunk = if size == 0 { Chunk::Trailer(Vec::new()) } else { Chunk::Data(size) };
                    }
                    Chunk::Trailer(_) if whole.is_empty() => return Ok(true),
                    Chunk::Trailer(_) => *chunk = Chunk::Trailer(Vec::new()),
                    _ => *chunk = Chunk::Size(Vec::new()),
                }
            }
        }
    }
    Ok(false)
}

/// A line without its end, once that is there.
fn take_line(line: &mut Vec<u8>, bytes: &mut &[u8]) -> Result<Option<String>, String> {
    let end = bytes.iter().position(|&byte| byte == b'\n');
    let (part, rest) = bytes.split_at(end.map_or(bytes.len(), |at| at + 1));
    line.extend_from_slice(part);
    *bytes = rest;
    if line.len() > MOST_LINE {
        return Err(malformed("endless line"));
    }
    Ok(end.map(|_| String::from_utf8_lossy(line).trim_end().to_owned()))
}

fn malformed(what: &str) -> String {
    format!("malformed answer: {what}")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn read(text: &[u8], step: usize) -> Result<(bool, u16, Vec<u8>), String> {
        let (mut answer, mut body, mut done) = (Answer::default(), Vec::new(), false);
        for part in text.chunks(step) {
            done = answer.take(part, &mut |_, bytes| body.extend_from_slice(bytes))?;
        }
        Ok((done, answer.status, body))
    }

    #[test]
    fn a_body_is_what_its_framing_says_however_it_comes() {
        let length = b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello";
        let chunked = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3;x\r\nhel\r\n2\r\nlo\r\n0\r\na: b\r\n\r\n";
        for text in [&length[..], &chunked[..]] {
            for step in 1..text.len() + 1 {
                assert_eq!(read(text, step), Ok((true, 200, b"hello".to_vec())));
            }
        }
        assert_eq!(read(b"HTTP/1.1 204 No\r\n\r\n", 99), Ok((true, 204, Vec::new())));
    }

    #[test]
    fn what_is_no_answer_is_told() {
        assert!(read(b"SSH-2.0-x\r\n\r\n", 99).is_err());
        assert!(read(b"HTTP/1.1 200 OK\r\nContent-Length: 1\r\n\r\nab", 99).is_err());
        assert!(read(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n", 99).is_err());
        assert_eq!(
            read(b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell", 3).map(|(done, ..)| done),
            Ok(false)
        );
    }
}
