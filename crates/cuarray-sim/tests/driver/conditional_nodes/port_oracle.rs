//! Random graphs with ports, nested in conditional nodes and child graphs: the races are those of sets of operations.
//!
//! The oracle has no clocks and no lanes. Each kernel is two operations, before and after its wait, and the oracle stores the
//! set of all operations before each of them, as the table of edges in the reference says. Two kernels or fills share each
//! variable of the module, so a finding with the variable's name is a race of this pair.

use super::ports::{BEGUN, FULL, ORDERED, PROGRAMMATIC, connect};
use super::*;
use cuarray_sim::finding::Kind;
use std::collections::BTreeSet;
use std::fmt::Write;

const VARIABLES: usize = 12;
const SEEDS: u64 = 80;

type Set = BTreeSet<usize>;

enum Work {
    /// A kernel or a fill, by its number.
    Kernel(usize),
    Fill(usize),
    Child(Graph),
    If(Graph),
    /// A loop with the number of its counter.
    While(Graph, usize),
}

/// The nodes of a graph; each has edges from earlier ones.
#[derive(Default)]
struct Graph(Vec<(Work, Vec<(usize, CUgraphEdgeData)>)>);

/// The work of a kernel or a fill: variables and whether it writes them, before and after its wait.
#[derive(Default)]
struct Leaf {
    fills: bool,
    waits: bool,
    early: Vec<(usize, bool)>,
    late: Vec<(usize, bool)>,
    /// The operations before both parts.
    before: [Set; 2],
}

struct Generator {
    random: u64,
    leaves: Vec<Leaf>,
    loops: usize,
}

impl Generator {
    fn below(&mut self, limit: usize) -> usize {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) as usize % limit
    }

    fn leaf(&mut self, fills: bool) -> usize {
        let waits = !fills && self.below(2) == 0;
        self.leaves.push(Leaf { fills, waits, ..Leaf::default() });
        self.leaves.len() - 1
    }

    fn graph(&mut self, depth: usize, conditional: bool) -> Graph {
        let mut graph = Graph::default();
        for index in 0..2 + self.below(4) {
            let work = match self.below(if depth == 0 { 5 } else { 8 }) {
                5 => Work::Child(self.graph(depth - 1, false)),
                6 if conditional => Work::If(self.graph(depth - 1, true)),
                7 if conditional => {
                    self.loops += 1;
                    let counter = self.loops;
                    Work::While(self.graph(depth - 1, true), counter)
                }
                0 => Work::Fill(self.leaf(true)),
                _ => Work::Kernel(self.leaf(false)),
            };
            let mut edges = Vec::new();
            for from in (0..index).rev() {
                let ports: &[_] = match (&graph.0[from].0, &work) {
                    (Work::Kernel(_), Work::Kernel(_)) => &[FULL, PROGRAMMATIC, ORDERED, BEGUN],
                    (Work::Kernel(_), _) => &[FULL, BEGUN],
                    _ => &[FULL],
                };
                if self.below(2) == 0 {
                    edges.push((from, ports[self.below(ports.len())]));
                }
            }
            graph.0.push((work, edges));
        }
        graph
    }

    /// Gives each variable to a pair of kernels or fills. The first of them writes.
    fn share(&mut self) -> Vec<[(usize, usize); 2]> {
        let mut pairs = Vec::new();
        while pairs.len() < VARIABLES && self.leaves.len() > 1 {
            let (one, other) = (self.below(self.leaves.len()), self.below(self.leaves.len()));
            // A fill writes one variable.
            let full = |leaf: &Leaf| leaf.fills && !leaf.early.is_empty();
            if one == other || full(&self.leaves[one]) || full(&self.leaves[other]) {
                pairs.push([(0, 0); 2]);
                continue;
            }
            let pair = [(one, true), (other, false)].map(|(number, writes)| {
                let late = self.below(2);
                let leaf = &mut self.leaves[number];
                let part = if leaf.waits { late } else { 0 };
                let of_part = if part == 0 { &mut leaf.early } else { &mut leaf.late };
                of_part.push((pairs.len(), writes || leaf.fills));
                (number, part)
            });
            pairs.push(pair);
        }
        pairs
    }
}

