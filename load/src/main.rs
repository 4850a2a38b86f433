//! steelyard-load: programs of Steelyard's own that put load on a service. One subcommand, one module.

use std::ffi::OsString;
use std::process::ExitCode;

const HELP: &str = "\
steelyard-load: Steelyard's load driver. Steelyard starts it by itself; by hand it serves to look.

  steelyard-load --version
";

fn main() -> ExitCode {
    let mut words: Vec<OsString> = std::env::args_os().skip(1).collect();
    let verb = if words.is_empty() { "--help".into() } else { words.remove(0) };
    let outcome = match verb.to_str() {
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
