//! Scratch directories: made with a marker that holds their run's mark, and removed only where it does.

use std::ffi::{CString, OsStr};
use std::fs::{self, DirBuilder, File};
use std::io::{self, Read};
use std::os::fd::AsFd;
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::DirBuilderExt;
use std::path::{Path, PathBuf};

use nix::dir::{Dir, Type};
use nix::errno::Errno;
use nix::fcntl::{openat, OFlag};
use nix::sys::stat::{fstat, fstatat, FileStat, Mode, SFlag};
use nix::unistd::{geteuid, read, unlinkat, UnlinkatFlags};

use crate::ownership::{remove_empty, walk};

const MARKER: &str = ".steelyard-scratch";
/// What nobody else may have been given: reading and writing. Servers may have passage.
const NOT_FOR_OTHERS: u32 = 0o066;

/// A directory that we made or were told of.
#[derive(Clone, Debug, Default)]
pub struct Scratch {
    mark: Vec<u8>,
    /// The parents that were made for it, the innermost first.
    parents: Vec<PathBuf>,
}

impl Scratch {
    /// Make a directory that only we may use, unless it is there already and bears this mark.
    pub fn make(path: &Path, mark: &[u8]) -> Result<Self, String> {
        if path.as_os_str().as_bytes().contains(&b'\n') {
            return Err("the path of a scratch directory may not hold a newline".into());
        }
        let parents = walk(path.parent().unwrap_or(path), true)?;
        match make(path, mark) {
            Ok(()) => Ok(Self { mark: mark.into(), parents }),
            Err(reason) => {
                remove_empty(&parents);
                Err(reason)
            }
        }
    }

    /// The same directory, asked for again.
    pub fn join(&mut self, other: Self) {
        self.mark = other.mark;
        self.parents.extend(other.parents);
    }

    /// Remove it with its parents, as far as nobody else uses them. Fails with what stands in the way.
    pub fn remove(&self, path: &Path) -> Result<(), String> {
        match remove(path, &self.mark) {
            Ok(true) | Err(Errno::ENOENT) => {}
            Ok(false) => {
                return Err(format!("{} is not the directory that was made there: it stays", path.display()))
            }
            Err(errno) => return Err(format!("cannot remove {}: {}", path.display(), errno.desc())),
        }
        remove_empty(&self.parents);
        Ok(())
    }
}

/// Make a directory of our own, where nobody else can change the way. Fails with why there is none.
pub fn make_own(mark: &[u8]) -> Result<(PathBuf, Scratch), String> {
    let temporary = std::env::var_os("TMPDIR").filter(|path| !path.is_empty());
    let mut reasons = Vec::new();
    for place in
        [temporary.as_deref().unwrap_or(OsStr::new("/tmp")), OsStr::new("/tmp"), OsStr::new("/var/tmp")]
    {
        let path = Path::new(place).join(format!("steelyard-agent-{}", random()?));
        let safe =
            if path.is_absolute() { walk(Path::new(place), false) } else { Err("it is relative".into()) };
        match safe.and_then(|_| Scratch::make(&path, mark)) {
            Ok(scratch) => return Ok((path, scratch)),
            Err(reason) => reasons.push(format!("{}: {reason}", place.to_string_lossy())),
        }
    }
    Err(reasons.join("; "))
}

fn random() -> Result<String, String> {
    let mut bytes = [0; 8];
    let outcome = File::open("/dev/urandom").and_then(|mut file| file.read_exact(&mut bytes));
    outcome.map_err(|error| format!("/dev/urandom: {error}"))?;
    Ok(format!("{:016x}", u64::from_ne_bytes(bytes)))
}

fn make(path: &Path, mark: &[u8]) -> Result<(), String> {
    let show = |error: io::Error| format!("cannot make {}: {error}", path.display());
    match DirBuilder::new().mode(0o700).create(path) {
        Ok(()) => write_marker(path, mark).map_err(|error| {
            let _ = fs::remove_file(path.join(MARKER));
            let _ = fs::remove_dir(path);
            show(error)
        }),
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => check(path, mark),
        Err(error) => Err(show(error)),
    }
}

fn write_marker(path: &Path, mark: &[u8]) -> io::Result<()> {
    crate::files::write_new(&path.join(MARKER), mark)
}

fn check(path: &Path, mark: &[u8]) -> Result<(), String> {
    let found = Dir::open(path, directory_flags(), Mode::empty()).and_then(|top| belongs(&top, mark));
    if found == Ok(true) {
        return Ok(());
    }
    Err(format!(
        "{} exists already and is not this run's own: a directory, no link, that is ours, that no other account may \
         read or write, and that bears this run's mark",
        path.display()
    ))
}

