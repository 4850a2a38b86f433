//! Files by pattern: `*` stands for anything but `/`, and not for the dot at the start of a name.

use std::ffi::OsStr;
use std::fs::{self, File, OpenOptions};
use std::io::{self, Read, Write};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{FileExt, OpenOptionsExt};
use std::path::Path;

/// At most so many bytes of a file are read.
pub const FILE_LIMIT: usize = 1 << 20;

/// A path that need not be UTF-8.
pub fn path(bytes: &[u8]) -> &Path {
    Path::new(OsStr::from_bytes(bytes))
}

/// The paths that a pattern stands for, sorted. A part without `*` is not looked up: reading tells.
pub fn expand(pattern: &[u8]) -> Vec<Vec<u8>> {
    let mut found = vec![Vec::new()];
    for (depth, part) in pattern.split(|&byte| byte == b'/').enumerate() {
        let slash: &[u8] = if depth > 0 { b"/" } else { b"" };
        let bases = found.iter().map(|base| [base.as_slice(), slash].concat());
        found = bases.flat_map(|base| step(&base, part)).collect();
    }
    found
}

fn step(base: &[u8], part: &[u8]) -> Vec<Vec<u8>> {
    if !part.contains(&b'*') {
        return vec![[base, part].concat()];
    }
    let folder: &[u8] = if base.is_empty() { b"." } else { base };
    let mut names: Vec<Vec<u8>> = names(folder);
    names.retain(|name| matches(part, name));
    names.sort_unstable();
    names.iter().map(|name| [base, name.as_slice()].concat()).collect()
}

fn names(folder: &[u8]) -> Vec<Vec<u8>> {
    let Ok(entries) = fs::read_dir(path(folder)) else {
        return Vec::new();
    };
    entries.flatten().map(|entry| entry.file_name().into_vec()).collect()
}

/// Whether a name is one that a pattern stands for.
fn matches(pattern: &[u8], name: &[u8]) -> bool {
    let hidden = name.first() == Some(&b'.') && pattern.first() != Some(&b'.');
    let mut parts = pattern.split(|&byte| byte == b'*');
    let first = parts.next().unwrap_or_default();
    let Some(mut rest) = name.strip_prefix(first) else {
        return false;
    };
    let mut parts: Vec<&[u8]> = parts.collect();
    let Some(last) = parts.pop() else {
        return rest.is_empty(); // no `*` at all
    };
    for part in parts {
        match after(rest, part) {
            Some(found) => rest = found,
            None => return false,
        }
    }
    !hidden && rest.ends_with(last)
}

/// What follows the first occurrence of `part`.
fn after<'a>(text: &'a [u8], part: &[u8]) -> Option<&'a [u8]> {
    (0..=text.len()).find_map(|start| text.get(start..)?.strip_prefix(part))
}

/// Open a file for reading. Only a true file: a pipe may hold us up, and a device do anything.
pub fn open(name: &[u8]) -> io::Result<File> {
    if !fs::metadata(path(name))?.is_file() {
        return Err(io::ErrorKind::InvalidInput.into());
    }
    OpenOptions::new().read(true).custom_flags(libc::O_NONBLOCK | libc::O_NOCTTY).open(path(name))
}

/// The content of a file, at most `FILE_LIMIT` bytes of it.
pub fn read(name: &[u8]) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    open(name)?.take(FILE_LIMIT as u64).read_to_end(&mut content)?;
    Ok(content)
}

/// Write a new file that only we may read.
pub fn write_new(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .custom_flags(libc::O_NOFOLLOW)
        .open(path)?
        .write_all(content)
}

/// Write to a file that is there, such as one of the kernel's.
pub fn write_old(path: &Path, content: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).custom_flags(libc::O_NOFOLLOW).open(path)?.write_all(content)
}

/// The content of a file that is kept open, from its beginning, into a buffer that is used again.
pub fn reread(file: &File, content: &mut Vec<u8>) -> io::Result<()> {
    let mut filled = 0;
    loop {
        content.resize((filled + 4096).min(FILE_LIMIT), 0);
        let room = content.get_mut(filled..).unwrap_or_default();
        match file.read_at(room, filled as u64)? {
            0 => break,
            count => filled += count,
        }
    }
    content.truncate(filled);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn stars() {
        for (pattern, name, so) in [
            ("*", "a", true),
            ("*", "", true),
            ("*", ".a", false),
            (".*", ".a", true),
            ("a*", "a", true),
            ("a*c", "abc", true),
            ("a*c", "abcd", false),
            ("ab*bc", "abc", false),
            ("*ab*ab", "ab", false),
            ("*ab*ab", "abab", true),
            ("*a*b*", "xxaxxbxx", true),
            ("*a*b*", "xxbxxaxx", false),
            ("a", "ab", false),
        ] {
            assert_eq!(matches(pattern.as_bytes(), name.as_bytes()), so, "{pattern} {name}");
        }
    }

    #[test]
    fn a_star_stays_in_its_folder() {
        let found = expand(b"/proc/self/stat*");
        assert!(found.contains(&b"/proc/self/stat".to_vec()));
        assert!(found.contains(&b"/proc/self/status".to_vec()));
        assert!(expand(b"/pro*").contains(&b"/proc".to_vec()));
        assert!(expand(b"/proc/*/self").iter().all(|name| !name.starts_with(b"/proc/self/task")));
        assert_eq!(expand(b"/nowhere/at all"), [b"/nowhere/at all".to_vec()]);
        assert!(expand(b"/nowhere/*").is_empty());
    }

    #[test]
    fn reading_is_bounded_and_can_be_repeated() {
        let big = std::env::temp_dir().join(format!("probe-big-{}", std::process::id()));
        File::create_new(&big).unwrap().set_len(3 << 20).unwrap();
        let (name, mut content) = (big.as_os_str().as_bytes(), Vec::new());
        let whole = (read(name), open(name).and_then(|file| reread(&file, &mut content)));
        fs::remove_file(&big).unwrap();
        assert_eq!(whole.0.unwrap().len(), FILE_LIMIT);
        assert!(whole.1.is_ok() && content.len() == FILE_LIMIT);
        assert!(read(b"/proc").is_err() && read(b"/dev/zero").is_err());
        let file = open(b"/proc/self/stat").unwrap();
        for _ in 0..2 {
            reread(&file, &mut content).unwrap();
            assert!(content.ends_with(b"\n"));
        }
    }
}
