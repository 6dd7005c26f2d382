//! Nodes of any kind, whose parameters are a union.
//!
//! Driver API: [`cuGraphAddNode`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::*;
use crate::driver::Call;
use crate::execution::outside;
use crate::parameters::{In, InOut, Out, unsupported};
use cuarray_abi::*;

/// Parameters of one kind of nodes: a member of the union.
///
/// # Safety
/// Any bytes are a value of the type.
pub(super) unsafe trait Member: Copy {}

macro_rules! members {
    ($($ty:ty)*) => {$(
        // SAFETY: the type has numbers, addresses and optional functions only, in the layout of C.
        unsafe impl Member for $ty {}
    )*};
}
members! {
    CUDA_KERNEL_NODE_PARAMS CUDA_MEMCPY_NODE_PARAMS CUDA_MEMSET_NODE_PARAMS_v2 CUDA_HOST_NODE_PARAMS
    CUDA_CHILD_GRAPH_NODE_PARAMS CUDA_MEM_ALLOC_NODE_PARAMS CUDA_BATCH_MEM_OP_NODE_PARAMS
    CUDA_CONDITIONAL_NODE_PARAMS CUevent CUdeviceptr
}

/// Reads the parameters of one kind from the union.
pub(super) fn member<T: Member>(params: &CUgraphNodeParams) -> T {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    // SAFETY: the union is large enough, and any bytes are a value.
    unsafe { params.params.as_ptr().cast::<T>().read_unaligned() }
}

/// The action of a node with these parameters. An allocation has no address yet, and a child graph is not cloned yet.
///
/// # Safety
/// The parameters are the program's: their pointers are as the manual defines.
pub(crate) unsafe fn node_action(
    state: &mut State,
    call: &Call<'_>,
    params: &CUgraphNodeParams,
) -> Result<Action, CUresult> {
    if params.reserved0 != [0; 3] || params.reserved2 != 0 {
        return Err(INVALID_VALUE);
    }
    match params.kind {
        CU_GRAPH_NODE_TYPE_EMPTY => Ok(Action::Empty),
        CU_GRAPH_NODE_TYPE_MEMCPY => {
            let node: CUDA_MEMCPY_NODE_PARAMS = member(params);
            copy_action(state, call, &node.copyParams, node.copyCtx)
        }
        CU_GRAPH_NODE_TYPE_MEMSET => {
            let node: CUDA_MEMSET_NODE_PARAMS_v2 = member(params);
            fill_action(state, call, node.memset, node.ctx)
        }
        CU_GRAPH_NODE_TYPE_HOST => host_action(member(params)),
        CU_GRAPH_NODE_TYPE_GRAPH => {
            let node: CUDA_CHILD_GRAPH_NODE_PARAMS = member(params);
            state.graph(node.graph)?;
            Ok(Action::Child(node.graph))
        }
        CU_GRAPH_NODE_TYPE_WAIT_EVENT => state.event(member(params)).map(|_| Action::Wait(member(params))),
        CU_GRAPH_NODE_TYPE_EVENT_RECORD => state.event(member(params)).map(|_| Action::Record(member(params))),
        // SAFETY: this function's contract.
        CU_GRAPH_NODE_TYPE_MEM_ALLOC => unsafe { allocate_action(state, &member(params)) },
        CU_GRAPH_NODE_TYPE_MEM_FREE => Ok(Action::Free(member(params))),
        // SAFETY: this function's contract.
        CU_GRAPH_NODE_TYPE_KERNEL => unsafe { launch_action(state, call, &member(params)) },
        // SAFETY: this function's contract.
        CU_GRAPH_NODE_TYPE_BATCH_MEM_OP => unsafe { batch_action(state, call, member(params)) },
        CU_GRAPH_NODE_TYPE_EXT_SEMAS_SIGNAL | CU_GRAPH_NODE_TYPE_EXT_SEMAS_WAIT => {
            call.driver.explain_refusal("a semaphore node", "no semaphore can be imported: use an event node");
            Err(CUresult::CUDA_ERROR_NOT_SUPPORTED)
        }
        // A conditional node is made with its graph, and cannot be changed.
        CU_GRAPH_NODE_TYPE_CONDITIONAL => Err(CUresult::CUDA_ERROR_NOT_SUPPORTED),
        _ => Err(INVALID_VALUE),
    }
}

pub(crate) fn cuGraphAddNode(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    num_dependencies: usize,
    node_params: InOut<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    cuGraphAddNode_v2(call, p_node, graph, dependencies, In::NULL, num_dependencies, node_params)
}

