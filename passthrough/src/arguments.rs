//! What the command line asks for.

use std::ffi::OsString;
use std::path::PathBuf;

const HELP: &str = "\
steelyard-passthrough: run a program that sees directories through FUSE, and tell every request for them.

  steelyard-passthrough [--into PLACE] [--cached] --over DIRECTORY... -- PROGRAM WORD...
  steelyard-passthrough --version

  --over DIRECTORY  what the program and those that it starts see through FUSE, under the same path; may be repeated
  --into PLACE      the directory for segments (recorder/format.h); without it, nothing is told
  --cached          leave reads to the kernel's cache and let it write pages: less is seen, mmap is whole

Needs /dev/fuse, and either root or user namespaces. Nobody else sees the mount; it goes with the last program.
";

pub enum Wish {
    Told(String),
    Run(Arguments),
}

pub struct Arguments {
    pub over: Vec<PathBuf>,
    pub into: Option<PathBuf>,
    pub cached: bool,
    pub program: Vec<OsString>,
}

pub fn read(mut words: impl Iterator<Item = OsString>) -> Result<Wish, String> {
    let (mut over, mut into, mut cached) = (Vec::new(), None, false);
    while let Some(word) = words.next() {
        match word.to_str() {
            Some("--help" | "-h") => return Ok(Wish::Told(HELP.into())),
            Some("--version") => {
                return Ok(Wish::Told(format!("steelyard-passthrough {}\n", env!("CARGO_PKG_VERSION"))))
            }
            Some("--over") => over.extend(words.next().map(PathBuf::from)),
            Some("--into") => into = words.next().map(PathBuf::from),
            Some("--cached") => cached = true,
            Some("--") => break,
            _ => return Err(format!("{} is not known; --help tells what is", word.to_string_lossy())),
        }
    }
    let program: Vec<OsString> = words.collect();
    if over.is_empty() || program.is_empty() {
        return Err("needs --over DIRECTORY and, after --, a program; --help shows how".into());
    }
    Ok(Wish::Run(Arguments { over, into, cached, program }))
}
