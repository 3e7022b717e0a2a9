//! The server of a stack that sends changes: the loop of updates, and a task for each player that reads and one that writes.

use std::collections::BTreeMap;
use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::sync::mpsc;
use std::thread;

use bytes::Bytes;
use tokio::io::AsyncWriteExt;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio::sync::oneshot;

use super::frames::{Frames, packed};
use super::{Link, Transport};
use crate::clock::{UPDATE_NS, now_ns, sleep_until};
use crate::game::{Game, Step};
use crate::message::{Request, Update};
use crate::stack::Control;

/// Time for which the connection of a player who has left stays open, so that acknowledgements that are under way find it. A library
/// on UDP would take them for a new connection. A client waits a little longer for its end.
const LINGER_NS: u64 = 200_000_000;

/// News of a connection.
enum News {
    Request(u64, Request),
    New(u64, UnboundedSender<Bytes>),
    Gone(u64),
}

/// The players of a server, by the number of their connection.
#[derive(Default)]
struct Players {
    links: BTreeMap<u64, Player>,
    /// Connections of players who have left, and the times at which they end.
    left: Vec<(u64, UnboundedSender<Bytes>)>,
}

struct Player {
    /// Number of the player, or 0 as long as it has not joined.
    number: u32,
    outgoing: UnboundedSender<Bytes>,
    /// Whether the player has not got the world yet.
    is_new: bool,
}

pub fn serve<T: Transport>(
    transport: &T,
    address: SocketAddr,
    mut game: Game,
    control: &Arc<Control>,
    ready: &dyn Fn(),
) -> io::Result<Game> {
    let (sender, news) = mpsc::channel();
    let (end, ending) = oneshot::channel::<()>();
    let (bound, is_bound) = mpsc::channel();
    let transport = transport.clone();
    let network = thread::Builder::new().name("network".into()).spawn(move || {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
        runtime.block_on(async {
            let mut listener = match transport.bind(address).await {
                Ok(listener) => {
                    let _ = bound.send(Ok(()));
                    listener
                }
                Err(error) => {
                    let _ = bound.send(Err(error));
                    return Ok(());
                }
            };
            tokio::select! {
                error = accept(&transport, &mut listener, &sender) => Err(error),
                _ = ending => Ok(()),
            }
        })
    })?;
    is_bound.recv().map_err(|_| io::Error::other("the network's thread ended"))??;
    ready();
    let mut players = Players::default();
    let mut due_ns = now_ns() + UPDATE_NS;
    while !control.is_ending() {
        sleep_until(due_ns);
        while let Ok(news) = news.try_recv() {
            players.take(news, &mut game);
        }
        let step = game.update(due_ns);
        players.send(&step, &mut game);
        players.left.retain(|(end_ns, _)| *end_ns > due_ns);
        game.ended();
        // An update that was missed is not made up for.
        let behind = (now_ns().saturating_sub(due_ns)) / UPDATE_NS;
        due_ns += UPDATE_NS * behind.max(1);
    }
    drop(players);
    let _ = end.send(());
    network.join().map_err(|_| io::Error::other("the network's thread panicked"))??;
    Ok(game)
}

/// Accepts clients until something fails, and returns what did.
async fn accept<T: Transport>(transport: &T, listener: &mut T::Listener, news: &mpsc::Sender<News>) -> io::Error {
    for number in 0.. {
        let link = match transport.accept(listener).await {
            Ok(link) => link,
            Err(error) => return error,
        };
        let (outgoing, waiting) = unbounded_channel();
        if news.send(News::New(number, outgoing)).is_err() {
            break;
        }
        tokio::spawn(connection(number, link, waiting, news.clone()));
    }
    io::Error::other("the server has ended")
}

/// Reads the requests of a client and writes its updates, until one of the two ends.
async fn connection(number: u64, link: Link, waiting: UnboundedReceiver<Bytes>, news: mpsc::Sender<News>) {
    let Link { read, write, keep, .. } = link;
    let mut frames = Frames::new(read);
    let reading = async {
        while let Ok(Some(request)) = frames.next().await {
            if news.send(News::Request(number, request)).is_err() {
                break;
            }
        }
    };
    tokio::select! {
        () = reading => {}
        _ = write_all(write, waiting) => {}
    }
    let _ = news.send(News::Gone(number));
    drop(keep);
}

/// Writes messages as they come, and lets the transport send them when none waits any more.
pub async fn write_all(mut write: impl AsyncWriteExt + Unpin, mut waiting: UnboundedReceiver<Bytes>) -> io::Result<()> {
    while let Some(message) = waiting.recv().await {
        write.write_all(&message).await?;
        while let Ok(message) = waiting.try_recv() {
            write.write_all(&message).await?;
        }
        write.flush().await?;
    }
    write.shutdown().await
}

impl Players {
    fn take(&mut self, news: News, game: &mut Game) {
        match news {
            News::New(link, outgoing) => {
                self.links.insert(link, Player { number: 0, outgoing, is_new: false });
            }
            News::Request(link, request) => {
                if request == Request::Leave {
                    let outgoing = self.leave(link, game);
                    self.left.extend(outgoing.map(|outgoing| (now_ns() + LINGER_NS, outgoing)));
                    return;
                }
                let Some(player) = self.links.get_mut(&link) else { return };
                if let Request::Join { player: number } = request
                    && player.number == 0
                {
                    player.number = number;
                }
                player.is_new |= game.request(player.number, request);
            }
            News::Gone(link) => _ = self.leave(link, game),
        }
    }

    /// Takes a player out, and returns the way to its connection, which ends when this is dropped and all is written.
    fn leave(&mut self, link: u64, game: &mut Game) -> Option<UnboundedSender<Bytes>> {
        let player = self.links.remove(&link)?;
        game.request(player.number, Request::Leave);
        Some(player.outgoing)
    }

    /// Sends an update to all players. Those whose questions it does not answer get the same bytes.
    fn send(&mut self, step: &Step, game: &mut Game) {
        let common = packed(&update(step, step.changes.clone(), Vec::new()));
        for player in self.links.values_mut().filter(|player| player.number > 0) {
            let pongs: Vec<u32> =
                step.pongs.iter().filter(|(number, _)| *number == player.number).map(|(_, question)| *question).collect();
            let message = if std::mem::take(&mut player.is_new) {
                packed(&update(step, game.all(), pongs))
            } else if pongs.is_empty() {
                common.clone()
            } else {
                packed(&update(step, step.changes.clone(), pongs))
            };
            // A player who is gone is taken out when its connection says so.
            let _ = player.outgoing.send(message);
        }
    }
}

fn update(step: &Step, changes: Vec<crate::message::Change>, pongs: Vec<u32>) -> Update {
    Update { number: step.number, started_ns: step.started_ns, changes, pongs }
}
