//! Which part was at its limit, from evidence, or that none was found.
//!
//! Looked at, over the window of the gate that decided: the caps of the target's containers, the CPU of its processes and of the host, queues that grew,
//! publishes that waited for their PUBACK, the generator's own threads, time spent waiting for I/O, counters of drops, the
//! first timed read that missed its budget, and what befell a part by the very gates that decided. A sign at its limit outweighs one that
//! only grew, what happened outweighs both, and two that agree outweigh one.

use std::fmt::Write;

use super::verdict::{Bottleneck, Confidence, GateOutcome, Standing};
use crate::{
    measure::{
        measure,
        measured::{Figure, in_words},
        metric::subject_of,
    },
    plan::{
        checked::{Part, Window},
        gate::Unit,
    },
    record::{
        cell::CellRecord,
        entry::{RunStarted, Subject},
    },
};

/// A process above this share of one core is taken to be at the limit of a thread, percent.
const FULL_CORE_PCT: f64 = 90.0;

/// Up to here the use of a process is that of one full thread, percent; beyond, it uses several.
const ONE_CORE_PCT: f64 = 115.0;

/// A container that its CPU cap holds back in more than this share of its periods is at the cap, percent: at a low average too.
const THROTTLED_PCT: f64 = 25.0;

/// A container that uses more than this share of its memory cap is at the cap, percent.
const MEMORY_CAP_PCT: f64 = 95.0;

/// Tasks that wait for I/O for more than this share of the time are a sign of the disk, percent.
const IO_PRESSURE_PCT: f64 = 20.0;

/// A queue that ends with this many more than it began with, and half as many again, has grown.
const QUEUE_GROWTH: f64 = 100.0;

/// The share of the publishes allowed in flight from which on acknowledgements are the limit.
const IN_FLIGHT_SHARE: f64 = 0.95;

/// Words in a series' name that make it a queue.
const QUEUE_WORDS: &[&str] = &["queue", "backlog", "depth", "pending", "waiting", "inflight", "in_flight"];

/// One piece of evidence.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Sign {
    pub(super) part: String,
    pub(super) evidence: String,
    pub(super) weight: Weight,
}

/// How much a sign says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Weight {
    /// The part missed or grew.
    Sign,
    /// The part was at its limit.
    Limit,
    /// The gate that decided is about this part.
    Told,
}

/// Names the part that stopped a cell which did not pass.
pub(super) fn find(run: &RunStarted, cell: &CellRecord, gates: &[GateOutcome], decided_by: &[String]) -> Bottleneck {
    let deciding: Vec<&GateOutcome> = gates.iter().filter(|gate| decided_by.contains(&gate.name)).collect();
    let look = Look { run, cell, window: window_of(cell, deciding.first().copied()) };
    let mut signs = look.happened(&deciding);
    signs.extend(look.caps());
    signs.extend(look.processes());
    signs.extend(look.host());
    signs.extend(look.loads(&deciding));
    signs.extend(look.queues());
    signs.extend(look.drops(&deciding));
    signs.extend(missed_probe(cell, &deciding));
    strongest(signs, cell)
}

/// Where to look: at the phase of a timed read that decided, else at the measured phases.
fn window_of(cell: &CellRecord, first: Option<&GateOutcome>) -> Window {
    let probe = first.and_then(|gate| subject_of(cell, &gate.metric)).filter(|(_, what)| is_probe(what));
    let runs = probe.and_then(|(name, _)| cell.probe_runs.iter().find(|run| run.probe == name));
    Window { phase: runs.map(|run| run.window.clone()), part: Part::Whole }
}

fn is_probe(subject: &Subject) -> bool {
    matches!(subject, Subject::Probe { .. })
}

/// The strongest sign, with the others as support.
fn strongest(mut signs: Vec<Sign>, cell: &CellRecord) -> Bottleneck {
    signs.sort_by_key(|sign| std::cmp::Reverse(sign.weight));
    let Some(first) = signs.first().cloned() else {
        let watched = cell.started.subjects.values().any(|what| matches!(what, Subject::Series { .. }));
        let evidence = if watched {
            "no process was near a full core, no watched queue grew and no timed read missed its budget"
        } else {
            "nothing is watched that could tell"
        };
        return Bottleneck { part: None, evidence: evidence.to_owned(), confidence: Confidence::Low };
    };
    let confidence = match (first.weight, signs.len()) {
        (Weight::Sign, 1) => Confidence::Low,
        (Weight::Sign, _) | (Weight::Limit, 1) => Confidence::Medium,
        (Weight::Limit | Weight::Told, _) => Confidence::High,
    };
    let evidence: Vec<String> = signs.into_iter().map(|sign| sign.evidence).collect();
    Bottleneck { part: Some(first.part), evidence: evidence.join("; "), confidence }
}

