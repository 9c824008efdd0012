//! The reference target, as processes, against clients that are not ours: it is what scaler is calibrated against.

mod api;
mod around;
mod broker;
mod durability;
mod faults;
mod gateway;
mod hostile;
mod listener;
pub(crate) mod postgres;
mod services;
mod sessions;
mod sink;
