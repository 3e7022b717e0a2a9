//! Traces of players: one JSON object for each action, in the format that all clients of this project share.

use std::collections::BTreeMap;
use std::io::{self, BufRead};

use serde::Deserialize;

/// One action of one player.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Action {
    /// Time from the start of the trace, in ns.
    pub due_ns: u64,
    pub player: String,
    #[serde(rename = "action")]
    pub kind: String,
    #[serde(default)]
    pub parameters: BTreeMap<String, f64>,
}

/// Reads a trace.
///
/// # Errors
///
/// If a line is no action. The message names the line.
pub fn read_trace(file: impl BufRead) -> io::Result<Vec<Action>> {
    let mut actions = Vec::new();
    for (number, line) in file.lines().enumerate() {
        let line = line?;
        if line.trim().is_empty() {
            continue;
        }
        let action = serde_json::from_str(&line)
            .map_err(|error| io::Error::other(format!("line {} of the player trace is no action: {error}", number + 1)))?;
        actions.push(action);
    }
    actions.sort_by_key(|action: &Action| action.due_ns);
    Ok(actions)
}

/// Splits a trace by player, in the order of their names. Each player gets a number, from 1 on.
#[must_use]
pub fn actions_of(trace: Vec<Action>) -> Vec<(String, Vec<Action>)> {
    let mut players: BTreeMap<String, Vec<Action>> = BTreeMap::new();
    for action in trace {
        players.entry(action.player.clone()).or_default().push(action);
    }
    players.into_iter().collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn actions_are_in_the_order_of_their_times() {
        let text = "{\"due_ns\": 20, \"player\": \"b\", \"action\": \"jump\", \"parameters\": {}}\n\n\
                    {\"due_ns\": 10, \"player\": \"a\", \"action\": \"walk\", \"parameters\": {\"yaw_degrees\": 90}}\n";
        let trace = read_trace(text.as_bytes()).unwrap();
        assert_eq!(trace.iter().map(|action| action.due_ns).collect::<Vec<_>>(), [10, 20]);
        assert!((trace[0].parameters["yaw_degrees"] - 90.0).abs() < f64::EPSILON);
        let players: Vec<String> = actions_of(trace).into_iter().map(|(name, _)| name).collect();
        assert_eq!(players, ["a", "b"]);
    }

    #[test]
    fn a_line_that_is_no_action_is_named() {
        let error = read_trace("{\"due_ns\": 1, \"player\": \"a\", \"action\": \"jump\"}\nx\n".as_bytes()).unwrap_err();
        assert!(error.to_string().starts_with("line 2 of the player trace is no action"));
    }
}
