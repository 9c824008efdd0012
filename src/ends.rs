//! The named ends of a plan, opened for whoever asks: stores, HTTP servers, and queries on either.

use std::{
    fs,
    path::{Path, PathBuf},
    sync::Arc,
    time::Duration,
};

use serde_json::Value;

use crate::{
    load::MqttLoad,
    plan::{
        checked::CellPlan,
        connection::{self, Connection},
        fleet::Fleet,
        load::Load,
        query::Query,
    },
    store::Store,
    web::Web,
};

/// The ends of one cell's plan.
#[derive(Clone)]
pub struct Ends {
    plan: Arc<CellPlan>,
    plan_folder: PathBuf,
}

impl Ends {
    /// The ends of a plan; files that it names are relative to its folder.
    #[must_use]
    pub fn new(plan: Arc<CellPlan>, plan_folder: PathBuf) -> Self {
        Self { plan, plan_folder }
    }

    /// The plan.
    #[must_use]
    pub fn plan(&self) -> &CellPlan {
        &self.plan
    }

    /// The plan's folder.
    #[must_use]
    pub fn plan_folder(&self) -> &Path {
        &self.plan_folder
    }

    /// The connection of this name.
    ///
    /// # Errors
    /// When the plan has none.
    pub fn connection(&self, name: &str) -> Result<&Connection, String> {
        self.plan.connections.get(name).ok_or_else(|| format!("the plan has no connection `{name}`"))
    }

    /// An MQTT broker.
    ///
    /// # Errors
    /// When the plan has none of this name.
    pub fn mqtt(&self, name: &str) -> Result<&connection::Mqtt, String> {
        match self.connection(name)? {
            Connection::Mqtt(mqtt) => Ok(mqtt),
            other => Err(format!("connection `{name}` is of kind `{}`, not `mqtt`", other.key())),
        }
    }

    /// The text of a broker's certificate authority, if the plan names a file.
    ///
    /// # Errors
    /// When the file cannot be read.
    pub fn ca_pem(&self, mqtt: &connection::Mqtt) -> Result<Option<String>, String> {
        let Some(file) = &mqtt.ca_file else { return Ok(None) };
        let path = self.plan_folder.join(file);
        fs::read_to_string(&path).map(Some).map_err(|error| format!("{}: {error}", path.display()))
    }

    /// The fleet.
    ///
    /// # Errors
    /// When the plan has none.
    pub fn fleet(&self) -> Result<&Fleet, String> {
        self.plan.fleet.as_ref().ok_or_else(|| "the plan has no fleet".to_owned())
    }

    /// A load of the generator with all that it needs.
    ///
    /// # Errors
    /// When the plan has none of this name, or lacks its broker or its fleet.
    pub fn mqtt_load(&self, name: &str) -> Result<MqttLoad, String> {
        let Some(Load::MqttPublish(plan)) = self.plan.loads.get(name) else {
            return Err(format!("the plan has no load `{name}` of kind `mqtt_publish`"));
        };
        let mqtt = self.mqtt(&plan.connection)?;
        Ok(MqttLoad {
            name: name.to_owned(),
            plan: plan.clone(),
            fleet: self.fleet()?.clone(),
            mqtt: mqtt.clone(),
            ca_pem: self.ca_pem(mqtt)?,
        })
    }

    /// A store of one's own, whose statements may take `limit`.
    ///
    /// # Errors
    /// When the plan has none of this name, or its settings cannot be used.
    pub fn store(&self, name: &str, limit: Duration) -> Result<Store, String> {
        Store::new(self.connection(name)?, &self.plan_folder, limit)
    }

    /// An HTTP client of one's own.
    ///
    /// # Errors
    /// When the plan has none of this name.
    pub fn web(&self, name: &str) -> Result<Web, String> {
        match self.connection(name)? {
            Connection::Http(http) => Ok(Web::new(http)),
            other => Err(format!("connection `{name}` is of kind `{}`, not `http`", other.key())),
        }
    }

    /// A query with an end of its own.
    ///
    /// # Errors
    /// When the plan has none of this name.
    pub fn query(&self, name: &str, limit: Duration) -> Result<NumberQuery, String> {
        match self.plan.queries.get(name) {
            Some(Query::Sql(sql)) => Ok(NumberQuery::Sql(self.store(&sql.connection, limit)?, sql.statement.clone())),
            Some(Query::HttpJson(http)) => {
                Ok(NumberQuery::HttpJson(self.web(&http.connection)?, http.path.clone(), http.pointer.clone()))
            }
            None => Err(format!("the plan has no query `{name}`")),
        }
    }
}

/// A named read of one number.
pub enum NumberQuery {
    /// The first column of the first row of a statement.
    Sql(Store, String),
    /// What a JSON pointer finds in the answer to a path.
    HttpJson(Web, String, String),
}

impl NumberQuery {
    /// Reads the number.
    ///
    /// # Errors
    /// Why there is none, in words.
    pub fn read(&mut self) -> Result<f64, String> {
        match self {
            Self::Sql(store, statement) => store.number(statement),
            Self::HttpJson(web, path, pointer) => {
                number_at(&web.json(path)?, pointer).map_err(|why| format!("GET {path}: {why}"))
            }
        }
    }
}

/// The number at a JSON pointer (RFC 6901); an array counts its elements, true is 1 and false 0. A text that
/// reads as a number is one, as in SPARQL's JSON results.
///
/// # Errors
/// When nothing or something else is there.
pub fn number_at(json: &Value, pointer: &str) -> Result<f64, String> {
    match json.pointer(pointer) {
        Some(Value::Array(elements)) => Ok(count(elements.len())),
        Some(Value::Bool(yes)) => Ok(f64::from(u8::from(*yes))),
        Some(Value::Number(number)) => number.as_f64().ok_or_else(|| format!("{number} is out of range")),
        Some(Value::String(text)) => match text.trim().parse::<f64>() {
            Ok(number) if number.is_finite() => Ok(number),
            _ => Err(format!("the text at `{pointer}` is no number")),
        },
        Some(Value::Null) => Err(format!("null at `{pointer}`")),
        Some(Value::Object(_)) => Err(format!("no number at `{pointer}`")),
        None => Err(format!("nothing at `{pointer}`")),
    }
}

#[expect(clippy::cast_precision_loss, reason = "no array in memory has 2^53 elements")]
fn count(length: usize) -> f64 {
    length as f64
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn numbers_in_json() {
        let answer = json!({ "rows": [1, 2, 3], "n": 1.5, "ok": true, "none": null, "text": "7", "word": "seven" });
        assert_eq!(number_at(&answer, "/rows"), Ok(3.0));
        assert_eq!(number_at(&answer, "/n"), Ok(1.5));
        assert_eq!(number_at(&answer, "/ok"), Ok(1.0));
        assert_eq!(number_at(&answer, "/none"), Err("null at `/none`".to_owned()));
        assert_eq!(number_at(&answer, "/text"), Ok(7.0));
        assert_eq!(number_at(&answer, "/word"), Err("the text at `/word` is no number".to_owned()));
        assert_eq!(number_at(&answer, ""), Err("no number at ``".to_owned()));
        assert_eq!(number_at(&answer, "/gone"), Err("nothing at `/gone`".to_owned()));
    }
}
