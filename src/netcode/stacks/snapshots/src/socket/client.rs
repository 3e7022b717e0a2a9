//! The socket of a client.

use std::io::{self, ErrorKind};
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream, UdpSocket};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use naia_client::transport::{
    IdentityReceiver, IdentityReceiverResult, PacketReceiver, PacketSender, RecvError, SendError, ServerAddr, Socket,
};

use super::{LARGEST, read_message, write_message};

const PATIENCE: Duration = Duration::from_secs(10);
/// Status of a server that cannot be asked or does not want the client, in the numbers of HTTP, which the library uses. Other
/// numbers are no rejection for the library, and a client would wait for ever.
const REJECTED: u16 = 401;

type Halves = (Box<dyn IdentityReceiver>, Box<dyn PacketSender>, Box<dyn PacketReceiver>);

/// A socket that the library connects.
pub struct Datagrams {
    socket: Arc<UdpSocket>,
    server: SocketAddr,
}

impl Datagrams {
    pub fn new(server: SocketAddr) -> io::Result<Self> {
        let own: SocketAddr =
            if server.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let socket = UdpSocket::bind(own)?;
        socket.connect(server)?;
        socket.set_nonblocking(true)?;
        Ok(Self { socket: Arc::new(socket), server })
    }

    fn halves(self, introduction: Vec<u8>) -> Halves {
        let (token, server) = (Token::default(), self.server);
        let found = token.clone();
        thread::spawn(move || found.put(ask(server, &introduction)));
        let connected = Connected { socket: self.socket, server, buffer: [0; LARGEST] };
        (Box::new(token), Box::new(connected.clone()), Box::new(connected))
    }
}

impl Socket for Datagrams {
    fn connect(self: Box<Self>) -> Halves {
        self.halves(Vec::new())
    }

    fn connect_with_auth(self: Box<Self>, introduction: Vec<u8>) -> Halves {
        self.halves(introduction)
    }

    fn connect_with_auth_headers(self: Box<Self>, _: Vec<(String, String)>) -> Halves {
        self.halves(Vec::new())
    }

    fn connect_with_auth_and_headers(self: Box<Self>, introduction: Vec<u8>, _: Vec<(String, String)>) -> Halves {
        self.halves(introduction)
    }
}

impl From<Datagrams> for Box<dyn Socket> {
    fn from(socket: Datagrams) -> Self {
        Box::new(socket)
    }
}

/// Asks a server for a token.
fn ask(server: SocketAddr, introduction: &[u8]) -> io::Result<String> {
    let mut stream = TcpStream::connect_timeout(&server, PATIENCE)?;
    stream.set_read_timeout(Some(PATIENCE))?;
    write_message(&mut stream, introduction)?;
    String::from_utf8(read_message(&mut stream)?).map_err(io::Error::other)
}

/// The token that the server gives to a client, once it is there.
#[derive(Clone, Default)]
struct Token(Arc<Mutex<Option<io::Result<String>>>>);

impl Token {
    fn put(&self, answer: io::Result<String>) {
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
    }
}

impl IdentityReceiver for Token {
    fn receive(&mut self) -> IdentityReceiverResult {
        match self.0.lock().unwrap_or_else(PoisonError::into_inner).take() {
            None => IdentityReceiverResult::Waiting,
            Some(Ok(token)) if !token.is_empty() => IdentityReceiverResult::Success(token),
            Some(_) => IdentityReceiverResult::ErrorResponseCode(REJECTED),
        }
    }
}

#[derive(Clone)]
struct Connected {
    socket: Arc<UdpSocket>,
    server: SocketAddr,
    buffer: [u8; LARGEST],
}

impl PacketSender for Connected {
    fn send(&self, payload: &[u8]) -> Result<(), SendError> {
        // A datagram that the kernel has no room for is lost, as one in the network would be.
        match self.socket.send(payload) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(SendError),
            _ => Ok(()),
        }
    }

    fn server_addr(&self) -> ServerAddr {
        ServerAddr::Found(self.server)
    }
}

impl PacketReceiver for Connected {
    fn receive(&mut self) -> Result<Option<&[u8]>, RecvError> {
        match self.socket.recv(&mut self.buffer) {
            Ok(length) => Ok(Some(&self.buffer[..length])),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(_) => Err(RecvError),
        }
    }

    fn server_addr(&self) -> ServerAddr {
        ServerAddr::Found(self.server)
    }
}
