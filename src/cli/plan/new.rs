//! `scaler plan new`: a plan for a host from a template, checked before it is written.

use std::{
    env, fs,
    io::{self, Write},
    path::{Component, Path, PathBuf},
    sync::Arc,
};

use super::{
    Colour, Exit, Failure, Outcome, screen,
    source::{load_with, pair, read_file},
};
use crate::{
    plan::blueprint::{Variable, render, variables},
    problem::Source,
    report::plan_estimate,
};

/// The templates that every scaler has with it.
const BUILT_IN: &[(&str, &str)] =
    &[("reference-host", include_str!("../../../plans/templates/reference-host.toml.j2"))];

/// Where templates of one's own lie.
const FOLDER: &str = "plans/templates";

#[derive(Debug, clap::Args)]
#[command(after_help = "\
Examples:
  scaler plan new reference-host                                        what does the template ask for?
  scaler plan new reference-host --set host=nash -o plans/nash.toml
  scaler plan new ./my.toml.j2 --set host=nash --set soak=15m -o plans/nash.toml

A template is a path, a name in plans/templates, or one that scaler has with it: reference-host.")]
pub(in crate::cli) struct Args {
    /// The template.
    template: String,
    /// Set a variable of the template; may be repeated.
    #[arg(long = "set", value_name = "NAME=VALUE", value_parser = pair)]
    sets: Vec<(String, String)>,
    /// The plan to write; a file that is there is never overwritten.
    #[arg(short, long, value_name = "FILE")]
    out: Option<PathBuf>,
}

pub(super) fn run(args: &Args, colour: Colour) -> Outcome {
    let template = find(&args.template)?;
    let Some(out) = &args.out else {
        if args.sets.is_empty() {
            screen::print(&explanation(&args.template, &variables(&template)?));
            return Ok(Exit::Pass);
        }
        return Err(Failure::arguments("no file to write the plan to", "name it with `-o plans/NAME.toml`"));
    };
    if out.exists() {
        let title = format!("{} is there already and is not overwritten", out.display());
        return Err(Failure::arguments(title, "choose another name, or remove it first"));
    }
    let text = format!("{}{}", schema_line(out), render(&template, &args.sets)?);
    let name = out.display().to_string();
    let read = |path: &str| if path == name { Ok(text.clone()) } else { read_file(path) };
    let checked = load_with(&name, &read, &[])?;
    write_new(out, &text).map_err(|error| Failure::file("write", out.display(), &error))?;
    if !checked.warnings.0.is_empty() {
        screen::problems(&checked.warnings, colour);
    }
    let variable = checked.header.ladder.as_ref().map(|ladder| ladder.variable.as_str());
    screen::remark(&format!(
        "{name} is written. It will cost:\n\n{}",
        plan_estimate::text(variable, &checked.estimates)
    ));
    screen::remark(&format!("\nNext: read it, then `scaler plan init {name}` and `scaler plan run {name}`"));
    Ok(Exit::Pass)
}

/// A path, a name in the folder of templates, or a built-in one.
fn find(name: &str) -> Result<Arc<Source>, Failure> {
    let in_folder = format!("{FOLDER}/{name}.toml.j2");
    if let Some(path) = [name, in_folder.as_str()].into_iter().find(|path| Path::new(path).is_file()) {
        let text = fs::read_to_string(path).map_err(|error| Failure::file("read", path, &error))?;
        return Ok(Arc::new(Source { name: path.to_owned(), text }));
    }
    if let Some((name, text)) = BUILT_IN.iter().find(|(known, _)| *known == name) {
        return Ok(Arc::new(Source { name: (*name).to_owned(), text: (*text).to_owned() }));
    }
    let title = format!("there is no template `{name}`");
    Err(Failure::arguments(title, format!("known: {}; or give the path of one", known().join(", "))))
}

/// The names of all templates at hand.
fn known() -> Vec<String> {
    let mut names: Vec<String> = BUILT_IN.iter().map(|(name, _)| (*name).to_owned()).collect();
    let files = fs::read_dir(FOLDER).into_iter().flatten().flatten();
    names.extend(files.filter_map(|file| Some(file.file_name().to_str()?.strip_suffix(".toml.j2")?.to_owned())));
    names.sort();
    names.dedup();
    names
}

fn explanation(name: &str, variables: &[Variable]) -> String {
    let width = variables.iter().map(|variable| variable.name.len()).max().unwrap_or(0);
    let lines = variables.iter().map(|variable| {
        let mark = if variable.needed { "*" } else { " " };
        format!("{mark} {:width$}  {}\n", variable.name, variable.meaning)
    });
    let needed =
        variables.iter().filter(|variable| variable.needed).map(|variable| format!(" --set {}=…", variable.name));
    format!(
        "The template {name} asks for (* is needed):\n\n{}\nMake a plan with\n  scaler plan new {name}{} -o plans/NAME.toml\n",
        lines.collect::<String>(),
        needed.collect::<String>()
    )
}

/// The comment by which an editor finds the schema: relative to the plan, when a folder above it has the schema.
fn schema_line(out: &Path) -> String {
    let Ok(current) = env::current_dir() else { return String::new() };
    let plan = normal(&current.join(out));
    for (levels, folder) in plan.ancestors().skip(1).enumerate() {
        if folder.join("schema/plan.schema.json").is_file() {
            return format!(
                "#:schema {}schema/plan.schema.json\n",
                if levels == 0 { "./".to_owned() } else { "../".repeat(levels) }
            );
        }
    }
    String::new()
}

/// The path without `.` and `..`.
fn normal(path: &Path) -> PathBuf {
    let mut out = PathBuf::new();
    for part in path.components() {
        match part {
            Component::ParentDir => {
                out.pop();
            }
            Component::CurDir => {}
            other => out.push(other),
        }
    }
    out
}

/// Writes a file that must not be there yet, with the folders above it.
fn write_new(path: &Path, text: &str) -> io::Result<()> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder)?;
    }
    fs::File::create_new(path)?.write_all(text.as_bytes())
}
