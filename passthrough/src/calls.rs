//! The calls that requests are told as.

#[path = "../../recorder/calls.rs"]
mod list;

use list::number;

pub const NAME: u16 = number(b"name");
pub const OPEN: u16 = number(b"open");
pub const CLOSE: u16 = number(b"close");
pub const READ: u16 = number(b"pread");
pub const WRITE: u16 = number(b"pwrite");
pub const COPY: u16 = number(b"copy_file_range");
pub const SEEK: u16 = number(b"lseek");
pub const FSYNC: u16 = number(b"fsync");
pub const FDATASYNC: u16 = number(b"fdatasync");
pub const TRUNCATE: u16 = number(b"truncate");
pub const FALLOCATE: u16 = number(b"fallocate");
pub const STAT: u16 = number(b"stat");
pub const READLINK: u16 = number(b"readlink");
pub const OPENDIR: u16 = number(b"opendir");
pub const MKDIR: u16 = number(b"mkdir");
pub const RMDIR: u16 = number(b"rmdir");
pub const UNLINK: u16 = number(b"unlink");
pub const RENAME: u16 = number(b"rename");
pub const LINK: u16 = number(b"link");
pub const SYMLINK: u16 = number(b"symlink");
pub const CHMOD: u16 = number(b"chmod");
pub const CHOWN: u16 = number(b"chown");
pub const UTIME: u16 = number(b"utime");
pub const STATFS: u16 = number(b"statfs");

#[cfg(test)]
mod tests {
    #[test]
    fn a_call_has_the_number_that_the_list_gives() {
        assert_eq!((super::NAME, super::READ, super::COPY), (1, 21, 40));
    }
}