/// Adds the node and writes the address of an allocation, or the bodies of a conditional node, into the parameters.
pub(crate) fn cuGraphAddNode_v2(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    dependency_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
    node_params: InOut<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    p_node.present()?;
    let mut params = node_params.read()?;
    let mut state = call.lock();
    let action = match params.kind {
        CU_GRAPH_NODE_TYPE_CONDITIONAL => conditional_action(&state, graph, &params)?,
        // SAFETY: the parameters are the program's.
        _ => unsafe { node_action(&mut state, call, &params)? },
    };
    let moves = matches!(action, Action::Child(_)) && moves(&params)?;
    // SAFETY: the manual gives the lists this length.
    let after = unsafe { edge_list(dependencies, dependency_data, num_dependencies)? };
    let node = add(&mut state, Place { graph, after }, action, moves)?;
    fill_in(&state, node, &mut params)?;
    node_params.put(params)?;
    p_node.put(node)
}

/// Whether the parameters of a child graph node move the graph into the node.
///
/// # Errors
/// `CUDA_ERROR_INVALID_VALUE` for an unknown ownership, such as that of a query.
fn moves(params: &CUgraphNodeParams) -> Result<bool, CUresult> {
    match member::<CUDA_CHILD_GRAPH_NODE_PARAMS>(params).ownership {
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
    let CUDA_KERNEL_NODE_PARAMS { v1, ctx, .. } = member(params);
    let state = call.lock();
    let function = state.code.functions.get(&v1.func).and_then(|function| state.code.modules.get(&function.module));
    match function {
        Some(module) if !ctx.is_null() && context_of(&state, call, ctx) != Ok(module.context) => {
            Err(CUresult::CUDA_ERROR_INVALID_CONTEXT)
        }
        _ => Ok(()),
    }
}

/// As the second version, with a check of the context of a kernel node.
pub(crate) fn cuGraphAddNode_v3(
    call: &Call<'_>,
    p_node: Out<'_, CUgraphNode>,
    graph: CUgraph,
    dependencies: In<'_, CUgraphNode>,
    dependency_data: In<'_, CUgraphEdgeData>,
    num_dependencies: usize,
    node_params: InOut<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    check_context(call, &node_params.read()?)?;
    cuGraphAddNode_v2(call, p_node, graph, dependencies, dependency_data, num_dependencies, node_params)
}

/// Writes the parameters that exist only after the node is added: the address of an allocation, the graph of a
/// child, or the bodies of a conditional node.
fn fill_in(state: &State, node: CUgraphNode, params: &mut CUgraphNodeParams) -> Result<(), CUresult> {
    match &state.node(node)?.action {
        Action::Allocate(of) => {
            let node: CUDA_MEM_ALLOC_NODE_PARAMS = member(params);
            set_member(params, CUDA_MEM_ALLOC_NODE_PARAMS { dptr: of.address, ..node });
        }
        Action::Conditional(of) => set_member(params, of.params()),
        Action::Child(child) => {
            let node: CUDA_CHILD_GRAPH_NODE_PARAMS = member(params);
            set_member(params, CUDA_CHILD_GRAPH_NODE_PARAMS { graph: *child, ..node });
        }
        _ => {}
    }
    Ok(())
}

/// Writes the parameters of one kind into the union.
fn set_member<T: Member>(params: &mut CUgraphNodeParams, value: T) {
    const { assert!(size_of::<T>() <= size_of::<[u64; 29]>()) };
    // SAFETY: the union is large enough, and any bytes are integers.
    unsafe { params.params.as_mut_ptr().cast::<T>().write_unaligned(value) };
}

pub(crate) fn cuGraphNodeGetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: Out<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    node_params.present()?;
    let params = params_of(&call.lock().node(node)?.action);
    node_params.put(params)
}

/// The parameters of a node with an action, which they point into.
pub(crate) fn params_of(action: &Action) -> CUgraphNodeParams {
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

pub(crate) fn cuGraphNodeSetParams(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    let params = node_params.read()?;
    let mut state = call.lock();
    // SAFETY: the parameters are the program's.
    let action = unsafe { node_action(&mut state, call, &params)? };
    match action {
        Action::Allocate(_) | Action::Free(_) => unsupported(),
        Action::Child(given) => {
            let moves = moves(&params)?;
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
pub(crate) fn cuGraphNodeSetParams_v2(
    call: &Call<'_>,
    node: CUgraphNode,
    node_params: In<'_, CUgraphNodeParams>,
) -> Result<(), CUresult> {
    check_context(call, &node_params.read()?)?;
    cuGraphNodeSetParams(call, node, node_params)
}
