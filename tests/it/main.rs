//! Everything that needs real sockets, processes and stores.

mod world;
