//! The command `tickdisk-netcode`, with which a prototype is served on a stack, players play on it, and a link lies between them.

mod ending;
mod link;
mod play;
mod tables;

use std::io::{self, Write};
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use clap::{Parser, Subcommand};
use netcode::{Control, Game, Prototype, Stack};
use tickdisk_netcode::{PROTOTYPES, STACKS};

#[derive(Parser)]
#[command(about = "Serves a prototype of a game on a network stack, and plays on it.")]
struct Arguments {
    #[command(subcommand)]
    command: Command,
}

#[derive(Subcommand)]
enum Command {
    /// Lists the prototypes and the stacks.
    List,
    /// Serves a prototype until SIGTERM or SIGINT, and then writes a table of its updates.
    Serve {
        #[arg(long)]
        stack: String,
        #[arg(long)]
        prototype: String,
        /// Address and port to listen on, e.g. 127.0.0.1:4000.
        #[arg(long)]
        listen: SocketAddr,
        /// CSV file for the updates.
        #[arg(long)]
        output: PathBuf,
    },
    /// Lets the players of a trace play, and writes tables of what they measured.
    Play {
        #[arg(long)]
        stack: String,
        #[arg(long)]
        prototype: String,
        /// Address and port of the server.
        #[arg(long)]
        server: SocketAddr,
        /// Trace of players, one JSON object a line. Each player has a `join` and a `leave`.
        #[arg(long)]
        trace: PathBuf,
        /// Start of the trace in ns of `CLOCK_MONOTONIC`.
        #[arg(long)]
        start_ns: u64,
        /// Number of the first player. The players of several processes must have different numbers.
        #[arg(long, default_value_t = 1)]
        first: u32,
        /// Folder for the tables.
        #[arg(long)]
        output: PathBuf,
    },
    /// Carries packets between two network namespaces until SIGTERM or SIGINT, and then writes how many.
    Link(link::Arguments),
}

fn main() -> ExitCode {
    match run(Arguments::parse().command) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("tickdisk-netcode: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(command: Command) -> io::Result<()> {
    match command {
        Command::List => list(&mut io::stdout().lock()),
        Command::Serve { stack, prototype, listen, output } => {
            serve(stack_named(&stack)?, prototype_named(&prototype)?, listen, &output)
        }
        Command::Play { stack, prototype, server, trace, start_ns, first, output } => {
            let sessions = play::sessions(prototype_named(&prototype)?, &trace, start_ns, first)?;
            let played = stack_named(&stack)?.play(server, sessions)?;
            tables::write_players(&output, &played)
        }
        Command::Link(arguments) => link::run(&arguments),
    }
}

fn list(output: &mut impl Write) -> io::Result<()> {
    for stack in STACKS {
        writeln!(output, "stack\t{}\t{}", stack.name(), stack.about())?;
    }
    for prototype in PROTOTYPES {
        writeln!(output, "prototype\t{}\t{}", prototype.name(), prototype.about())?;
    }
    Ok(())
}

fn stack_named(name: &str) -> io::Result<&'static dyn Stack> {
    let names: Vec<_> = STACKS.iter().map(|stack| stack.name()).collect();
    let found = STACKS.iter().find(|stack| stack.name() == name);
    found.copied().ok_or_else(|| unknown("stack", name, &names))
}

fn prototype_named(name: &str) -> io::Result<&'static dyn Prototype> {
    let names: Vec<_> = PROTOTYPES.iter().map(|prototype| prototype.name()).collect();
    let found = PROTOTYPES.iter().find(|prototype| prototype.name() == name);
    found.copied().ok_or_else(|| unknown("prototype", name, &names))
}

fn unknown(kind: &str, name: &str, names: &[&str]) -> io::Error {
    io::Error::other(format!("there is no {kind} {name}; take one of {}", names.join(", ")))
}

fn serve(stack: &dyn Stack, prototype: &dyn Prototype, listen: SocketAddr, output: &Path) -> io::Result<()> {
    let control = Arc::new(Control::default());
    ending::server_on_signals(&control)?;
    let ready = || println!("ready");
    let game = stack.serve(listen, Game::new(prototype.world()), &control, &ready)?;
    tables::write_updates(output, game.log())
}
