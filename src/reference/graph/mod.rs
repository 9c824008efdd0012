//! The graph: tags as triples in a store that speaks SPARQL 1.1 over HTTP, such as Oxigraph.
//!
//! A listener or API that is given a graph keeps tags there and readings in its history store; both sides are wrapped around the history
//! store's own writer and reader, so that nothing else knows of it.
//!
//! Source: SPARQL 1.1 Protocol (`/query`, `/update`), SPARQL 1.1 Query Results JSON Format.

use std::time::Duration;

use serde::Deserialize;
use ureq::Agent;

use super::store::{Batch, Fold, History, Reader, Since, StoreError, Tagged, Totals, Whose, Writer, Written};

mod triples;

use triples::Kind;

/// How long the graph may take to answer.
const PATIENCE: Duration = Duration::from_mins(1);
/// The most bytes of an answer.
const ANSWER_BYTES: u64 = 1 << 30;

/// A graph store.
#[derive(Clone, Debug)]
pub(super) struct Graph {
    agent: Agent,
    url: String,
}

impl Graph {
    /// Keeps the URL, such as `http://oxigraph:7878`; connects when it is used.
    pub(super) fn new(url: &str) -> Self {
        let agent =
            Agent::config_builder().timeout_global(Some(PATIENCE)).proxy(None).no_delay(true).build().new_agent();
        Self { agent, url: url.trim_end_matches('/').to_owned() }
    }

    fn update(&self, text: String) -> Result<(), StoreError> {
        let request = self.agent.post(format!("{}/update", self.url)).content_type("application/sparql-update");
        request.send(text).map(drop).map_err(|error| trouble(&error))
    }

    fn select(&self, text: String) -> Result<Vec<Row>, StoreError> {
        let request = self.agent.post(format!("{}/query", self.url)).content_type("application/sparql-query");
        let mut answer =
            request.header("Accept", "application/sparql-results+json").send(text).map_err(|error| trouble(&error))?;
        let answer: Answer =
            answer.body_mut().with_config().limit(ANSWER_BYTES).read_json().map_err(|error| trouble(&error))?;
        Ok(answer.results.bindings)
    }

    fn tagged(&self, kind: Kind) -> Result<Vec<Tagged>, StoreError> {
        Ok(triples::tagged(&self.select(triples::all_of(kind))?))
    }

    fn count(&self, kind: Kind) -> Result<i64, StoreError> {
        let rows = self.select(triples::number_of(kind))?;
        let number = rows.first().and_then(|row| row.o.as_ref()).and_then(|term| term.value.parse().ok());
        number.ok_or_else(|| StoreError("the graph: no number in the answer".to_owned()))
    }
}

fn trouble(error: &ureq::Error) -> StoreError {
    StoreError(format!("the graph: {error}"))
}

#[derive(Deserialize)]
struct Answer {
    results: Results,
}

#[derive(Deserialize)]
struct Results {
    bindings: Vec<Row>,
}

/// One solution: subject, predicate and object, as far as the query asks for them.
#[derive(Debug, Deserialize)]
struct Row {
    s: Option<Term>,
    p: Option<Term>,
    o: Option<Term>,
}

/// An IRI or a literal.
#[derive(Debug, Deserialize)]
struct Term {
    value: String,
    datatype: Option<String>,
}

/// Tags go into the graph, then readings into the history store. A batch that fails between the two is written again, and neither minds.
pub(super) struct GraphWriter {
    graph: Graph,
    history: Box<dyn Writer>,
}

impl GraphWriter {
    /// Around the history store's writer.
    pub(super) fn new(graph: Graph, history: Box<dyn Writer>) -> Self {
        Self { graph, history }
    }
}

impl Writer for GraphWriter {
    fn write(&mut self, batch: &Batch) -> Result<Written, StoreError> {
        if batch.tags().is_empty() {
            return self.history.write(batch);
        }
        self.graph.update(triples::replace(batch.tags()))?;
        if batch.has_readings() { self.history.write(&batch.without_tags()) } else { Ok(Written::default()) }
    }
}

/// Points and equipments come from the graph, readings from the history store.
pub(super) struct GraphReader {
    graph: Graph,
    history: Box<dyn Reader>,
}

impl GraphReader {
    /// Around the history store's reader.
    pub(super) fn new(graph: Graph, history: Box<dyn Reader>) -> Self {
        Self { graph, history }
    }
}

impl Reader for GraphReader {
    fn points(&mut self) -> Result<Vec<Tagged>, StoreError> {
        self.graph.tagged(Kind::Point)
    }

    fn equips(&mut self) -> Result<Vec<Tagged>, StoreError> {
        self.graph.tagged(Kind::Equip)
    }

    fn history(&mut self, whose: &Whose, limit: u32) -> Result<Vec<History>, StoreError> {
        let first = match whose {
            Whose::Topics(_) => return self.history.history(whose, limit),
            Whose::First(count) => Some(*count),
            Whose::All => None,
        };
        let topics = triples::topics(&self.graph.select(triples::topics_of(Kind::Point, first))?);
        self.history.history(&Whose::Topics(topics), limit)
    }

    fn fold(&mut self, topics: &[String], since: Since, bucket_s: u32) -> Result<Vec<Fold>, StoreError> {
        self.history.fold(topics, since, bucket_s)
    }

    fn ready(&mut self) -> Result<(), StoreError> {
        self.graph.select(triples::ANY.to_owned())?;
        self.history.ready()
    }

    fn totals(&mut self) -> Result<Totals, StoreError> {
        let Totals { rows, .. } = self.history.totals()?;
        Ok(Totals { rows, points: self.graph.count(Kind::Point)?, equips: self.graph.count(Kind::Equip)? })
    }
}
