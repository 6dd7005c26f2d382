//! Checks of the accesses of graph nodes, to graph memory too, which is valid whether or not it is live.

use crate::happens_before::handles;
use crate::memory::{allocations, races};
use crate::objects::allocation::{Declared, Kind, Side};
use crate::objects::array::Corner;
use crate::objects::copy::{End, Extent};
use crate::objects::graph_data::INVALID_VALUE;
use crate::state::State;
use cuarray_abi::*;
use cuarray_races::finding::AccessKind;

/// Checks an access of a node and returns the memory's side. Graph memory is valid whether or not it is live.
pub(crate) fn side(
    state: &State,
    address: u64,
    length: u64,
    declared: Declared,
    access: AccessKind,
) -> Result<Side, CUresult> {
    if let Some(allocation) = state.memory.holding(address)
        && matches!(allocation.kind, Kind::Graph { .. })
    {
        let fits = length <= allocation.size - (address - allocation.address);
        let is_declared = declared != Declared::Host || !allocation.kind.on_device();
        return if fits && is_declared { Ok(allocations::side_of(&allocation.kind)) } else { Err(INVALID_VALUE) };
    }
    allocations::side(state, address, length, declared, access)
}

/// The access of a node that cannot be made.
pub(crate) struct Refused {
    code: CUresult,
    /// The bytes, if they may be those of a finding.
    access: Option<(AccessKind, End, u64)>,
    /// The context to which the bytes are closed.
    closed: Option<CUcontext>,
}

impl From<CUresult> for Refused {
    fn from(code: CUresult) -> Refused {
        Refused { code, access: None, closed: None }
    }
}

impl Refused {
    /// Records a finding for freed memory, for a destroyed array and for bytes outside of all allocations; returns the
    /// result of the call.
    pub(crate) fn report(self, state: &mut State) -> CUresult {
        match (self.access, self.closed) {
            (Some((access, end, length)), Some(context)) => {
                allocations::refuse_closed(state, context, access, end.place.address, length);
            }
            (Some((_, End { declared: Declared::Array(Corner { array, .. }), .. }, _)), None)
                if !state.arrays.arrays.contains_key(&array) =>
            {
                handles::refused_handle(state, array.0 as u64);
            }
            (Some((access, end, length)), None) => races::refused(state, access, end.place.address, length),
            (None, _) => {}
        }
        self.code
    }
}

/// Checks an access of a node of a context.
pub(crate) fn check(
    state: &State,
    context: CUcontext,
    end: End,
    extent: Extent,
    access: AccessKind,
) -> Result<(), Refused> {
    let (length, address, context) = (end.place.span(extent)?, end.place.address, end.context.unwrap_or(context));
    let refused = |code, closed| Refused { code, access: Some((access, end, length)), closed };
    if !allocations::is_open_to(state, context, address, length, access) {
        return Err(refused(INVALID_VALUE, Some(context)));
    }
    let side = side(state, address, length, end.declared, access);
    side.map(drop).map_err(|code| refused(code, None))
}
