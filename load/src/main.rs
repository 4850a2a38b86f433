//! steelyard-load: programs of Steelyard's own that put load on a service. One subcommand, one module.

mod core;
mod get;
mod metadata;
mod null_server;
mod object;
mod replay;

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = r#"steelyard-load: Steelyard's load driver. Steelyard starts it by itself; by hand it serves to look.

  steelyard-load get < JOB             ask for one page again and again
  steelyard-load object < JOB          operations on objects, by S3 or Swift
  steelyard-load metadata JOB          one operation on many files, below the current directory
  steelyard-load replay JOB            the storage calls of a trace again, below the current directory
  steelyard-load null-server ADDR:PORT answer everything with the same few bytes
  steelyard-load --version

A JOB is JSON on standard input; a summary as JSON goes to standard output, logs of latencies to the job's `raw`.

Examples:
  steelyard-load null-server 127.0.0.1:8080 &
  echo '{"server": "127.0.0.1", "port": 8080, "path": "/", "raw": "/tmp", "pace": {"connections": 8, "rate": 500,
    "arrivals": "poisson", "seconds": 5, "interval": 1, "timeout": 10, "seed": 1}}' | steelyard-load get
"#;

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let verb = if words.is_empty() { "--help".into() } else { words.remove(0) };
    let outcome = match verb.to_str() {
        Some("get") => get::run().and_then(|summary| print(&format!("{summary}\n"))),
        Some("object") => object::run().and_then(|summary| print(&format!("{summary}\n"))),
        Some("metadata") => metadata::run(words.first().and_then(|job| job.to_str()))
            .and_then(|summary| print(&format!("{summary}\n"))),
        Some("replay") => replay::run(words.first().and_then(|job| job.to_str()))
            .and_then(|summary| print(&format!("{summary}\n"))),
        Some("null-server") => match words.first().and_then(|at| at.to_str()) {
            Some(at) => null_server::serve(at),
            None => Err("null-server needs ADDRESS:PORT; see steelyard-load --help".to_owned()),
        },
        Some("--version") => print(&format!("steelyard-load {}\n", env!("CARGO_PKG_VERSION"))),
        Some("--help" | "-h" | "help") => print(HELP),
        _ => Err(format!("unknown command {}; see steelyard-load --help", verb.to_string_lossy())),
    };
    outcome.map_or_else(|reason| complain(&reason), |()| ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<(), String> {
    use std::io::Write;
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(|error| format!("cannot write: {error}"))
}

fn complain(reason: &str) -> ExitCode {
    eprintln!("steelyard-load: {reason}");
    ExitCode::from(2)
}
