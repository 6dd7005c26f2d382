//! A launched conditional node: the work of its bodies, and how far it has come.
//!
//! A launch copies the work of all bodies, so that later updates do not change it. The conditional node is one operation
//! of its stream, which executes one node of a body at a time. So other streams may run in between.

use super::EdgeOrder;
use crate::objects::copy::{Fill, Transfer};
use crate::objects::launch::Launch;
use cuarray_abi::*;
use cuarray_races::{Caller, Clock, Lane, Past};
use std::sync::Arc;

/// A conditional node with the work of its bodies.
pub(crate) struct Plan {
    pub handle: CUgraphConditionalHandle,
    pub kind: CUgraphConditionalNodeType,
    pub context: CUcontext,
    pub bodies: Vec<Body>,
    /// The call that added the node, while findings are on.
    pub made: Option<Caller>,
}

/// The nodes of one body in an order that its edges allow.
pub(crate) struct Body {
    pub steps: Vec<BodyStep>,
}

/// A node of a body.
pub(crate) struct BodyStep {
    pub task: Task,
    /// The steps that must have ended before this one.
    pub after: Vec<usize>,
    /// The steps that must have begun before this one.
    pub begun: Vec<usize>,
    /// For a kernel with programmatic edges: the steps of all its predecessors, with the order of each.
    pub early: Vec<(usize, EdgeOrder)>,
    /// The step's lane among those of the launched node.
    pub lane: usize,
    /// The lane of what the step does before it waits, if it has programmatic edges.
    pub branch: usize,
    pub made: Option<Caller>,
}

/// The operations that a step of a body follows.
#[derive(Default)]
pub(crate) struct Follows {
    pub clocks: Vec<Clock>,
    /// The work before launches that need only have begun.
    pub begun: Vec<Past>,
    /// The work before some launches, and the operations, that a launch with programmatic edges follows before it waits.
    pub early: (Vec<Past>, Vec<Clock>),
}

/// The operations that later steps follow.
pub(crate) struct Done {
    pub clocks: Vec<Clock>,
    /// For a launch, the work that nodes at its ports follow.
    pub past: Option<Past>,
}

/// The work of a node in a body.
pub(crate) enum Task {
    Nothing,
    Copy(Transfer),
    Fill(Fill),
    Launch(Arc<Launch>),
    Choose(Arc<Plan>),
}

impl Plan {
    /// Calls a function for each launch in the bodies, at any depth.
    pub(crate) fn each_launch(&self, f: &mut dyn FnMut(&Arc<Launch>)) {
        for step in self.bodies.iter().flat_map(|body| &body.steps) {
            match &step.task {
                Task::Launch(launch) => f(launch),
                Task::Choose(plan) => plan.each_launch(f),
                _ => {}
            }
        }
    }
}

/// A conditional node of a stream, while it waits or runs.
pub(crate) struct Run {
    pub plan: Arc<Plan>,
    /// The lanes of the nodes in the bodies; empty while findings are off.
    pub lanes: Vec<Lane>,
    pub begun: bool,
    /// The bodies that run: the last one is within the one before it.
    pub frames: Vec<Frame>,
    /// The rounds of all loops so far, and the instructions that ended them cost.
    pub rounds: u64,
    pub spent: u64,
    /// The limit of `spent`.
    pub budget: u64,
}

impl Run {
    pub(crate) fn new(plan: Arc<Plan>, lanes: Vec<Lane>, budget: u64) -> Run {
        Run { plan, lanes, begun: false, frames: Vec::new(), rounds: 0, spent: 0, budget }
    }
}

/// A body that runs.
pub(crate) struct Frame {
    pub plan: Arc<Plan>,
    pub body: usize,
    /// The step of the frame below that this conditional node is; `None` for the outermost.
    pub within: Option<usize>,
    /// The operations that the first steps follow.
    pub begin: Vec<Clock>,
    pub done: Vec<Option<Done>>,
}

impl Frame {
    pub(crate) fn new(plan: Arc<Plan>, body: usize, within: Option<usize>, begin: Vec<Clock>) -> Frame {
        let done = plan.bodies[body].steps.iter().map(|_| None).collect();
        Frame { plan, body, within, begin, done }
    }

    /// The steps that can run next.
    pub(crate) fn ready(&self) -> Vec<usize> {
        let steps = self.plan.bodies[self.body].steps.iter().enumerate();
        let is_ready = |(index, step): &(usize, &BodyStep)| {
            let mut before = step.after.iter().chain(&step.begun);
            self.done[*index].is_none() && before.all(|before| self.done[*before].is_some())
        };
        steps.filter(is_ready).map(|(index, _)| index).collect()
    }

    /// The operations that a step follows.
    pub(crate) fn before(&self, step: usize) -> Follows {
        let BodyStep { after, begun, early, .. } = &self.plan.bodies[self.body].steps[step];
        let done = |step: &usize| self.done[*step].as_ref();
        let clocks_of = |step: &usize| done(step).map(|done| done.clocks.clone()).unwrap_or_default();
        let past_of = |step: &usize| done(step).and_then(|done| done.past.clone());
        let mut follows = Follows::default();
        if after.is_empty() {
            follows.clocks.extend(self.begin.iter().cloned());
        }
        follows.clocks.extend(after.iter().flat_map(clocks_of));
        for before in begun {
            match past_of(before) {
                Some(past) => follows.begun.push(past),
                // A disabled node has no port.
                None => follows.clocks.extend(clocks_of(before)),
            }
        }
        for (before, order) in early {
            match past_of(before).filter(|_| *order != EdgeOrder::Full) {
                Some(past) => follows.early.0.push(past),
                None => follows.early.1.extend(clocks_of(before)),
            }
        }
        follows
    }

    /// The operations that what comes after the body follows.
    pub(crate) fn end(&self) -> Vec<Clock> {
        let steps = &self.plan.bodies[self.body].steps;
        let followed = |index: usize| steps.iter().any(|step| step.after.contains(&index));
        let last = (0..steps.len()).filter(|index| !followed(*index));
        let ends = last.filter_map(|index| self.done[index].as_ref()).flat_map(|done| done.clocks.iter().cloned());
        let ends: Vec<Clock> = ends.collect();
        if ends.is_empty() { self.begin.clone() } else { ends }
    }
}
