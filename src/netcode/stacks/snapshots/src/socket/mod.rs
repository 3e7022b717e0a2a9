//! Datagrams for the library. Its own ones cannot be used: a client with them asks the host for its address in the internet, which
//! reaches neither loopback nor a network namespace, and the server (of version 0.25.0) does not answer the questions by which a new
//! client learns the server's time.
//!
//! A client first connects by TCP to the address of the server, says who it is, and gets a token. All else are datagrams, whose first
//! has the token. A message on TCP has its length before it, in 2 bytes.

mod client;
mod server;

pub use client::Datagrams;
pub use server::Listener;

use std::io::{self, Read, Write};
use std::net::TcpStream;

/// Length in bytes of the largest datagram that the library sends.
const LARGEST: usize = 1472;

fn write_message(stream: &mut TcpStream, message: &[u8]) -> io::Result<()> {
    let length = u16::try_from(message.len()).map_err(io::Error::other)?;
    stream.write_all(&[&length.to_le_bytes(), message].concat())
}

fn read_message(stream: &mut TcpStream) -> io::Result<Vec<u8>> {
    let mut length = [0; 2];
    stream.read_exact(&mut length)?;
    let mut message = vec![0; u16::from_le_bytes(length).into()];
    stream.read_exact(&mut message)?;
    Ok(message)
}
