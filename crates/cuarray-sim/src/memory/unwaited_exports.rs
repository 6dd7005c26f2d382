//! Exported memory that pending work of the exporting process writes.
//!
//! An export lists the pending work that may write the memory. The file of the memory says until that work has run that the
//! process has not waited. Another process that uses the memory before sees old bytes, so a line says so. Work that the exporter enqueues
//! after the export is not listed: events may order it behind the work of the importer.

use crate::objects::allocation::Kind;
use crate::objects::copy::{Extent, Place, Source};
use crate::objects::exported::Unwaited;
use crate::objects::point::Point;
use crate::objects::work::Work;
use crate::state::State;
use cuarray_abi::CU_LOG_LEVEL_ERROR;
use std::ops::Range;

/// Whether work may write a byte of a range, as far as its parameters say it.
fn may_write(work: &Work, range: &Range<u64>) -> bool {
    let target = |place: Place, extent: Extent| {
        place.span(extent).is_ok_and(|span| place.address < range.end && range.start < place.address + span)
    };
    match work {
        Work::Copy(copy) => target(copy.target, copy.extent),
        Work::Fill(fill) => target(fill.target, fill.extent),
        Work::Launch(launch) => launch.addresses().any(|address| range.contains(&address)),
        _ => false,
    }
}

/// Notes that an allocation is exported.
pub(crate) fn exported(state: &mut State, address: u64) {
    let Some(allocation) = state.memory.starting_at(address) else { return };
    let range = address..address + allocation.size;
    let mut writes = Vec::new();
    for (handle, stream) in state.streams.iter() {
        let numbered = stream.queue.iter().zip(stream.executed + 1..);
        let writing = numbered.filter(|(operation, _)| may_write(&operation.work, &range));
        writes.extend(writing.map(|(_, operation)| Point { stream: *handle, operation }));
    }
    state.unwaited_exports.retain(|unwaited| unwaited.address != address);
    note(state, address, !writes.is_empty());
    if !writes.is_empty() {
        state.unwaited_exports.push(Unwaited { address, writes });
    }
}

/// Notes that an operation has run.
pub(crate) fn has_run(state: &mut State, at: Point) {
    let mut unwaited = std::mem::take(&mut state.unwaited_exports);
    unwaited.retain_mut(|export| {
        export.writes.retain(|write| *write != at);
        if export.writes.is_empty() {
            note(state, export.address, false);
        }
        !export.writes.is_empty()
    });
    state.unwaited_exports = unwaited;
}

/// Writes into the file of exported memory whether its process has not waited.
fn note(state: &mut State, address: u64, unwaited: bool) {
    let Some(allocation) = state.memory.starting_at(address) else { return };
    match &allocation.kind {
        Kind::PinnedPool { pages, pool } => {
            let file = state.pools.get_mut(pool).and_then(|pool| pool.file.as_mut());
            if let (Some(file), Some(offset)) = (file, pages.offset()) {
                file.set_unwaited(offset, unwaited);
            }
        }
        _ => {
            if let Some(device) = state.devices.get_mut(allocation.device) {
                device.arena.set_unwaited(address, unwaited);
            }
        }
    }
}

/// Tells the program that work is about to use imported memory whose process has not waited; once for each import.
pub(crate) fn hint(state: &mut State, work: &Work) {
    if !state.memory.has_imported() {
        return;
    }
    let mut addresses = Vec::new();
    match work {
        Work::Copy(copy) => {
            addresses.push(copy.target.address);
            if let Source::Memory(place) = copy.source {
                addresses.push(place.address);
            }
        }
        Work::Fill(fill) => addresses.push(fill.target.address),
        Work::Launch(launch) => addresses.extend(launch.addresses()),
        _ => return,
    }
    for address in addresses {
        let Some(allocation) = state.memory.holding(address) else { continue };
        let Kind::Imported(imported) = &allocation.kind else { continue };
        if let Some(process) = imported.newly_unwaited() {
            let text = format!(
                "cuarray-sim: work uses memory that process {process} exported while its own work that may write this memory \
                 was pending, and this work is still pending: the bytes may be old. Let process {process} synchronize before it \
                 passes the memory on, or order the two by an interprocess event"
            );
            if !state.quiet {
                eprintln!("{text}");
            }
            let sentence = text.split_once(": ").map_or(text.as_str(), |(_, sentence)| sentence);
            state.log.add(CU_LOG_LEVEL_ERROR, 0, sentence);
        }
    }
}
