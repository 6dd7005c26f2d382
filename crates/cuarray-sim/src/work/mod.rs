//! Effects of enqueued work and of immediate calls: methods of the state for memory, copies, launches, code, streams and
//! contexts.

mod allocations;
mod contexts;
mod copies;
mod devices;
mod launches;
mod modules;
mod pools;
mod streams;
