//! Edges from the ports of kernel nodes in bodies: what they order.

use super::*;
use crate::program::dependent_kernels::KERNELS;
use cuarray_sim::finding::Kind;

pub const fn port(from_port: u8, kind: u8) -> CUgraphEdgeData {
    CUgraphEdgeData { from_port, to_port: 0, kind, reserved: [0; 5] }
}

pub const FULL: CUgraphEdgeData = port(0, 0);
pub const PROGRAMMATIC: CUgraphEdgeData =
    port(CU_GRAPH_KERNEL_NODE_PORT_PROGRAMMATIC, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
pub const ORDERED: CUgraphEdgeData =
    port(CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, CU_GRAPH_DEPENDENCY_TYPE_PROGRAMMATIC);
pub const BEGUN: CUgraphEdgeData = port(CU_GRAPH_KERNEL_NODE_PORT_LAUNCH_ORDER, 0);

pub fn connect(fixture: &Fixture, graph: CUgraph, from: CUgraphNode, to: CUgraphNode, data: CUgraphEdgeData) {
    ok!(fixture.program, cuGraphAddDependencies_v2(graph, &from, &to, &data, 1));
}

/// A graph with one conditional node, whose body gets nodes with the kernels of dependent launches.
struct Bodies {
    fixture: Fixture,
    node: CUgraphNode,
    body: CUgraph,
    handle: CUgraphConditionalHandle,
    one: CUdeviceptr,
    two: CUdeviceptr,
}

impl Bodies {
    fn new(kind: CUgraphConditionalNodeType) -> Bodies {
        let mut fixture = Fixture::new();
        let handle = fixture.handle(Some(1));
        let (node, bodies) = fixture.conditional(fixture.graph, &[], handle, kind, 1);
        ok!(fixture.program, cuModuleLoadData(&mut fixture.module, KERNELS.as_ptr().cast()));
        let [one, two] = [(); 2].map(|()| fixture.program.alloc(256));
        for array in [one, two] {
            ok!(fixture.program, cuMemsetD8_v2(array, 0, 256));
        }
        Bodies { body: bodies[0], fixture, node, handle, one, two }
    }

    fn kernel(&self, name: &CStr) -> CUgraphNode {
        self.fixture.kernel(self.body, &[], name, [self.one, self.two])
    }

    fn connect(&self, from: CUgraphNode, to: CUgraphNode, data: CUgraphEdgeData) {
        connect(&self.fixture, self.body, from, to, data);
    }

    fn fill(&self, graph: CUgraph, after: &[CUgraphNode], dst: CUdeviceptr) -> CUgraphNode {
        let params = CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value: 1, elementSize: 1, width: 4, height: 1 };
        let (mut node, context) = (CUgraphNode::NULL, self.fixture.program.context);
        ok!(
            self.fixture.program,
            cuGraphAddMemsetNode(&mut node, graph, after.as_ptr(), after.len(), &params, context)
        );
        node
    }

    /// The kinds of the findings after a launch, each with its count.
    fn found(&self) -> Vec<(Kind, u64)> {
        self.fixture.launch(self.fixture.instantiated());
        ok!(self.fixture.program, cuCtxSynchronize());
        let findings = self.fixture.program.sim.report().findings;
        findings.iter().map(|finding| (finding.kind, finding.count)).collect()
    }
}

#[test]
fn programmatic_edge_in_a_body_orders_only_what_follows_the_wait() {
    for data in [PROGRAMMATIC, ORDERED, FULL, BEGUN] {
        for second in [c"read", c"late"] {
            let bodies = Bodies::new(CU_GRAPH_COND_TYPE_IF);
            let (write, second_node) = (bodies.kernel(c"write"), bodies.kernel(second));
            bodies.connect(write, second_node, data);
            let races = data == BEGUN || data != FULL && second == c"read";
            assert_eq!(bodies.found(), vec![(Kind::DataRace, 1); usize::from(races)], "{data:?} {second:?}");
        }
    }
}

