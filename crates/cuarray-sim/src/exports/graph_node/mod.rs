//! Graph nodes: adding them, and reading and changing their parameters.
//!
//! Driver API: [graph management](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html). Each kind has
//! its own functions, and a general set takes a union; all of them produce an [`Action`].

mod batch;
mod conditional;
mod copy;
mod event;
mod kernel;

pub(super) use batch::*;
pub(super) use conditional::*;
pub(super) use copy::*;
pub(super) use event::*;
pub(super) use kernel::*;

use super::graph::{check_edge_data, child_of, list};
use super::{present, put, unsupported};
use crate::driver::Call;
use crate::graph_structure::{self, conditions, reservations};
use crate::objects::graph_data::{Action, Given, Owner};
use crate::objects::work::HostFunction;
use crate::state::State;
use crate::thread;
use crate::work::graph_memory;
use cuarray_abi::*;

const INVALID_VALUE: CUresult = CUresult::CUDA_ERROR_INVALID_VALUE;

/// The given context, or the current one for null.
pub(super) fn context_of(state: &State, call: &Call<'_>, ctx: CUcontext) -> Result<CUcontext, CUresult> {
    let ctx = if ctx.is_null() { call.top_context().unwrap_or_default() } else { ctx };
    state.context(ctx).map(|_| ctx)
}

/// The action of a host node with these parameters.
///
/// # Safety
/// `params` is null or readable.
pub(super) unsafe fn host_action(params: *const CUDA_HOST_NODE_PARAMS) -> Result<Action, CUresult> {
    present(params)?;
    // SAFETY: by this function's contract; the parameters may be unaligned.
    let params = unsafe { params.read_unaligned() };
    let function = params.function.ok_or(INVALID_VALUE)?;
    Ok(Action::Host(HostFunction::Launched { function, data: params.userData }))
}

/// Reads the parameters of one kind from the union.
///
/// # Safety
/// `T` is a member of the union; any bytes are a valid `T`.
unsafe fn member<T: Copy>(params: &CUgraphNodeParams) -> T {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    // SAFETY: by this function's contract; the union is large enough.
    unsafe { params.params.as_ptr().cast::<T>().read_unaligned() }
}

/// The action of a node with these parameters. An allocation has no address yet, and a child graph is not cloned yet.
///
/// # Safety
/// The parameters are of the kind that they name.
pub(super) unsafe fn node_action(
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
                Ok(Action::Allocate(Box::new(Given(node))))
            }
            CU_GRAPH_NODE_TYPE_MEM_FREE => Ok(Action::Free(member(params))),
            CU_GRAPH_NODE_TYPE_KERNEL => launch_action(state, call, &member(params)),
            CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => batch_action(state, call, &member(params)),
            // A conditional node is made with its graph, and cannot be changed.
            CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL
            | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT
            | CU_GRAPH_NODE_TYPE_CONDITIONAL => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
            _ => Err(INVALID_VALUE),
        }
    }
}

/// A graph, and the dependencies of a new node.
struct Place {
    graph: CUgraph,
    after: Vec<CUgraphNode>,
}

/// Reads the place of a new node.
///
/// # Safety
/// `dependencies` is null or points to `count` nodes.
unsafe fn place(graph: CUgraph, dependencies: *const CUgraphNode, count: usize) -> Result<Place, CUresult> {
    // SAFETY: both functions have the same contract.
    Ok(Place { graph, after: unsafe { list(dependencies, count)? } })
}

