//! The stack `quic`: changes of the world over QUIC, in one stream for each player.

use std::io;
use std::net::{Ipv4Addr, Ipv6Addr, SocketAddr};

use netcode::sync::{Link, Synchronised, Transport};
use quinn::{Connection, Endpoint, Incoming, RecvStream, SendStream, ServerConfig};
use rustls::pki_types::{PrivateKeyDer, PrivatePkcs8KeyDer};
use tokio::task::JoinSet;

mod trust;

/// The stack.
pub const STACK: Synchronised<Quic> = Synchronised(Quic);
const NAME: &str = "server";

#[derive(Clone, Copy, Debug)]
pub struct Quic;

impl Transport for Quic {
    const NAME: &'static str = "quic";
    const ABOUT: &'static str = "state synchronisation over QUIC, one stream for each player (quinn 0.11.12)";
    type Listener = Connections;

    async fn bind(&self, address: SocketAddr) -> io::Result<Connections> {
        let made = rcgen::generate_simple_self_signed(vec![NAME.into()]).map_err(io::Error::other)?;
        let key = PrivateKeyDer::Pkcs8(PrivatePkcs8KeyDer::from(made.signing_key.serialize_der()));
        let config = ServerConfig::with_single_cert(vec![made.cert.der().clone()], key).map_err(io::Error::other)?;
        Ok(Connections { endpoint: Endpoint::server(config, address)?, handshakes: JoinSet::new() })
    }

    async fn accept(&self, listener: &mut Connections) -> io::Result<Link> {
        loop {
            tokio::select! {
                incoming = listener.endpoint.accept() => {
                    let incoming = incoming.ok_or_else(|| io::Error::other("the endpoint is closed"))?;
                    listener.handshakes.spawn(handshake(incoming));
                }
                Some(made) = listener.handshakes.join_next() => {
                    // A client that does not complete the handshake is no player.
                    if let Ok(Some(made)) = made {
                        return Ok(made);
                    }
                }
            }
        }
    }

    async fn connect(&self, server: SocketAddr) -> io::Result<Link> {
        let own = if server.is_ipv4() { (Ipv4Addr::UNSPECIFIED, 0).into() } else { (Ipv6Addr::UNSPECIFIED, 0).into() };
        let mut endpoint = Endpoint::client(own)?;
        endpoint.set_default_client_config(trust::config()?);
        let connection = endpoint.connect(server, NAME).map_err(io::Error::other)?.await.map_err(io::Error::other)?;
        let (write, read) = connection.open_bi().await.map_err(io::Error::other)?;
        Ok(link(connection, read, write, Some(endpoint)))
    }
}

/// The clients of a server. Their handshakes go on at the same time, because some take longer than others.
pub struct Connections {
    endpoint: Endpoint,
    handshakes: JoinSet<Option<Link>>,
}

async fn handshake(incoming: Incoming) -> Option<Link> {
    let connection = incoming.await.ok()?;
    let (write, read) = connection.accept_bi().await.ok()?;
    Some(link(connection, read, write, None))
}

fn link(connection: Connection, read: RecvStream, write: SendStream, endpoint: Option<Endpoint>) -> Link {
    let asked = connection.clone();
    let rtt_ns = move || u64::try_from(asked.rtt().as_nanos()).ok();
    Link { read: Box::new(read), write: Box::new(write), rtt_ns: Box::new(rtt_ns), keep: Box::new((connection, endpoint)) }
}
