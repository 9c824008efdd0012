//! What a plan may be at the most. A plan is input from elsewhere: whoever checks one must not wait or run out of memory for it.
//!
//! Nesting is bounded by the TOML parser (80 levels), the instructions of a template by its fuel, and a text that an expression
//! multiplies by the template engine (100 MB each).

/// Bytes of one plan file.
pub const PLAN_BYTES: usize = 1024 * 1024;

/// Plans that extend each other, the first one counted.
pub const EXTENDS_CHAIN: usize = 16;

/// Steps of a ladder, those for small hosts not counted. The schema says the same.
pub const LADDER_STEPS: u32 = 1_000;

/// Bytes of one expression between `{{` and `}}`.
pub const EXPRESSION_BYTES: usize = 1_000;

/// Multiplications in one expression: each may make a text of 100 MB.
pub const MULTIPLICATIONS: usize = 4;

/// Bytes of the value of one expression.
pub const VALUE_BYTES: usize = 1024 * 1024;