/// Computes the operations before those of a graph that begins after some; returns all that precede what follows the graph.
fn order(graph: &Graph, begin: &Set, leaves: &mut [Leaf]) -> Set {
    // For each node, the operations that a full successor follows, and those before it that are followed at its ports.
    let mut done: Vec<(Set, Set)> = Vec::new();
    for (work, edges) in &graph.0 {
        let (mut whole, mut early) = (begin.clone(), begin.clone());
        for (from, data) in edges {
            let (all, past) = &done[*from];
            whole.extend(if *data == BEGUN { past } else { all });
            early.extend(if *data == FULL { all } else { past });
        }
        let depends = edges.iter().any(|(_, data)| *data == PROGRAMMATIC || *data == ORDERED);
        done.push(match work {
            Work::Kernel(number) | Work::Fill(number) => {
                let operations = [2 * number, 2 * number + 1];
                let early = if depends { early } else { whole.clone() };
                let waits = leaves[*number].waits;
                leaves[*number].before = [early.clone(), &whole | &Set::from([operations[0]])];
                let past = if depends && !waits { early } else { whole.clone() };
                whole.extend(operations);
                (whole, past)
            }
            Work::Child(nested) | Work::If(nested) | Work::While(nested, _) => {
                (order(nested, &whole, leaves), Set::new())
            }
        });
    }
    done.into_iter().fold(begin.clone(), |all, (own, _)| &all | &own)
}

/// A module with the variables, a kernel for each leaf, and the last kernel of each loop, which sets its condition.
fn module(generator: &Generator) -> String {
    let mut ptx = ".version 8.0\n.target sm_90\n.address_size 64\n".to_owned();
    ptx += ".extern .func cudaGraphSetConditional(.param .b64 handle, .param .b32 value);\n";
    for variable in 0..VARIABLES {
        writeln!(ptx, ".visible .global .align 4 .u32 v{variable};").unwrap();
    }
    for (number, leaf) in generator.leaves.iter().enumerate() {
        if leaf.fills {
            writeln!(ptx, ".visible .global .align 4 .u32 f{number};").unwrap();
            continue;
        }
        let access = |(variable, writes): &(usize, bool)| match writes {
            true => format!("st.global.u32 [v{variable}], %r1;\n"),
            false => format!("ld.global.u32 %r1, [v{variable}];\n"),
        };
        let (early, late): (String, String) =
            (leaf.early.iter().map(access).collect(), leaf.late.iter().map(access).collect());
        let wait = if leaf.waits { "griddepcontrol.wait;\n" } else { "" };
        let head = format!(".visible .entry k{number}(.param .u64 a, .param .u64 b) {{ .reg .b32 %r1; mov.u32 %r1, 7;");
        writeln!(ptx, "{head}\n{early}{wait}{late}ret; }}").unwrap();
    }
    for counter in 1..=generator.loops {
        writeln!(
            ptx,
            ".visible .global .align 4 .u32 c{counter} = 0;
            .visible .entry step{counter}(.param .u64 handle, .param .u64 b) {{
                .reg .b64 %rd1; .reg .b32 %r<3>; .reg .pred %p;
                ld.param.u64 %rd1, [handle]; ld.global.u32 %r1, [c{counter}]; add.u32 %r1, %r1, 1;
                setp.eq.u32 %p, %r1, 2; selp.u32 %r1, 0, %r1, %p; st.global.u32 [c{counter}], %r1;
                selp.u32 %r2, 0, 1, %p;
                {{ .param .b64 p0; .param .b32 p1; st.param.b64 [p0], %rd1; st.param.b32 [p1], %r2;
                  call.uni cudaGraphSetConditional, (p0, p1); }}
                ret; }}"
        )
        .unwrap();
    }
    ptx + "\0"
}

fn variable(fixture: &Fixture, name: &str) -> CUdeviceptr {
    let (mut address, name) = (0, std::ffi::CString::new(name).unwrap());
    ok!(fixture.program, cuModuleGetGlobal_v2(&mut address, std::ptr::null_mut(), fixture.module, name.as_ptr()));
    address
}

