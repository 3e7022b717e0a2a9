//! Players on every stack, over the network: nobody is lost, all questions are answered, and all worlds are equal.

use std::collections::BTreeMap;
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use netcode::{Act, Action, Control, Game, Prototype, Session, Stack, UPDATE_NS, now_ns};
use tickdisk_netcode::{PROTOTYPES, STACKS};

const MS: u64 = 1_000_000;

/// Returns an address of this machine that nobody uses.
fn free_address() -> SocketAddr {
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let address = udp.local_addr().unwrap();
    drop(TcpListener::bind(address).unwrap());
    address
}

fn acts(prototype: &dyn Prototype, begin_ns: u64) -> Vec<(u64, Act)> {
    let kinds = ["jump", "place", "jump", "place", "dig"];
    let action = |kind: &str| Action { due_ns: 0, player: String::new(), kind: kind.into(), parameters: BTreeMap::new() };
    let inputs = (0_u64..).zip(kinds).flat_map(|(number, kind)| {
        let at_ns = begin_ns + number * 150 * MS;
        [(at_ns, Act::Input(prototype.input(&action(kind)).unwrap())), (at_ns + 70 * MS, Act::Ping)]
    });
    inputs.collect()
}

/// Lets players play, and returns them with the game of the server. A player acts `LEAD_NS` after it begins to connect, because the
/// library of the stack of snapshots first measures the way to the server.
fn played(stack: &'static dyn Stack, prototype: &'static dyn Prototype, players: u32) -> (Vec<Session>, Game) {
    const LEAD_NS: u64 = 1_500 * MS;
    let address = free_address();
    let control = Arc::new(Control::default());
    let (ready, is_ready) = mpsc::channel();
    let server = {
        let control = Arc::clone(&control);
        thread::spawn(move || stack.serve(address, Game::new(prototype.world()), &control, &|| ready.send(()).unwrap()).unwrap())
    };
    is_ready.recv().unwrap();
    let begin_ns = now_ns() + 50 * MS;
    let sessions = (1..=players).map(|player| {
        let own_ns = begin_ns + u64::from(player) * 10 * MS;
        let times_ns = (own_ns, begin_ns + LEAD_NS + 1500 * MS);
        Session::new(player, format!("p{player}"), acts(prototype, own_ns + LEAD_NS), times_ns)
    });
    let sessions = stack.play(address, sessions.collect()).unwrap();
    control.end();
    (sessions, server.join().unwrap())
}

fn check(stack: &'static dyn Stack, prototype: &'static dyn Prototype) {
    let what = format!("{} under {}", prototype.name(), stack.name());
    let (sessions, game) = played(stack, prototype, 10);
    assert_eq!(sessions.len(), 10, "{what}");
    let digest_of = |number: u32| game.log().iter().find(|line| line.number == number).map(|line| line.digest);
    for session in &sessions {
        assert_eq!(Some(session.replica().digest()), digest_of(session.last_number()), "{what}, {}", session.name);
        assert_eq!(session.pings().len(), 5, "{what}: {:?}", session.pings());
        assert!(!session.has_given_up(), "{what}");
        assert!(session.pings().iter().all(|pong| pong.received_ns.is_some_and(|at_ns| at_ns > pong.sent_ns)), "{what}");
        // Snapshots may be lost, and others come in their place.
        assert!(session.missing() == 0 || stack.name() == "snapshots", "{what}");
    }
    let blocks = sessions[0].replica().len() - 10;
    assert_eq!(blocks, if prototype.name() == "voxel" { 10 } else { 0 }, "{what}");
    let is_counted_by_library = stack.name() == "snapshots";
    assert!(is_counted_by_library || game.log().windows(2).all(|pair| pair[1].due_ns - pair[0].due_ns >= UPDATE_NS), "{what}");
    assert!(game.log().iter().any(|line| line.players == 10), "{what}");
}

#[test]
fn all_worlds_are_equal_on_every_stack_and_under_every_prototype() {
    thread::scope(|scope| {
        for &stack in STACKS {
            scope.spawn(move || PROTOTYPES.iter().for_each(|&prototype| check(stack, prototype)));
        }
    });
}

#[test]
fn an_address_that_is_in_use_is_an_error() {
    for &stack in STACKS {
        let (tcp, udp) = (TcpListener::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let address = if matches!(stack.name(), "kcp" | "quic") { udp.local_addr() } else { tcp.local_addr() }.unwrap();
        let game = Game::new(PROTOTYPES[0].world());
        assert!(stack.serve(address, game, &Arc::new(Control::default()), &|| ()).is_err(), "{}", stack.name());
    }
}