/// Remove a directory that is ours and bears this mark; say whether it did.
///
/// Symbolic links inside are removed, never followed; what is mounted inside stays, and so does the directory
/// then. The marker goes last, so that a removal cut short can be taken up again; if it was cut short after
/// that, an empty directory is left, which goes without a marker.
fn remove(path: &Path, mark: &[u8]) -> Result<bool, Errno> {
    let mut top = Dir::open(path, directory_flags(), Mode::empty())?;
    if belongs(&top, mark)? {
        let device = fstat(&top)?.st_dev;
        clear(&mut top, device, MARKER)?;
        unlinkat(&top, MARKER, UnlinkatFlags::NoRemoveDir)?;
    } else if !is_ours(&fstat(&top)?) || !entries(&mut top)?.is_empty() {
        return Ok(false);
    }
    fs::remove_dir(path).map_err(|error| Errno::from_raw(error.raw_os_error().unwrap_or_default()))?;
    Ok(true)
}

fn directory_flags() -> OFlag {
    OFlag::O_RDONLY | OFlag::O_DIRECTORY | OFlag::O_NOFOLLOW | OFlag::O_CLOEXEC
}

/// Whether a directory is ours alone and bears this mark.
fn belongs(top: impl AsFd, mark: &[u8]) -> Result<bool, Errno> {
    let found = fstat(&top)?;
    if !is_ours(&found) || found.st_mode & NOT_FOR_OTHERS != 0 {
        return Ok(false);
    }
    let flags = OFlag::O_RDONLY | OFlag::O_NOFOLLOW | OFlag::O_NONBLOCK | OFlag::O_CLOEXEC;
    let marker = match openat(top, MARKER, flags, Mode::empty()) {
        Err(Errno::ENOENT | Errno::ELOOP) => return Ok(false),
        outcome => outcome?,
    };
    let found = fstat(&marker)?;
    if !is_ours(&found) || SFlag::from_bits_truncate(found.st_mode) & SFlag::S_IFMT != SFlag::S_IFREG {
        return Ok(false);
    }
    let mut content = [0; 4096];
    let length = read(&marker, &mut content)?;
    Ok(content.get(..length) == Some(mark))
}

fn is_ours(found: &FileStat) -> bool {
    found.st_uid == geteuid().as_raw()
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

    const MARK: &[u8] = b"run:secret";

    #[test]
    fn made_with_parents_and_removed_with_all_in_it() {
        let place = Place::new("whole");
        let path = place.0.join("a/b/scratch");
        let mut scratch = Scratch::make(&path, MARK).unwrap();
        scratch.join(Scratch::make(&path, MARK).unwrap());
        assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o700);
        fs::create_dir_all(path.join("x/y/z")).unwrap();
        fs::write(path.join("x/y/file"), "text").unwrap();
        scratch.remove(&path).unwrap();
        assert!(!place.0.join("a").exists());
        scratch.remove(&path).unwrap();
    }

    #[test]
    fn what_is_not_ours_alone_is_refused_and_stays() {
        let place = Place::new("other");
        let path = place.0.join("scratch");
        let scratch = Scratch::make(&path, MARK).unwrap();
        assert!(Scratch::make(&path, b"run:other").is_err());
        let open = |mode| fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
        open(0o750);
        assert!(Scratch::make(&path, MARK).is_err() && scratch.remove(&path).is_err());
        open(0o711);
        assert!(Scratch::make(&path, MARK).is_ok());
        fs::rename(path.join(MARKER), place.0.join("marker")).unwrap();
        symlink(place.0.join("marker"), path.join(MARKER)).unwrap();
        assert!(Scratch::make(&path, MARK).is_err() && scratch.remove(&path).is_err());
        assert!(path.exists());
        fs::remove_file(path.join(MARKER)).unwrap();
        scratch.remove(&path).unwrap();
        assert!(!path.exists(), "a removal that was cut short at its last step is completed");
        fs::write(place.0.join("file"), "").unwrap();
        assert!(Scratch::make(&place.0.join("file"), MARK).is_err());
        assert!(Scratch::make(&place.0.join("new/file\n/x"), MARK).is_err() && !place.0.join("new").exists());
    }

    #[test]
    fn links_are_not_followed() {
        let place = Place::new("links");
        let (path, foreign) = (place.0.join("scratch"), place.0.join("foreign"));
        let scratch = Scratch::make(&path, MARK).unwrap();
        fs::create_dir(&foreign).unwrap();
        fs::write(foreign.join("file"), "text").unwrap();
        symlink(&foreign, path.join("link")).unwrap();
        symlink(&path, place.0.join("alias")).unwrap();
        assert!(scratch.remove(&place.0.join("alias")).is_err());
        assert!(Scratch::make(&place.0.join("alias"), MARK).is_err());
        scratch.remove(&path).unwrap();
        assert!(!path.exists() && foreign.join("file").exists());
    }
}
