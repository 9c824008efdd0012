//! Everything that needs real sockets, processes and stores.

mod load;
mod world;
