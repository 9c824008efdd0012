//! What happens to the containers of a project, as the engine tells it. Only this stream shows that the kernel killed a child
//! of a container: the flag `OOMKilled` stays false while its first process lives, and stays true after a later start.

use std::{collections::HashMap, sync::Arc, time::Duration};

use bollard::query_parameters::EventsOptionsBuilder;
use futures_util::StreamExt;
use tokio::task::JoinHandle;

use super::{Engine, PROJECT_LABEL, SERVICE_LABEL};

/// How long to wait before the stream is opened again after it broke.
const AGAIN: Duration = Duration::from_secs(1);

/// One thing that happened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Happened {
    /// The kernel killed a process of it for want of memory.
    OutOfMemory {
        /// The service.
        service: String,
    },
    /// Its first process ended.
    Died {
        /// The service.
        service: String,
        /// How: the exit code, 128 and the number of a signal.
        code: String,
    },
    /// Its first process was started.
    Started {
        /// The service.
        service: String,
    },
    /// The stream broke: what happened from then on, until it was opened again, is not known.
    Lost {
        /// Why.
        why: String,
    },
}

/// A stream that is followed until this is dropped.
pub struct Followed(JoinHandle<()>);

impl Drop for Followed {
    fn drop(&mut self) {
        self.0.abort();
    }
}

impl Engine {
    /// Follows what happens to a project's containers.
    pub fn follow(self: &Arc<Self>, project: &str, tell: impl Fn(Happened) + Send + 'static) -> Followed {
        let docker = self.docker.clone();
        let filters = HashMap::from([
            ("type".to_owned(), vec!["container".to_owned()]),
            ("label".to_owned(), vec![format!("{PROJECT_LABEL}={project}")]),
        ]);
        Followed(self.runtime.spawn(async move {
            loop {
                let mut stream = docker.events(Some(EventsOptionsBuilder::new().filters(&filters).build()));
                let why = loop {
                    match stream.next().await {
                        Some(Ok(event)) => {
                            let actor = event.actor.unwrap_or_default();
                            let attributes = actor.attributes.unwrap_or_default();
                            meaning(event.action.as_deref().unwrap_or_default(), &attributes)
                                .into_iter()
                                .for_each(&tell);
                        }
                        Some(Err(error)) => break error.to_string(),
                        None => break "the engine ended the stream".to_owned(),
                    }
                };
                tell(Happened::Lost { why });
                tokio::time::sleep(AGAIN).await;
            }
        }))
    }
}

fn meaning(action: &str, attributes: &HashMap<String, String>) -> Option<Happened> {
    let attribute = |name: &str| attributes.get(name).cloned().unwrap_or_default();
    let service = attribute(SERVICE_LABEL);
    match action {
        "oom" => Some(Happened::OutOfMemory { service }),
        "die" => Some(Happened::Died { service, code: attribute("exitCode") }),
        "start" => Some(Happened::Started { service }),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_told_by_their_service() {
        let attributes =
            HashMap::from([(SERVICE_LABEL.to_owned(), "db".to_owned()), ("exitCode".to_owned(), "137".to_owned())]);
        let service = "db".to_owned();
        let died = Happened::Died { service: service.clone(), code: "137".to_owned() };
        assert_eq!(meaning("die", &attributes), Some(died));
        assert_eq!(meaning("oom", &attributes), Some(Happened::OutOfMemory { service }));
        assert_eq!(meaning("exec_create: psql", &attributes), None);
    }
}
