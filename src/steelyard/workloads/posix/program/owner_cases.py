"""Cases of chmod(2), chown(2) and access(2)."""

import errno
import os
import stat

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    call_in_child,
    expect_equal,
    expect_error,
    expect_true,
    make_directory,
    make_file,
    make_link,
    mode_bits,
    open_file,
    wait_for_clock,
)

CHMOD = CaseGroup("chmod")
CHOWN = CaseGroup("chown")
ACCESS = CaseGroup("access")


@CHMOD.case()
def change_mode_of_file(who: Actor) -> None:
    """POSIX chmod: each of the nine permission bits is set and cleared alone, whatever the umask."""
    make_file("file")
    os.umask(0o077)
    for mode in (0, *(1 << bit for bit in range(9)), 0o777, 0o644):
        os.chmod("file", mode)
        expect_equal("mode", mode_bits("file"), mode)


@CHMOD.case()
def change_mode_of_directory(who: Actor) -> None:
    """POSIX chmod: a directory keeps its permissions and the sticky bit."""
    make_directory("dir")
    for mode in (0o700, 0o1777, 0o555, 0o755):
        os.chmod("dir", mode)
        expect_equal("mode", mode_bits("dir"), mode)


@CHMOD.case()
def change_mode_of_descriptor(who: Actor) -> None:
    """POSIX fchmod: as chmod, by descriptor, be it for reading alone."""
    os.fchmod(open_file(make_file("file"), os.O_RDONLY), 0o600)
    expect_equal("mode", mode_bits("file"), 0o600)


@CHMOD.case()
def set_id_bits(who: Actor) -> None:
    """POSIX chmod: the owner sets the set-user-ID and set-group-ID bits."""
    os.chmod(make_file("file"), 0o6755)
    expect_equal("mode", mode_bits("file"), 0o6755)


@CHMOD.case()
def change_mode_through_link(who: Actor) -> None:
    """POSIX chmod: symbolic links are followed."""
    make_link(make_file("file"), "link")
    os.chmod("link", 0o600)
    expect_equal("mode", mode_bits("file"), 0o600)


@CHMOD.case()
def change_mode_of_missing(who: Actor) -> None:
    """POSIX chmod: a missing file is ENOENT, a file in the place of a directory ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOENT, os.chmod, "nothing", 0o644)
    expect_error(errno.ENOTDIR, os.chmod, "file/x", 0o644)


@CHMOD.case()
def keep_mode_of_open_file(who: Actor) -> None:
    """POSIX chmod: a descriptor that is open keeps its access."""
    number = open_file(make_file("file", b"abc"))
    os.chmod("file", 0)
    expect_equal("content", os.pread(number, 9, 0), b"abc")
    expect_equal("bytes written", os.pwrite(number, b"d", 3), 1)


@CHMOD.case("root")
def change_mode_of_others_file(who: Actor) -> None:
    """POSIX chmod: who is neither the owner nor privileged gets EPERM."""
    os.chmod(make_file("file"), 0o666)
    expect_error(errno.EPERM, call_in_child, lambda: os.chmod("file", 0o600), who, who.other_uid)
    expect_equal("mode", mode_bits("file"), 0o666)


@CHMOD.case("root")
def lose_group_bit(who: Actor) -> None:
    """POSIX chmod: set-group-ID is cleared where the caller is not in the file's group."""
    make_file("file")
    os.chown("file", who.other_uid, 0)
    call_in_child(lambda: os.chmod("file", 0o2755), who, who.other_uid)
    expect_equal("mode", mode_bits("file"), 0o755)


@CHMOD.case("root")
def write_to_set_id_file(who: Actor) -> None:
    """POSIX write: a write by somebody unprivileged clears set-user-ID and set-group-ID."""
    make_file("file", b"abc")
    os.chmod("file", 0o6777)
    call_in_child(lambda: os.write(open_file("file", os.O_WRONLY), b"x"), who, who.other_uid)
    expect_equal("mode", mode_bits("file"), 0o777)


@CHMOD.case("user")
def write_to_own_set_id_file(who: Actor) -> None:
    """POSIX write, Linux: also the owner's write clears set-user-ID."""
    os.chmod(make_file("file", b"abc"), 0o4755)
    os.write(open_file("file", os.O_WRONLY), b"x")
    expect_equal("mode", mode_bits("file"), 0o755)


@CHOWN.case("root")
def change_owner(who: Actor) -> None:
    """POSIX chown: root gives a file and a directory to another user and group."""
    for name in (make_file("file"), make_directory("dir")):
        os.chown(name, who.other_uid, who.other_gid)
        status = os.stat(name)
        expect_equal("owner of " + name, (status.st_uid, status.st_gid), (who.other_uid, who.other_gid))


@CHOWN.case("root")
def change_owner_alone(who: Actor) -> None:
    """POSIX chown: -1 leaves the owner or the group."""
    make_file("file")
    group = os.stat("file").st_gid
    os.chown("file", who.other_uid, -1)
    expect_equal("owner", (os.stat("file").st_uid, os.stat("file").st_gid), (who.other_uid, group))
    os.chown("file", -1, who.other_gid)
    expect_equal("owner", (os.stat("file").st_uid, os.stat("file").st_gid), (who.other_uid, who.other_gid))


