//! AWS Signature Version 4, as the documentation of S3 describes it.

use std::fmt::Write;
use std::time::{SystemTime, UNIX_EPOCH};

use ring::{digest, hmac};

/// Of no body at all.
pub const EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";
/// Of a body that is not part of what is signed.
pub const UNSIGNED: &str = "UNSIGNED-PAYLOAD";
const DAY: u64 = 86_400;

pub struct Signer {
    user: String,
    secret: String,
    region: String,
    day: String,
    key: hmac::Key,
}

impl Signer {
    pub fn new(user: String, secret: String, region: String) -> Self {
        Self { user, secret, region, day: String::new(), key: hmac::Key::new(hmac::HMAC_SHA256, b"") }
    }

    /// The headers that sign a request, each with its line's end. `path` and `query` are encoded already.
    pub fn sign(&mut self, method: &str, host: &str, path: &str, query: &str, body: &str) -> String {
        let (day, time) = tell_time(SystemTime::now());
        self.sign_at(method, host, path, query, body, &day, &time)
    }

    #[allow(clippy::too_many_arguments)]
    fn sign_at(
        &mut self,
        method: &str,
        host: &str,
        path: &str,
        query: &str,
        body: &str,
        day: &str,
        time: &str,
    ) -> String {
        self.renew_key(day);
        let canonical = format!(
            "{method}\n{path}\n{query}\nhost:{host}\nx-amz-content-sha256:{body}\nx-amz-date:{time}\n\n\
             host;x-amz-content-sha256;x-amz-date\n{body}"
        );
        let hash = hex(digest::digest(&digest::SHA256, canonical.as_bytes()).as_ref());
        let scope = format!("{day}/{}/s3/aws4_request", self.region);
        let text = format!("AWS4-HMAC-SHA256\n{time}\n{scope}\n{hash}");
        let signature = hex(hmac::sign(&self.key, text.as_bytes()).as_ref());
        format!(
            "x-amz-date: {time}\r\nx-amz-content-sha256: {body}\r\nAuthorization: AWS4-HMAC-SHA256 Credential={}/\
             {scope},SignedHeaders=host;x-amz-content-sha256;x-amz-date,Signature={signature}\r\n",
            self.user
        )
    }

    /// It holds for a day.
    fn renew_key(&mut self, day: &str) {
        if self.day == day {
            return;
        }
        let mut key = hmac::Key::new(hmac::HMAC_SHA256, format!("AWS4{}", self.secret).as_bytes());
        for part in [day, &self.region, "s3", "aws4_request"] {
            key = hmac::Key::new(hmac::HMAC_SHA256, hmac::sign(&key, part.as_bytes()).as_ref());
        }
        self.key = key;
        day.clone_into(&mut self.day);
    }
}

/// The day as 20130524, the time as 20130524T000000Z.
fn tell_time(now: SystemTime) -> (String, String) {
    let seconds = now.duration_since(UNIX_EPOCH).unwrap_or_default().as_secs();
    let (year, month, day) = tell_date(seconds / DAY);
    let date = format!("{year:04}{month:02}{day:02}");
    let (hour, minute, second) = (seconds % DAY / 3600, seconds % 3600 / 60, seconds % 60);
    let time = format!("{date}T{hour:02}{minute:02}{second:02}Z");
    (date, time)
}

/// Year, month and day of so many days after 1970 began; for this, a year begins in March.
fn tell_date(days: u64) -> (u64, u64, u64) {
    let days = days + 719_468; // since 0000-03-01
    let (era, of_era) = (days / 146_097, days % 146_097);
    let year = (of_era - of_era / 1460 + of_era / 36_524 - of_era / 146_096) / 365;
    let of_year = of_era - (365 * year + year / 4 - year / 100);
    let month = (5 * of_year + 2) / 153;
    let day = of_year - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + u64::from(month <= 2), month, day)
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::with_capacity(2 * bytes.len()), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::Duration;

    #[test]
    fn days_are_those_of_the_calendar() {
        for (seconds, time) in [
            (0, "19700101T000000Z"),
            (951_782_400, "20000229T000000Z"),
            (1_369_353_600, "20130524T000000Z"),
            (1_704_067_199, "20231231T235959Z"),
        ] {
            assert_eq!(tell_time(UNIX_EPOCH + Duration::from_secs(seconds)).1, time);
        }
    }

    // The key of the documentation's examples, and its listing of a bucket with a prefix.
    #[test]
    fn a_signature_is_that_of_the_documentation() {
        let mut signer = Signer::new(
            "AKIAIOSFODNN7EXAMPLE".into(),
            "wJalrXUtnFEMI/K7MDENG/bPxRfiCYEXAMPLEKEY".into(),
            "us-east-1".into(),
        );
        let host = "examplebucket.s3.amazonaws.com";
        let (day, time) = ("20130524", "20130524T000000Z");
        let signed = signer.sign_at("GET", host, "/", "max-keys=2&prefix=J", EMPTY, day, time);
        let expected = "34b48302e7b5fa45bde8084f4b7868a86f0a534bc59db6670ed5711ef69dc6f7";
        assert!(signed.contains(&format!("Signature={expected}\r\n")), "{signed}");
    }
}
