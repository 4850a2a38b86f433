//! The number of a call, from the list that the library and the package read, too. The crates beside this folder
//! include this file.

pub const LIST: &[u8] = include_bytes!("../src/steelyard/traces/calls.def");
const BEFORE: &[u8] = b"CALL(";

/// A constant of this is found while it is compiled; a name that is not in the list does not compile.
#[allow(clippy::indexing_slicing, clippy::panic)]
pub const fn number(name: &[u8]) -> u16 {
    let mut at = 0;
    while at + BEFORE.len() < LIST.len() {
        if starts(at, BEFORE) {
            let (mut number, mut digit) = (0, at + BEFORE.len());
            while LIST[digit].is_ascii_digit() {
                number = 10 * number + (LIST[digit] - b'0') as u16;
                digit += 1;
            }
            let end = digit + 2 + name.len(); // behind ", "
            if starts(digit + 2, name) && LIST[end] == b',' {
                return number;
            }
        }
        at += 1;
    }
    panic!("no such call")
}

#[allow(clippy::indexing_slicing)]
const fn starts(at: usize, with: &[u8]) -> bool {
    let mut offset = 0;
    while offset < with.len() {
        if at + offset >= LIST.len() || LIST[at + offset] != with[offset] {
            return false;
        }
        offset += 1;
    }
    true
}
