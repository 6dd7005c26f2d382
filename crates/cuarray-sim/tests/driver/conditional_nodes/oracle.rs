//! Random graphs with nested conditional nodes, compared with an interpreter.

use super::*;

/// Counters below this number are data. Each loop has one of the others, which is zero outside of the loop.
const DATA: u64 = 8;
const SEEDS: u64 = 30;

/// The statements of a graph or a body run one after another.
enum Statement {
    /// Additions to different counters, without an order.
    Add(Vec<(u64, u32)>),
    /// A choice among bodies by the condition, which a kernel first sets to a counter, if there is one.
    Choose { condition: usize, kind: CUgraphConditionalNodeType, by: Option<u64>, bodies: Vec<Vec<Statement>> },
    /// A loop that runs a body some times.
    Repeat { condition: usize, counter: u64, times: u32, body: Vec<Statement> },
}

struct Random(u64);

impl Random {
    fn below(&mut self, limit: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % limit
    }
}

/// A random program, with the default of each of its conditions.
struct Generator {
    random: Random,
    defaults: Vec<Option<u32>>,
    loops: u64,
}

impl Generator {
    fn condition(&mut self, default: Option<u32>) -> usize {
        self.defaults.push(default);
        self.defaults.len() - 1
    }

    fn statements(&mut self, depth: u32) -> Vec<Statement> {
        (0..1 + self.random.below(4)).map(|_| self.statement(depth)).collect()
    }

    fn statement(&mut self, depth: u32) -> Statement {
        let choice = if depth == 0 { 0 } else { self.random.below(5) };
        match choice {
            0 | 1 => {
                let (first, count) = (self.random.below(DATA), 1 + self.random.below(3));
                Statement::Add((0..count).map(|at| ((first + at) % DATA, self.random.below(3) as u32)).collect())
            }
            2 if DATA + self.loops < 60 => {
                let (condition, times) = (self.condition(None), self.random.below(4) as u32);
                self.loops += 1;
                let counter = DATA + self.loops;
                Statement::Repeat { condition, counter, times, body: self.statements(depth - 1) }
            }
            _ => {
                // Without a kernel that sets it, a condition has its default, or the zero that it begins with.
                let by = (self.random.below(3) > 0).then(|| self.random.below(DATA));
                let default = (self.random.below(2) > 0).then(|| self.random.below(3) as u32);
                let (condition, count) = (self.condition(default), 1 + self.random.below(2));
                let (kind, count) = match choice {
                    3 => (CU_GRAPH_COND_TYPE_IF, count),
                    _ => (CU_GRAPH_COND_TYPE_SWITCH, count + 1),
                };
                let bodies = (0..count).map(|_| self.statements(depth - 1)).collect();
                Statement::Choose { condition, kind, by, bodies }
            }
        }
    }
}

/// The counters and the conditions, as the manual says they change.
struct Model {
    counters: [u32; 64],
    conditions: Vec<u32>,
}

impl Model {
    fn run(&mut self, statements: &[Statement]) {
        for statement in statements {
            match statement {
                Statement::Add(additions) => additions.iter().for_each(|(counter, value)| {
                    let counter = &mut self.counters[*counter as usize];
                    *counter = counter.wrapping_add(*value);
                }),
                Statement::Choose { condition, kind, by, bodies } => {
                    if let Some(counter) = by {
                        self.conditions[*condition] = self.counters[*counter as usize];
                    }
                    let value = self.conditions[*condition] as usize;
                    let chosen = if *kind == CU_GRAPH_COND_TYPE_IF { usize::from(value == 0) } else { value };
                    if let Some(body) = bodies.get(chosen) {
                        self.run(body);
                    }
                }
                Statement::Repeat { condition, times, body, .. } => {
                    (0..*times).for_each(|_| self.run(body));
                    self.conditions[*condition] = 0;
                }
            }
        }
    }
}

/// Adds the nodes of statements to a graph after other nodes; returns the last nodes.
fn build(
    fixture: &Fixture,
    graph: CUgraph,
    statements: &[Statement],
    handles: &[CUgraphConditionalHandle],
    mut after: Vec<CUgraphNode>,
) -> Vec<CUgraphNode> {
    for statement in statements {
        after = match statement {
            Statement::Add(additions) => additions
                .iter()
                .map(|(counter, value)| {
                    fixture.kernel(graph, &after, c"add", [fixture.counter(*counter), u64::from(*value)])
                })
                .collect(),
            Statement::Choose { condition, kind, by, bodies } => {
                let handle = handles[*condition];
                if let Some(counter) = by {
                    after = vec![fixture.kernel(graph, &after, c"test", [fixture.counter(*counter), handle])];
                }
                let (node, of_node) = fixture.conditional(graph, &after, handle, *kind, bodies.len() as u32);
                for (body, statements) in of_node.iter().zip(bodies) {
                    build(fixture, *body, statements, handles, Vec::new());
                }
                vec![node]
            }
            Statement::Repeat { condition, counter, times, body } => {
                let (handle, counter) = (handles[*condition], fixture.counter(*counter));
                let begun = fixture.kernel(graph, &after, c"add", [counter, u64::from(*times)]);
                let tested = fixture.kernel(graph, &[begun], c"test", [counter, handle]);
                let (node, bodies) = fixture.conditional(graph, &[tested], handle, CU_GRAPH_COND_TYPE_WHILE, 1);
                let last = build(fixture, bodies[0], body, handles, Vec::new());
                fixture.kernel(bodies[0], &last, c"step", [counter, handle]);
                vec![node]
            }
        };
    }
    after
}

#[test]
fn random_nested_conditions_give_the_values_of_an_interpreter() {
    let (mut nested, mut rounds) = (0, 0);
    for seed in 0..SEEDS {
        let schedule = [Schedule::Lazy, Schedule::Eager, format!("random:{seed}").parse().unwrap()];
        let schedule = schedule.into_iter().nth(seed as usize % 3).unwrap();
        let fixture = Fixture::with(Config { schedule, ..Config::default() });
        let mut generator = Generator { random: Random(seed), defaults: Vec::new(), loops: 0 };
        let statements = generator.statements(3);
        let handles: Vec<_> = generator.defaults.iter().map(|default| fixture.handle(*default)).collect();
        build(&fixture, fixture.graph, &statements, &handles, Vec::new());
        let exec = fixture.instantiated();
        let mut model = Model { counters: [0; 64], conditions: vec![0; handles.len()] };
        for _ in 0..3 {
            for (condition, default) in model.conditions.iter_mut().zip(&generator.defaults) {
                *condition = default.unwrap_or(*condition);
            }
            model.run(&statements);
            fixture.launch(exec);
        }
        assert_eq!(fixture.values::<64>(), model.counters, "seed {seed}");
        assert_eq!(fixture.program.sim.report().findings.len(), 0, "seed {seed}");
        nested += handles.len();
        rounds += generator.loops;
    }
    assert!(nested > 100 && rounds > 20, "the programs are not trivial: {nested} conditions, {rounds} loops");
}
