//! The order in which services start: that of the plan, but each behind those that it is `after`.

use indexmap::IndexMap;

use crate::plan::target::Service;

/// The names in starting order.
///
/// # Errors
/// When services wait for each other, with their names.
pub fn starting_order(services: &IndexMap<String, Service>) -> Result<Vec<String>, String> {
    let mut order: Vec<String> = Vec::new();
    while order.len() < services.len() {
        let ready = |service: &Service| service.after.iter().all(|other| order.contains(other));
        let next = services.iter().find(|(name, service)| !order.contains(name) && ready(service));
        let Some((name, _)) = next else {
            let left: Vec<&str> = services.keys().filter(|name| !order.contains(name)).map(String::as_str).collect();
            return Err(format!("these processes wait for each other: {}", left.join(", ")));
        };
        order.push(name.clone());
    }
    Ok(order)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn services(list: &[(&str, &[&str])]) -> IndexMap<String, Service> {
        let service = |after: &[&str]| -> Service {
            serde_json::from_value(serde_json::json!({ "command": ["true"], "after": after })).unwrap()
        };
        list.iter().map(|(name, after)| ((*name).to_owned(), service(after))).collect()
    }

    #[test]
    fn the_plan_s_order_holds_unless_after_moves_it() {
        let order = |list: &[(&str, &[&str])]| starting_order(&services(list)).map(|names| names.join(" "));
        assert_eq!(order(&[("a", &[]), ("b", &[]), ("c", &[])]).as_deref(), Ok("a b c"));
        assert_eq!(order(&[("a", &["c"]), ("b", &[]), ("c", &[])]).as_deref(), Ok("b c a"));
        let error = order(&[("a", &["b"]), ("b", &["a"]), ("c", &[])]).unwrap_err();
        assert_eq!(error, "these processes wait for each other: a, b");
    }
}
