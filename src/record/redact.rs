//! Keeps secrets out of everything that is written. A secret can come back in many dresses: in an error of a server, in a URL, in a
//! header, in a JSON text within a JSON text. Each is replaced by `[redacted:NAME]`.

use std::borrow::Cow;

use base64::{Engine, engine::general_purpose};
use indexmap::IndexMap;
use serde_json::Value;

/// Values shorter than this are left alone: they would be found by chance in everything.
pub const SHORTEST_SECRET: usize = 4;

/// Fields that hold scaler's own base64 of numbers, in which a short secret could be found by chance.
const NUMBERS_ONLY: [&str; 3] = ["schedule_lag", "ack_service", "ack_response"];

/// Knows the secrets of a run in all their forms.
#[derive(Clone, Default)]
pub struct Redactor {
    /// Form and replacement, the longest form first, so that a part never spoils the whole.
    forms: Vec<(String, String)>,
}

impl Redactor {
    /// A redactor for these secrets, by name.
    #[must_use]
    pub fn new(secrets: &IndexMap<String, String>) -> Self {
        let mut forms: Vec<(String, String)> = secrets
            .iter()
            .filter(|(_, value)| value.chars().count() >= SHORTEST_SECRET)
            .flat_map(|(name, value)| forms_of(value).into_iter().map(move |form| (form, format!("[redacted:{name}]"))))
            .collect();
        forms.sort_by(|(one, _), (other, _)| other.len().cmp(&one.len()).then_with(|| one.cmp(other)));
        forms.dedup_by(|(one, _), (other, _)| one == other);
        Self { forms }
    }

    /// The text without secrets.
    #[must_use]
    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let mut clean = Cow::Borrowed(text);
        for (form, replacement) in &self.forms {
            if clean.contains(form.as_str()) {
                clean = Cow::Owned(clean.replace(form.as_str(), replacement));
            }
        }
        clean
    }

    /// Takes the secrets out of every string and every key of a JSON value; says whether there were any.
    pub fn json(&self, value: &mut Value) -> bool {
        if self.forms.is_empty() {
            return false;
        }
        match value {
            Value::Null | Value::Bool(_) | Value::Number(_) => false,
            Value::String(text) => self.replace(text),
            Value::Array(values) => {
                let mut found = false;
                for value in values {
                    found |= self.json(value);
                }
                found
            }
            Value::Object(object) => {
                let mut found = false;
                for (key, value) in object.iter_mut() {
                    found |= !NUMBERS_ONLY.contains(&key.as_str()) && self.json(value);
                }
                if object.keys().any(|key| matches!(self.text(key), Cow::Owned(_))) {
                    let dirty = std::mem::take(object);
                    *object = dirty.into_iter().map(|(key, value)| (self.text(&key).into_owned(), value)).collect();
                    found = true;
                }
                found
            }
        }
    }

    fn replace(&self, text: &mut String) -> bool {
        match self.text(text) {
            Cow::Borrowed(_) => false,
            Cow::Owned(clean) => {
                *text = clean;
                true
            }
        }
    }
}

/// A redactor never shows what it knows.
impl std::fmt::Debug for Redactor {
    fn fmt(&self, out: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(out, "Redactor({} forms)", self.forms.len())
    }
}

/// The secret as it is, JSON-escaped once and twice, URL-encoded, and as base64 alone or within a longer text.
fn forms_of(secret: &str) -> Vec<String> {
    let escaped = json_escaped(secret);
    let mut forms = vec![
        secret.to_owned(),
        json_escaped(&escaped),
        escaped,
        url_encoded(secret, |byte| format!("%{byte:02X}")),
        url_encoded(secret, |byte| format!("%{byte:02x}")),
        url_encoded(secret, |byte| if byte == b' ' { "+".to_owned() } else { format!("%{byte:02X}") }),
    ];
    for before in 0..3 {
        forms.push(base64_within(&general_purpose::STANDARD_NO_PAD, secret, before));
        forms.push(base64_within(&general_purpose::URL_SAFE_NO_PAD, secret, before));
    }
    forms
}

