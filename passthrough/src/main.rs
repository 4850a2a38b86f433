//! steelyard-passthrough: a program sees directories through FUSE, and every request for them is told.

mod answers;
mod arguments;
mod asked;
mod callers;
mod calls;
mod extended;
mod handles;
mod listing;
mod mirror;
mod namespace;
mod nodes;
mod opening;
mod owner;
mod requests;
mod segment;
mod server;
mod times;

use arguments::Wish;
use std::process::ExitCode;

/// As of `env` and its like: what failed is not the program.
const FAILED: u8 = 125;

fn main() -> ExitCode {
    let reason = match arguments::read(std::env::args_os().skip(1)) {
        Ok(Wish::Told(text)) => {
            print!("{text}");
            return ExitCode::SUCCESS;
        }
        Ok(Wish::Run(arguments)) => match namespace::become_program(&arguments) {
            Ok(never) => match never {},
            Err(reason) => reason,
        },
        Err(reason) => reason,
    };
    eprintln!("steelyard-passthrough: {reason}");
    ExitCode::from(FAILED)
}