/// Adds a node. An allocation gets its address; a child graph is cloned, or moved if `moves`.
fn add(state: &mut State, place: Place, action: Action, moves: bool) -> Result<CUgraphNode, CUresult> {
    let Place { graph, after } = place;
    state.graph(graph)?;
    if !after.iter().all(|node| graph_structure::is_in(state, *node, graph)) {
        return Err(INVALID_VALUE);
    }
    match action {
        Action::Child(child) => {
            let own = state.graph(child)?;
            let free = own.owner == Owner::Program && own.capture.is_none() && child != graph;
            if moves && !free {
                return Err(INVALID_VALUE);
            }
            let conditional = !conditions::handles_of(state, child).is_empty();
            if conditional || !moves && graph_structure::has_memory_nodes(state, child) {
                return Err(CUresult::CUDA_ERROR_NOT_SUPPORTED);
            }
            let child = if moves { child } else { graph_structure::clone_graph(state, child, Owner::Program)? };
            graph_structure::add_node(state, graph, after, Action::Child(child)).inspect_err(|_| {
                if !moves {
                    graph_structure::remove_graph(state, child);
                }
            })
        }
        Action::Allocate(mut params) => {
            // SAFETY: the caller's array of descriptions is readable during the call, by the driver's contract.
            let access = unsafe { super::pool::descriptions(state, params.0.accessDescs, params.0.accessDescCount)? };
            let size = params.0.bytesize as u64;
            params.0.dptr = reservations::reserve_graph_memory(
                state,
                graph,
                &params.0.poolProps,
                size,
                access.into_iter().collect(),
            )?;
            let address = params.0.dptr;
            graph_structure::add_node(state, graph, after, Action::Allocate(params))
                .inspect_err(|_| graph_memory::release(state, address))
        }
        Action::Free(address) => {
            reservations::claim_free(state, graph, address)?;
            graph_structure::add_node(state, graph, after, Action::Free(address))
        }
        Action::Conditional(mut node) => {
            conditions::add_bodies(state, &mut node);
            let bodies = node.bodies.clone();
            graph_structure::add_node(state, graph, after, Action::Conditional(node)).inspect_err(|_| {
                bodies.iter().for_each(|body| graph_structure::remove_graph(state, *body));
            })
        }
        action => graph_structure::add_node(state, graph, after, action),
    }
}

/// Adds a node and returns its handle.
///
/// # Safety
/// `p_node` is null or writable; `dependencies` is null or points to `count` nodes.
pub(super) unsafe fn add_and_return(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    (dependencies, count): (*const CUgraphNode, usize),
    action: impl FnOnce(&mut State) -> Result<Action, CUresult>,
) -> Result<(), CUresult> {
    present(p_node)?;
    let mut state = call.lock();
    let action = action(&mut state)?;
    // SAFETY: by this function's contract.
    unsafe {
        let node = add(&mut state, place(graph, dependencies, count)?, action, false)?;
        put(p_node, node)
    }
}

pub(super) unsafe fn cuGraphAddNode(
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
pub(super) unsafe fn cuGraphAddNode_v2(
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
        check_edge_data(dependency_data, num_dependencies)?;
        let action = match params.kind {
            CU_GRAPH_NODE_TYPE_CONDITIONAL => conditional_action(&state, graph, &params)?,
            _ => node_action(&mut state, call, &params)?,
        };
        let moves = match action {
            Action::Child(_) => match member::<CUDA_CHILD_GRAPH_NODE_PARAMS>(&params).ownership {
                CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE => false,
                CU_GRAPH_CHILD_GRAPH_OWNERSHIP_MOVE => true,
                _ => return Err(INVALID_VALUE),
            },
            _ => false,
        };
        let node = add(&mut state, place(graph, dependencies, num_dependencies)?, action, moves)?;
        fill_in(&state, node, &mut params)?;
        put(node_params, params)?;
        put(p_node, node)
    }
}