/// Adds the nodes and the edges of a graph.
fn build(fixture: &Fixture, handle: CUgraph, graph: &Graph, leaves: &[Leaf]) {
    let program = &fixture.program;
    let mut nodes = Vec::new();
    for (work, edges) in &graph.0 {
        let mut node = CUgraphNode::NULL;
        match work {
            Work::Kernel(number) => {
                let name = std::ffi::CString::new(format!("k{number}")).unwrap();
                node = fixture.kernel(handle, &[], &name, [0, 0]);
            }
            Work::Fill(number) => {
                let name = leaves[*number].early.first().map_or(format!("f{number}"), |(of, _)| format!("v{of}"));
                let dst = variable(fixture, &name);
                let params = CUDA_MEMSET_NODE_PARAMS { dst, pitch: 0, value: 1, elementSize: 4, width: 1, height: 1 };
                ok!(program, cuGraphAddMemsetNode(&mut node, handle, NONE, 0, &params, program.context));
            }
            Work::Child(nested) => {
                let mut child = CUgraph::NULL;
                ok!(program, cuGraphCreate(&mut child, 0));
                build(fixture, child, nested, leaves);
                ok!(program, cuGraphAddChildGraphNode(&mut node, handle, NONE, 0, child));
            }
            Work::If(nested) | Work::While(nested, _) => {
                let kind = match work {
                    Work::If(_) => CU_GRAPH_COND_TYPE_IF,
                    _ => CU_GRAPH_COND_TYPE_WHILE,
                };
                let condition = fixture.handle(Some(1));
                let (own, bodies) = fixture.conditional(handle, &[], condition, kind, 1);
                build(fixture, bodies[0], nested, leaves);
                if let Work::While(_, counter) = work {
                    let name = std::ffi::CString::new(format!("step{counter}")).unwrap();
                    fixture.kernel(bodies[0], &[], &name, [condition, 0]);
                }
                node = own;
            }
        }
        edges.iter().for_each(|(from, data)| connect(fixture, handle, nodes[*from], node, *data));
        nodes.push(node);
    }
}

#[test]
fn random_graphs_with_ports_race_as_their_edges_say() {
    let (mut races, mut ordered, mut nested) = (0, 0, 0);
    for seed in 0..SEEDS {
        let schedule = [Schedule::Lazy, Schedule::Eager, format!("random:{seed}").parse().unwrap()];
        let schedule = schedule.into_iter().nth(seed as usize % 3).unwrap();
        let mut fixture = Fixture::with(Config { schedule, ..Config::default() });
        let mut generator = Generator { random: seed, leaves: Vec::new(), loops: 0 };
        let graph = generator.graph(2, true);
        let pairs = generator.share();
        let ptx = module(&generator);
        ok!(fixture.program, cuModuleLoadData(&mut fixture.module, ptx.as_ptr().cast()));
        build(&fixture, fixture.graph, &graph, &generator.leaves);
        let exec = fixture.instantiated();
        for _ in 0..2 {
            fixture.launch(exec);
        }
        ok!(fixture.program, cuCtxSynchronize());
        order(&graph, &Set::new(), &mut generator.leaves);
        let precedes = |(one, part): (usize, usize), (other, of_other): (usize, usize)| {
            generator.leaves[other].before[of_other].contains(&(2 * one + part))
        };
        let mut expected = BTreeSet::new();
        for (index, [one, other]) in pairs.iter().enumerate().filter(|(_, [one, other])| one.0 != other.0) {
            match precedes(*one, *other) || precedes(*other, *one) {
                true => ordered += 1,
                false => drop(expected.insert(format!("v{index}"))),
            }
        }
        let report = fixture.program.sim.report();
        assert!(report.findings.iter().all(|finding| finding.kind == Kind::DataRace), "{}", report.text(false));
        let names = report.findings.iter().filter_map(|finding| finding.variable.as_ref()?.name.clone());
        let found: BTreeSet<String> = names.collect();
        assert_eq!(found, expected, "seed {seed}");
        races += expected.len();
        nested += generator.loops;
    }
    assert!(races > 100 && ordered > 100 && nested > 20, "{races} races, {ordered} ordered pairs, {nested} loops");
}
