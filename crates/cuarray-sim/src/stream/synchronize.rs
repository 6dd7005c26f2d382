//! The wait for a stream.

use crate::capture;
use crate::driver::Call;
use crate::execution::{self, tails};
use crate::happens_before::edges;
use crate::objects::pool;
use crate::stream::lookup;
use cuarray_abi::*;

/// Waits for all work of a stream, as `cuStreamSynchronize` does.
pub(crate) fn wait_for_stream(call: &Call<'_>, stream: CUstream) -> Result<(), CUresult> {
    let (mut state, handle) = lookup::stream(call, stream)?;
    capture::forbid_in_capture(&mut state, handle)?;
    let device = state.streams.get(&handle).and_then(|stream| state.contexts.get(&stream.context));
    let device = device.map(|context| context.device);
    let (tail, clocks) = (tails::of_stream(&state, handle), edges::clocks_of_tail(&state, handle));
    let mut state = execution::force(call.driver, state, tail);
    edges::host_joins(&mut state, clocks);
    if let Some(device) = device {
        pool::settle(&mut state.pools, device);
    }
    Ok(())
}
