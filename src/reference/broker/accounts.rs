//! Who may connect.

use std::{fmt, str::FromStr};

use rumqttc::mqttbytes::v4::Login;

/// Users and passwords. Its debug form names users only.
#[derive(Clone, PartialEq, Eq)]
pub struct Accounts(Vec<(String, String)>);

impl fmt::Debug for Accounts {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.debug_list().entries(self.0.iter().map(|(user, _)| user)).finish()
    }
}

impl FromStr for Accounts {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let account = |part: &str| {
            let (user, password) = part.split_once(':')?;
            (!user.is_empty()).then(|| (user.to_owned(), password.to_owned()))
        };
        // The text holds passwords, so the message must not repeat it.
        text.split(',')
            .map(account)
            .collect::<Option<_>>()
            .map(Self)
            .ok_or("accounts are written user:password[,user:password]")
    }
}

impl Accounts {
    /// The CONNACK code for a login: 0 accepted, 4 bad user name or password, 5 not authorized because there is no login.
    pub(super) fn connack_code(&self, login: Option<&Login>) -> u8 {
        match login {
            None => 5,
            Some(login)
                if self.0.iter().any(|(user, password)| *user == login.username && *password == login.password) =>
            {
                0
            }
            Some(_) => 4,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn accounts_are_read_checked_and_not_shown() {
        let accounts: Accounts = "a:x,b:y:z".parse().unwrap();
        let login = |username: &str, password: &str| Login { username: username.into(), password: password.into() };
        assert_eq!(accounts.connack_code(None), 5);
        assert_eq!(accounts.connack_code(Some(&login("a", "x"))), 0);
        assert_eq!(accounts.connack_code(Some(&login("b", "y:z"))), 0);
        assert_eq!(accounts.connack_code(Some(&login("a", "y:z"))), 4);
        assert_eq!(format!("{accounts:?}"), r#"["a", "b"]"#);
        assert!("secret".parse::<Accounts>().is_err_and(|message| !message.contains("secret")));
        assert!(":x".parse::<Accounts>().is_err());
    }
}
