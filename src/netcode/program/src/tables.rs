//! Tables of a run as CSV files, which appear under their names only when they are whole.

use std::fmt::Write;
use std::fs;
use std::io;
use std::path::Path;

use netcode::{Session, UpdateLog};
use netcode_link::{Carried, Counts};

/// Writes the updates of a server.
pub fn write_updates(path: &Path, log: &[UpdateLog]) -> io::Result<()> {
    let mut text = String::from("number,due_ns,started_ns,ended_ns,players,digest\n");
    for line in log {
        let UpdateLog { number, due_ns, started_ns, ended_ns, players, digest } = line;
        row(&mut text, format_args!("{number},{due_ns},{started_ns},{ended_ns},{players},{digest}"));
    }
    write(path, &text)
}

/// Writes what players have measured: `players.csv`, `pings.csv`, `ages.csv` and `transport.csv`.
pub fn write_players(folder: &Path, sessions: &[Session]) -> io::Result<()> {
    fs::create_dir_all(folder)?;
    let mut players = String::from("player,name,records,last_number,digest,has_given_up\n");
    let mut pings = String::from("player,due_ns,sent_ns,received_ns\n");
    let mut ages = String::from("player,number,age_ns\n");
    let mut transport = String::from("player,at_ns,rtt_ns\n");
    for session in sessions {
        let (player, replica) = (session.player, session.replica());
        let (name, records, number, digest) = (&session.name, replica.len(), session.last_number(), replica.digest());
        row(&mut players, format_args!("{player},{name},{records},{number},{digest},{}", session.has_given_up()));
        for ping in session.pings() {
            let received = ping.received_ns.map_or_else(String::new, |at_ns| at_ns.to_string());
            row(&mut pings, format_args!("{player},{},{},{received}", ping.due_ns, ping.sent_ns));
        }
        session.ages_ns().iter().for_each(|(number, age_ns)| row(&mut ages, format_args!("{player},{number},{age_ns}")));
        session
            .transport_rtt_ns()
            .iter()
            .for_each(|(at_ns, rtt_ns)| row(&mut transport, format_args!("{player},{at_ns},{rtt_ns}")));
    }
    let tables = [("players", players), ("pings", pings), ("ages", ages), ("transport", transport)];
    tables.iter().try_for_each(|(name, text)| write(&folder.join(format!("{name}.csv")), text))
}

/// Writes what a link has carried in each direction.
pub fn write_link(path: &Path, carried: Carried) -> io::Result<()> {
    let mut text = String::from("direction,packets,bytes,lost,reordered,overflowed\n");
    for (direction, counts) in [("to_clients", carried.to_clients), ("to_server", carried.to_server)] {
        let Counts { packets, bytes, lost, reordered, overflowed } = counts;
        row(&mut text, format_args!("{direction},{packets},{bytes},{lost},{reordered},{overflowed}"));
    }
    write(path, &text)
}

fn row(text: &mut String, values: std::fmt::Arguments) {
    writeln!(text, "{values}").expect("memory takes any text");
}

fn write(path: &Path, text: &str) -> io::Result<()> {
    let named = |error: io::Error| io::Error::other(format!("{} cannot be written: {error}", path.display()));
    let partial = path.with_extension("partial");
    fs::write(&partial, text).and_then(|()| fs::rename(&partial, path)).map_err(named)
}

#[cfg(test)]
mod tests {
    use netcode::Act;

    use super::*;

    #[test]
    fn tables_are_whole_and_have_a_line_for_each_value() {
        let folder = std::env::temp_dir().join(format!("tickdisk-netcode-{}", std::process::id()));
        let mut session = Session::new(7, "a".into(), vec![(5, Act::Ping)], (1, 1_000));
        session.due(1);
        session.due(8);
        session.note_transport_rtt(9, 11);
        write_players(&folder, &[session]).unwrap();
        let line = UpdateLog { number: 1, due_ns: 2, started_ns: 3, ended_ns: 4, players: 5, digest: 6 };
        write_updates(&folder.join("updates.csv"), &[line]).unwrap();
        let read = |name: &str| fs::read_to_string(folder.join(name)).unwrap();
        assert_eq!(read("updates.csv"), "number,due_ns,started_ns,ended_ns,players,digest\n1,2,3,4,5,6\n");
        assert_eq!(read("transport.csv"), "player,at_ns,rtt_ns\n7,9,11\n");
        assert_eq!(read("players.csv").lines().nth(1), Some("7,a,0,0,0,false"));
        assert_eq!(read("pings.csv").lines().nth(1), Some("7,5,8,"));
        fs::remove_dir_all(folder).unwrap();
        assert!(write_updates(Path::new("/nowhere/updates.csv"), &[]).unwrap_err().to_string().contains("/nowhere/updates.csv"));
    }
}
