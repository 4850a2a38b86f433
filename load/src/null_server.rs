//! `steelyard-load null-server`: answers everything with the same few bytes, to know what a driver can do.

use std::collections::HashMap;
use std::io::{ErrorKind, Read, Write};

use mio::net::{TcpListener, TcpStream};
use mio::{Events, Interest, Poll, Token};

const ANSWER: &[u8] = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok";
const DOOR: Token = Token(0);

/// Serve at ADDRESS:PORT until it is ended; port 0 takes any. Says where, on a line.
pub fn serve(at: &str) -> Result<(), String> {
    serve_all(at).map_err(|error| format!("cannot serve at {at}: {error}"))
}

fn serve_all(at: &str) -> std::io::Result<()> {
    let mut listener = TcpListener::bind(at.parse().map_err(std::io::Error::other)?)?;
    let mut out = std::io::stdout();
    writeln!(out, "{}", listener.local_addr()?)?;
    out.flush()?;
    let (mut poll, mut events) = (Poll::new()?, Events::with_capacity(1024));
    poll.registry().register(&mut listener, DOOR, Interest::READABLE)?;
    let mut guests: HashMap<usize, TcpStream> = HashMap::new();
    let mut buffer = vec![0; 64 << 10];
    let mut number = 0;
    loop {
        poll.poll(&mut events, None).or_else(|error| match error.kind() {
            ErrorKind::Interrupted => Ok(()),
            _ => Err(error),
        })?;
        for event in &events {
            if event.token() == DOOR {
                while let Ok((mut guest, _)) = listener.accept() {
                    number += 1;
                    guest.set_nodelay(true)?;
                    poll.registry().register(&mut guest, Token(number), Interest::READABLE)?;
                    guests.insert(number, guest);
                }
                continue;
            }
            let key = event.token().0;
            if guests.get_mut(&key).is_some_and(|guest| !answer(guest, &mut buffer)) {
                guests.remove(&key);
            }
        }
    }
}

/// Answer each head that has come; false when the guest has gone.
fn answer(guest: &mut TcpStream, buffer: &mut [u8]) -> bool {
    loop {
        match guest.read(buffer) {
            Ok(0) => return false,
            Ok(count) => {
                let asked = buffer.get(..count).unwrap_or_default();
                let heads = asked.windows(4).filter(|bytes| *bytes == b"\r\n\r\n").count();
                if (0..heads).any(|_| guest.write_all(ANSWER).is_err()) {
                    return false;
                }
                if count < buffer.len() {
                    return true;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => return true,
            Err(_) => return false,
        }
    }
}
