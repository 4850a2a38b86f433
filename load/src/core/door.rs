//! Where a server answers, and a connection to it: in plain or by TLS.

use std::io::{self, Read, Write};
use std::net::{SocketAddr, TcpStream as Blocking, ToSocketAddrs};
use std::sync::Arc;
use std::time::Duration;

use mio::net::TcpStream;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::{ClientConfig, ClientConnection, RootCertStore};

/// Where the system keeps the authorities that it trusts: Debian and its kin, Red Hat and its kin.
const TRUSTED: [&str; 2] = ["/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt"];
const REACHED_WITHIN: Duration = Duration::from_secs(10);

pub struct Door {
    host: String,
    port: u16,
    address: SocketAddr,
    tls: Option<(Arc<ClientConfig>, ServerName<'static>)>,
}

impl Door {
    /// Look up where it is. With TLS, believe in `authority` (certificates as PEM), or in those of the system.
    pub fn find(host: &str, port: u16, tls: bool, authority: Option<&str>) -> Result<Self, String> {
        let mut addresses =
            (host, port).to_socket_addrs().map_err(|error| format!("cannot look up {host}: {error}"))?;
        let address = addresses.next().ok_or_else(|| format!("{host} has no address"))?;
        let tls = if tls { Some(prepare_tls(host, authority)?) } else { None };
        Ok(Self { host: host.to_owned(), port, address, tls })
    }

    /// As it stands in the header `Host`.
    pub fn name(&self) -> String {
        if self.host.contains(':') {
            format!("[{}]:{}", self.host, self.port)
        } else {
            format!("{}:{}", self.host, self.port)
        }
    }

    /// A connection that is there, its TLS agreed upon, and that waits for nobody from now on.
    pub fn open(&self) -> Result<Stream, String> {
        self.reach().map_err(|error| format!("cannot reach {}: {error}", self.name()))
    }

    fn reach(&self) -> io::Result<Stream> {
        let mut socket = Blocking::connect_timeout(&self.address, REACHED_WITHIN)?;
        socket.set_nodelay(true)?;
        socket.set_read_timeout(Some(REACHED_WITHIN))?;
        let mut session = self.make_session()?;
        if let Some(session) = &mut session {
            while session.is_handshaking() {
                session.complete_io(&mut socket)?;
            }
        }
        socket.set_nonblocking(true)?;
        Ok(Stream { socket: TcpStream::from_std(socket), session })
    }

    /// A connection that is only on its way.
    pub fn begin(&self) -> io::Result<Stream> {
        let socket = TcpStream::connect(self.address)?;
        Ok(Stream { socket, session: self.make_session()? })
    }

    /// A connection that waits, for a question now and then.
    pub fn open_blocking(&self, patience: Duration) -> Result<Box<dyn ReadWrite>, String> {
        let complain = |error: &dyn std::fmt::Display| format!("cannot reach {}: {error}", self.name());
        let socket =
            Blocking::connect_timeout(&self.address, REACHED_WITHIN).map_err(|error| complain(&error))?;
        socket.set_read_timeout(Some(patience)).map_err(|error| complain(&error))?;
        let session = self.make_session().map_err(|error| complain(&error))?;
        Ok(match session {
            Some(session) => Box::new(rustls::StreamOwned::new(*session, socket)),
            None => Box::new(socket),
        })
    }

    fn make_session(&self) -> io::Result<Option<Box<ClientConnection>>> {
        let Some((config, name)) = &self.tls else { return Ok(None) };
        let session = ClientConnection::new(Arc::clone(config), name.clone()).map_err(io::Error::other)?;
        Ok(Some(Box::new(session)))
    }
}

pub trait ReadWrite: Read + Write {}
impl<T: Read + Write> ReadWrite for T {}

/// A connection that waits for nobody: what cannot be done at once is `WouldBlock`.
pub struct Stream {
    pub socket: TcpStream,
    session: Option<Box<ClientConnection>>,
}

impl Stream {
    pub fn send(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => rustls::Stream::new(session.as_mut(), &mut self.socket).write(bytes),
            None => self.socket.write(bytes),
        }
    }

    /// What TLS still holds back goes out.
    pub fn flush(&mut self) -> io::Result<()> {
        match &mut self.session {
            Some(session) => rustls::Stream::new(session.as_mut(), &mut self.socket).flush(),
            None => Ok(()),
        }
    }

    pub fn receive(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        match &mut self.session {
            Some(session) => rustls::Stream::new(session.as_mut(), &mut self.socket).read(buffer),
            None => self.socket.read(buffer),
        }
    }

    /// Whether a read that did not fill its buffer has emptied the socket.
    pub fn is_plain(&self) -> bool {
        self.session.is_none()
    }
}

fn prepare_tls(
    host: &str,
    authority: Option<&str>,
) -> Result<(Arc<ClientConfig>, ServerName<'static>), String> {
    let name = ServerName::try_from(host.to_owned()).map_err(|error| format!("{host}: {error}"))?;
    let pem = match authority {
        Some(text) => text.as_bytes().to_vec(),
        None => read_trusted()?,
    };
    let mut roots = RootCertStore::empty();
    let certificates = CertificateDer::pem_slice_iter(&pem).filter_map(Result::ok);
    if roots.add_parsable_certificates(certificates).0 == 0 {
        return Err("there is no certificate in what is to be believed".to_owned());
    }
    Ok((Arc::new(ClientConfig::builder().with_root_certificates(roots).with_no_client_auth()), name))
}

fn read_trusted() -> Result<Vec<u8>, String> {
    let found = TRUSTED.iter().find_map(|path| std::fs::read(path).ok());
    found.ok_or_else(|| format!("no authorities to trust: neither {} is there", TRUSTED.join(" nor ")))
}
