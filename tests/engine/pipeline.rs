//! A small pipeline in containers, run from its plan by the real program while the test acts on it. Each test knows the truth from somewhere
//! else than scaler, and demands exactly that truth, the right word and cause, the broken gates and the bottleneck.

mod bench;
mod caps;
mod killed;
mod live;
mod restart;
mod rules;
