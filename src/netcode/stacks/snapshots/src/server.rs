//! The server: the same loop of updates as for other stacks, in which the library sends what has changed.

use std::collections::HashMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;

use naia_server::shared::Instant;
use naia_server::shared::default_channels::{OrderedReliableChannel, UnorderedReliableChannel, UnorderedUnreliableChannel};
use naia_server::{AuthEvent, ConnectEvent, DisconnectEvent, MessageEvent, RoomKey, Server, ServerConfig, TickEvent, UserKey};
use netcode::{Control, Game, Request, Step, now_ns, sleep_until};

use crate::protocol::{Act, Answer, Ask, Join, Mark, Thing, protocol};
use crate::socket::Listener;
use crate::store::{Entity, Store};

/// Time between two looks at what has come.
const LOOK_NS: u64 = 1_000_000;

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
    while !control.is_ending() {
        sleep_until(now_ns() + LOOK_NS);
        // The library counts the updates, also those that were missed, and a client takes only one for each of its ticks.
        for _ in 0..host.receive(&mut game) {
            let step = game.update(now_ns());
            host.send(&step);
            game.ended();
        }
    }
    Ok(game)
}

impl Host {
    /// Takes in what has come, and returns the number of updates that are due.
    fn receive(&mut self, game: &mut Game) -> usize {
        let now = Instant::now();
        self.server.receive_all_packets();
        self.server.process_all_packets(&mut self.store, &now);
        let mut events = self.server.take_world_events();
        let due = self.server.take_tick_events(&now).read::<TickEvent>().count();
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
        due
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
