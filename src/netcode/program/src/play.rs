//! The players of a trace.

use std::fs::File;
use std::io::{self, BufReader};
use std::path::Path;

use netcode::{Act, Action, Prototype, Session, actions_of, read_trace};

/// Makes a session for each player of a trace. A player plays from its `join` to its `leave`.
pub fn sessions(prototype: &dyn Prototype, trace: &Path, start_ns: u64, first: u32) -> io::Result<Vec<Session>> {
    let named = |error: io::Error| io::Error::other(format!("{}: {error}", trace.display()));
    let actions = File::open(trace).and_then(|file| read_trace(BufReader::new(file))).map_err(named)?;
    let players = actions_of(actions).into_iter().zip(first..);
    players.map(|((name, actions), number)| session(prototype, name, &actions, start_ns, number).map_err(named)).collect()
}

fn session(prototype: &dyn Prototype, name: String, actions: &[Action], start_ns: u64, number: u32) -> io::Result<Session> {
    let failed = |what: &str| io::Error::other(format!("player {name} {what}"));
    let time_of = |kind: &str| {
        let found = actions.iter().find(|action| action.kind == kind);
        found.map(|action| start_ns + action.due_ns).ok_or_else(|| failed(&format!("has no {kind}; add it to the trace")))
    };
    let times_ns = (time_of("join")?, time_of("leave")?);
    let others = actions.iter().filter(|action| !matches!(action.kind.as_str(), "join" | "leave"));
    let acts = others.map(|action| {
        let act = match action.kind.as_str() {
            "ping" => Act::Ping,
            _ => Act::Input(prototype.input(action).map_err(|error| failed(&format!("does what it cannot: {error}")))?),
        };
        Ok((start_ns + action.due_ns, act))
    });
    let acts = acts.collect::<io::Result<_>>()?;
    Ok(Session::new(number, name, acts, times_ns))
}

#[cfg(test)]
mod tests {
    use std::fs;

    use netcode::Request;
    use tickdisk_netcode::PROTOTYPES;

    use super::*;

    fn sessions_of(text: &str) -> io::Result<Vec<Session>> {
        let path = std::env::temp_dir().join(format!("tickdisk-netcode-{}-{}", std::process::id(), text.len()));
        fs::write(&path, text).unwrap();
        let made = sessions(PROTOTYPES[0], &path, 1000, 5);
        fs::remove_file(&path).unwrap();
        made
    }

    fn line(due_ns: u64, player: &str, action: &str) -> String {
        format!("{{\"due_ns\": {due_ns}, \"player\": \"{player}\", \"action\": \"{action}\", \"parameters\": {{}}}}\n")
    }

    #[test]
    fn players_do_what_their_trace_says_from_join_to_leave() {
        let acts = [(0, "b", "join"), (1, "a", "join"), (2, "a", "ping"), (3, "b", "jump"), (4, "a", "leave"), (9, "b", "leave")];
        let mut made = sessions_of(&acts.map(|(due_ns, player, action)| line(due_ns, player, action)).concat()).unwrap();
        assert_eq!(made.iter().map(|one| (one.player, one.name.as_str())).collect::<Vec<_>>(), [(5, "a"), (6, "b")]);
        assert_eq!((made[0].begin_ns(), made[1].begin_ns()), (1001, 1000));
        assert_eq!(made[0].due(1003), [Request::Join { player: 5 }, Request::Ping { number: 0 }]);
        assert!(matches!(made[1].due(1003).as_slice(), [Request::Join { player: 6 }, Request::Input(_)]));
    }

    #[test]
    fn a_trace_that_cannot_be_acted_out_is_one_sentence() {
        let error = sessions_of(&line(0, "a", "join")).err().unwrap().to_string();
        assert!(error.contains("player a has no leave"), "{error}");
        let unknown = [line(0, "a", "join"), line(1, "a", "dance"), line(2, "a", "leave")].concat();
        let error = sessions_of(&unknown).err().unwrap().to_string();
        assert!(error.contains("no action dance"), "{error}");
    }
}
