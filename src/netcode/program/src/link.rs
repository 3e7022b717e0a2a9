//! The command `link`.

use std::io;
use std::path::PathBuf;

use clap::Args;
use netcode_link::{Conditions, carry, open};

use crate::{ending, tables};

#[derive(Args)]
pub struct Arguments {
    /// Network namespace of the server, such as /proc/123/ns/net.
    #[arg(long)]
    server_namespace: PathBuf,
    /// Network namespace of the clients.
    #[arg(long)]
    clients_namespace: PathBuf,
    /// Name of the TUN devices, which are there already.
    #[arg(long)]
    device: String,
    /// Time that a packet takes in each direction, in ms.
    #[arg(long, default_value_t = 0.0)]
    delay_ms: f64,
    /// Largest time by which a packet takes less or more than the delay, in ms.
    #[arg(long, default_value_t = 0.0)]
    jitter_ms: f64,
    /// Share of packets that are lost in each direction.
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Share of packets that arrive without the delay.
    #[arg(long, default_value_t = 0.0)]
    reordered: f64,
    /// Bandwidth of each direction in Mbit/s. By default it has no limit.
    #[arg(long)]
    mbit_per_s: Option<f64>,
    /// Seed of the losses and the other choices.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// CSV file for the number of packets.
    #[arg(long)]
    output: PathBuf,
}

pub fn run(arguments: &Arguments) -> io::Result<()> {
    ending::on_signals()?;
    let conditions = conditions(arguments)?;
    let server = open(&arguments.server_namespace, &arguments.device)?;
    let clients = open(&arguments.clients_namespace, &arguments.device)?;
    println!("ready");
    let carried = carry(&server, &clients, conditions, arguments.seed, &ending::IS_ENDING)?;
    tables::write_link(&arguments.output, carried)
}

#[allow(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the values are checked")]
fn conditions(arguments: &Arguments) -> io::Result<Conditions> {
    let Arguments { delay_ms, jitter_ms, loss, reordered, mbit_per_s, .. } = *arguments;
    let is_time = |ms: f64| (0.0..=60_000.0).contains(&ms);
    if !is_time(delay_ms) || !is_time(jitter_ms) || jitter_ms > delay_ms {
        return Err(io::Error::other("a delay lies between 0 and 60,000 ms, and the jitter is at most the delay"));
    }
    if ![loss, reordered].iter().all(|share| (0.0..=1.0).contains(share)) || mbit_per_s.is_some_and(|rate| rate < 0.001) {
        return Err(io::Error::other("a share lies between 0 and 1, and a bandwidth is at least 0.001 Mbit/s"));
    }
    Ok(Conditions {
        delay_ns: (delay_ms * 1e6) as u64,
        jitter_ns: (jitter_ms * 1e6) as u64,
        loss,
        reordered,
        bytes_per_s: mbit_per_s.map(|rate| (rate * 125_000.0) as u64),
    })
}
