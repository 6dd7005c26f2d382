//! The variables of modules, and refused modules, as events of the race detector.

use crate::happens_before::caller::caller;
use crate::state::State;
use cuarray_abi::CUcontext;
use cuarray_ptx::{Program, Space};
use cuarray_races::Block;

/// Records the variables of a module that is being loaded; without its managed variables, if it shares them.
pub(crate) fn loaded(state: &mut State, context: CUcontext, program: &Program, addresses: &[u64], shares: bool) {
    let Some(caller) = caller(state) else { return };
    let device = state.contexts.get(&context).map_or(0, |context| context.device as i32);
    let own = program.variables().iter().zip(addresses).filter(|(variable, _)| !(shares && variable.managed));
    let held = own.filter(|(variable, _)| variable.size > 0);
    let blocks = held.filter_map(|(variable, address)| {
        let space = match variable.space {
            Space::Global if variable.managed => "managed",
            Space::Global => "global",
            Space::Const => "constant",
            _ => return None,
        };
        Some(Block::variable(*address, variable.size, variable.name.clone(), space, device))
    });
    let blocks: Vec<_> = blocks.collect();
    if !blocks.is_empty() {
        state.detector.load(caller, blocks);
    }
}

/// Records a module that is refused although a driver can load it.
pub(crate) fn refused_module(state: &mut State, reason: String) {
    let Some(caller) = caller(state) else { return };
    state.detector.refuse_module(caller, reason);
}
