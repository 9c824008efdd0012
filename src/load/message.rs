//! Messages that describe the fleet, one for each site, equip or point. Sent once and not hot, so that they have the whole template language.

use std::collections::BTreeMap;

use minijinja::{Environment, UndefinedBehavior};
use serde_json::{Map, Value};

use super::{
    fleet::{Layout, Thing},
    segment::{only_expression, unknown},
};
use crate::plan::fleet::{Each, Message};

/// A message that is ready to be sent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outgoing {
    /// The topic.
    pub topic: String,
    /// The payload.
    pub payload: Vec<u8>,
    /// Quality of service, 0 or 1.
    pub qos: u8,
    /// Whether the broker keeps it.
    pub retain: bool,
}

/// A message of the plan, for each thing that it is sent for.
#[derive(Debug)]
pub struct Messages {
    name: String,
    message: Message,
    layout: Layout,
    environment: Environment<'static>,
}

impl Messages {
    /// Checks the templates.
    ///
    /// # Errors
    /// A template that cannot be read, or a name that a message of this kind does not have; says which, and the nearest one.
    pub fn compile(name: &str, message: &Message, layout: Layout) -> Result<Self, String> {
        let mut environment = Environment::new();
        environment.set_undefined_behavior(UndefinedBehavior::Strict);
        environment.set_fuel(Some(100_000));
        let messages = Self { name: name.to_owned(), message: message.clone(), layout, environment };
        messages.check_text(&message.topic)?;
        messages.check(&message.payload)?;
        Ok(messages)
    }

    /// How many there are.
    #[must_use]
    pub fn count(&self) -> u64 {
        self.layout.count(self.message.each)
    }

    /// All of them; `unix_ms` gives the present time for `{{ ts }}`.
    pub fn iter<'a>(&'a self, unix_ms: &'a dyn Fn() -> u64) -> impl Iterator<Item = Result<Outgoing, String>> + 'a {
        (0..self.count()).map(move |number| self.message(number, unix_ms()))
    }

    fn message(&self, number: u64, unix_ms: u64) -> Result<Outgoing, String> {
        let scope = self.scope(self.layout.thing(self.message.each, number), number, unix_ms);
        let topic = self.text(&self.message.topic, &scope)?;
        if topic.is_empty() || topic.len() > 65_535 || topic.contains(['+', '#', '\0']) {
            return Err(format!("message {}: {topic:?} is no topic that can be published to", self.name));
        }
        let payload = match &self.message.payload {
            Value::String(text) => self.text(text, &scope)?.into_bytes(),
            table => self.fill(table, &scope)?.to_string().into_bytes(),
        };
        Ok(Outgoing { topic, payload, qos: self.message.qos, retain: self.message.retain })
    }