/// A cell and the window that is looked at.
pub(super) struct Look<'a> {
    run: &'a RunStarted,
    pub(super) cell: &'a CellRecord,
    window: Window,
}

impl Look<'_> {
    pub(super) fn figure(&self, metric: &str) -> Option<Figure> {
        measure(self.run, self.cell, metric, &self.window).figure().cloned()
    }

    pub(super) fn value(&self, metric: &str) -> Option<f64> {
        self.figure(metric).map(|figure| figure.value())
    }

    /// The watches' series: full name and the series' own.
    pub(super) fn series(&self) -> impl Iterator<Item = (String, &str)> {
        self.cell.started.subjects.iter().flat_map(|(watch, what)| {
            let names: &[String] = if let Subject::Series { names, .. } = what { names } else { &[] };
            names.iter().map(move |name| (format!("{watch}.{name}"), name.as_str()))
        })
    }

    /// Containers at a cap of theirs, the most throttled first.
    fn caps(&self) -> Vec<Sign> {
        let capped = |suffix: &'static str, least: f64, words: &'static str| {
            let mut found: Vec<(f64, Sign)> = self
                .series()
                .filter_map(|(full, name)| Some((full, name.strip_suffix(suffix)?)))
                .filter_map(|(full, service)| {
                    let mean = self.figure(&format!("{full}.mean")).filter(|mean| mean.value() >= least)?;
                    let share = in_words(mean.value(), Unit::Percent);
                    let evidence = format!("{service} {words} {share} on average over {}", mean.window);
                    Some((mean.value(), Sign { part: service.to_owned(), evidence, weight: Weight::Limit }))
                })
                .collect();
            found.sort_by(|a, b| b.0.total_cmp(&a.0));
            found.into_iter().map(|(_, sign)| sign)
        };
        let cpu = capped(".throttled_pct", THROTTLED_PCT, "was held back by its CPU cap in a share of its periods of");
        cpu.chain(capped(".memory_cap_pct", MEMORY_CAP_PCT, "used a share of its memory cap of")).collect()
    }

    /// Processes at a full core, the busiest first.
    fn processes(&self) -> Vec<Sign> {
        let mut busy: Vec<(f64, Sign)> = self
            .process_cpu()
            .into_iter()
            .filter_map(|(service, cpu)| {
                let whole_machine = FULL_CORE_PCT * self.cpus();
                let of = if (FULL_CORE_PCT..=ONE_CORE_PCT).contains(&cpu.value()) {
                    "of one core".to_owned()
                } else if cpu.value() >= whole_machine {
                    format!("of one core, with {} CPUs", self.run.host.cpus)
                } else {
                    return None;
                };
                let evidence = format!(
                    "{service} used {} {of} on average over {}",
                    in_words(cpu.value(), Unit::Percent),
                    cpu.window
                );
                Some((cpu.value(), Sign { part: service, evidence, weight: Weight::Limit }))
            })
            .collect();
        busy.sort_by(|a, b| b.0.total_cmp(&a.0));
        busy.into_iter().map(|(_, sign)| sign).collect()
    }

    /// The mean CPU of each process of the target.
    fn process_cpu(&self) -> Vec<(String, Figure)> {
        let all = self.series().filter_map(|(full, name)| Some((full, name.strip_suffix(".cpu_pct")?)));
        all.filter_map(|(full, service)| Some((service.to_owned(), self.figure(&format!("{full}.mean"))?))).collect()
    }

    #[expect(clippy::cast_precision_loss, reason = "a number of CPUs")]
    fn cpus(&self) -> f64 {
        self.run.host.cpus as f64
    }

    /// The host at its limit, or waiting for its disk.
    fn host(&self) -> Vec<Sign> {
        let mut signs = Vec::new();
        for (full, name) in self.series() {
            let Some(mean) = self.figure(&format!("{full}.mean")) else { continue };
            if name == "cpu_pct" && mean.value() >= FULL_CORE_PCT {
                signs.push(self.busy_host(&mean));
            }
            if name == "io_pressure_pct" && mean.value() >= IO_PRESSURE_PCT {
                let share = in_words(mean.value(), Unit::Percent);
                let evidence = format!("tasks of the host waited for I/O {share} of the time over {}", mean.window);
                signs.push(Sign { part: "the disk".to_owned(), evidence, weight: Weight::Sign });
            }
        }
        signs
    }

    /// The host's CPUs at their limit. It is only a weak sign when others than the experiment kept them busy.
    fn busy_host(&self, busy: &Figure) -> Sign {
        let (number, words) = (self.run.host.cpus, |pct| in_words(pct, Unit::Percent));
        let mut evidence = format!("the host's {number} CPUs were {} busy over {}", words(busy.value()), busy.window);
        let mut weight = Weight::Limit;
        let target = self.process_cpu();
        if let Some((service, most)) = target.iter().max_by(|a, b| a.1.value().total_cmp(&b.1.value())) {
            let own = target.iter().map(|(_, cpu)| cpu.value()).sum::<f64>();
            let generator = self.cell.started.subjects.keys();
            let generator: f64 = generator.filter_map(|load| self.value(&format!("{load}.generator_cpu_pct"))).sum();
            let _ = write!(
                evidence,
                ": of one core, the target used {} (its busiest part, {service}, {}) and the generator {}",
                words(own),
                words(most.value()),
                words(generator)
            );
            if own + generator < busy.value() * self.cpus() / 2.0 {
                evidence.push_str("; most of it was work of others on this host");
                weight = Weight::Sign;
            }
        }
        Sign { part: "the host's CPUs".to_owned(), evidence, weight }
    }

    /// Loads whose publishes all waited for their PUBACK, and a generator that was short although they did not.
    fn loads(&self, deciding: &[&GateOutcome]) -> Vec<Sign> {
        let mut signs = Vec::new();
        for (load, what) in &self.cell.started.subjects {
            let Subject::MqttPublish { inflight, .. } = what else { continue };
            #[expect(clippy::cast_precision_loss, reason = "a window of publishes")]
            let allowed = *inflight as f64;
            let waiting = self.value(&format!("{load}.in_flight_max"));
            if let Some(waiting) = waiting.filter(|waiting| *waiting >= IN_FLIGHT_SHARE * allowed) {
                let evidence = format!(
                    "{} of the {} publishes of {load} that may wait for their PUBACK did",
                    in_words(waiting, Unit::Count),
                    in_words(allowed, Unit::Count)
                );
                signs.push(Sign { part: "the broker's acknowledgements".to_owned(), evidence, weight: Weight::Sign });
                continue;
            }
            let short = deciding.iter().find(|gate| gate.metric == format!("{load}.offered_ratio"));
            if let Some(gate) = short.filter(|gate| gate.standing == Standing::Broken) {
                signs.push(self.short_generator(load, gate));
            }
        }
        signs
    }

    fn short_generator(&self, load: &str, gate: &GateOutcome) -> Sign {
        let cpu = self.value(&format!("{load}.generator_cpu_pct"));
        let (cpu, weight) = match cpu {
            Some(cpu) if cpu >= FULL_CORE_PCT => (Some(cpu), Weight::Limit),
            other => (other, Weight::Sign),
        };
        let used = cpu.map(|cpu| format!(", with {} of one core for its threads", in_words(cpu, Unit::Percent)));
        let evidence = format!("the generator was short: {}{}", gate.sentence(), used.unwrap_or_default());
        Sign { part: "the generator".to_owned(), evidence, weight }
    }

    /// Queues that grew for sure: a rising slope, and much more at the end than at the beginning.
    fn queues(&self) -> Vec<Sign> {
        let named = self.series().filter(|(full, _)| QUEUE_WORDS.iter().any(|word| full.contains(word)));
        let grown = named.filter_map(|(full, _)| {
            let value = |aggregate: &str| self.value(&format!("{full}.{aggregate}"));
            let (first, last) = (value("first")?, value("last")?);
            let slope = self.figure(&format!("{full}.slope_per_min"))?;
            let grew = slope.low? > 0.0 && last - first >= QUEUE_GROWTH && last >= 1.5 * first;
            grew.then(|| {
                let (from, to) = (in_words(first, Unit::Number), in_words(last, Unit::Number));
                let evidence = format!("{full} grew from {from} to {to} over {}", slope.window);
                Sign { part: full.clone(), evidence, weight: Weight::Sign }
            })
        });
        grown.collect()
    }
}

/// The first timed read among the gates that decided.
fn missed_probe(cell: &CellRecord, deciding: &[&GateOutcome]) -> Option<Sign> {
    let of_probes = deciding.iter().filter_map(|gate| Some((gate, subject_of(cell, &gate.metric)?)));
    let (gate, (probe, _)) = of_probes.into_iter().find(|(_, (_, what))| is_probe(what))?;
    let evidence = format!("{probe} was the first read to miss: {}", gate.sentence());
    Some(Sign { part: probe.to_owned(), evidence, weight: Weight::Sign })
}

#[cfg(test)]
#[path = "bottleneck_tests.rs"]
mod tests;
