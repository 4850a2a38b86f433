//! Whether nobody but us and root can change where a path leads: docs/reference/agent-protocol.md tells the rule.

use std::ffi::{CString, OsStr, OsString};
use std::fs::{self, DirBuilder, Metadata, OpenOptions};
use std::io::Read;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use nix::unistd::{getegid, geteuid};

const MOST_LINKS: usize = 40;
const MOST_TRUSTED: u64 = 1 << 16;
const ACCESS_LIST: &std::ffi::CStr = c"system.posix_acl_access";

/// Go to a directory. Where `makes` is set, what is missing on the way is made; return what was, the innermost
/// first. Fails with the reason, and leaves nothing behind, where somebody else could change the way.
pub fn walk(path: &Path, makes: bool) -> Result<Vec<PathBuf>, String> {
    let mut walk = Walk::new(makes);
    let outcome = walk.go(path);
    walk.made.reverse();
    match outcome {
        Ok(()) => Ok(walk.made),
        Err(reason) => {
            remove_empty(&walk.made);
            Err(reason)
        }
    }
}

/// Remove directories that we made, the innermost first. Others may use them by now.
pub fn remove_empty(made: &[PathBuf]) {
    let _ = made.iter().try_for_each(fs::remove_dir);
}

struct Walk {
    here: PathBuf,
    /// The names to come, the next one last.
    ahead: Vec<OsString>,
    links: usize,
    /// Others may write here, but not replace what is ours or root's.
    sticky: bool,
    /// What speaks against the way so far; a trusted directory further down clears it.
    doubt: Option<String>,
    trusted: Vec<PathBuf>,
    owners: Vec<u32>,
    makes: bool,
    made: Vec<PathBuf>,
}

impl Walk {
    fn new(makes: bool) -> Self {
        Self {
            here: PathBuf::new(),
            ahead: Vec::new(),
            links: 0,
            sticky: false,
            doubt: None,
            trusted: trusted(),
            owners: owners(),
            makes,
            made: Vec::new(),
        }
    }

    fn go(&mut self, path: &Path) -> Result<(), String> {
        self.lead_to(path)?;
        while let Some(name) = self.ahead.pop() {
            match name.as_bytes() {
                b"" | b"." => {}
                b".." => {
                    let above = self.here.parent().unwrap_or(Path::new("/")).to_path_buf();
                    self.lead_to(&above)?;
                }
                _ => self.pass(&self.here.join(&name))?,
            }
        }
        self.undoubted()
    }

    fn undoubted(&self) -> Result<(), String> {
        self.doubt.clone().map_or(Ok(()), Err)
    }

    /// Go on from the root. Who can change a link is not stopped by where it leads now.
    fn lead_to(&mut self, path: &Path) -> Result<(), String> {
        self.undoubted()?;
        self.look_ahead(path);
        let root = Path::new("/");
        let found = fs::symlink_metadata(root).map_err(|error| format!("/: {error}"))?;
        self.arrive(root, &found);
        Ok(())
    }

    fn look_ahead(&mut self, path: &Path) {
        let names = path.as_os_str().as_bytes().split(|&byte| byte == b'/').rev();
        self.ahead.extend(names.map(|name| OsString::from_vec(name.to_vec())));
    }

    fn pass(&mut self, entry: &Path) -> Result<(), String> {
        let found = self.find_or_make(entry)?;
        if self.sticky {
            self.doubt_owner(entry, &found);
        }
        if found.is_symlink() {
            self.follow(entry)
        } else if found.is_dir() {
            self.arrive(entry, &found);
            Ok(())
        } else {
            Err(format!("{} is not a directory", entry.display()))
        }
    }

    fn find_or_make(&mut self, entry: &Path) -> Result<Metadata, String> {
        let reason = match fs::symlink_metadata(entry) {
            Ok(found) => return Ok(found),
            Err(error) => format!("{}: {error}", entry.display()),
        };
        self.undoubted()?;
        if !self.makes {
            return Err(reason);
        }
        let outcome = DirBuilder::new().mode(0o711).create(entry);
        if outcome.is_ok() {
            self.made.push(entry.into());
        }
        // Another agent of ours may have made it just now.
        let why = outcome.map_or_else(|error| error.to_string(), |()| reason);
        fs::symlink_metadata(entry).map_err(|_| format!("cannot make {}: {why}", entry.display()))
    }

