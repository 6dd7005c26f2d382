//! Tests of the driver that share a process. A test that changes what belongs to its process is a file beside this folder.

#[macro_use]
#[path = "../program/mod.rs"]
mod program;

mod arrays;
mod attributes_and_batches;
mod box_batches;
mod capture;
mod captured_uploads;
mod clusters;
mod conditional_nodes;
mod context_events;
mod contexts;
mod deadlock_advice;
mod dependent_launches;
mod diagnostics;
mod entry_points;
mod error_codes;
mod findings;
mod graph_kernels;
mod graphs;
mod green_contexts;
mod host_accesses;
mod host_functions;
mod host_pools;
mod kernels;
mod late_sources;
mod managed_variables;
mod memory;
mod memory_operations;
mod module_checks;
mod ordering;
mod pageable_memory;
mod peer_access;
mod planted;
mod pools;
mod race_advice;
mod race_oracle;
mod schedule_oracle;
mod schedules;
mod shared_pools;
mod stray_stores;
mod textures;
mod timeline;
mod unwaited_exports;
mod virtual_memory;
mod wild_pointers;
mod without_context;
