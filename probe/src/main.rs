//! steelyard-probe: what Steelyard puts on a host where it may, to be precise there.

mod agent;
mod child;
mod children;
mod files;
mod gate;
mod instant;
mod lease;
mod ownership;
mod processes;
mod request;
mod sample;
mod scratch;
mod spawn;
mod wire;

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
steelyard-probe: Steelyard's precise agent on a host. Steelyard starts it by itself; by hand it serves to look.

  steelyard-probe agent TOKEN BEAT PATIENCE   obey the requests on standard input (docs/reference/agent-protocol.md)
  steelyard-probe gate AT RECORD PROGRAM WORD...
                                              wait until AT (ns of the wall clock), become the program, and
                                              leave the line 'RELEASED STARTED' (ns) in the file RECORD
  steelyard-probe sample EVERY_MS PATTERN...  print these files again and again until standard input ends
  steelyard-probe clock                       print the wall clock in ns
  steelyard-probe --version

Examples:
  steelyard-probe gate $(( $(date +%s) + 2 ))000000000 /tmp/record fio job.fio
  sleep 10 | steelyard-probe sample 500 /proc/stat '/sys/block/*/stat'
  echo clock | steelyard-probe agent try:me:1 2 10
";

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let verb = if words.is_empty() { "--help".into() } else { words.remove(0) };
    let outcome = match verb.to_str() {
        Some("agent") => agent::serve(&words),
        Some("gate") => return refuse_to_pass(gate::gate(&words)),
        Some("sample") => sample::sample(&words),
        Some("clock") => print(&format!("{}\n", instant::wall())),
        Some("--version") => print(&format!("steelyard-probe {}\n", env!("CARGO_PKG_VERSION"))),
        Some("--help" | "-h" | "help") => print(HELP),
        _ => Err(format!("unknown command {}", verb.to_string_lossy())),
    };
    outcome.map_or_else(|reason| complain(&reason, 2), |()| ExitCode::SUCCESS)
}

/// A gate that did not let a program through ends as a shell does that finds no program.
fn refuse_to_pass(outcome: Result<(), String>) -> ExitCode {
    outcome.map_or_else(|reason| complain(&reason, 127), |()| ExitCode::SUCCESS)
}

fn print(text: &str) -> Result<(), String> {
    use std::io::Write;
    let mut out = std::io::stdout();
    out.write_all(text.as_bytes()).map_err(|error| format!("cannot write: {error}"))
}

fn complain(reason: &str, code: u8) -> ExitCode {
    eprintln!("steelyard-probe: {reason}; see steelyard-probe --help");
    ExitCode::from(code)
}
