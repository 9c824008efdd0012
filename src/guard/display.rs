//! What `plan guard` prints of a target that may be started.

use std::fmt;

use super::{Guarded, ServiceCaps};
use crate::plan::quantity::Bytes;

impl fmt::Display for Guarded {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ports: Vec<String> = self.ports.iter().map(|port| format!("{port} to {}", port.service)).collect();
        let caps: Vec<String> = self.caps.iter().map(|(service, caps)| format!("{service}: {caps}")).collect();
        block(out, "project", std::slice::from_ref(&self.project))?;
        block(out, "volumes", &self.volumes)?;
        block(out, "ports", &ports)?;
        block(out, "networks", &self.networks)?;
        block(out, "caps", &caps)?;
        block(out, "allowed", &self.allowed)
    }
}

impl fmt::Display for ServiceCaps {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{} CPUs, {} of memory", self.cpus, Bytes(self.memory_bytes))?;
        if self.replicas == 1 { Ok(()) } else { write!(out, ", {} times", self.replicas) }
    }
}

/// A heading and its lines; nothing when there are none.
fn block(out: &mut fmt::Formatter<'_>, heading: &str, lines: &[String]) -> fmt::Result {
    for (index, line) in lines.iter().enumerate() {
        writeln!(out, "{:<9} {line}", if index == 0 { heading } else { "" })?;
    }
    Ok(())
}
