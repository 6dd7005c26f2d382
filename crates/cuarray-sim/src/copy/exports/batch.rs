//! Copies of a batch, which have no order among themselves.

use super::SyncMode;
use super::linear::transfer_noted;
use crate::capture;
use crate::driver::Call;
use crate::happens_before::edges;
use crate::objects::copy::Transfer;
use crate::objects::graph_data::Edge;
use crate::stream::lookup;
use cuarray_abi::*;

/// Enqueues the copies of a batch in a stream. The manual promises no order among them: captured ones are nodes side by side,
/// and others that share bytes are a finding. `order_of` returns the order in which a copy accesses its source. An error of a copy
/// has its index; the copies before it are enqueued.
pub(crate) fn transfer_batch(
    call: &Call<'_>,
    copies: &[Transfer],
    order_of: impl Fn(usize) -> CUmemcpySrcAccessOrder,
    stream: CUstream,
) -> Result<(), (CUresult, usize)> {
    let mut batch = Batch::begin(call, stream).map_err(|error| (error, 0))?;
    for (index, copy) in copies.iter().enumerate() {
        let Transfer { target, source, extent } = *copy;
        let late = order_of(index) != CU_MEMCPY_SRC_ACCESS_ORDER_DURING_API_CALL;
        let enqueued = transfer_noted(call, target, source, extent, SyncMode::Async(stream), late);
        batch.add(call, copy, enqueued.as_ref().copied().unwrap_or(None));
        if let Err(error) = enqueued {
            batch.end(call);
            return Err((error, index));
        }
    }
    batch.end(call);
    Ok(())
}

/// The copies of a batch that are enqueued so far.
struct Batch {
    stream: CUstream,
    /// The dependencies of each captured copy, and those of what follows the batch.
    before: Vec<Edge>,
    after: Vec<Edge>,
    copies: Vec<(u64, Transfer)>,
}

impl Batch {
    fn begin(call: &Call<'_>, stream: CUstream) -> Result<Batch, CUresult> {
        let (mut state, current) = call.current_for(stream)?;
        let stream = lookup::stream_of(&mut state, call, current, stream)?;
        let before = capture::dependencies(&state, stream);
        Ok(Batch { stream, before, after: Vec::new(), copies: Vec::new() })
    }

    fn add(&mut self, call: &Call<'_>, copy: &Transfer, place: Option<u64>) {
        let mut state = call.lock();
        let added = capture::dependencies(&state, self.stream);
        if added != self.before {
            self.after.extend(added);
            capture::set_dependencies(&mut state, self.stream, self.before.clone());
        }
        self.copies.extend(place.map(|place| (place, *copy)));
    }

    fn end(self, call: &Call<'_>) {
        let mut state = call.lock();
        if !self.after.is_empty() {
            capture::set_dependencies(&mut state, self.stream, self.after);
        }
        edges::unordered_copies(&mut state, &self.copies);
    }
}
