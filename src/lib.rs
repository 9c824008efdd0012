//! scaler finds out, honestly, how far one telemetry server goes and why it stopped there.
//!
//! # The way of the data
//!
//! ```text
//! text ─▶ tree ─▶ filled tree ─▶ Plan ─▶ CellPlan ─▶ journal ─▶ Record ─▶ Measured ─▶ Verdict ─▶ text
//! └──────────────── plan ──────────────────────┘  └── run ──┘  record    measure     judge     report
//! ```
//!
//! A plan is read once and nothing is left to decide when it runs. The interpreter asks the world, does what the plan says and writes
//! down what happened, entry by entry; everything that is ever said about a run is a pure function of that journal. So the ladder, which
//! decides live whether to climb on, and `results judge`, which decides again years later, call the same code and cannot differ.
//!
//! # Folder by folder, in the order of the flow
//!
//! | Folder | What it is | Why it is apart |
//! |---|---|---|
//! | [`cli`] | arguments, one file a verb | the only place that prints or exits, so all else can be tested |
//! | [`problem`] | what is wrong, where, what would be right | always a list: all problems are shown at once |
//! | [`plan`] | what the file says | pure: a plan means the same on every machine and in every year |
//! | [`run`] | the interpreter and the world it acts on | one thin loop asks and writes down; behind [`run::world::World`] stands the real world or a made-up one |
//! | [`load`] | the MQTT generator | every reading has a due time and is accounted for until its PUBACK |
//! | [`store`], [`web`], [`ends`] | databases, HTTP, and the plan's named ends opened | the same connection serves probe, query, watch and reconciliation |
//! | [`watch`] | what is sampled on a period | a reading that fails is a gap with its reason, never a zero |
//! | [`target`] | the system under test as child processes | whatever happens to scaler, no child is left |
//! | [`guard`] | whether a Compose project may be started at all | pure: refused before anything starts, with every reason at once |
//! | [`engine`] | the container engine: inspect, statistics, events, faults | the only place that speaks to it |
//! | [`host`] | facts of this machine | two results compare only when one knows where each was made |
//! | [`record`] | what happened, as data | says nothing of good or bad, so that bars may change later |
//! | [`measure`] | numbers from a record | each number is a value with unit and n, or unmeasured with the reason |
//! | [`judge`] | good or bad | the order of verdicts is one pure function |
//! | [`report`] | what people see | returns text: what is printed can be held against a file |
//! | [`mod@reference`] | a small honest target with faults to switch on | the instrument itself is measured against a known truth |
//!
//! Imports run one way, and the pure folders touch no file, network, clock or chance: `tests/it/house` holds the rules.
//!
//! # To add a …
//!
//! | To add a | open |
//! |---|---|
//! | phase kind | `plan/phase.rs` and a file in `run/phase/`; the compiler names the `match` arms |
//! | load kind | `plan/load.rs`, a file in `load/`, its start in `run/real/loads.rs` |
//! | store or other connection | `plan/connection.rs`, a file in `store/`, its opening in `ends.rs` |
//! | watch kind | `plan/watch.rs` and a file in `watch/` |
//! | probe kind | `plan/probe.rs`, its run in `run/real/` |
//! | target kind | `plan/target.rs` and a file in `target/` |
//! | rule of plans | a function in `plan/check/`, a bad plan with its words in `tests/bad-plans/` |
//! | metric | its name in `plan/metric.rs`, its arithmetic in `measure/` |
//! | report | a file in `report/`, a verb in `cli/` |
//! | fault of the reference target | `reference/fault.rs` and the place that acts on it |
//! | experiment | a file in `plans/`; no code |

pub mod cli;
pub mod ends;
pub mod engine;
#[cfg(test)]
mod fuzz;
pub mod guard;
pub mod host;
pub mod judge;
pub mod load;
pub mod measure;
pub mod plan;
pub mod problem;
pub mod record;
pub mod reference;
pub mod report;
pub mod run;
pub mod store;
pub mod target;
pub mod watch;
pub mod web;
