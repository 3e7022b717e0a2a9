//! The clients of a process, which one loop serves in turn.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::time::Duration;

use naia_client::shared::Instant;
use naia_client::shared::default_channels::{OrderedReliableChannel, UnorderedReliableChannel, UnorderedUnreliableChannel};
use naia_client::{
    Client, ClientConfig, ClientTickEvent, DespawnEntityEvent, DisconnectEvent, InsertComponentEvent, MessageEvent, RejectEvent,
    ServerTickEvent, UpdateComponentEvent,
};
use netcode::{Change, Request, Session, Update, now_ns, sleep_until};

use crate::protocol::{Act, Answer, Ask, Join, Mark, Thing, protocol};
use crate::socket::Datagrams;
use crate::store::{Entity, Store};

/// Time between two looks at all clients.
const LOOK_NS: u64 = 1_000_000;
/// Time between two pings while a client connects.
const HANDSHAKE: Duration = Duration::from_millis(50);
/// Time between two looks at the library's round-trip time.
const RTT_NS: u64 = 500_000_000;

struct Player {
    session: Session,
    client: Client<Entity>,
    store: Store,
    /// Numbers of the records of entities.
    records: HashMap<Entity, u32>,
    /// The newest update.
    mark: (u32, u64),
    is_connecting: bool,
    next_rtt_ns: u64,
}

pub fn play(server: SocketAddr, sessions: Vec<Session>) -> io::Result<Vec<Session>> {
    let mut players: Vec<Player> = sessions.into_iter().map(Player::new).collect();
    let mut look_ns = now_ns();
    while !players.iter().all(|player| player.session.is_finished()) {
        for player in &mut players {
            let looked = player.look(server);
            looked.map_err(|error| io::Error::other(format!("player {} was lost: {error}", player.session.name)))?;
        }
        look_ns = now_ns().max(look_ns + LOOK_NS);
        sleep_until(look_ns);
    }
    for player in &mut players {
        player.client.disconnect();
        player.client.send_all_packets(&player.store);
    }
    Ok(players.into_iter().map(|player| player.session).collect())
}

impl Player {
    fn new(session: Session) -> Self {
        // The library waits for the answers of ten pings before a client is connected.
        let config = ClientConfig { send_handshake_interval: HANDSHAKE, ..ClientConfig::default() };
        let client = Client::new(config, protocol());
        Self {
            session,
            client,
            store: Store::default(),
            records: HashMap::new(),
            mark: (0, 0),
            is_connecting: false,
            next_rtt_ns: 0,
        }
    }

    /// Receives what has come, and sends what is due.
    fn look(&mut self, server: SocketAddr) -> io::Result<()> {
        let now = now_ns();
        if !self.is_connecting {
            if now < self.session.begin_ns() {
                return Ok(());
            }
            self.is_connecting = true;
            self.client.auth(Join { player: self.session.player });
            self.client.connect(Datagrams::new(server)?);
        }
        self.client.receive_all_packets();
        if !self.client.connection_status().is_connected() {
            self.client.send_all_packets(&self.store);
            return self.receive();
        }
        // The library holds back what has come until its tick, and sends once for each tick of its own.
        let mut ticks = self.client.take_tick_events(&Instant::now());
        if ticks.read::<ServerTickEvent>().next().is_some() {
            self.receive()?;
        }
        self.send(ticks.read::<ClientTickEvent>().next().is_some());
        Ok(())
    }

    fn receive(&mut self) -> io::Result<()> {
        let instant = Instant::now();
        self.client.process_all_packets(&mut self.store, &instant);
        let mut events = self.client.take_world_events();
        if events.read::<RejectEvent>().next().is_some() {
            return Err(io::Error::other("the server rejected it"));
        }
        if let Some((_, reason)) = events.read::<DisconnectEvent>().next() {
            return Err(io::Error::other(format!("the connection ended ({reason:?})")));
        }
        let mut changes = Vec::new();
        let inserted = events.read::<InsertComponentEvent<Thing>>();
        for entity in inserted.chain(events.read::<UpdateComponentEvent<Thing>>().map(|(_, entity)| entity)) {
            if let Some(thing) = self.store.component_of::<Thing>(entity) {
                let (id, record) = thing.record();
                self.records.insert(entity, id);
                changes.push(Change { id, record: Some(record) });
            }
        }
        for entity in events.read::<DespawnEntityEvent>() {
            changes.extend(self.records.remove(&entity).map(|id| Change { id, record: None }));
        }
        let pongs = events.read::<MessageEvent<UnorderedReliableChannel, Answer>>().flat_map(|answer| answer.numbers).collect();
        let marks = events.read::<MessageEvent<UnorderedUnreliableChannel, Mark>>();
        let mut marks: Vec<(u32, u64)> = marks.map(|mark| (mark.number, mark.started_ns)).collect();
        marks.sort_unstable();
        self.mark = marks.last().copied().unwrap_or_default().max(self.mark);
        let of = |(number, started_ns), changes, pongs| Update { number, started_ns, changes, pongs };
        let mut updates: Vec<Update> = marks.into_iter().map(|mark| of(mark, Vec::new(), Vec::new())).collect();
        // The library does not tell which changes belong to which update, and changes can come without one.
        updates.push(of(self.mark, changes, pongs));
        self.session.take(&updates, now_ns());
        Ok(())
    }

    fn send(&mut self, is_tick: bool) {
        let now = now_ns();
        for request in self.session.due(now) {
            match request {
                Request::Input(input) => _ = self.client.send_message::<OrderedReliableChannel, _>(&Act { input }),
                Request::Ping { number } => _ = self.client.send_message::<UnorderedReliableChannel, _>(&Ask { number }),
                Request::Join { .. } | Request::Leave => {}
            }
        }
        if now >= self.next_rtt_ns {
            self.next_rtt_ns = now + RTT_NS;
            #[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "a time in ms is not negative")]
            self.session.note_transport_rtt(now, (f64::from(self.client.rtt()) * 1e9) as u64);
        }
        if is_tick {
            self.client.send_all_packets(&self.store);
        }
    }
}
