//! What goes over the wire: words quoted as a shell reads them, replies, and frames of files.
//!
//! The words and their quoting are laid down in docs/reference/agent-protocol.md. All of this is pure.

/// A word as bytes; it need not be UTF-8.
pub type Word = Vec<u8>;

/// A line that is no line of the protocol. Whoever sent it cannot be understood any more.
#[derive(Debug, PartialEq, Eq)]
pub struct Garbage;

const QUOTED_NEWLINE: &[u8] = b"\"$NL\"";

/// Whether a byte may stand in a word without quotes.
pub fn is_bare(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"_-./:,+=@%".contains(&byte)
}

/// Take a line apart into its words.
pub fn words(line: &[u8]) -> Result<Vec<Word>, Garbage> {
    let mut found = Vec::new();
    let mut rest = line;
    loop {
        let word;
        (word, rest) = first_word(rest)?;
        found.push(word);
        match rest.split_first() {
            None => return Ok(found),
            Some((_, after_blank)) => rest = after_blank,
        }
    }
}

/// Read one word; the rest is empty or begins with the blank that ended it.
fn first_word(text: &[u8]) -> Result<(Word, &[u8]), Garbage> {
    let (mut word, mut rest) = (Word::new(), text);
    while let Some((&byte, after)) = rest.split_first() {
        rest = match byte {
            b' ' => break,
            b'\'' => quoted(after, &mut word)?,
            b'\\' => literal(rest, b"\\'", b'\'', &mut word)?,
            b'"' => literal(rest, QUOTED_NEWLINE, b'\n', &mut word)?,
            _ if is_bare(byte) => literal(rest, &[byte], byte, &mut word)?,
            _ => return Err(Garbage),
        };
    }
    // An empty word is written ''; nothing at all between two blanks is no word.
    if rest.len() == text.len() {
        return Err(Garbage);
    }
    Ok((word, rest))
}

fn quoted<'a>(text: &'a [u8], word: &mut Word) -> Result<&'a [u8], Garbage> {
    let end = text.iter().position(|&byte| byte == b'\'').ok_or(Garbage)?;
    let (inside, rest) = text.split_at(end);
    word.extend_from_slice(inside);
    rest.get(1..).ok_or(Garbage)
}

fn literal<'a>(text: &'a [u8], form: &[u8], meaning: u8, word: &mut Word) -> Result<&'a [u8], Garbage> {
    word.push(meaning);
    text.strip_prefix(form).ok_or(Garbage)
}

/// The head of a reply, or of anything else that says how many bytes follow.
pub fn reply(code: u8, content: &[u8]) -> Vec<u8> {
    let mut whole = format!("{code} {}\n", content.len()).into_bytes();
    whole.extend_from_slice(content);
    whole
}

/// Add a file to the frames of a `read`.
pub fn add_frame(frames: &mut Vec<u8>, path: &[u8], content: &[u8]) {
    frames.extend_from_slice(format!("{} {} ", path.len(), content.len()).as_bytes());
    frames.extend_from_slice(path);
    frames.push(b'\n');
    frames.extend_from_slice(content);
}

/// An event as one line shorter than 512 bytes, whatever is in it.
pub fn event(text: &str) -> Vec<u8> {
    let mut line: Vec<u8> =
        text.bytes().map(|byte| if byte == b'\n' { b' ' } else { byte }).take(510).collect();
    line.push(b'\n');
    line
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Quote a word in the one form that the protocol allows, as the controller does.
    fn quote(word: &[u8]) -> Vec<u8> {
        if !word.is_empty() && word.iter().all(|&byte| is_bare(byte)) {
            return word.to_vec();
        }
        let mut text = vec![b'\''];
        for &byte in word {
            match byte {
                b'\'' => text.extend_from_slice(b"'\\''"),
                b'\n' => text.extend_from_slice(b"'\"$NL\"'"),
                _ => text.push(byte),
            }
        }
        text.push(b'\'');
        text
    }

    /// xorshift: the same bytes in every test run.
    struct Dice(u64);

    impl Dice {
        fn roll(&mut self, sides: usize) -> usize {
            self.0 ^= self.0 << 13;
            self.0 ^= self.0 >> 7;
            self.0 ^= self.0 << 17;
            usize::try_from(self.0 % sides as u64).unwrap()
        }

        fn word(&mut self, alphabet: &[u8]) -> Word {
            let length = self.roll(12);
            (0..length).map(|_| alphabet[self.roll(alphabet.len())]).collect()
        }
    }

    #[test]
    fn words_survive_quoting() {
        let every: Vec<u8> = (0..=255).filter(|&byte| byte != 0).collect();
        let nasty = b"'\"$NL\\ \nab-*".to_vec();
        let mut dice = Dice(42);
        for round in 0..20_000 {
            let alphabet = if round % 2 == 0 { &every } else { &nasty };
            let count = 1 + dice.roll(5);
            let sent: Vec<Word> = (0..count).map(|_| dice.word(alphabet)).collect();
            let line = sent.iter().map(|word| quote(word)).collect::<Vec<_>>().join(&b' ');
            assert!(!line.contains(&b'\n'));
            assert_eq!(words(&line), Ok(sent));
        }
    }

    #[test]
    fn no_bytes_whatever_upset_it() {
        let mut dice = Dice(7);
        for _ in 0..50_000 {
            let line = dice.word(b"'\"$NL\\ a\xff;\0");
            if let Ok(found) = words(&line) {
                let again = found.iter().map(|word| quote(word)).collect::<Vec<_>>().join(&b' ');
                assert_eq!(words(&again), Ok(found));
            }
        }
    }

    #[test]
    fn what_is_not_of_the_protocol_is_garbage() {
        for line in ["", " ", "a  b", "a ", " a", "'a", "a;b", "$(x)", "\"a\"", "\"$NL", "\\a", "a\tb", "a\r"]
        {
            assert_eq!(words(line.as_bytes()), Err(Garbage), "{line:?}");
        }
    }

    #[test]
    fn frames_put_the_path_last() {
        let mut frames = Vec::new();
        add_frame(&mut frames, b"/a b", b"x\ny");
        assert_eq!(frames, b"4 3 /a b\nx\ny");
        assert_eq!(reply(1, b"no"), b"1 2\nno");
    }

    #[test]
    fn events_are_short_and_one_line() {
        let line = event(&format!("say {}\nmore", "x".repeat(1000)));
        assert!(line.len() < 512);
        assert_eq!(line.iter().filter(|&&byte| byte == b'\n').count(), 1);
    }
}
