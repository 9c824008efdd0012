//! A thing's kind is its one body key.
//!
//! `[[phase]] name = "soak"` with `hold = { … }` is a struct of options with an exactly-one rule. That way serde,
//! the JSON schema and an editor all point at the exact key (a tagged enum would lose the place of an error).
//! [`one_of!`] writes the struct that is read and the enum that is meant from one list.

/// How many body keys were found where exactly one is wanted.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct NotOne {
    /// The body keys that were given (none, or two and more).
    pub found: Vec<&'static str>,
    /// The body keys there are.
    pub known: &'static [&'static str],
}

/// Declares a table with exactly one body key, and the enum of its bodies.
macro_rules! one_of {
    (
        $(#[$table_doc:meta])* table $table:ident { $($(#[$common_doc:meta])* $common:ident : $common_type:ty),* $(,)? }
        $(#[$kind_doc:meta])* kind $kind:ident { $($(#[$body_doc:meta])* $body:ident => $variant:ident($inner:ty)),+ $(,)? }
    ) => {
        $(#[$table_doc])*
        #[derive(Clone, Debug, PartialEq, serde::Serialize, serde::Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields)]
        pub struct $table {
            $($(#[$common_doc])* pub $common: $common_type,)*
            $($(#[$body_doc])* #[serde(default, skip_serializing_if = "Option::is_none")] pub $body: Option<$inner>,)+
        }

        $(#[$kind_doc])*
        #[derive(Clone, Debug, PartialEq)]
        pub enum $kind { $($(#[$body_doc])* $variant($inner)),+ }

        impl $kind {
            /// The body keys that exist, in the order of the documentation.
            pub const KEYS: &'static [&'static str] = &[$(stringify!($body)),+];

            /// The body key that names this kind.
            #[must_use]
            pub fn key(&self) -> &'static str {
                match self { $(Self::$variant(_) => stringify!($body)),+ }
            }
        }

        impl $table {
            /// The one body of this table.
            ///
            /// # Errors
            /// When no body key is given, or more than one.
            pub fn kind(&self) -> Result<$kind, $crate::plan::one_of::NotOne> {
                let mut kinds: Vec<$kind> = Vec::new();
                $(if let Some(body) = &self.$body { kinds.push($kind::$variant(body.clone())); })+
                if kinds.len() == 1 {
                    return Ok(kinds.remove(0));
                }
                let found = kinds.iter().map($kind::key).collect();
                Err($crate::plan::one_of::NotOne { found, known: $kind::KEYS })
            }
        }
    };
}
pub(crate) use one_of;
