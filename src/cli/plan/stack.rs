//! The containers of a plan, for the verbs that look at them, start them and remove them.

use std::time::Instant;

use super::{Failure, run::parent, source::PlanArgs};
use crate::{
    host,
    plan::{checked::CellPlan, target::Target},
    run::emit::Emit,
    target::compose::{Project, Refused, Stack},
};

/// The Compose project of a plan, with its paths resolved.
pub(super) fn resolve(args: &PlanArgs) -> Result<Stack, Failure> {
    let checked = args.load()?;
    let cell: CellPlan = checked.cell(checked.header.steps.first().copied().flatten(), None)?;
    let Target::Compose(compose) = &cell.target else {
        let title = format!("the target of {} is of the kind `{}`", args.path, cell.target.key());
        return Err(Failure::arguments(title, "only a target of the kind `compose` has containers"));
    };
    Stack::resolve(compose, &cell.isolation, &parent(&args.path)?).map_err(refused)
}

/// The same, with the engine.
pub(super) fn open(args: &PlanArgs) -> Result<Project, Failure> {
    let silent = Emit::new(Instant::now(), |_| {});
    Project::new(resolve(args)?, host_cpus()?, silent).map_err(refused)
}

/// CPUs of this host, which no cap may exceed.
pub(super) fn host_cpus() -> Result<u64, Failure> {
    let facts = host::facts().map_err(|error| Failure::file("read the facts of this host from", "/proc", &error))?;
    Ok(facts.cpus)
}

/// Every reason is a problem of its own.
pub(super) fn refused(Refused(reasons): Refused) -> Failure {
    Failure::refused(reasons)
}
