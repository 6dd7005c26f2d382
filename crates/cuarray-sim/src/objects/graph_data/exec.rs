//! Executable graphs: a clone of a graph, laid out on lanes.

use super::References;
use super::layout::Step;
use crate::objects::point::Point;
use cuarray_abi::*;
use cuarray_races::Clock;
use std::collections::HashSet;

/// One executable graph.
pub(crate) struct Exec {
    /// `cuGraphExecGetId`.
    pub id: u32,
    /// The graph that was instantiated, which may have been destroyed.
    pub source: CUgraph,
    /// The clone of the source.
    pub graph: CUgraph,
    pub flags: u64,
    /// The disabled nodes of the clone.
    pub disabled: HashSet<CUgraphNode>,
    pub steps: Vec<Step>,
    /// The private streams: the second and further lanes.
    pub lanes: Vec<CUstream>,
    /// The number of lanes, including that of the launch.
    pub width: usize,
    /// The end of the last launch.
    pub last: Option<Point>,
    /// The clock of that point.
    pub last_clock: Option<Clock>,
    /// References that earlier launches may still need, each with the end of the last launch that needs them.
    pub retired: Vec<(Point, References)>,
    /// The addresses of the clone's allocation nodes.
    pub allocations: Vec<u64>,
    /// The conditions that its launches read.
    pub conditions: Vec<CUgraphConditionalHandle>,
    /// Whether `cuGraphExecDestroy` was called while a launch was pending.
    pub destroyed: bool,
}