    /// The names that a message of this kind has.
    fn known(&self) -> &'static [&'static str] {
        match self.message.each {
            Each::Fleet => &["sequence", "ts"],
            Each::Site => &["site", "sequence", "ts"],
            Each::Equip => &["site", "equip", "labels", "sequence", "ts"],
            Each::Point => &["site", "equip", "label", "labels", "point", "sequence", "ts"],
        }
    }

    fn scope(&self, thing: Thing, number: u64, unix_ms: u64) -> BTreeMap<&'static str, minijinja::Value> {
        let mut scope = BTreeMap::from([("sequence", number.into()), ("ts", unix_ms.into())]);
        scope.extend(thing.site.map(|site| ("site", site.into())));
        if let Some(equip) = thing.equip {
            scope.insert("equip", equip.into());
            scope.insert("labels", self.layout.labels_of(equip).to_vec().into());
        }
        if let Some(point) = thing.point {
            scope.insert("point", point.into());
            scope.insert("label", self.layout.labels()[self.layout.label_index(point)].as_str().into());
        }
        scope
    }

    /// Fills every string of a table. One that is a single expression keeps the type of its value; a text that holds JSON stays a text.
    fn fill(&self, value: &Value, scope: &BTreeMap<&'static str, minijinja::Value>) -> Result<Value, String> {
        Ok(match value {
            Value::String(text) => match only_expression(text) {
                None => Value::String(self.text(text, scope)?),
                Some(source) => {
                    let expression = self
                        .environment
                        .compile_expression_owned(source.to_owned())
                        .map_err(|error| self.wrong(text, &error))?;
                    let result = expression.eval(scope).map_err(|error| self.wrong(text, &error))?;
                    serde_json::to_value(&result)
                        .map_err(|error| format!("message {}: {text:?}: {error}", self.name))?
                }
            },
            Value::Array(items) => {
                Value::Array(items.iter().map(|item| self.fill(item, scope)).collect::<Result<_, _>>()?)
            }
            Value::Object(entries) => {
                let entries = entries.iter().map(|(key, value)| Ok((key.clone(), self.fill(value, scope)?)));
                Value::Object(entries.collect::<Result<Map<_, _>, String>>()?)
            }
            other => other.clone(),
        })
    }

    fn text(&self, text: &str, scope: &BTreeMap<&'static str, minijinja::Value>) -> Result<String, String> {
        self.environment.render_str(text, scope).map_err(|error| self.wrong(text, &error))
    }

    fn check(&self, value: &Value) -> Result<(), String> {
        match value {
            Value::String(text) => self.check_text(text),
            Value::Array(items) => items.iter().try_for_each(|item| self.check(item)),
            Value::Object(entries) => entries.values().try_for_each(|item| self.check(item)),
            _ => Ok(()),
        }
    }

    fn check_text(&self, text: &str) -> Result<(), String> {
        let template = self.environment.template_from_str(text).map_err(|error| self.wrong(text, &error))?;
        let mut used: Vec<String> = template.undeclared_variables(false).into_iter().collect();
        used.sort();
        match used.iter().find(|name| !self.known().contains(&name.as_str())) {
            Some(name) => Err(format!("message {}: {text:?}: {}", self.name, unknown(name, self.known()))),
            None => Ok(()),
        }
    }

    fn wrong(&self, text: &str, error: &minijinja::Error) -> String {
        format!("message {}: {text:?}: {error}", self.name)
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;
    use crate::plan::{fleet::Fleet, quantity::Count};

    fn messages(each: Each, topic: &str, payload: Value) -> Result<Messages, String> {
        let labels = ["supply_temp", "flow"].map(str::to_owned).to_vec();
        let layout = Layout::new(&Fleet { points: Count(5), points_per_equip: 2, equips_per_site: 2, labels }).unwrap();
        Messages::compile("tags", &Message { each, topic: topic.to_owned(), payload, qos: 1, retain: true }, layout)
    }

    fn sent(messages: &Messages) -> Vec<(String, String)> {
        let readable = |outgoing: Outgoing| (outgoing.topic, String::from_utf8(outgoing.payload).unwrap());
        messages.iter(&|| 1_700_000_000_000).map(|outgoing| readable(outgoing.unwrap())).collect()
    }

    /// The envelope of a building system whose listener wants tags and points as JSON texts inside JSON.
    #[test]
    fn json_inside_json_stays_a_text() {
        let payload = json!({"tags": r#"{"equip":true,"siteRef":"s{{ site }}"}"#, "points": "{{ labels | tojson }}"});
        let equips = messages(Each::Equip, "fbf/scale/s{{ site }}/e{{ equip }}/equip/tags", payload).unwrap();
        let sent = sent(&equips);
        assert_eq!(sent.len(), 3);
        assert_eq!(sent[0].0, "fbf/scale/s0/e0/equip/tags");
        assert_eq!(
            sent[0].1,
            r#"{"tags":"{\"equip\":true,\"siteRef\":\"s0\"}","points":"[\"supply_temp\", \"flow\"]"}"#
        );
        assert_eq!(
            sent[2].1, r#"{"tags":"{\"equip\":true,\"siteRef\":\"s1\"}","points":"[\"supply_temp\"]"}"#,
            "one point is left"
        );
    }

    #[test]
    fn types_are_kept_where_a_string_is_one_expression() {
        let payload = json!({"site": "{{ site }}", "labels": "{{ labels }}", "n": "{{ sequence + 1 }}", "ts": "{{ ts }}", "text": "e{{ equip }}"});
        let points = messages(Each::Point, "t/{{ label }}/{{ point }}", payload).unwrap();
        let sent = sent(&points);
        assert_eq!((points.count(), sent.len(), sent[3].0.as_str()), (5, 5, "t/flow/3"));
        let read: Value = serde_json::from_str(&sent[3].1).unwrap();
        assert_eq!(
            read,
            json!({"site": 0, "labels": ["supply_temp", "flow"], "n": 4, "ts": 1_700_000_000_000_u64, "text": "e1"})
        );
    }

    #[test]
    fn each_kind_has_its_own_count_and_names() {
        for (each, count) in [(Each::Fleet, 1), (Each::Site, 2), (Each::Equip, 3), (Each::Point, 5)] {
            assert_eq!(messages(each, "t", json!("")).unwrap().count(), count);
        }
        let error = messages(Each::Site, "t/{{ equip }}", json!({})).unwrap_err();
        assert!(error.contains("unknown placeholder `equip`"), "{error}");
        let error = messages(Each::Equip, "t", json!({"a": ["{{ label }}"]})).unwrap_err();
        assert!(error.contains("did you mean `labels`?"), "{error}");
        let error = messages(Each::Equip, "t/{{", json!({})).unwrap_err();
        assert!(error.starts_with("message tags: \"t/{{\""), "{error}");
    }

    #[test]
    fn a_topic_with_a_wildcard_is_refused_when_it_is_made() {
        let wild = messages(Each::Fleet, "t/{{ '#' }}", json!({})).unwrap();
        assert!(wild.iter(&|| 0).next().unwrap().is_err());
    }
}
