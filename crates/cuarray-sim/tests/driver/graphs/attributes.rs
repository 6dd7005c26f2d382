//! Attributes of kernel nodes.

use super::kernels::Kernels;
use super::*;

fn value(words: [u64; 2]) -> CUlaunchAttributeValue {
    CUlaunchAttributeValue { words: [words[0], words[1], 0, 0, 0, 0, 0, 0] }
}

fn get(kernels: &Kernels, node: CUgraphNode, attribute: CUlaunchAttributeID) -> [u64; 2] {
    let mut value = CUlaunchAttributeValue::default();
    ok!(kernels.program, cuGraphKernelNodeGetAttribute(node, attribute, &mut value));
    [value.words[0], value.words[1]]
}

/// The attributes that a node may have, with a value other than the initial zero.
const SET: [(CUlaunchAttributeID, [u64; 2]); 9] = [
    (CU_LAUNCH_ATTRIBUTE_COOPERATIVE, [1, 0]),
    (CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION, [2 | 1 << 32, 1]),
    (CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, [1, 0]),
    (CU_LAUNCH_ATTRIBUTE_PRIORITY, [-3_i32 as u32 as u64, 0]),
    (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, [1, 0]),
    (CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION, [4 | 1 << 32, 1]),
    (CU_LAUNCH_ATTRIBUTE_NVLINK_UTIL_CENTRIC_SCHEDULING, [1, 0]),
    (CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, [2, 0]),
    (CU_LAUNCH_ATTRIBUTE_SHARED_MEMORY_MODE, [2, 0]),
];

#[test]
fn attributes_of_a_node_are_kept_copied_and_preserved_by_new_parameters() {
    let kernels = Kernels::new();
    let arrays = [kernels.arrays[0], kernels.arrays[1]];
    let [node, other] = [0; 2].map(|_: i32| kernels.blocks(c"idle", 8, arrays, &[]));
    for (attribute, words) in SET {
        assert_eq!(get(&kernels, node, attribute), [0; 2], "{attribute}");
        ok!(kernels.program, cuGraphKernelNodeSetAttribute(node, attribute, &value(words)));
        assert_eq!(get(&kernels, node, attribute), words, "{attribute}");
        assert_eq!(get(&kernels, other, attribute), [0; 2], "{attribute}");
    }
    for attribute in [CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN_MAP] {
        ok!(kernels.program, cuGraphKernelNodeSetAttribute(node, attribute, &value([0; 2])));
    }
    ok!(kernels.program, cuGraphKernelNodeCopyAttributes(other, node));
    kernels
        .with_params(c"idle", 16, arrays, |params| ok!(kernels.program, cuGraphKernelNodeSetParams_v2(node, &params)));
    let mut clone = CUgraph::NULL;
    let mut cloned = CUgraphNode::NULL;
    ok!(kernels.program, cuGraphClone(&mut clone, kernels.graph));
    ok!(kernels.program, cuGraphNodeFindInClone(&mut cloned, node, clone));
    for (attribute, words) in SET {
        for node in [node, other, cloned] {
            assert_eq!(get(&kernels, node, attribute), words, "{attribute}");
        }
    }
    assert_eq!(kernels.launched(), [""; 0]);
}

