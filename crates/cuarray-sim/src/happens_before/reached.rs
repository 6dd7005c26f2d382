//! Memory that a kernel reaches through addresses that it loads: by a table of pointers, or through a linked structure.

use crate::objects::allocation::{Allocation, Kind};
use crate::objects::code::Module;
use crate::objects::launch::Launch;
use crate::state::State;
use cuarray_ptx::Variable;
use std::collections::{BTreeSet, VecDeque};

/// The most bytes that are searched for addresses for one launch. Larger allocations hold data, and rarely pointers.
const MOST: u64 = 256 << 10;

/// The addresses of host memory that words in memory hold, beginning with the allocations at the `first` addresses, and with the variables of
/// the launch's module.
pub(super) fn through_memory(state: &State, launch: &Launch, first: &[u64]) -> Vec<u64> {
    let (mut seen, mut found, mut left) = (BTreeSet::new(), Vec::new(), MOST);
    let addresses = state.memory.range();
    let mut open: VecDeque<u64> = first.iter().copied().collect();
    for (variable, address) in variables(state, launch).filter(|(variable, _)| variable.size <= MOST) {
        for word in words_at(state, address, variable.size).filter(|word| addresses.contains(word)) {
            let on_host = state.memory.find(word).filter(|target| !target.kind.on_device());
            found.extend(on_host.map(|target| target.address));
            open.push_back(word);
        }
    }
    // The entries of a table often lead to one allocation.
    let mut last = 0..0;
    while let Some(address) = open.pop_front() {
        let Some(allocation) = state.memory.find(address).filter(|allocation| is_searched(allocation)) else {
            continue;
        };
        if allocation.size > left || !seen.insert(allocation.address) {
            continue;
        }
        left -= allocation.size;
        for word in words_at(state, allocation.address, allocation.size).filter(|word| addresses.contains(word)) {
            if last.contains(&word) {
                continue;
            }
            let Some(target) = state.memory.find(word) else { continue };
            last = target.address..target.address + target.size;
            if !target.kind.on_device() {
                found.push(target.address);
            }
            open.push_back(word);
        }
    }
    found
}

/// Whether the driver can read the memory at an address that is never closed.
fn is_searched(allocation: &Allocation) -> bool {
    !matches!(allocation.kind, Kind::Registered { .. } | Kind::Imported(_) | Kind::Array | Kind::Code)
}

/// The variables of the launch's module, with their addresses.
fn variables<'a>(state: &'a State, launch: &Launch) -> impl Iterator<Item = (&'a Variable, u64)> {
    let function = state.code.functions.get(&launch.function);
    function.and_then(|function| state.code.modules.get(&function.module)).into_iter().flat_map(Module::variables)
}

/// The words of 8 bytes of an allocation or a variable.
fn words_at(state: &State, address: u64, size: u64) -> impl Iterator<Item = u64> + use<> {
    let start = state.host_address(address);
    // SAFETY: the memory is live and mapped at this address while the state is locked. The host may write it meanwhile.
    (0..size / 8).map(move |index| unsafe { (start as *const u64).add(index as usize).read_volatile() })
}