fn json_escaped(text: &str) -> String {
    let quoted = Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Percent-encodes all but the unreserved characters of RFC 3986, section 2.3.
fn url_encoded(text: &str, escape: impl Fn(u8) -> String) -> String {
    let plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-._~".contains(byte);
    text.bytes().map(|byte| if plain(&byte) { char::from(byte).to_string() } else { escape(byte) }).collect()
}

/// The characters of a base64 text that depend on the secret alone when `before` (modulo 3) bytes precede it: a character holds
/// six bits, and those that share theirs with a neighbour are left out. `user:password` of HTTP is found this way.
fn base64_within(engine: &impl Engine, secret: &str, before: usize) -> String {
    let bytes = [vec![0; before], secret.as_bytes().to_vec()].concat();
    let first = (before * 8).div_ceil(6);
    let end = bytes.len() * 8 / 6;
    engine.encode(&bytes)[first..end].to_owned()
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn redactor(secrets: &[(&str, &str)]) -> Redactor {
        Redactor::new(&secrets.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect())
    }

    #[test]
    fn a_planted_secret_is_found_in_every_form() {
        let secret = "p\"ss wörd/+&\\n";
        let redactor = redactor(&[("PASSWORD", secret)]);
        let basic = general_purpose::STANDARD.encode(format!("scalegen:{secret}"));
        let inner = serde_json::json!({ "password": secret }).to_string();
        let texts = [
            secret.to_owned(),
            inner.clone(),
            Value::from(inner).to_string(),
            "postgres://baler:p%22ss%20w%C3%B6rd%2F%2B%26%5Cn@127.0.0.1/baler".to_owned(),
            "p%22ss%20w%c3%b6rd%2f%2b%26%5cn".to_owned(),
            "password=p%22ss+w%C3%B6rd%2F%2B%26%5Cn".to_owned(),
            general_purpose::STANDARD.encode(secret),
            general_purpose::URL_SAFE.encode(format!("a{secret}")),
            format!("Authorization: Basic {basic}"),
        ];
        for text in texts {
            let clean = redactor.text(&text);
            assert!(clean.contains("[redacted:PASSWORD]"), "{text} became {clean}");
        }
    }

    #[test]
    fn a_secret_within_another_does_not_spoil_it() {
        let redactor = redactor(&[("SHORT", "abcd"), ("LONG", "xxabcdxx")]);
        assert_eq!(redactor.text("xxabcdxx abcd"), "[redacted:LONG] [redacted:SHORT]");
    }

    #[test]
    fn values_below_the_limit_and_histograms_are_left_alone() {
        let redactor = redactor(&[("TINY", "abc"), ("WEAK", "HISTFAAAA")]);
        assert_eq!(redactor.text("abc"), "abc");
        let mut value = serde_json::json!({ "schedule_lag": "HISTFAAAA", "detail": "HISTFAAAA" });
        assert!(redactor.json(&mut value));
        assert_eq!(value, serde_json::json!({ "schedule_lag": "HISTFAAAA", "detail": "[redacted:WEAK]" }));
    }

    #[test]
    fn keys_are_redacted_too_and_it_never_shows_itself() {
        let redactor = redactor(&[("TOKEN", "hunter2!")]);
        let mut value = serde_json::json!({ "a": [{ "hunter2!": 1 }] });
        assert!(redactor.json(&mut value));
        assert_eq!(value, serde_json::json!({ "a": [{ "[redacted:TOKEN]": 1 }] }));
        assert!(!format!("{redactor:?}").contains("hunter2"));
    }

    proptest! {
        #[test]
        fn no_form_survives(secret in "[ -~]{8,24}", before in ".{0,5}", after in ".{0,5}") {
            let redactor = redactor(&[("S", &secret)]);
            let whole = format!("{before}{secret}{after}");
            let mut value = serde_json::json!({ "text": whole, "inner": Value::from(whole.as_str()).to_string() });
            redactor.json(&mut value);
            prop_assert!(!value.to_string().contains(&secret) || "[redacted:S]".contains(&secret));
            let encoded = general_purpose::STANDARD.encode(&whole);
            let clean = redactor.text(&encoded).into_owned();
            prop_assert!(clean.contains("[redacted:S]"), "{encoded} became {clean}");
        }
    }
}
