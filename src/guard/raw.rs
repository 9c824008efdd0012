//! What a Compose file draws in from other files. The effective config shows only the outcome (`extends`, `include` and
//! `env_file` are resolved away), so the file itself has to be read; YAML needs a parser because of anchors and merge keys.

use saphyr::{LoadableYamlNode, Scalar, Yaml};
use serde_json::{Map, Value};

/// A path in a Compose file that leads to another file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Reference {
    /// How the file is used.
    pub kind: ReferenceKind,
    /// Where it stands: `files` or `services.NAME`.
    pub at: String,
    /// The path as it is written.
    pub path: String,
}

/// How a Compose file uses another file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReferenceKind {
    /// `extends.file`
    Extends,
    /// `include`
    Include,
    /// `include.project_directory`: where the paths of an included file begin.
    Folder,
    /// `env_file`, of a service or of an included file.
    EnvFile,
}

/// Finds what a Compose file draws in.
///
/// # Errors
/// When the text is not YAML.
pub fn references(text: &str) -> Result<Vec<Reference>, String> {
    let mut found = Vec::new();
    for document in Yaml::load_from_str(text).map_err(|error| error.to_string())? {
        let document = json(&document);
        for include in fields(&document, "include").flat_map(one_or_many) {
            included(include, &mut found);
        }
        for services in fields(&document, "services") {
            for (name, service) in services.as_object().into_iter().flatten() {
                of_service(name, service, &mut found);
            }
        }
    }
    Ok(found)
}

fn included(include: &Value, found: &mut Vec<Reference>) {
    let mut push = |kind, path: &str| found.push(Reference { kind, at: "files".to_owned(), path: path.to_owned() });
    let paths: Vec<&str> = match include {
        Value::String(path) => vec![path],
        _ => texts(include, "path").collect(),
    };
    let folders: Vec<&str> = texts(include, "project_directory").collect();
    let env_files: Vec<&str> = texts(include, "env_file").collect();
    let kinds =
        [(ReferenceKind::Include, &paths), (ReferenceKind::Folder, &folders), (ReferenceKind::EnvFile, &env_files)];
    for (kind, path) in kinds.into_iter().flat_map(|(kind, paths)| paths.iter().map(move |path| (kind, path))) {
        push(kind, path);
    }
    if env_files.is_empty() {
        // Compose reads `.env` beside an included file by itself.
        let beside = paths.first().map(|path| path.rsplit_once('/').map_or(".", |(folder, _)| folder));
        if let Some(folder) = folders.first().copied().or(beside) {
            push(ReferenceKind::EnvFile, &format!("{folder}/.env"));
        }
    }
}

fn of_service(name: &str, service: &Value, found: &mut Vec<Reference>) {
    let mut push =
        |kind, path: &str| found.push(Reference { kind, at: format!("services.{name}"), path: path.to_owned() });
    for extends in fields(service, "extends") {
        texts(extends, "file").for_each(|file| push(ReferenceKind::Extends, file));
    }
    for key in ["env_file", "label_file"] {
        for file in fields(service, key).flat_map(one_or_many) {
            match file {
                Value::String(path) => push(ReferenceKind::EnvFile, path),
                table => texts(table, "path").for_each(|path| push(ReferenceKind::EnvFile, path)),
            }
        }
    }
}

/// The values of a key, in the mapping itself and in what it merges by `<<`.
fn fields<'a>(table: &'a Value, key: &'a str) -> Box<dyn Iterator<Item = &'a Value> + 'a> {
    let merged = table.get("<<").into_iter().flat_map(one_or_many).flat_map(move |merged| fields(merged, key));
    Box::new(table.get(key).into_iter().chain(merged))
}

fn texts<'a>(table: &'a Value, key: &'a str) -> impl Iterator<Item = &'a str> {
    fields(table, key).flat_map(one_or_many).filter_map(Value::as_str)
}

fn one_or_many(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        value => std::slice::from_ref(value),
    }
}

/// The same tree as JSON; tags (`!reset`, `!override`) do not matter here.
fn json(node: &Yaml) -> Value {
    match node {
        Yaml::Value(Scalar::Integer(number)) => (*number).into(),
        Yaml::Value(Scalar::Boolean(flag)) => (*flag).into(),
        Yaml::Value(Scalar::FloatingPoint(number)) => number.into_inner().into(),
        Yaml::Value(Scalar::String(text)) | Yaml::Representation(text, ..) => text.as_ref().into(),
        Yaml::Sequence(items) => items.iter().map(json).collect(),
        Yaml::Mapping(entries) => {
            let pair =
                |(key, value)| (json(key).as_str().map_or_else(|| json(key).to_string(), str::to_owned), json(value));
            Value::Object(entries.iter().map(pair).collect::<Map<_, _>>())
        }
        Yaml::Tagged(_, node) => json(node),
        Yaml::Value(Scalar::Null) | Yaml::Alias(_) | Yaml::BadValue => Value::Null,
    }
}

#[cfg(test)]
mod tests {
    use super::{ReferenceKind::*, *};

    fn found(text: &str) -> Vec<(ReferenceKind, String, String)> {
        references(text).expect("YAML").into_iter().map(|found| (found.kind, found.at, found.path)).collect()
    }

    fn want(list: &[(ReferenceKind, &str, &str)]) -> Vec<(ReferenceKind, String, String)> {
        list.iter().map(|(kind, at, path)| (*kind, (*at).to_owned(), (*path).to_owned())).collect()
    }

    #[test]
    fn each_spelling_of_each_reference_is_found() {
        assert_eq!(found("include: [a/b.yml]"), want(&[(Include, "files", "a/b.yml"), (EnvFile, "files", "a/.env")]));
        assert_eq!(
            found("include: [{path: [a.yml, b.yml], project_directory: p, env_file: [e]}]"),
            want(&[
                (Include, "files", "a.yml"),
                (Include, "files", "b.yml"),
                (Folder, "files", "p"),
                (EnvFile, "files", "e")
            ])
        );
        assert_eq!(
            found(
                "services: {a: {extends: {file: x.yml, service: y}, env_file: e}, b: {extends: a, env_file: [f, {path: g}]}}"
            ),
            want(&[
                (Extends, "services.a", "x.yml"),
                (EnvFile, "services.a", "e"),
                (EnvFile, "services.b", "f"),
                (EnvFile, "services.b", "g")
            ])
        );
    }

    #[test]
    fn anchors_merges_and_tags_hide_nothing() {
        let text =
            "x-base: &base {extends: {file: x.yml, service: y}}\nservices: {a: {<<: [*base], env_file: !override [e]}}";
        assert_eq!(found(text), want(&[(Extends, "services.a", "x.yml"), (EnvFile, "services.a", "e")]));
    }

    #[test]
    fn what_is_not_yaml_is_an_error() {
        assert!(references("services: {a: [").is_err());
    }
}
