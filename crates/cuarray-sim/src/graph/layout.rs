//! On which lanes the nodes of a graph run.
//!
//! A lane is a stream, so whatever follows on it is ordered, wanted or not: nodes may share one only where the edges order them
//! anyhow. Otherwise two branches that race on a device would be orderly here.
//!
//! A node goes on where one of those before it ended, if that lane has not gone on elsewhere. Otherwise it takes a lane that
//! came to an end before one of them, or a new one: a graph that forks and joins over and over needs as many lanes as it is wide.

use cuarray_abi::CUgraphNode;
use std::rc::Rc;

/// What a launch enqueues for a node.
pub(super) struct Step {
    pub node: CUgraphNode,
    pub lane: usize,
    /// The steps before it on other lanes.
    pub after: Vec<usize>,
    /// Whether no step comes after it on its lane or, by an edge, on another.
    pub last: bool,
}

/// The steps of a graph while they are laid out.
#[derive(Default)]
pub(super) struct Layout {
    pub steps: Vec<Step>,
    /// The step that each lane ends with.
    pub ends: Vec<usize>,
    /// For each step, lanes that had come to an end before it, and the steps that they ended with.
    idle: Vec<Rc<Vec<(usize, usize)>>>,
}

impl Layout {
    /// Adds a step after others.
    pub(super) fn add(&mut self, node: CUgraphNode, after: &[usize]) -> usize {
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
                // One that has gone on elsewhere is not idle any more.
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
        self.steps.push(Step { node, lane, after: elsewhere, last: true });
        self.idle.push(idle);
        step
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    /// For each step, all those before it, as these predecessors have it.
    fn closure(before: &[Vec<usize>]) -> Vec<BTreeSet<usize>> {
        let mut all: Vec<BTreeSet<usize>> = Vec::new();
        for before in before {
            let mut earlier: BTreeSet<usize> = before.iter().copied().collect();
            before.iter().for_each(|step| earlier.extend(&all[*step]));
            all.push(earlier);
        }
        all
    }

    /// What comes directly before each step: what it waits for, and what is in front of it on its lane.
    fn laid_out(layout: &Layout) -> Vec<Vec<usize>> {
        let mut ends: Vec<Option<usize>> = vec![None; layout.ends.len()];
        let before = layout.steps.iter().enumerate().map(|(index, step)| {
            let in_front = ends[step.lane].replace(index);
            step.after.iter().copied().chain(in_front).collect()
        });
        before.collect()
    }

    #[test]
    fn lanes_order_what_the_edges_order_and_nothing_else() {
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
                // Mostly from what came shortly before, so that there are forks, joins and chains.
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
    fn a_graph_that_forks_and_joins_needs_as_many_lanes_as_it_is_wide() {
        let mut layout = Layout::default();
        let mut join = layout.add(CUgraphNode(0), &[]);
        for _ in 0..10 {
            let fork: Vec<usize> = (0..5).map(|_| layout.add(CUgraphNode(0), &[join])).collect();
            join = layout.add(CUgraphNode(0), &fork);
        }
        assert_eq!(layout.ends.len(), 5);
    }
}