#[test]
fn attributes_of_streams_and_launches_only_are_refused() {
    let kernels = Kernels::new();
    let (node, program) = (kernels.node(c"idle", &[]), &kernels.program);
    let mut got = CUlaunchAttributeValue::default();
    for attribute in [
        CU_LAUNCH_ATTRIBUTE_IGNORE,
        CU_LAUNCH_ATTRIBUTE_SYNCHRONIZATION_POLICY,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_STREAM_SERIALIZATION,
        CU_LAUNCH_ATTRIBUTE_PROGRAMMATIC_EVENT,
        CU_LAUNCH_ATTRIBUTE_LAUNCH_COMPLETION_EVENT,
        CU_LAUNCH_ATTRIBUTE_PREFERRED_SHARED_MEMORY_CARVEOUT,
        15,
        19,
    ] {
        fails!(program, INVALID_VALUE, cuGraphKernelNodeGetAttribute(node, attribute, &mut got));
        fails!(program, INVALID_VALUE, cuGraphKernelNodeSetAttribute(node, attribute, &value([0; 2])));
    }
    for (attribute, wrong) in [
        (CU_LAUNCH_ATTRIBUTE_ACCESS_POLICY_WINDOW, [0, 64]),
        (CU_LAUNCH_ATTRIBUTE_CLUSTER_SCHEDULING_POLICY_PREFERENCE, [4, 0]),
        (CU_LAUNCH_ATTRIBUTE_MEM_SYNC_DOMAIN, [2, 0]),
        (CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, [3, 0]),
    ] {
        fails!(program, INVALID_VALUE, cuGraphKernelNodeSetAttribute(node, attribute, &value(wrong)));
    }
    let updatable = CU_LAUNCH_ATTRIBUTE_DEVICE_UPDATABLE_KERNEL_NODE;
    fails!(program, NOT_SUPPORTED, cuGraphKernelNodeSetAttribute(node, updatable, &value([1, 0])));
    ok!(program, cuGraphKernelNodeSetAttribute(node, updatable, &value([0; 2])));
    let empty = empty(program, kernels.graph, &[]);
    fails!(program, INVALID_VALUE, cuGraphKernelNodeGetAttribute(empty, CU_LAUNCH_ATTRIBUTE_PRIORITY, &mut got));
    fails!(program, INVALID_VALUE, cuGraphKernelNodeSetAttribute(CUgraphNode(5), 2, &value([1, 0])));
    fails!(program, INVALID_VALUE, cuGraphKernelNodeCopyAttributes(node, empty));
    fails!(program, INVALID_VALUE, cuGraphKernelNodeGetAttribute(node, 2, std::ptr::null_mut()));
    fails!(program, INVALID_VALUE, cuGraphKernelNodeSetAttribute(node, 2, std::ptr::null()));
}

#[test]
fn groups_of_blocks_must_fit_the_node() {
    let kernels = Kernels::new();
    let (program, arrays) = (&kernels.program, [kernels.arrays[0], kernels.arrays[1]]);
    let node = kernels.blocks(c"idle", 12, arrays, &[]);
    let cluster = CU_LAUNCH_ATTRIBUTE_CLUSTER_DIMENSION;
    let of = |blocks: u64| value([blocks | 1 << 32, 1]);
    for blocks in [5, 12] {
        fails!(program, INVALID_CLUSTER_SIZE, cuGraphKernelNodeSetAttribute(node, cluster, &of(blocks)));
    }
    // Twelve blocks are more than a portable cluster has.
    ok!(program, cuGraphKernelNodeSetAttribute(node, CU_LAUNCH_ATTRIBUTE_PORTABLE_CLUSTER_SIZE_MODE, &value([2, 0])));
    ok!(program, cuGraphKernelNodeSetAttribute(node, cluster, &of(12)));
    ok!(program, cuGraphKernelNodeSetAttribute(node, cluster, &of(2)));
    let preferred = CU_LAUNCH_ATTRIBUTE_PREFERRED_CLUSTER_DIMENSION;
    for blocks in [3, 8] {
        fails!(program, INVALID_CLUSTER_SIZE, cuGraphKernelNodeSetAttribute(node, preferred, &of(blocks)));
    }
    ok!(program, cuGraphKernelNodeSetAttribute(node, preferred, &of(6)));
    let large = kernels.blocks(c"idle", 60_000, arrays, &[]);
    let cooperative = CU_LAUNCH_ATTRIBUTE_COOPERATIVE;
    fails!(program, COOPERATIVE_LAUNCH_TOO_LARGE, cuGraphKernelNodeSetAttribute(large, cooperative, &value([1, 0])));
    assert_eq!(get(&kernels, large, cooperative), [0; 2]);
}

#[test]
fn captured_node_has_the_priority_of_its_stream() {
    let kernels = Kernels::new();
    let (program, mut stream, mut graph) = (&kernels.program, CUstream::NULL, CUgraph::NULL);
    ok!(program, cuStreamCreateWithPriority(&mut stream, CU_STREAM_NON_BLOCKING, -2));
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_RELAXED));
    program.launch_after(kernels.function(c"idle"), stream, 64, false, [kernels.arrays[0], kernels.arrays[1]]);
    ok!(program, cuStreamEndCapture(stream, &mut graph));
    let (mut node, mut count) = (CUgraphNode::NULL, 1);
    ok!(program, cuGraphGetNodes(graph, &mut node, &mut count));
    assert_eq!(get(&kernels, node, CU_LAUNCH_ATTRIBUTE_PRIORITY)[0] as u32 as i32, -2);
}
