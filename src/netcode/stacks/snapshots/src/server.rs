//! The server: the same loop of updates as for other stacks, in which the library sends what has changed.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use naia_server::shared::Instant;
use naia_server::shared::default_channels::{OrderedReliableChannel, UnorderedReliableChannel, UnorderedUnreliableChannel};
use naia_server::{AuthEvent, ConnectEvent, DisconnectEvent, MessageEvent, RoomKey, Server, ServerConfig, TickEvent, UserKey};
use netcode::{Control, Game, Request, Step, now_ns, sleep_until};

use crate::protocol::{Act, Answer, Ask, Join, Mark, Thing, UPDATE_MS, protocol};
use crate::socket::Listener;
use crate::store::{Entity, Store};

/// Time between two looks at what has come.
const LOOK_NS: u64 = 1_000_000;
/// Time from an update to the next. The library makes the update at the first look after its interval, which it knows as a number of
/// 32 bits, so the look comes a little later than that.
const NEXT_NS: u64 = UPDATE_MS * 1_000_000 + 1_000;

struct Host {
    server: Server<Entity>,
    store: Store,
    room: RoomKey,
    /// Entities of the records of the world.
    entities: HashMap<u32, Entity>,
    /// Numbers of the players.
    players: HashMap<UserKey, u32>,
}

pub fn serve(address: SocketAddr, mut game: Game, control: &Arc<Control>, ready: &dyn Fn()) -> io::Result<Game> {
    let mut server = Server::new(ServerConfig::default(), protocol());
    server.listen(Listener::new(address)?);
    let room = server.create_room().key();
    let mut host = Host { server, store: Store::default(), room, entities: HashMap::new(), players: HashMap::new() };
    ready();
    let mut due_ns = now_ns() + NEXT_NS;
    while !control.is_ending() {
        sleep_until(due_ns.min(now_ns() + LOOK_NS));
        // The library counts an interval from the last update and not from the time at which that was due, so that updates come a
        // little more seldom than on other stacks.
        let looked_ns = now_ns();
        if host.receive(&mut game) {
            due_ns = looked_ns + NEXT_NS;
            let step = game.update(looked_ns);
            host.send(&step);
            game.ended();
        }
    }
    Ok(game)
}

impl Host {
    /// Takes in what has come, and returns whether an update is due.
    fn receive(&mut self, game: &mut Game) -> bool {
        let now = Instant::now();
        self.server.receive_all_packets();
        self.server.process_all_packets(&mut self.store, &now);
        let mut events = self.server.take_world_events();
        let is_due = self.server.take_tick_events(&now).read::<TickEvent>().next().is_some();
        for (user, join) in events.read::<AuthEvent<Join>>() {
            self.players.insert(user, join.player);
            self.server.accept_connection(&user);
        }
        for user in events.read::<ConnectEvent>() {
            self.server.room_mut(&self.room).add_user(&user);
            let player = self.players[&user];
            game.request(player, Request::Join { player });
        }
        for (user, message) in events.read::<MessageEvent<OrderedReliableChannel, Act>>() {
            self.request(game, user, Request::Input(message.input));
        }
        for (user, message) in events.read::<MessageEvent<UnorderedReliableChannel, Ask>>() {
            self.request(game, user, Request::Ping { number: message.number });
        }
        for (user, _, _) in events.read::<DisconnectEvent>() {
            self.request(game, user, Request::Leave);
            self.players.remove(&user);
        }
        is_due
    }

    fn request(&self, game: &mut Game, user: UserKey, request: Request) {
        if let Some(player) = self.players.get(&user) {
            game.request(*player, request);
        }
    }

    /// Gives the changes of an update to the library, and lets it send what each client lacks.
    fn send(&mut self, step: &Step) {
        for change in &step.changes {
            match (change.record, self.entities.get(&change.id)) {
                (Some(record), Some(entity)) => {
                    if let Some(mut thing) = self.server.entity_mut(&mut self.store, entity).component::<Thing>() {
                        thing.take(record);
                    }
                }
                (Some(record), None) => {
                    let mut made = self.server.spawn_entity(&mut self.store);
                    let entity = made.insert_component(Thing::of(change.id, record)).id();
                    self.server.room_mut(&self.room).add_entity(&entity);
                    self.entities.insert(change.id, entity);
                }
                (None, _) => {
                    if let Some(entity) = self.entities.remove(&change.id) {
                        self.server.entity_mut(&mut self.store, &entity).despawn();
                    }
                }
            }
        }
        let mark = Mark { number: step.number, started_ns: step.started_ns };
        self.server.broadcast_message::<UnorderedUnreliableChannel, _>(&mark);
        for (user, player) in &self.players {
            let numbers: Vec<u32> =
                step.pongs.iter().filter(|(asker, _)| asker == player).map(|(_, question)| *question).collect();
            if !numbers.is_empty() {
                // A player who is gone needs no answer.
                let _ = self.server.send_message::<UnorderedReliableChannel, _>(user, &Answer { numbers });
            }
        }
        self.server.send_all_packets(&self.store);
    }
}
