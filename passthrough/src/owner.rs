//! What is made belongs to who asks for it.

use fuser::Request;
use nix::unistd::{getegid, geteuid, setfsgid, setfsuid, Gid, Uid};

/// While it lives, this thread reaches files as another account does.
pub struct Owner;

impl Owner {
    pub fn of(request: &Request<'_>) -> Owner {
        setfsgid(Gid::from_raw(request.gid()));
        setfsuid(Uid::from_raw(request.uid()));
        Owner
    }
}

impl Drop for Owner {
    fn drop(&mut self) {
        setfsuid(geteuid());
        setfsgid(getegid());
    }
}