    fn follow(&mut self, link: &Path) -> Result<(), String> {
        self.undoubted()?;
        self.links += 1;
        let target = fs::read_link(link).ok().filter(|_| self.links <= MOST_LINKS);
        let target = target.ok_or_else(|| format!("{} is a link that leads nowhere", link.display()))?;
        if target.is_absolute() {
            self.lead_to(&target)
        } else {
            self.look_ahead(&target);
            Ok(())
        }
    }

    fn arrive(&mut self, directory: &Path, found: &Metadata) {
        self.here = directory.into();
        self.sticky = false;
        if self.trusted.iter().any(|each| directory.starts_with(each)) {
            self.doubt = None;
            return;
        }
        self.doubt_owner(directory, found);
        if is_open(directory, found) {
            self.sticky = found.mode() & libc::S_ISVTX != 0;
            if !self.sticky {
                self.note(format!("other accounts may write {}", directory.display()));
            }
        }
    }

    fn doubt_owner(&mut self, entry: &Path, found: &Metadata) {
        if !self.owners.contains(&found.uid()) {
            let owner = found.uid();
            self.note(format!("{} belongs to another account (uid {owner})", entry.display()));
        }
    }

    fn note(&mut self, doubt: String) {
        self.doubt.get_or_insert(doubt);
    }
}

/// The directories that the user trusts; none where somebody else may have written the list.
fn trusted() -> Vec<PathBuf> {
    let variable = |name| std::env::var_os(name).filter(|value| !value.is_empty());
    let home = || PathBuf::from(variable("HOME").unwrap_or_default()).join(".config");
    let list = variable("XDG_CONFIG_HOME").map_or_else(home, PathBuf::from).join("steelyard/trusted");
    read_trusted(&list).unwrap_or_default()
}

fn read_trusted(list: &Path) -> Option<Vec<PathBuf>> {
    let mut options = OpenOptions::new();
    options.read(true).custom_flags(libc::O_NOFOLLOW | libc::O_NONBLOCK | libc::O_CLOEXEC);
    let file = options.open(list).ok()?;
    let found = file.metadata().ok()?;
    if !found.is_file() || found.uid() != geteuid().as_raw() || is_open(list, &found) {
        return None;
    }
    let mut text = Vec::new();
    file.take(MOST_TRUSTED).read_to_end(&mut text).ok()?;
    let lines = text.split(|&byte| byte == b'\n').map(|line| Path::new(OsStr::from_bytes(line)));
    Some(lines.filter(|line| line.is_absolute() && line.parent().is_some()).map(PathBuf::from).collect())
}

/// Whom an entry on the way may belong to: us, root, and in a user namespace that knows no root, the uid that
/// stands for all whom it does not know.
fn owners() -> Vec<u32> {
    let mut owners = vec![0, geteuid().as_raw()];
    let table = fs::read_to_string("/proc/self/uid_map").unwrap_or_default();
    if !table.lines().any(|line| line.split_whitespace().nth(1) == Some("0")) {
        let number = fs::read_to_string("/proc/sys/kernel/overflowuid").ok();
        owners.extend(number.and_then(|text| text.trim().parse::<u32>().ok()));
    }
    owners
}

/// Whether anybody but us and root may write to it.
fn is_open(path: &Path, found: &Metadata) -> bool {
    let mode = found.mode();
    let listed = || has_access_list(path) || has_others(found.gid());
    mode & libc::S_IWOTH != 0 || (mode & libc::S_IWGRP != 0 && listed())
}

/// Whether a list says who else may write; its mask is what shows as the group's rights.
fn has_access_list(path: &Path) -> bool {
    let Ok(path) = CString::new(path.as_os_str().as_bytes()) else {
        return true;
    };
    // SAFETY: both names end with a NUL, and nothing is written where there is no room.
    unsafe { libc::lgetxattr(path.as_ptr(), ACCESS_LIST.as_ptr(), std::ptr::null_mut(), 0) > 0 }
}

/// Whether somebody else may be a member of a group. One that is not listed here may have any.
fn has_others(group: u32) -> bool {
    let read = |path| String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned();
    let accounts = Accounts { groups: read("/etc/group"), users: read("/etc/passwd") };
    accounts.has_others(group, geteuid().as_raw(), getegid().as_raw())
}

struct Accounts {
    groups: String,
    users: String,
}

