//! The client of a stack that sends changes. All players of a process share one thread.

use std::io;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use tokio::io::AsyncWriteExt;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::timeout;

use super::alarm::Alarm;
use super::frames::{Frames, packed};
use super::{Link, Transport};
use crate::clock::now_ns;
use crate::message::{Request, Update};
use crate::session::Session;

/// Time between two looks at the transport's own round-trip time, in ns.
const LOOK_NS: u64 = 500_000_000;
/// Longest time for which a player who leaves waits for the server to close the connection. A transport that does not tell the end
/// of a stream acknowledges the last updates in this time. Otherwise the server would send them again and again.
const LINGER: Duration = Duration::from_millis(300);

/// The players of a process, and how many of them have finished.
#[derive(Clone)]
struct Company {
    finished: Arc<watch::Sender<usize>>,
    count: usize,
}

impl Company {
    fn have_all_finished(&self) -> bool {
        *self.finished.borrow() == self.count
    }
}

pub fn play<T: Transport>(transport: &T, server: SocketAddr, sessions: Vec<Session>) -> io::Result<Vec<Session>> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(async {
        let company = Company { finished: Arc::new(watch::channel(0).0), count: sessions.len() };
        let mut players = JoinSet::new();
        for session in sessions {
            let (transport, company) = (transport.clone(), company.clone());
            players.spawn(async move {
                let name = session.name.clone();
                let played = player(&transport, server, session, &company).await;
                played.map_err(|error| io::Error::other(format!("player {name} was lost: {error}")))
            });
        }
        let mut done = Vec::with_capacity(company.count);
        while let Some(player) = players.join_next().await {
            done.push(player.map_err(io::Error::other)??);
        }
        done.sort_by_key(|session| session.player);
        Ok(done)
    })
}

async fn player<T: Transport>(transport: &T, server: SocketAddr, session: Session, company: &Company) -> io::Result<Session> {
    Alarm::new()?.until(session.begin_ns()).await?;
    let Link { read, mut write, rtt_ns, keep } = transport.connect(server).await?;
    let mut frames = Frames::new(read);
    let session = act(session, &mut frames, &mut write, &*rtt_ns, company).await?;
    write.write_all(&packed(&Request::Leave)).await?;
    write.flush().await?;
    let closed = async { while let Ok(Some(_)) = frames.next::<Update>().await {} };
    let _ = timeout(LINGER, closed).await;
    let _ = write.shutdown().await;
    drop(keep);
    Ok(session)
}

/// Acts out the trace of a player, and goes on to listen until all players have finished, because a player who leaves changes the
/// world.
async fn act(
    mut session: Session,
    frames: &mut Frames<Box<dyn tokio::io::AsyncRead + Send + Unpin>>,
    write: &mut (impl AsyncWriteExt + Unpin),
    rtt_ns: &(dyn Fn() -> Option<u64> + Send + Sync),
    company: &Company,
) -> io::Result<Session> {
    let mut finished = company.finished.subscribe();
    let mut alarm = Alarm::new()?;
    let mut look_ns = now_ns() + LOOK_NS;
    let mut is_counted = false;
    while !company.have_all_finished() {
        let next_ns = if is_counted { look_ns } else { session.next_ns().min(look_ns) };
        tokio::select! {
            update = frames.next() => {
                let update = update?.ok_or_else(|| io::Error::other("the server closed the connection"))?;
                session.take(&[update], now_ns());
            }
            rung = alarm.until(next_ns) => rung?,
            _ = finished.changed() => {}
        }
        let now = now_ns();
        if now >= look_ns {
            look_ns = now + LOOK_NS;
            if let Some(rtt_ns) = rtt_ns() {
                session.note_transport_rtt(now, rtt_ns);
            }
        }
        let requests = session.due(now);
        if !requests.is_empty() {
            let bytes: Vec<u8> = requests.iter().flat_map(|request| packed(request).to_vec()).collect();
            write.write_all(&bytes).await?;
            write.flush().await?;
        }
        if session.is_finished() && !is_counted {
            is_counted = true;
            company.finished.send_modify(|count| *count += 1);
        }
    }
    Ok(session)
}
