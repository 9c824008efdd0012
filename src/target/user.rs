//! Who a process runs as. Some programs, PostgreSQL among them, refuse to run as root.

use std::{fmt, fs, io, str::FromStr};

/// A user of this host.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct User {
    /// The user's number.
    pub uid: u32,
    /// The number of the user's own group.
    pub gid: u32,
}

impl User {
    /// The user that a plan asks for; none when it asks for nobody else, or when scaler may not change users because it is not root.
    ///
    /// # Errors
    /// When this host has no such user.
    pub fn asked_for(name: Option<&str>) -> io::Result<Option<Self>> {
        let Some(name) = name.filter(|_| rustix::process::geteuid().is_root()) else { return Ok(None) };
        let known = fs::read_to_string("/etc/passwd")?;
        let user = find(&known, name).ok_or_else(|| io::Error::other(format!("this host has no user `{name}`")))?;
        Ok(Some(user))
    }
}

/// A user in the text of passwd(5): name, password, number, group, and more, parted by colons.
fn find(known: &str, name: &str) -> Option<User> {
    let mut lines = known.lines().map(|line| line.split(':').collect::<Vec<_>>());
    lines.find_map(|fields| match fields.as_slice() {
        [user, _, uid, gid, ..] if *user == name => Some(User { uid: uid.parse().ok()?, gid: gid.parse().ok()? }),
        _ => None,
    })
}

impl fmt::Display for User {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(out, "{}:{}", self.uid, self.gid)
    }
}

impl FromStr for User {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let numbers = text.split_once(':').and_then(|(uid, gid)| Some((uid.parse().ok()?, gid.parse().ok()?)));
        let (uid, gid) = numbers.ok_or_else(|| format!("{text:?} names no user; write UID:GID"))?;
        Ok(Self { uid, gid })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn users_are_found_by_their_whole_name() {
        let known = "root:x:0:0:root:/:/bin/sh\nbroken\npostgres:x:104:109:,,,:/var/lib:/bin/bash\n";
        assert_eq!(find(known, "postgres"), Some(User { uid: 104, gid: 109 }));
        assert_eq!(find(known, "post"), None);
        assert_eq!(User { uid: 104, gid: 109 }.to_string().parse(), Ok(User { uid: 104, gid: 109 }));
        assert!("104".parse::<User>().is_err());
    }
}
