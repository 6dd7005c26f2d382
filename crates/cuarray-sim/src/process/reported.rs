//! Accesses of the host to device memory that a library reports, such as those of MPI.

use crate::happens_before::caller::caller;
use crate::happens_before::edges;
use crate::memory::races;
use crate::state::State;
use cuarray_races::finding::{AccessKind, LaneKind};
use cuarray_races::{Effect, Extent, Region};

/// Rows of bytes.
#[derive(Clone, Copy)]
pub(crate) struct Bytes {
    pub address: u64,
    pub width: u64,
    pub pitch: u64,
    pub height: u64,
}

impl Bytes {
    /// The distance from the first byte to the end of the last row; `None` if there are no bytes, or they leave the address space.
    fn span(self) -> Option<u64> {
        let rows = self.height.checked_sub(1)?.checked_mul(self.pitch)?;
        let span = rows.checked_add(self.width)?;
        (self.width > 0 && self.address.checked_add(span).is_some()).then_some(span)
    }
}

/// Records that the host begins an access of device memory; with a number, one that lasts. Returns the number of such an access; 0 if there
/// is none.
pub(crate) fn begins(state: &mut State, bytes: Bytes, writes: bool, number: Option<u64>) -> u64 {
    let (Some(caller), Some(span)) = (caller(state), bytes.span()) else { return 0 };
    let access = if writes { AccessKind::Write } else { AccessKind::Read };
    let Bytes { address, width, pitch, height } = bytes;
    match state.memory.find(address) {
        Some(allocation) if !allocation.kind.on_device() => return 0,
        None if state.arena_of(address).is_none() => return 0,
        _ => {}
    }
    state.host_accesses_reported = true;
    // A part outside of allocations is a separate finding.
    races::refused(state, access, address, span);
    let region = Region::new(address, pitch, 0, Extent { width, height, depth: 1 });
    let effect = Effect::Touches(vec![(region, access)]);
    let Some(number) = number else {
        state.detector.host_operation(caller, effect);
        return 0;
    };
    let mut lane = state.detector.new_lane(LaneKind::Request, number, None);
    state.detector.issue(&mut lane, caller, effect);
    state.requests.insert(number, lane);
    number
}

/// Records that the host has waited for an access.
pub(crate) fn ends(state: &mut State, number: u64) {
    if let Some(lane) = state.requests.remove(&number) {
        edges::host_joins(state, vec![lane.clock()]);
        state.detector.lane_ends(&lane);
    }
}