@CHOWN.case("root")
def change_owner_of_link(who: Actor) -> None:
    """POSIX lchown: a symbolic link's own owner changes; chown changes its target's."""
    make_link(make_file("file"), "link")
    os.lchown("link", who.other_uid, who.other_gid)
    expect_equal("owners", (os.lstat("link").st_uid, os.stat("file").st_uid), (who.other_uid, who.uid))
    os.chown("link", who.other_uid, -1)
    expect_equal("owner of the target", os.stat("file").st_uid, who.other_uid)


@CHOWN.case("root")
def lose_set_id_bits(who: Actor) -> None:
    """chown(2): a change of owner of an executable clears set-user-ID and set-group-ID, for root too."""
    os.chmod(make_file("file"), 0o6755)
    os.chown("file", who.other_uid, who.other_gid)
    expect_equal("mode", mode_bits("file"), 0o755)


@CHOWN.case()
def change_owner_to_same(who: Actor) -> None:
    """POSIX chown: the owner may set owner and group to what they are, and -1 changes nothing."""
    make_file("file")
    before = os.stat("file")
    os.chown("file", before.st_uid, who.gid)
    os.chown("file", -1, -1)
    expect_equal("owner", (os.stat("file").st_uid, os.stat("file").st_gid), (who.uid, who.gid))


@CHOWN.case("user")
def give_away_file(who: Actor) -> None:
    """POSIX chown (_POSIX_CHOWN_RESTRICTED): the owner cannot give a file to another user: EPERM."""
    make_file("file")
    expect_error(errno.EPERM, os.chown, "file", who.other_uid, -1)


@CHOWN.case("user")
def give_away_group(who: Actor) -> None:
    """POSIX chown: the owner cannot give a file to a group that it is not in: EPERM."""
    make_file("file")
    expect_error(errno.EPERM, os.chown, "file", -1, who.other_gid)


@CHOWN.case("root")
def change_to_own_group(who: Actor) -> None:
    """POSIX chown: the owner may give a file to a group that it is in, which clears set-group-ID."""
    make_file("file")
    os.chown("file", who.other_uid, 0)
    os.chmod("file", 0o6755)
    call_in_child(lambda: os.chown("file", -1, who.other_gid), who, who.other_uid)
    expect_equal("group", os.stat("file").st_gid, who.other_gid)
    expect_equal("mode", mode_bits("file"), 0o755)


@CHOWN.case()
def change_owner_of_missing(who: Actor) -> None:
    """POSIX chown: a missing file is ENOENT, a file in the place of a directory ENOTDIR."""
    make_file("file")
    expect_error(errno.ENOENT, os.chown, "nothing", -1, -1)
    expect_error(errno.ENOTDIR, os.chown, "file/x", -1, -1)


@CHOWN.case()
def mark_change_of_owner(who: Actor) -> None:
    """POSIX chown: a successful change marks the time of the last status change."""
    before = os.stat(make_file("file")).st_ctime_ns
    wait_for_clock(before)
    os.chown("file", who.uid, who.gid)
    expect_true("ctime is later", os.stat("file").st_ctime_ns > before)


@ACCESS.case()
def ask_whether_file_exists(who: Actor) -> None:
    """POSIX access: F_OK tells whether a file is there, through symbolic links."""
    make_link("nothing", "dangling")
    answers = [os.access(name, os.F_OK) for name in (make_file("file"), "nothing", "dangling")]
    expect_equal("answers", answers, [True, False, False])


@ACCESS.case("user")
def ask_as_owner(who: Actor) -> None:
    """POSIX access: the owner's bits count for the owner, even where others may do more."""
    make_file("file")
    answers = []
    for mode in (0o400, 0o200, 0o100, 0o077):
        os.chmod("file", mode)
        answers.append([os.access("file", way) for way in (os.R_OK, os.W_OK, os.X_OK)])
    expect_equal(
        "answers", answers, [[True, False, False], [False, True, False], [False, False, True], [False] * 3]
    )


@ACCESS.case("root")
def ask_as_root(who: Actor) -> None:
    """POSIX access, path_resolution(7): root may read and write anything, but execute only what has an x."""
    make_file("file", b"", 0)
    answers = [os.access("file", way) for way in (os.R_OK, os.W_OK, os.X_OK)]
    expect_equal("answers", answers, [True, True, False])
    os.chmod("file", 0o001)
    expect_true("executable", os.access("file", os.X_OK))


@ACCESS.case()
def ask_about_directory(who: Actor) -> None:
    """POSIX access: a directory can be searched by its x bit."""
    make_directory("dir", 0o700)
    expect_true("read, write, search", os.access("dir", os.R_OK | os.W_OK | os.X_OK))
    expect_true("a directory", stat.S_ISDIR(os.stat("dir").st_mode))
