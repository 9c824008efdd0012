//! Whether an HTTP answer is the right one. Pure.

use serde_json::Value;

use crate::plan::probe::Expect;

/// What is wrong with an answer; none when everything that is expected holds.
pub(super) fn wrong(expect: &Expect, status: u16, body: &[u8]) -> Option<String> {
    if status != expect.status {
        return Some(format!("status {status}, expected {}", expect.status));
    }
    if let Some(least) = expect.bytes_at_least
        && (body.len() as u64) < least.0
    {
        return Some(format!("{} bytes, expected at least {least}", body.len()));
    }
    if expect.rows.is_none() && expect.values.is_empty() {
        return None;
    }
    let Ok(json) = serde_json::from_slice::<Value>(body) else {
        return Some("the body is not JSON".to_owned());
    };
    wrong_rows(expect, &json).or_else(|| wrong_values(expect, &json))
}

fn wrong_rows(expect: &Expect, json: &Value) -> Option<String> {
    let wanted = expect.rows?.0;
    let pointer = expect.rows_at.as_deref().unwrap_or_default();
    let Some(rows) = json.pointer(pointer).and_then(Value::as_array) else {
        return Some(format!("no array at {pointer:?}"));
    };
    (rows.len() as u64 != wanted).then(|| format!("{} rows, expected {wanted}", rows.len()))
}

fn wrong_values(expect: &Expect, json: &Value) -> Option<String> {
    expect.values.iter().find_map(|(pointer, wanted)| match json.pointer(pointer) {
        None => Some(format!("nothing at {pointer:?}, expected {wanted}")),
        Some(found) if !same(found, wanted) => Some(format!("{found} at {pointer:?}, expected {wanted}")),
        Some(_) => None,
    })
}

/// Equal values; numbers compare by value, so that 1 equals 1.0.
pub(super) fn same(found: &Value, wanted: &Value) -> bool {
    match (found.as_f64(), wanted.as_f64()) {
        (Some(found), Some(wanted)) => found.total_cmp(&wanted).is_eq(),
        _ => found == wanted,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expectation(text: &str) -> Expect {
        serde_json::from_str(text).expect("an expectation")
    }

    #[test]
    fn the_right_answer_has_nothing_wrong() {
        let expect = expectation(r#"{"status":200,"rows":"2","values":{"/0/ok":true}}"#);
        assert_eq!(wrong(&expect, 200, br#"[{"ok":true},{}]"#), None);
    }

    #[test]
    fn each_expectation_is_checked() {
        let table: &[(&str, u16, &str, &str)] = &[
            ("{}", 500, "", "status 500, expected 200"),
            (r#"{"bytes_at_least":"3B"}"#, 200, "ab", "2 bytes, expected at least 3B"),
            (r#"{"rows":2}"#, 200, "nonsense", "the body is not JSON"),
            (r#"{"rows":2}"#, 200, "[1]", "1 rows, expected 2"),
            (r#"{"rows":2,"rows_at":"/x"}"#, 200, "{}", "no array at \"/x\""),
            (r#"{"values":{"/ok":true}}"#, 200, r#"{"ok":false}"#, "false at \"/ok\", expected true"),
            (r#"{"values":{"/n":1}}"#, 200, "{}", "nothing at \"/n\", expected 1"),
        ];
        for (expect, status, body, words) in table {
            assert_eq!(wrong(&expectation(expect), *status, body.as_bytes()).as_deref(), Some(*words));
        }
    }

    #[test]
    fn numbers_compare_by_value() {
        assert!(same(&serde_json::json!(1), &serde_json::json!(1.0)));
        assert!(!same(&serde_json::json!(1), &serde_json::json!("1")));
    }
}
