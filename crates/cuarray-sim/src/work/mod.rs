//! Work and immediate calls as methods of the state: memory, copies, launches, code, streams, contexts.

mod allocations;
mod contexts;
mod copies;
mod devices;
mod launches;
mod modules;
mod pools;
mod streams;