impl Accounts {
    fn has_others(&self, group: u32, me: u32, primary: u32) -> bool {
        let users: Vec<Vec<&str>> = rows(&self.users);
        let number = |row: &[&str], at: usize| row.get(at).and_then(|text| text.parse::<u32>().ok());
        let my_name =
            users.iter().find(|row| number(row, 2) == Some(me)).and_then(|row| row.first().copied());
        let entries: Vec<Vec<&str>> = rows(&self.groups);
        let mut entries = entries.iter().filter(|row| number(row, 2) == Some(group)).peekable();
        if entries.peek().is_none() {
            return true;
        }
        let foreign = entries.any(|row| {
            let members = row.get(3).copied().unwrap_or_default().split(',').filter(|name| !name.is_empty());
            let alone = members.into_iter().all(|name| name == "root" || Some(name) == my_name);
            // A directory service need not list whose primary group it is.
            !alone || (group != 0 && group == primary && row.first().copied() != my_name)
        });
        let mut owners = users.iter().filter(|row| number(row, 3) == Some(group));
        foreign
            || (group != 0
                && owners.any(|row| !matches!(number(row, 2), Some(user) if user == 0 || user == me)))
    }
}

fn rows(text: &str) -> Vec<Vec<&str>> {
    text.lines().map(|line| line.split(':').collect()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::unix::fs::{symlink, PermissionsExt};

    /// A folder of a test's own that goes with it.
    struct Place(PathBuf);

    impl Place {
        fn new(name: &str) -> Self {
            let path = std::env::temp_dir().join(format!("probe-way-{name}-{}", std::process::id()));
            fs::create_dir(&path).unwrap();
            Self(path)
        }

        fn directory(&self, name: &str, mode: u32) -> PathBuf {
            let path = self.0.join(name);
            fs::create_dir(&path).unwrap();
            fs::set_permissions(&path, fs::Permissions::from_mode(mode)).unwrap();
            path
        }
    }

    impl Drop for Place {
        fn drop(&mut self) {
            fs::remove_dir_all(&self.0).unwrap();
        }
    }

    #[test]
    fn what_is_missing_is_made_for_us_alone() {
        let place = Place::new("made");
        let made = walk(&place.0.join("a/b/.."), true).unwrap();
        assert_eq!(made, [place.0.join("a/b"), place.0.join("a")]);
        assert_eq!(fs::metadata(place.0.join("a")).unwrap().permissions().mode() & 0o777, 0o711);
        assert!(walk(&place.0.join("c"), false).is_err() && !place.0.join("c").exists());
    }

    #[test]
    fn what_others_may_write_is_refused_unless_it_is_sticky() {
        let place = Place::new("open");
        assert!(walk(&place.directory("sticky", 0o1777), false).is_ok());
        let open = place.directory("open", 0o777);
        let reason = walk(&open.join("new"), true).unwrap_err();
        assert!(reason.contains(open.to_str().unwrap()) && !open.join("new").exists());
        symlink(place.directory("own", 0o700), open.join("link")).unwrap();
        assert!(walk(&open.join("link"), false).is_err());
        symlink(&open, place.0.join("in")).unwrap();
        assert!(walk(&place.0.join("in"), false).is_err());
    }

    #[test]
    fn links_are_followed_to_where_they_lead() {
        let place = Place::new("links");
        place.directory("to", 0o700);
        symlink("to/../to/.", place.0.join("from")).unwrap();
        symlink(place.0.join("from"), place.0.join("again")).unwrap();
        symlink("round", place.0.join("round")).unwrap();
        assert_eq!(walk(&place.0.join("again"), false), Ok(vec![]));
        assert!(walk(&place.0.join("round"), false).is_err());
        assert!(walk(Path::new("/etc/passwd"), false).is_err());
    }

    #[test]
    fn who_is_in_a_group() {
        let groups = "root:x:0:\nalice:x:1000:\nwe:x:7:alice\nall:x:8:alice,bob\nusers:x:100:\n";
        let users = "root:x:0:0::\noperator:x:11:0::\nalice:x:1000:1000::\nbob:x:1001:1001::\ncarl:x:9:7::\n";
        let accounts = |users: &str| Accounts { groups: groups.into(), users: users.into() };
        let whole = accounts(users);
        for (group, others) in [(0, false), (1000, false), (7, true), (8, true), (100, false), (55, true)] {
            assert_eq!(whole.has_others(group, 1000, 1000), others, "{group}");
        }
        assert!(!accounts("alice:x:1000:1000::\n").has_others(7, 1000, 1000));
        assert!(whole.has_others(100, 1000, 100), "a primary group that is not named as we are");
    }
}
