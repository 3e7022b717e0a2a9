//! The socket of a server.

use std::collections::HashMap;
use std::io::{self, ErrorKind};
use std::net::{SocketAddr, TcpListener, TcpStream, UdpSocket};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use naia_server::transport::{
    AuthReceiver, AuthSender, ListenResult, PacketReceiver, PacketSender, RecvError, SendError, Socket,
};

use super::{LARGEST, read_message, write_message};

/// Time that a client has to say who it is.
const PATIENCE: Duration = Duration::from_secs(2);

/// The clients that have said who they are and wait for a token, by their address.
type Waiting = Arc<Mutex<HashMap<SocketAddr, TcpStream>>>;

/// The address of a client, and what it says about itself.
type Introduction = (SocketAddr, Vec<u8>);

/// A socket on which a server listens.
pub struct Listener {
    tokens: TcpListener,
    datagrams: Arc<UdpSocket>,
}

impl Listener {
    /// Takes an address for TCP and for datagrams.
    pub fn new(address: SocketAddr) -> io::Result<Self> {
        let (tokens, datagrams) = (TcpListener::bind(address)?, UdpSocket::bind(address)?);
        datagrams.set_nonblocking(true)?;
        Ok(Self { tokens, datagrams: Arc::new(datagrams) })
    }
}

impl Socket for Listener {
    fn listen(self: Box<Self>) -> ListenResult {
        let waiting = Waiting::default();
        let (sender, introduced) = channel();
        let (tokens, known) = (self.tokens, Arc::clone(&waiting));
        thread::spawn(move || introduce(&tokens, &known, &sender));
        let introduced = Introduced { introduced: Arc::new(Mutex::new(introduced)), last: Vec::new() };
        let datagrams = Datagrams { socket: self.datagrams, buffer: [0; LARGEST] };
        (Box::new(Tokens(waiting)), Box::new(introduced), Box::new(datagrams.clone()), Box::new(datagrams))
    }
}

impl From<Listener> for Box<dyn Socket> {
    fn from(listener: Listener) -> Self {
        Box::new(listener)
    }
}

/// Lets clients say who they are, one after another, until the server has ended.
fn introduce(tokens: &TcpListener, waiting: &Waiting, sender: &Sender<Introduction>) {
    while let Ok((mut stream, address)) = tokens.accept() {
        let introduction = stream.set_read_timeout(Some(PATIENCE)).and_then(|()| read_message(&mut stream));
        // A client that does not say who it is gets no answer.
        let Ok(introduction) = introduction else { continue };
        waiting.lock().unwrap_or_else(PoisonError::into_inner).insert(address, stream);
        if sender.send((address, introduction)).is_err() {
            return;
        }
    }
}

struct Tokens(Waiting);

impl Tokens {
    fn answer(&self, address: SocketAddr, token: &str) -> Result<(), SendError> {
        let stream = self.0.lock().unwrap_or_else(PoisonError::into_inner).remove(&address);
        stream.ok_or(SendError).and_then(|mut stream| write_message(&mut stream, token.as_bytes()).map_err(|_| SendError))
    }
}

impl AuthSender for Tokens {
    fn accept(&self, address: &SocketAddr, token: &String) -> Result<(), SendError> {
        self.answer(*address, token)
    }

    fn reject(&self, address: &SocketAddr) -> Result<(), SendError> {
        self.answer(*address, "")
    }
}

#[derive(Clone)]
struct Introduced {
    introduced: Arc<Mutex<Receiver<Introduction>>>,
    last: Vec<u8>,
}

impl AuthReceiver for Introduced {
    fn receive(&mut self) -> Result<Option<(SocketAddr, &[u8])>, RecvError> {
        let next = self.introduced.lock().unwrap_or_else(PoisonError::into_inner).try_recv();
        Ok(next.ok().map(|(address, introduction)| {
            self.last = introduction;
            (address, self.last.as_slice())
        }))
    }
}

#[derive(Clone)]
struct Datagrams {
    socket: Arc<UdpSocket>,
    buffer: [u8; LARGEST],
}

impl PacketSender for Datagrams {
    fn send(&self, address: &SocketAddr, payload: &[u8]) -> Result<(), SendError> {
        // A datagram that the kernel has no room for is lost, as one in the network would be.
        match self.socket.send_to(payload, address) {
            Err(error) if error.kind() != ErrorKind::WouldBlock => Err(SendError),
            _ => Ok(()),
        }
    }
}

impl PacketReceiver for Datagrams {
    fn receive(&mut self) -> Result<Option<(SocketAddr, &[u8])>, RecvError> {
        match self.socket.recv_from(&mut self.buffer) {
            Ok((length, address)) => Ok(Some((address, &self.buffer[..length]))),
            Err(error) if error.kind() == ErrorKind::WouldBlock => Ok(None),
            Err(_) => Err(RecvError),
        }
    }
}
