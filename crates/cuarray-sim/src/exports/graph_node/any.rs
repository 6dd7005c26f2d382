//! Nodes of any kind, whose parameters are a union.
//!
//! Driver API: [`cuGraphAddNode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::super::*;
use super::*;
use crate::execution::outside;
use crate::exports::unsupported;

/// Reads the parameters of one kind from the union.
///
/// # Safety
/// `T` is a member of the union; any bytes are a valid `T`.
pub(super) unsafe fn member<T: Copy>(params: &CUgraphNodeParams) -> T {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    // SAFETY: by this function's contract; the union is large enough.
    unsafe { params.params.as_ptr().cast::<T>().read_unaligned() }
}

/// The action of a node with these parameters. An allocation has no address yet, and a child graph is not cloned yet.
///
/// # Safety
/// The parameters are of the kind that they name.
pub(in crate::exports) unsafe fn node_action(
    state: &mut State,
    call: &Call<'_>,
    params: &CUgraphNodeParams,
) -> Result<Action, CUresult> {
    if params.reserved0 != [0; 3] || params.reserved2 != 0 {
        return Err(INVALID_VALUE);
    }
    // SAFETY: by this function's contract.
    unsafe {
        match params.kind {
            CU_GRAPH_NODE_TYPE_EMPTY => Ok(Action::Empty),
            CU_GRAPH_NODE_TYPE_MEMCPY => {
                let node: CUDA_MEMCPY_NODE_PARAMS = member(params);
                copy_action(state, call, &node.copyParams, node.copyCtx)
            }
            CU_GRAPH_NODE_TYPE_MEMSET => {
                let node: CUDA_MEMSET_NODE_PARAMS_v2 = member(params);
                fill_action(state, call, &node.memset, node.ctx)
            }
            CU_GRAPH_NODE_TYPE_HOST => host_action(&member::<CUDA_HOST_NODE_PARAMS>(params)),
            CU_GRAPH_NODE_TYPE_GRAPH => {
                let node: CUDA_CHILD_GRAPH_NODE_PARAMS = member(params);
                state.graph(node.graph)?;
                Ok(Action::Child(node.graph))
            }
            CU_GRAPH_NODE_TYPE_WAIT_EVENT => state.event(member(params)).map(|_| Action::Wait(member(params))),
            CU_GRAPH_NODE_TYPE_EVENT_RECORD => state.event(member(params)).map(|_| Action::Record(member(params))),
            CU_GRAPH_NODE_TYPE_MEM_ALLOC => {
                let node: CUDA_MEM_ALLOC_NODE_PARAMS = member(params);
                allocate_action(state, &node)
            }
            CU_GRAPH_NODE_TYPE_MEM_FREE => Ok(Action::Free(member(params))),
            CU_GRAPH_NODE_TYPE_KERNEL => launch_action(state, call, &member(params)),
            CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => batch_action(state, call, &member(params)),
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
                call.driver.explain_refusal("a semaphore node", "no semaphore can be imported: use an event node");
                Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
            }
            // A conditional node is made with its graph, and cannot be changed.
            CU_GRAPH_NODE_TYPE_CONDITIONAL => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
            _ => Err(INVALID_VALUE),
        }
    }
}

pub(in crate::exports) unsafe fn cuGraphAddNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    let data = std::ptr::null();
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphAddNode_v2(call, p_node, graph, dependencies, data, num_dependencies, node_params) }
}

/// Adds the node and writes the address of an allocation, or the bodies of a conditional node, into the parameters.
pub(in crate::exports) unsafe fn cuGraphAddNode_v2(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_data: *const CUgraphEdgeData,
    num_dependencies: usize,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(p_node)?;
    present(node_params)?;
    let mut state = call.lock();
    // SAFETY: the caller's pointers and arrays, by the driver's contract; they may be unaligned.
    unsafe {
        let mut params = node_params.read_unaligned();
        let action = match params.kind {
            CU_GRAPH_NODE_TYPE_CONDITIONAL => conditional_action(&state, graph, &params)?,
            _ => node_action(&mut state, call, &params)?,
        };
        let moves = matches!(action, Action::Child(_)) && moves(&params)?;
        let place = place(graph, (dependencies, dependency_data), num_dependencies)?;
        let node = add(&mut state, place, action, moves)?;
        fill_in(&state, node, &mut params)?;
        put(node_params, params)?;
        put(p_node, node)
    }
}

/// Whether the parameters of a child graph node move the graph into the node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown ownership, such as that of a query.
///
/// # Safety
/// The parameters are those of a child graph node.
unsafe fn moves(params: &CUgraphNodeParams) -> Result<bool, CUresult> {
    // SAFETY: by this function's contract.
    match unsafe { member::<CUDA_CHILD_GRAPH_NODE_PARAMS>(params) }.ownership {
        CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE => Ok(false),
        CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => Ok(true),
        _ => Err(INVALID_VALUE),
    }
}

