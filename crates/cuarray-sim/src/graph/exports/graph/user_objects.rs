//! User objects: objects of the program that graphs keep alive.

use super::INVALID_VALUE;
use crate::driver::Call;
use crate::execution::outside;
use crate::graph_structure::references;
use crate::objects::graph_data::UserObject;
use crate::objects::host_function::HostFunction;
use crate::parameters::Out;
use cuarray_abi::*;
use std::collections::BTreeMap;
use std::ffi::{c_int, c_uint, c_void};

pub(crate) fn cuUserObjectCreate(
    call: &Call<'_>,
    object_out: Out<'_, CUuserObject>,
    ptr: *mut c_void,
    destroy: CUhostFn,
    initial_refcount: c_uint,
    flags: c_uint,
) -> Result<(), CUresult> {
    object_out.present()?;
    let (Some(function), CU_USER_OBJECT_NO_DESTRUCTOR_SYNC) = (destroy, flags) else { return Err(INVALID_VALUE) };
    check_count(initial_refcount)?;
    let object = CUuserObject(crate::handle::fresh());
    let destroy = HostFunction::Launched { function, data: ptr };
    call.lock().user_objects.insert(object, UserObject { destroy, references: u64::from(initial_refcount) });
    object_out.put(object)
}

fn check_count(count: c_uint) -> Result<(), CUresult> {
    if (1..=c_int::MAX as c_uint).contains(&count) { Ok(()) } else { Err(INVALID_VALUE) }
}

pub(crate) fn cuUserObjectRetain(call: &Call<'_>, object: CUuserObject, count: c_uint) -> Result<(), CUresult> {
    check_count(count)?;
    call.lock().user_objects.get_mut(&object).ok_or(INVALID_VALUE)?.references += u64::from(count);
    Ok(())
}

pub(crate) fn cuUserObjectRelease(call: &Call<'_>, object: CUuserObject, count: c_uint) -> Result<(), CUresult> {
    check_count(count)?;
    let mut state = call.lock();
    if state.user_objects.get(&object).ok_or(INVALID_VALUE)?.references < u64::from(count) {
        return Err(INVALID_VALUE);
    }
    references::drop_all(&mut state, BTreeMap::from([(object, u64::from(count))]));
    drop(outside::bury(call.driver, state));
    Ok(())
}

/// Adds references. With the move flag, the caller's references are transferred instead.
pub(crate) fn cuGraphRetainUserObject(
    call: &Call<'_>,
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
    flags: c_uint,
) -> Result<(), CUresult> {
    check_count(count)?;
    if flags & !CU_GRAPH_USER_OBJECT_MOVE != 0 {
        return Err(INVALID_VALUE);
    }
    let mut state = call.lock();
    state.graph(graph)?;
    let known = state.user_objects.get_mut(&object).ok_or(INVALID_VALUE)?;
    if flags != CU_GRAPH_USER_OBJECT_MOVE {
        known.references += u64::from(count);
    }
    *state.graph_mut(graph)?.references.entry(object).or_default() += u64::from(count);
    Ok(())
}

pub(crate) fn cuGraphReleaseUserObject(
    call: &Call<'_>,
    graph: CUgraph,
    object: CUuserObject,
    count: c_uint,
) -> Result<(), CUresult> {
    check_count(count)?;
    let mut state = call.lock();
    let held = state.graph_mut(graph)?.references.get_mut(&object).filter(|held| **held >= u64::from(count));
    *held.ok_or(INVALID_VALUE)? -= u64::from(count);
    references::drop_all(&mut state, BTreeMap::from([(object, u64::from(count))]));
    drop(outside::bury(call.driver, state));
    Ok(())
}