/// Writes the parameters that exist only after the node is added: the address of an allocation, the graph of a
/// child, or the bodies of a conditional node.
fn fill_in(state: &State, node: CUgraphNode, params: &mut CUgraphNodeParams) -> Result<(), CUresult> {
    match &state.node(node)?.action {
        Action::Allocate(given) => set_member(params, given.0),
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

pub(super) unsafe fn cuGraphNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    let state = call.lock();
    let action = &state.node(node)?.action;
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
            let ownership = CU_GRAPH_CHILD_GRAPH_OWNERSHIP_CLONE;
            set_member(&mut params, CUDA_CHILD_GRAPH_NODE_PARAMS { graph: *child, ownership });
        }
        Action::Wait(event) | Action::Record(event) => set_member(&mut params, *event),
        Action::Allocate(given) => set_member(&mut params, given.0),
        Action::Free(address) => set_member(&mut params, *address),
        Action::Launch(launch) => set_member(&mut params, launch_params(launch)),
        Action::Conditional(of) => set_member(&mut params, of.params()),
        Action::Memory(batch) => set_member(&mut params, batch_params(batch)),
    }
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(node_params, params) }
}

/// Changes a node's action to one of the same kind. Executable graphs of its graph do not change.
pub(super) fn change(state: &mut State, node: CUgraphNode, mut action: Action) -> Result<(), CUresult> {
    let found = state.graph_nodes.get_mut(&node).ok_or(INVALID_VALUE)?;
    if found.action.kind() != action.kind() {
        return Err(INVALID_VALUE);
    }
    action.keep_attributes(&found.action)?;
    (found.action, found.made) = (action, thread::caller());
    Ok(())
}

pub(super) unsafe fn cuGraphNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUgraphNodeParams,
) -> Result<(), CUresult> {
    present(node_params)?;
    let mut state = call.lock();
    // SAFETY: the caller's parameters, by the driver's contract; they may be unaligned.
    let action = unsafe { node_action(&mut state, call, &node_params.read_unaligned())? };
    match action {
        Action::Child(_) | Action::Allocate(_) | Action::Free(_) => unsupported(),
        action => change(&mut state, node, action),
    }
}

pub(super) unsafe fn cuGraphAddHostNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    node_params: *const CUDA_HOST_NODE_PARAMS,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |_: &mut State| host_action(node_params);
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

fn host_params(function: HostFunction) -> CUDA_HOST_NODE_PARAMS {
    match function {
        HostFunction::Launched { function, data } => CUDA_HOST_NODE_PARAMS { function: Some(function), userData: data },
        // Stream callbacks cannot be captured, so no node has one.
        HostFunction::Callback { data, .. } => CUDA_HOST_NODE_PARAMS { function: None, userData: data },
    }
}

pub(super) unsafe fn cuGraphHostNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *mut CUDA_HOST_NODE_PARAMS,
) -> Result<(), CUresult> {
    match call.lock().node(node)?.action {
        // SAFETY: the caller's pointer, by the driver's contract.
        Action::Host(function) => unsafe { put(node_params, host_params(function)) },
        _ => Err(INVALID_VALUE),
    }
}

pub(super) unsafe fn cuGraphHostNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: *const CUDA_HOST_NODE_PARAMS,
) -> Result<(), CUresult> {
    // SAFETY: the caller's parameters, by the driver's contract.
    let action = unsafe { host_action(node_params)? };
    change(&mut call.lock(), node, action)
}

pub(super) unsafe fn cuGraphAddChildGraphNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
    child_graph: CUgraph,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe {
        let action = |_: &mut State| Ok(Action::Child(child_graph));
        add_and_return(call, p_node, graph, (dependencies, num_dependencies), action)
    }
}

/// Returns the node's own clone, whose nodes may be changed.
pub(super) unsafe fn cuGraphChildGraphNodeGetGraph(
    call: &Call<'_>,
    node: CUgraphNode,
    p_graph: *mut CUgraph,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointer, by the driver's contract.
    unsafe { put(p_graph, child_of(&call.lock(), node)?) }
}

pub(super) unsafe fn cuGraphAddEmptyNode(
    call: &Call<'_>,
    p_node: *mut CUgraphNode,
    graph: CUgraph,
    dependencies: *const CUgraphNode,
    num_dependencies: usize,
) -> Result<(), CUresult> {
    // SAFETY: the caller's pointers, by the driver's contract.
    unsafe { add_and_return(call, p_node, graph, (dependencies, num_dependencies), |_| Ok(Action::Empty)) }
}
