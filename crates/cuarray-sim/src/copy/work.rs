//! Execution of copies and fills.

use crate::memory::mappings;
use crate::objects::allocation::{Allocation, Kind};
use crate::objects::copy::{Copy, Extent, Fill, Place, Source};
use crate::pages::probe;
use crate::state::State;

/// The program's own host memory that a copy uses and that is no longer accessible, described.
///
/// The memory was checked when the copy was enqueued. A program can unmap it while a graph is pending, or while it is
/// registered.
pub(crate) fn lost_memory_of_copy(state: &State, copy: &Copy) -> Option<String> {
    let source = match &copy.source {
        Source::Memory(place) => lost_memory(state, *place, copy.extent, false),
        Source::Staged(_) => None,
    };
    source.or_else(|| lost_memory(state, copy.target, copy.extent, true))
}

/// The counterpart of [`lost_memory_of_copy`] for a fill.
pub(crate) fn lost_memory_of_fill(state: &State, fill: &Fill) -> Option<String> {
    lost_memory(state, fill.target, fill.extent, true)
}

fn lost_memory(state: &State, place: Place, extent: Extent, writes: bool) -> Option<String> {
    let is_own = match state.memory.holding(place.address) {
        Some(Allocation { kind: Kind::Mapped(_), .. }) => {
            let span = place.span(extent).ok()?;
            let lost = mappings::covering(state, place.address, span).is_none();
            return lost.then(|| format!("{span} bytes at {:#x} are not mapped", place.address));
        }
        Some(allocation) => matches!(allocation.kind, Kind::Registered { .. }),
        None => state.arena_of(place.address).is_none(),
    };
    let span = place.span(extent).ok().filter(|_| is_own)?;
    let (is_accessible, used): (fn(u64, u64) -> bool, _) = match writes {
        true => (probe::is_range_writable, "written"),
        false => (probe::is_range_readable, "read"),
    };
    let address = place.address;
    (!is_accessible(address, span)).then(|| format!("{span} bytes of host memory at {address:#x} cannot be {used}"))
}

/// Executes a copy.
pub(crate) fn execute_copy(state: &State, copy: &Copy) {
    let Extent { width, height, depth } = copy.extent;
    let (from, from_pitch, from_slice) = match &copy.source {
        Source::Memory(place) => (state.host_address(place.address), place.pitch, place.slice),
        Source::Staged(bytes) => (bytes.as_ptr() as u64, width, width * height),
    };
    let to = state.host_address(copy.target.address);
    for slice in 0..depth {
        for row in 0..height {
            let source = from + slice * from_slice + row * from_pitch;
            let target = to + slice * copy.target.slice + row * copy.target.pitch;
            // SAFETY: both sides were checked against their allocations when the copy was enqueued. Freeing either
            // runs pending work first, and a device's range stays mapped. The program's own memory was checked
            // again just before.
            unsafe { std::ptr::copy(source as *const u8, target as *mut u8, width as usize) };
        }
    }
}

/// Executes a fill.
pub(crate) fn execute_fill(state: &State, fill: &Fill) {
    let to = state.host_address(fill.target.address);
    let bytes = fill.value.to_ne_bytes();
    let bytes = &bytes[..usize::from(fill.value_size)];
    for row in 0..fill.extent.height {
        let start = (to + row * fill.target.pitch) as *mut u8;
        let width = fill.extent.width as usize;
        // SAFETY: as for a copy; the whole row lies in the allocation, and `value_size` divides its width and
        // address.
        unsafe {
            if bytes.iter().all(|byte| *byte == bytes[0]) {
                std::ptr::write_bytes(start, bytes[0], width);
            } else if fill.value_size == 2 {
                (0..width / 2).for_each(|index| start.cast::<u16>().add(index).write(fill.value as u16));
            } else {
                (0..width / 4).for_each(|index| start.cast::<u32>().add(index).write(fill.value));
            }
        }
    }
}
