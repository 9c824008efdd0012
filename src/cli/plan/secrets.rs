//! Where the values of a plan's secrets come from when it is run. They are read here, and go nowhere but into the target's environment and
//! the connections.

use std::{env, fs, io, path::Path};

use indexmap::IndexMap;

use super::{Failure, init::random};
use crate::{
    judge::schema::result_schema,
    plan::{checked::Header, env_file::parse, secret::Secret, target::Target},
    problem::{Problem, Problems},
    record::redact::SHORTEST_SECRET,
};

/// Letters and digits of a secret that is made for one run.
const LENGTH: u16 = 32;

/// The value of each declared secret: the environment variable that it names, or the one of its own name; then the secrets file; then, when
/// scaler starts the target itself, a random value for this run alone. Containers are given the secrets file and nothing of the
/// environment, so for them the file alone decides.
pub(super) fn values(header: &Header, target: &Target, folder: &Path) -> Result<IndexMap<String, String>, Failure> {
    let path = folder.join(&header.secrets_file);
    let kept = match fs::read_to_string(&path) {
        Ok(text) => parse(&text).map_err(|line| unreadable(&path, line))?,
        Err(error) if error.kind() == io::ErrorKind::NotFound => IndexMap::new(),
        Err(error) => return Err(Failure::file("read", path.display(), &error)),
    };
    let ours = matches!(target, Target::Processes(_));
    let form = result_schema().to_string();
    let mut values = IndexMap::new();
    let mut problems = Vec::new();
    for (name, secret) in &header.secrets {
        let variable = secret.env.as_deref().unwrap_or(name);
        let from_environment = secret.env.is_some() || !matches!(target, Target::Compose(_));
        let value = env::var(variable).ok().filter(|value| from_environment && !value.is_empty());
        match value.or_else(|| secret.env.is_none().then(|| kept.get(name).cloned()).flatten()) {
            Some(value) => {
                problems.extend(unusable(name, &value, &[&header.text, &form]));
                values.insert(name.clone(), value);
            }
            None if ours && secret.env.is_none() => {
                values.insert(name.clone(), random(secret.random.unwrap_or(LENGTH)));
            }
            None => problems.push(missing(name, secret, &path)),
        }
    }
    if problems.is_empty() { Ok(values) } else { Err(Problems(problems).into()) }
}

/// A value that could not be told from these texts, or would be taken for something else; the value itself is not told.
fn unusable(name: &str, value: &str, texts: &[&str]) -> Option<Problem> {
    let (why, help) = if value.contains("{{") || value.contains("{%") || value.chars().any(char::is_control) {
        ("holds a template or a control character", "use letters, digits and plain signs")
    } else if value.chars().count() >= SHORTEST_SECRET && texts.iter().any(|text| text.contains(value)) {
        ("stands in the plan or in the form of results, and cannot be told from them", "use a value of its own")
    } else {
        return None;
    };
    Some(Problem::error(format!("the secret `{name}` {why}")).help(help))
}

fn missing(name: &str, secret: &Secret, path: &Path) -> Problem {
    let help = match &secret.env {
        Some(variable) => format!("set the environment variable `{variable}`"),
        None => format!("`scaler plan init` writes it to {}", path.display()),
    };
    Problem::error(format!("the secret `{name}` has no value")).help(help)
}

fn unreadable(path: &Path, line: usize) -> Failure {
    Failure::arguments(format!("{} line {line} is no NAME=VALUE", path.display()), "correct the line, or remove it")
}
