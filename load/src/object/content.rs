//! What an object holds: bytes that follow from its key and their place, so that every read can be checked.

use crate::core::random::{scramble, STEP};

const WORD: u64 = 8;

/// Write the bytes from `offset` on.
pub fn fill(key: u64, offset: u64, out: &mut [u8]) {
    let skipped = usize::try_from(offset % WORD).unwrap_or_default();
    let mut number = offset / WORD;
    let mut out = out;
    if skipped > 0 {
        let first = word(key, number);
        let length = out.len().min(8 - skipped);
        let (head, rest) = out.split_at_mut(length);
        head.copy_from_slice(first.get(skipped..skipped + length).unwrap_or_default());
        out = rest;
        number += 1;
    }
    for chunk in out.chunks_mut(8) {
        let bytes = word(key, number);
        chunk.copy_from_slice(bytes.get(..chunk.len()).unwrap_or_default());
        number += 1;
    }
}

/// Whether these are the bytes from `offset` on.
pub fn is_right(key: u64, offset: u64, bytes: &[u8]) -> bool {
    let mut expected = [0; 4096];
    let mut at = offset;
    bytes.chunks(expected.len()).all(|chunk| {
        let part = expected.get_mut(..chunk.len()).unwrap_or_default();
        fill(key, at, part);
        at += chunk.len() as u64;
        part == chunk
    })
}

fn word(key: u64, number: u64) -> [u8; 8] {
    scramble(key.wrapping_add(number.wrapping_mul(STEP))).to_le_bytes()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_are_as_the_whole_and_others_are_not() {
        let mut whole = vec![0; 100];
        fill(7, 0, &mut whole);
        for begin in 0..100 {
            for end in begin..100 {
                assert!(is_right(7, begin as u64, &whole[begin..end]));
            }
        }
        assert!(!is_right(7, 1, &whole));
        assert!(!is_right(8, 0, &whole));
    }
}
