//! The preflight: one reading for each load's account and prefix must reach the store, because a broker acknowledges what its ACL denies.

use serde_json::json;

use super::{
    interpreter::{Halt, Interpreter},
    world::{Answer, Call},
};
use crate::plan::{
    checked::CellPlan,
    fill::fill_text,
    load::{Load, Preflight},
    query::Query,
};

/// Seconds between two looks at the store.
const LOOK_S: f64 = 0.1;

impl Interpreter<'_> {
    /// Sends each load's preflight reading and waits until the store shows it.
    pub(super) fn preflight(&mut self, plan: &CellPlan) -> Result<(), Halt> {
        for (name, load) in &plan.loads {
            let Load::MqttPublish(publish) = load else { continue };
            let Some(preflight) = &publish.preflight else { continue };
            let asking = with_topic(plan, preflight).map_err(Halt::PhaseFailed)?;
            self.ask(Call::UsePlan(Box::new(asking)))?;
            self.preflight_of(name, preflight)?;
            self.ask(Call::UsePlan(Box::new(plan.clone())))?;
        }
        Ok(())
    }

    fn preflight_of(&mut self, load: &str, preflight: &Preflight) -> Result<(), Halt> {
        self.ask(Call::Preflight { load: load.to_owned(), topic: preflight.topic.clone() })?;
        let limit = self.now() + preflight.within.as_secs_f64();
        loop {
            let trouble = match self.try_ask(Call::Query(preflight.query.clone()))? {
                Ok(Answer::Number(count)) if count >= 1.0 => return Ok(()),
                Ok(_) => String::new(),
                Err(failure) => format!("; the last read failed: {}", failure.reason()),
            };
            if self.now() >= limit {
                return Err(Halt::Refused(format!(
                    "the preflight reading of load `{load}` on topic `{}` was acknowledged and did not reach the store within {} \
                     (query `{}`{trouble}): check the account, the broker's ACL and the ingest path",
                    preflight.topic, preflight.within, preflight.query
                )));
            }
            let next = self.now() + LOOK_S;
            self.pause_until(next)?;
        }
    }
}

/// The plan with the preflight's topic in its query.
fn with_topic(plan: &CellPlan, preflight: &Preflight) -> Result<CellPlan, String> {
    let scope = json!({ "preflight": { "topic": preflight.topic } });
    let mut asking = plan.clone();
    match asking.queries.get_mut(&preflight.query) {
        Some(Query::Sql(sql)) => sql.statement = fill_text(&sql.statement, &scope)?,
        Some(Query::HttpJson(http)) => http.path = fill_text(&http.path, &scope)?,
        None => {}
    }
    Ok(asking)
}
