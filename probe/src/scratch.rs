//! Scratch directories: made with a marker that names their run, and removed only where it does.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::Path;

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{openat, OFlag};
use nix::sys::stat::{fstat, fstatat, Mode, SFlag};
use nix::unistd::{read, unlinkat, UnlinkatFlags};
use std::ffi::CString;
use std::io;
use std::os::fd::AsFd;

const MARKER: &str = ".steelyard-scratch";

/// Create a directory that belongs to a run, with its missing parents, unless it is there already.
pub fn make(path: &Path, run: &[u8]) -> io::Result<()> {
    if let Some(parent) = path.parent() {
        fs::create_dir_all(parent)?;
    }
    match DirBuilder::new().mode(0o700).create(path) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists && path.is_dir() => Ok(()),
        Err(error) => Err(error),
        Ok(()) => mark(path, run).inspect_err(|_| {
            let _ = fs::remove_file(path.join(MARKER));
            let _ = fs::remove_dir(path);
        }),
    }
}

fn mark(path: &Path, run: &[u8]) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(0o600);
    options.open(path.join(MARKER))?.write_all(run)
}

/// Remove a directory if its marker names this run; say whether it did.
///
/// Symbolic links inside are removed, never followed; what is mounted inside stays, and so does the directory
/// then. The marker goes last, so that a removal cut short can be taken up again.
pub fn remove(path: &Path, run: &[u8]) -> Result<bool, Errno> {
    let mut top = Dir::open(path, directory_flags(), Mode::empty())?;
    if !belongs(&top, run)? {
        return Ok(false);
    }
    let device = fstat(&top)?.st_dev;
    clear(&mut top, device, MARKER)?;
    unlinkat(&top, MARKER, UnlinkatFlags::NoRemoveDir)?;
    fs::remove_dir(path).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    Ok(true)
}

fn directory_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

fn belongs(top: impl AsFd, run: &[u8]) -> Result<bool, Errno> {
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let marker = match openat(top, MARKER, flags, Mode::empty()) {
        Err(Errno::ENOENT) => return Ok(false),
        outcome => outcome?,
    };
    let mut content = [0; 4096];
    let length = read(&marker, &mut content)?;
    Ok(content.get(..length) == Some(run))
}

/// Remove all that can be removed; then return what stood in the way of the rest.
fn clear(directory: &mut Dir, device: u64, keep: &str) -> Result<(), Errno> {
    let mut outcome = Ok(());
    for (name, kind) in entries(directory)? {
        if name.as_bytes() != keep.as_bytes() {
            outcome = remove_entry(directory, &name, kind, device).and(outcome);
        }
    }
    outcome
}

/// The names are all read first, because removing while reading may skip some.
fn entries(directory: &mut Dir) -> Result<Vec<(CString, Option<Type>)>, Errno> {
    let mut found = Vec::new();
    for entry in directory.iter() {
        let entry = entry?;
        if !matches!(entry.file_name().to_bytes(), b"." | b"..") {
            found.push((entry.file_name().to_owned(), entry.file_type()));
        }
    }
    Ok(found)
}

fn remove_entry(parent: &Dir, name: &CString, kind: Option<Type>, device: u64) -> Result<(), Errno> {
    if !is_directory(parent, name, kind)? {
        return unlinkat(parent, name.as_c_str(), UnlinkatFlags::NoRemoveDir);
    }
    let mut directory = Dir::openat(parent, name.as_c_str(), directory_flags(), Mode::empty())?;
    if fstat(&directory)?.st_dev == device {
        clear(&mut directory, device, "")?;
    }
    unlinkat(parent, name.as_c_str(), UnlinkatFlags::RemoveDir)
}

fn is_directory(parent: &Dir, name: &CString, kind: Option<Type>) -> Result<bool, Errno> {
    if let Some(kind) = kind {
        return Ok(kind == Type::Directory);
    }
    let found = fstatat(parent, name.as_c_str(), nix::fcntl::AtFlags::AT_SYMLINK_NOFOLLOW)?;
    Ok(SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT == SFlag::S_IFDIR)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};
    use std::path::PathBuf;

    /// A folder of a test's own that goes with it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("probe-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn made_with_parents_and_removed_with_all_in_it() {
        let place = Place::new("whole");
        let path = place.0.join("a/b/scratch");
        make(&path, b"run").unwrap();
        make(&path, b"run").unwrap();
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("x/y/z")).unwrap();
        fs::write(path.join("x/y/file"), "text").unwrap();
        assert_eq!(remove(&path, b"run"), Ok(true));
        assert!(!path.exists() && place.0.join("a/b").exists());
    }

    #[test]
    fn what_belongs_to_another_stays() {
        let place = Place::new("other");
        let path = place.0.join("scratch");
        make(&path, b"another").unwrap();
        assert_eq!(remove(&path, b"run"), Ok(false));
        assert_eq!(remove(&place.0, b"run"), Ok(false));
        assert!(path.join(MARKER).exists());
        fs::write(place.0.join("file"), "").unwrap();
        assert!(make(&place.0.join("file"), b"run").is_err());
    }

    #[test]
    fn links_are_not_followed() {
        let place = Place::new("links");
        let (path, foreign) = (place.0.join("scratch"), place.0.join("foreign"));
        make(&path, b"run").unwrap();
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("file"), "text").unwrap();
        symlink(&foreign, path.join("link")).unwrap();
        symlink(&path, place.0.join("alias")).unwrap();
        assert!(remove(&place.0.join("alias"), b"run").is_err());
        assert_eq!(remove(&path, b"run"), Ok(true));
        assert!(foreign.join("file").exists());
    }
}
