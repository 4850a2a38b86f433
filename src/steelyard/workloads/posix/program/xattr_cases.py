"""Cases of xattr(7) and of O_TMPFILE."""

import errno
import os

from steelyard.workloads.posix.program.harness import (
    Actor,
    CaseGroup,
    NotApplicable,
    Unsupported,
    exists,
    expect_equal,
    expect_error,
    make_directory,
    make_file,
    make_link,
    open_file,
    read_content,
)

XATTR = CaseGroup("xattr")


TMPFILE = CaseGroup("tmpfile")


FLAGS = os.O_TMPFILE | os.O_RDWR


@XATTR.case(optional=True)
def set_attribute(who: Actor) -> None:
    """xattr(7): a user attribute of a file is kept, listed, replaced and removed."""
    make_file("file")
    os.setxattr("file", "user.one", b"1\0binary")
    os.setxattr("file", "user.two", b"")
    expect_equal("value", os.getxattr("file", "user.one"), b"1\0binary")
    names = [name for name in os.listxattr("file") if name.startswith("user.")]
    expect_equal("names", sorted(names), ["user.one", "user.two"])
    os.setxattr("file", "user.one", b"2")
    os.removexattr("file", "user.two")
    expect_equal("value", os.getxattr("file", "user.one"), b"2")
    expect_error(errno.ENODATA, os.getxattr, "file", "user.two")


@XATTR.case(optional=True)
def insist_on_attribute(who: Actor) -> None:
    """setxattr(2): XATTR_CREATE on one that exists is EEXIST, XATTR_REPLACE without one ENODATA."""
    make_file("file")
    os.setxattr("file", "user.one", b"1")
    expect_error(errno.EEXIST, os.setxattr, "file", "user.one", b"2", os.XATTR_CREATE)
    expect_error(errno.ENODATA, os.setxattr, "file", "user.two", b"2", os.XATTR_REPLACE)
    expect_error(errno.ENODATA, os.removexattr, "file", "user.two")


@XATTR.case(optional=True)
def set_attribute_of_directory(who: Actor) -> None:
    """xattr(7): directories have user attributes, also by descriptor."""
    number = open_file(make_directory("dir"), os.O_RDONLY)
    os.setxattr("dir", "user.one", b"1")
    expect_equal("value by descriptor", os.getxattr(number, "user.one"), b"1")


@XATTR.case(optional=True)
def keep_attribute_over_rename(who: Actor) -> None:
    """xattr(7): attributes belong to the file: they go with it at rename, and other links show them."""
    make_file("file")
    os.setxattr("file", "user.one", b"1")
    os.link("file", "other")
    os.rename("file", "new")
    expect_equal("values", (os.getxattr("new", "user.one"), os.getxattr("other", "user.one")), (b"1", b"1"))


@XATTR.case(optional=True)
def refuse_attribute_of_link(who: Actor) -> None:
    """xattr(7): a symbolic link has no user attributes: EPERM."""
    make_file("file")
    os.setxattr("file", "user.one", b"1")
    make_link("file", "link")
    expect_error(errno.EPERM, os.setxattr, "link", "user.one", b"1", 0, follow_symlinks=False)


@XATTR.case(optional=True)
def refuse_long_attribute(who: Actor) -> None:
    """setxattr(2): a name of more than 255 bytes is ERANGE, a value of more than 64 KiB E2BIG."""
    make_file("file")
    os.setxattr("file", "user.one", b"1")
    expect_error((errno.ERANGE, errno.ENAMETOOLONG), os.setxattr, "file", "user." + "x" * 300, b"")
    expect_error(errno.E2BIG, os.setxattr, "file", "user.two", bytes(65537))


@XATTR.case("user", optional=True)
def protect_attribute(who: Actor) -> None:
    """xattr(7): user attributes need the right to write the file; trusted ones need a privilege: EPERM."""
    make_file("file", b"", 0o644)
    os.setxattr("file", "user.one", b"1")
    os.chmod("file", 0o444)
    expect_error(errno.EACCES, os.setxattr, "file", "user.one", b"2")
    expect_error(errno.EPERM, os.setxattr, "file", "trusted.one", b"2")


def open_unnamed(flags: int = FLAGS) -> int:
    """An unnamed file of this directory. Raises Unsupported."""
    try:
        return os.open(".", flags, 0o600)
    except OSError as error:
        if error.errno in (errno.EOPNOTSUPP, errno.EISDIR, errno.EINVAL):
            raise Unsupported("open with O_TMPFILE is " + errno.errorcode[error.errno]) from error
        raise


@TMPFILE.case(optional=True)
def write_unnamed_file(who: Actor) -> None:
    """open(2): O_TMPFILE gives a file that can be written and read, and has no name and no link."""
    number = open_unnamed()
    os.write(number, b"abc")
    expect_equal("content", os.pread(number, 9, 0), b"abc")
    expect_equal("links, entries", (os.fstat(number).st_nlink, os.listdir(".")), (0, []))


@TMPFILE.case(optional=True)
def name_unnamed_file(who: Actor) -> None:
    """open(2): linkat gives an unnamed file a name."""
    number = open_unnamed()
    os.write(number, b"abc")
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    own = os.sep + "proc/self/fd/{}".format(number)
    if not exists(own):
        raise NotApplicable("no proc file system here")
    os.link(own, "named", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)
    expect_equal("content", read_content("named"), b"abc")
    expect_equal("links", os.fstat(number).st_nlink, 1)


@TMPFILE.case(optional=True)
def keep_unnamed_file_unnamed(who: Actor) -> None:
    """open(2): with O_EXCL an unnamed file cannot be given a name: ENOENT."""
    number = open_unnamed(FLAGS | os.O_EXCL)
    here = os.open(".", os.O_RDONLY | os.O_DIRECTORY)
    own = os.sep + "proc/self/fd/{}".format(number)
    expect_error(errno.ENOENT, os.link, own, "named", src_dir_fd=here, dst_dir_fd=here, follow_symlinks=True)


@TMPFILE.case()
def remove_open_temporary(who: Actor) -> None:
    """POSIX unlink: files that are unlinked while open, the portable kind of temporary file, stay apart."""
    numbers = []
    for number in range(20):
        numbers.append(open_file(make_file("file", b"%d" % number)))
        os.unlink("file")
    expect_equal("contents", [os.pread(each, 9, 0) for each in numbers], [b"%d" % each for each in range(20)])
