//! What work does, and what calls do at once: methods of the state for memory, copies, launches, code, streams, contexts.

mod allocations;
mod contexts;
mod copies;
mod devices;
mod launches;
mod modules;
mod pools;
mod streams;
