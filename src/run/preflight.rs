//! What must be so before the first cell: a target that holds nothing yet, and the preflight (one reading for each load's account and prefix
//! must reach the store, because a broker acknowledges what its ACL denies).

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

    /// Before the first cell the target must not hold what the cells will put into it.
    pub(super) fn require_clean(&mut self, plan: &CellPlan) -> Result<(), Halt> {
        let Some(clean) = &plan.clean else { return Ok(()) };
        let Answer::Number(found) = self.ask(Call::Query(clean.query.clone()))? else {
            return Err(Halt::PhaseFailed("the world gave an answer of another kind".to_owned()));
        };
        #[expect(clippy::cast_precision_loss, reason = "counts stay below 2^53")]
        let most = clean.at_most.0 as f64;
        if found <= most {
            return Ok(());
        }
        Err(Halt::Refused(format!(
            "the target is not clean: `{}` gives {found}, and the first step begins with at most {}; remove its data \
             (`scaler plan down --volumes`) and start again",
            clean.query, clean.at_most
        )))
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
