//! The assignment of graph nodes to lanes.
//!
//! A lane is a stream and orders all its operations. So nodes may share a lane only if the edges order them anyway.
//! Otherwise branches that race on a device would not race in the simulator.
//!
//! A node continues the lane of a predecessor if that predecessor is still the last on its lane. Otherwise the node
//! takes a lane that ended before one of its predecessors, or a new one. A predecessor that need only have begun is none
//! for this purpose. A graph that forks and joins repeatedly
//! needs as many lanes as its width.

use super::EdgeOrder;
use cuarray_abi::CUgraphNode;
use std::rc::Rc;

/// The work that a launch enqueues for a node.
pub(crate) struct Step {
    pub node: CUgraphNode,
    pub lane: usize,
    /// The steps on other lanes that must happen before this step.
    pub after: Vec<usize>,
    /// The steps that must have begun before this step, on other lanes too.
    pub begun: Vec<usize>,
    /// For a kernel with programmatic edges: the steps of all its predecessors, with the order of each.
    pub early: Vec<(usize, EdgeOrder)>,
    /// Whether no step follows this one, on its lane or through an edge.
    pub last: bool,
    /// Whether this is the second step of its node, after the graphs that belong to it.
    pub closes: bool,
}

/// The steps of a graph during its layout.
#[derive(Default)]
pub(crate) struct Layout {
    pub steps: Vec<Step>,
    /// The last step of each lane.
    pub ends: Vec<usize>,
    /// For each step, the lanes that had ended before it, and their last steps.
    pub idle: Vec<Rc<Vec<(usize, usize)>>>,
}

impl Layout {
    /// Adds a step after its predecessors.
    pub(crate) fn add(&mut self, node: CUgraphNode, after: &[usize]) -> usize {
        let step = self.steps.len();
        let (mut lane, mut ended) = (None, Vec::new());
        for before in after {
            let of_before = self.steps[*before].lane;
            if self.ends[of_before] == *before {
                match lane {
                    None => lane = Some(of_before),
                    Some(_) => ended.push((of_before, *before)),
                }
            }
            self.steps[*before].last = false;
        }
        let idle = match after {
            [before] => self.idle[*before].clone(),
            _ => {
                ended.extend(after.iter().flat_map(|before| self.idle[*before].iter().copied()));
                // A lane that continued with another step is no longer idle.
                ended.retain(|(lane, end)| self.ends[*lane] == *end);
                ended.sort_unstable();
                ended.dedup();
                Rc::new(ended)
            }
        };
        let is_idle = |(lane, end): &&(usize, usize)| self.ends[*lane] == *end;
        let lane = lane.or_else(|| idle.iter().find(is_idle).map(|(lane, _)| *lane)).unwrap_or(self.ends.len());
        if lane == self.ends.len() {
            self.ends.push(step);
        }
        self.ends[lane] = step;
        let elsewhere = after.iter().copied().filter(|before| self.steps[*before].lane != lane).collect();
        let (begun, early) = (Vec::new(), Vec::new());
        self.steps.push(Step { node, lane, after: elsewhere, begun, early, last: true, closes: false });
        self.idle.push(idle);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// For each step, all steps before it, given the direct predecessors.
    pub(crate) fn closure(before: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
        let mut all: Vec<BTreeSet<usize>> = Vec::new();
        for before in before {
            let mut earlier: BTreeSet<usize> = before.iter().copied().collect();
            before.iter().for_each(|step| earlier.extend(&all[*step]));
            all.push(earlier);
        }
        all
    }

    /// The direct predecessors of each step: by its edges and on its lane.
    pub(crate) fn laid_out(layout: &Layout) -> Vec<Vec<usize>> {
        let mut ends: Vec<Option<usize>> = vec![None; layout.ends.len()];
        let before = layout.steps.iter().enumerate().map(|(index, step)| {
            let in_front = ends[step.lane].replace(index);
            step.after.iter().copied().chain(in_front).collect()
        });
        before.collect()
    }

    #[test]
    pub(crate) fn lanes_add_no_order_to_the_edges() {
        let mut seed = 1_u64;
        let mut random = |below: usize| {
            seed = seed.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            (seed >> 33) as usize % below
        };
        let mut reused = 0;
        for _ in 0..2_000 {
            let count = 1 + random(30);
            let mut layout = Layout::default();
            let mut edges: Vec<Vec<usize>> = Vec::new();
            for step in 0..count {
                // Mostly edges from recent steps, which makes forks, joins and chains.
                let near = |random: &mut dyn FnMut(usize) -> usize| step - 1 - random(step.min(4));
                let after: BTreeSet<usize> =
                    if step == 0 { BTreeSet::new() } else { (0..random(4)).map(|_| near(&mut random)).collect() };
                let after: Vec<usize> = after.into_iter().collect();
                layout.add(CUgraphNode(step), &after);
                edges.push(after);
            }
            let roots = edges.iter().filter(|after| after.is_empty()).count();
            reused += count - layout.ends.len().max(roots);
            assert_eq!(closure(&laid_out(&layout)), closure(&edges), "{edges:?}");
            for (index, step) in layout.steps.iter().enumerate() {
                let followed = edges.iter().any(|after| after.contains(&index));
                assert_eq!(step.last, !followed, "{edges:?}");
            }
        }
        assert!(reused > 15_000, "lanes are shared: {reused}");
    }

    #[test]
    pub(crate) fn graph_that_forks_and_joins_needs_as_many_lanes_as_its_width() {
        let mut layout = Layout::default();
        let mut join = layout.add(CUgraphNode(0), &[]);
        for _ in 0..10 {
            let fork: Vec<usize> = (0..5).map(|_| layout.add(CUgraphNode(0), &[join])).collect();
            join = layout.add(CUgraphNode(0), &fork);
        }
        assert_eq!(layout.ends.len(), 5);
    }
}