/// Checks that the context of a kernel node is that of its function, if the parameters have both.
///
/// # Errors
/// `CUDA_ERROR_INVALID_CONTEXT`.
fn check_context(call: &Call<'_>, params: &CUgraphNodeParams) -> Result<(), CUresult> {
    if params.kind != CU_GRAPH_NODE_TYPE_KERNEL {
        return Ok(());
    }
    // SAFETY: the parameters are those of a kernel node.
    let CUDA_KERNEL_NODE_PARAMS { v1, ctx, .. } = unsafe { member(params) };
    let state = call.lock();
    let function = state.code.functions.get(&v1.func).and_then(|function| state.code.modules.get(&function.module));
    match function {
        Some(module) if !ctx.is_null() && module.context != ctx => Err(CUresult::CUDA_ERROR_INVALID_CONTEXT),
        _ => Ok(()),
    }
}

/// As the second version, with a check of the context of a kernel node.
pub(in crate::exports) unsafe fn cuGraphAddNode_v3(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    dependency_data: *const CUgraphEdgeData,
    num_dependencies: usize,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    check_context(call, &unsafe { node_params.read_unaligned() })?;
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphAddNode_v2(call, p_node, graph, dependencies, dependency_data, num_dependencies, node_params) }
}

/// Writes the parameters that exist only after the node is added: the address of an allocation, the graph of a
/// child, or the bodies of a conditional node.
fn fill_in(state: &State, node: CUgraphNode, params: &mut CUgraphNodeParams) -> Result<(), CUresult> {
    match &state.node(node)?.action {
        Action::Allocate(of) => {
            // SAFETY: the parameters are those of an allocation node.
            let node: CUDA_MEM_ALLOC_NODE_PARAMS = unsafe { member(params) };
            set_member(params, CUDA_MEM_ALLOC_NODE_PARAMS { dptr: of.address, ..node });
        }
        Action::Conditional(of) => set_member(params, of.params()),
        Action::Child(child) => {
            // SAFETY: the parameters are those of a child graph node.
            let node: CUDA_CHILD_GRAPH_NODE_PARAMS = unsafe { member(params) };
            set_member(params, CUDA_CHILD_GRAPH_NODE_PARAMS { graph: *child, ..node });
        }
        _ => {}
    }
    Ok(())
}

/// Writes the parameters of one kind into the union.
fn set_member<T: Copy>(params: &mut CUgraphNodeParams, value: T) {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    // SAFETY: the union is large enough, and any bytes are valid integers.
    unsafe { params.params.as_mut_ptr().cast::<T>().write_unaligned(value) };
}

pub(in crate::exports) unsafe fn cuGraphNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    let params = params_of(&call.lock().node(node)?.action);
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(node_params, params) }
}

/// The parameters of a node with an action, which they point into.
pub(in crate::exports) fn params_of(action: &Action) -> CUgraphNodeParams {
    let mut params = CUgraphNodeParams { kind: action.kind(), reserved0: [0; 3], params: [0; 29], reserved2: 0 };
    match action {
        Action::Empty => {}
        Action::Copy(copy) => {
            let (copyCtx, copyParams) = (copy.context, copy.params.0);
            set_member(&mut params, CUDA_MEMCPY_NODE_PARAMS { flags: 0, reserved: 0, copyCtx, copyParams });
        }
        Action::Fill(fill) => {
            set_member(&mut params, CUDA_MEMSET_NODE_PARAMS_v2 { memset: fill.params, ctx: fill.context });
        }
        Action::Host(function) => set_member(&mut params, host_params(*function)),
        Action::Child(child) => {
            // By the header, so that a program does not pass the node's own graph to another node.
            let ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_INVALID;
            set_member(&mut params, CUDA_CHILD_GRAPH_NODE_PARAMS { graph: *child, ownership });
        }
        Action::Wait(event) | Action::Record(event) => set_member(&mut params, *event),
        Action::Allocate(node) => set_member(&mut params, node.params()),
        Action::Free(address) => set_member(&mut params, *address),
        Action::Launch(launch) => set_member(&mut params, launch_params(launch)),
        Action::Conditional(of) => set_member(&mut params, of.params()),
        Action::Memory(batch) => set_member(&mut params, batch_params(batch)),
    }
    params
}

pub(in crate::exports) unsafe fn cuGraphNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    let mut state = call.lock();
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let params = unsafe { node_params.read_unaligned() };
    // SAFETY: as above.
    let action = unsafe { node_action(&mut state, call, &params)? };
    match action {
        Action::Allocate(_) | Action::Free(_) => unsupported(),
        Action::Child(given) => {
            // SAFETY: the parameters are those of a child graph node.
            let moves = unsafe { moves(&params)? };
            let graph = state.node(node)?.graph;
            child_of(&state, node)?;
            let child = own_child(&mut state, graph, given, moves)?;
            let replaced = graph_structure::replace_child(&mut state, node, child);
            let result = child_is_given(&mut state, child, moves, replaced);
            drop(outside::bury(call.driver, state));
            result
        }
        action => change(&mut state, node, action),
    }
}

/// As the first version, with a check of the context of a kernel node.
pub(in crate::exports) unsafe fn cuGraphNodeSetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    check_context(call, &unsafe { node_params.read_unaligned() })?;
    // SAFETY: both functions have the same contract.
    unsafe { cuGraphNodeSetParams(call, node, node_params) }
}