#[test]
fn node_in_a_body_after_the_begin_of_a_kernel_follows_the_work_before_the_kernel() {
    for races in [false, true] {
        let bodies = Bodies::new(CU_GRAPH_COND_TYPE_IF);
        let filled = bodies.fill(bodies.body, &[], bodies.two + 128);
        let kernel = bodies.kernel(c"read");
        bodies.connect(filled, kernel, FULL);
        let target = if races { bodies.two } else { bodies.two + 128 };
        let last = bodies.fill(bodies.body, &[], target);
        bodies.connect(kernel, last, BEGUN);
        assert_eq!(bodies.found().is_empty(), !races);
    }
}

#[test]
fn work_after_a_body_follows_a_kernel_whose_begin_alone_is_followed() {
    for nested in [false, true] {
        let outer = Bodies::new(CU_GRAPH_COND_TYPE_IF);
        let (mut node, mut within, mut after) = (outer.node, outer.body, outer.fixture.graph);
        if nested {
            let handle = outer.fixture.handle(Some(1));
            let (inner, bodies) = outer.fixture.conditional(outer.body, &[], handle, CU_GRAPH_COND_TYPE_IF, 1);
            (node, within, after) = (inner, bodies[0], outer.body);
        }
        let arrays = [outer.one, outer.two];
        let [write, idle] = [c"write", c"idle"].map(|name| outer.fixture.kernel(within, &[], name, arrays));
        connect(&outer.fixture, within, write, idle, BEGUN);
        outer.fill(after, &[node], outer.one);
        assert_eq!(outer.found(), [], "{nested}");
    }
}

#[test]
fn rounds_of_a_loop_are_ordered_for_all_kinds_of_edges() {
    for (data, races) in [(PROGRAMMATIC, 3), (BEGUN, 3), (FULL, 0)] {
        let mut bodies = Bodies::new(CU_GRAPH_COND_TYPE_WHILE);
        let (write, read) = (bodies.kernel(c"write"), bodies.kernel(c"read"));
        bodies.connect(write, read, data);
        // Three rounds; the counter is ordered by the rounds alone.
        let counter = bodies.fixture.counter(5);
        ok!(bodies.fixture.program, cuMemsetD32_v2(counter, 3, 1));
        ok!(bodies.fixture.program, cuModuleLoadData(&mut bodies.fixture.module, PTX.as_ptr().cast()));
        bodies.fixture.kernel(bodies.body, &[], c"step", [counter, bodies.handle]);
        let expected = if races > 0 { vec![(Kind::DataRace, races)] } else { vec![] };
        assert_eq!(bodies.found(), expected, "{data:?}");
    }
}

#[test]
fn launch_captured_into_a_body_may_begin_before_the_previous_one_ends() {
    for (second, dependent, races) in [(c"read", true, true), (c"late", true, false), (c"read", false, false)] {
        let bodies = Bodies::new(CU_GRAPH_COND_TYPE_IF);
        let (program, stream) = (&bodies.fixture.program, bodies.fixture.program.stream(CU_STREAM_NON_BLOCKING));
        let (none, data, mut graph) = (std::ptr::null(), std::ptr::null(), CUgraph::NULL);
        ok!(program, cuStreamBeginCaptureToGraph(stream, bodies.body, none, data, 0, 2));
        for (name, dependent) in [(c"write", false), (second, dependent)] {
            let mut function = CUfunction::NULL;
            ok!(program, cuModuleGetFunction(&mut function, bodies.fixture.module, name.as_ptr()));
            program.launch_after(function, stream, 1, dependent, [bodies.one, bodies.two]);
        }
        ok!(program, cuStreamEndCapture(stream, &mut graph));
        assert_eq!(bodies.found().is_empty(), !races, "{second:?} {dependent}");
    }
}

#[test]
fn disabled_kernel_in_a_body_has_no_port() {
    for enabled in [1, 0] {
        let bodies = Bodies::new(CU_GRAPH_COND_TYPE_IF);
        let (write, read) = (bodies.kernel(c"write"), bodies.kernel(c"read"));
        bodies.connect(write, read, PROGRAMMATIC);
        let exec = bodies.fixture.instantiated();
        ok!(bodies.fixture.program, cuGraphNodeSetEnabled(exec, write, enabled));
        bodies.fixture.launch(exec);
        ok!(bodies.fixture.program, cuCtxSynchronize());
        assert_eq!(bodies.fixture.program.sim.report().findings.len() as u32, enabled);
    }
}
