//! Views of threads: for each thread of the grid, the time up to which its accesses are ordered before.
//!
//! This is a vector clock. It is a tree with 32 branches at each node: lanes, warps, blocks, groups of 32 blocks, and so on. Each
//! node has a floor, a time that holds for all threads below it. A barrier of a block sets one floor and drops the nodes below.
//! Nodes are shared between clocks, and have a digest of their times. So a join of equal parts costs nothing, whether or not they
//! are one node.

use std::cell::Cell;
use std::num::NonZeroU128;
use std::rc::Rc;

/// The number of branches of a node.
const BRANCHES: usize = 32;

/// The level of a node whose branches are the warps of a block.
const BLOCK: u32 = 1;

/// The number of a thread: its block, its warp in 5 bits, and its lane in 5 bits.
#[inline(always)]
pub(crate) fn thread(block: u32, warp: u32, lane: u32) -> u64 {
    u64::from(block) << 10 | u64::from(warp << 5 | lane)
}

#[derive(Clone)]
struct Node {
    /// The time for all threads below.
    floor: u32,
    /// The latest time of any thread below.
    top: u32,
    /// Names the times of all threads below, once it was asked for. Two nodes with different times have one digest less often than a
    /// computer fails.
    digest: Cell<Option<NonZeroU128>>,
    below: Below,
}

#[derive(Clone)]
enum Below {
    Nothing,
    Lanes([u32; BRANCHES]),
    Nodes([Option<Rc<Node>>; BRANCHES]),
}

const NO_NODES: [Option<Rc<Node>>; BRANCHES] = [const { None }; BRANCHES];

/// Adds a number to a digest.
#[inline(always)]
fn mix(digest: u128, number: u128) -> u128 {
    (digest.rotate_left(29) ^ number).wrapping_mul(0x9e37_79b9_7f4a_7c15_f39c_c060_5ced_c835)
}

impl Node {
    fn digest(&self) -> NonZeroU128 {
        if let Some(known) = self.digest.get() {
            return known;
        }
        let start = mix(1, self.floor.into());
        let digest = match &self.below {
            Below::Nothing => start,
            Below::Lanes(lanes) => lanes
                .chunks_exact(4)
                .fold(start, |all, times| mix(all, times.iter().fold(0, |four, time| four << 32 | u128::from(*time)))),
            Below::Nodes(nodes) => {
                nodes.iter().fold(start, |all, node| mix(all, node.as_ref().map_or(0, |node| node.digest().get())))
            }
        };
        let digest = NonZeroU128::new(digest).unwrap_or(NonZeroU128::MAX);
        self.digest.set(Some(digest));
        digest
    }

    /// Sets the latest time, and drops the parts that the floor covers.
    fn trim(&mut self) {
        self.digest.set(None);
        let mut top = self.floor;
        match &mut self.below {
            Below::Nothing => {}
            Below::Lanes(lanes) => {
                top = lanes.iter().copied().fold(top, u32::max);
                if lanes.iter().all(|lane| *lane == top) {
                    self.floor = top;
                }
            }
            Below::Nodes(nodes) => {
                for branch in nodes {
                    match branch {
                        Some(node) if node.top <= self.floor => *branch = None,
                        Some(node) => top = top.max(node.top),
                        None => {}
                    }
                }
            }
        }
        self.top = top;
        if top == self.floor {
            self.below = Below::Nothing;
        }
    }

    /// Raises the time for all threads below.
    fn raise_floor(&mut self, floor: u32) {
        if self.floor >= floor {
            return;
        }
        self.floor = floor;
        if let Below::Lanes(lanes) = &mut self.below {
            lanes.iter_mut().for_each(|lane| *lane = (*lane).max(floor));
        }
        self.trim();
    }
}

/// Makes a node, and drops the parts that the floor covers.
fn node(floor: u32, below: Below) -> Rc<Node> {
    let mut node = Node { floor, top: floor, digest: Cell::new(None), below };
    node.trim();
    Rc::new(node)
}

fn join(one: &Rc<Node>, other: &Rc<Node>) -> Rc<Node> {
    if Rc::ptr_eq(one, other) || one.floor >= other.top {
        return one.clone();
    }
    if other.floor >= one.top || one.digest() == other.digest() {
        return other.clone();
    }
    let floor = one.floor.max(other.floor);
    match (&one.below, &other.below) {
        (Below::Nodes(ones), Below::Nodes(others)) => {
            let mut nodes = NO_NODES;
            let (mut all_one, mut all_other) = (one.floor == floor, other.floor == floor);
            for (index, joined) in nodes.iter_mut().enumerate() {
                *joined = match (&ones[index], &others[index]) {
                    (Some(one), Some(other)) => Some(join(one, other)),
                    (Some(one), None) => Some(one.clone()).filter(|one| one.top > floor),
                    (None, other) => other.clone().filter(|other| other.top > floor),
                };
                let is = |branch: &Option<Rc<Node>>| match (branch, &*joined) {
                    (Some(branch), Some(joined)) => branch.digest() == joined.digest(),
                    (None, None) => true,
                    _ => false,
                };
                all_one &= is(&ones[index]);
                all_other &= is(&others[index]);
            }
            // Of equal nodes the added one stays, so that clocks share what they have learned from each other.
            match (all_other, all_one) {
                (true, _) => other.clone(),
                (_, true) => one.clone(),
                _ => node(floor, Below::Nodes(nodes)),
            }
        }
        (Below::Lanes(ones), Below::Lanes(others)) => {
            let lanes = std::array::from_fn(|lane| ones[lane].max(others[lane]).max(floor));
            match floor {
                floor if floor == other.floor && lanes == *others => other.clone(),
                floor if floor == one.floor && lanes == *ones => one.clone(),
                _ => node(floor, Below::Lanes(lanes)),
            }
        }
        (Below::Nothing, _) => raised_floor(other, floor),
        (_, Below::Nothing) => raised_floor(one, floor),
        // Nodes of one level have one kind of branches.
        (Below::Nodes(_), Below::Lanes(_)) | (Below::Lanes(_), Below::Nodes(_)) => one.clone(),
    }
}

/// Joins another node into one, in place where no other clock has it.
fn join_into(one: &mut Rc<Node>, other: &Rc<Node>) {
    if Rc::ptr_eq(one, other) || one.floor >= other.top {
        return;
    }
    // A digest that is not known costs more than the join.
    let are_equal = one.digest.get().is_some_and(|digest| other.digest.get() == Some(digest));
    if other.floor >= one.top || are_equal {
        return one.clone_from(other);
    }
    let Some(own) = Rc::get_mut(one) else { return *one = join(one, other) };
    let floor = own.floor.max(other.floor);
    match (&mut own.below, &other.below) {
        (Below::Nodes(ones), Below::Nodes(others)) => {
            for (own, other) in ones.iter_mut().zip(others) {
                match (&mut *own, other) {
                    (Some(own), Some(other)) => join_into(own, other),
                    (None, Some(other)) => *own = Some(other.clone()),
                    (_, None) => {}
                }
            }
        }
        (Below::Lanes(ones), Below::Lanes(others)) => {
            ones.iter_mut().zip(others).for_each(|(own, other)| *own = (*own).max(*other).max(floor));
        }
        (_, Below::Nothing) => return own.raise_floor(floor),
        _ => return *one = join(one, other),
    }
    own.floor = floor;
    own.trim();
}

fn raised_floor(old: &Rc<Node>, floor: u32) -> Rc<Node> {
    let mut raised = old.clone();
    if old.floor < floor {
        Rc::make_mut(&mut raised).raise_floor(floor);
    }
    raised
}

/// Raises the lanes of a mask, if `target` is 0, or else a whole node of that level. Nodes that no other clock has change in place.
fn raise(known: &mut Rc<Node>, level: u32, target: u32, (thread, mask): (u64, u32), time: u32) {
    if known.floor >= time {
        return;
    }
    let known = Rc::make_mut(known);
    if level == target && (level > 0 || mask == u32::MAX) {
        return known.raise_floor(time);
    }
    if level == 0 {
        let mut lanes = match known.below {
            Below::Lanes(lanes) => lanes,
            _ => [known.floor; BRANCHES],
        };
        for (lane, known) in lanes.iter_mut().enumerate() {
            *known = (*known).max(if mask >> lane & 1 == 1 { time } else { 0 });
        }
        known.below = Below::Lanes(lanes);
        return known.trim();
    }
    if !matches!(known.below, Below::Nodes(_)) {
        known.below = Below::Nodes(NO_NODES);
    }
    if let Below::Nodes(nodes) = &mut known.below {
        let branch = nodes[(thread >> (5 * level)) as usize % BRANCHES].get_or_insert_with(nothing);
        raise(branch, level - 1, target, (thread, mask), time);
        known.top = known.top.max(branch.top);
        known.digest.set(None);
    }
}

/// A node without knowledge.
fn nothing() -> Rc<Node> {
    node(0, Below::Nothing)
}

/// The number of levels above the lanes that hold the threads of a number of blocks.
pub(crate) fn height(blocks: u64) -> u32 {
    let bits = 64 - blocks.saturating_sub(1).leading_zeros();
    BLOCK + bits.div_ceil(5)
}

/// A time for each thread of the grid; zero where nothing is known. All clocks of a launch have one height.
#[derive(Clone, Default)]
pub(crate) struct Times {
    /// Knowledge about accesses to all memory.
    all: Option<Rc<Node>>,
    /// Knowledge through instructions whose order of memory the manual does not state, or by default through flags without a fence, for
    /// the reads before them. It is passed on like the other two, and only [`Times::with_followed`] looks at it.
    followed: Option<Rc<Node>>,
    /// Knowledge about accesses to shared memory alone, through fences that are restricted to it. Only [`Times::of_shared`]
    /// looks at it.
    shared: Option<Rc<Node>>,
}

/// Takes the later time of each thread.
fn join_trees(one: &mut Option<Rc<Node>>, other: &Option<Rc<Node>>) {
    match (&mut *one, other) {
        (_, None) => {}
        (None, Some(_)) => one.clone_from(other),
        (Some(node), Some(other)) => join_into(node, other),
    }
}

/// Whether both have the same times, in nodes of the same form.
fn is_tree(one: &Option<Rc<Node>>, other: &Option<Rc<Node>>) -> bool {
    match (one, other) {
        (Some(one), Some(other)) => one.digest() == other.digest(),
        (None, None) => true,
        _ => false,
    }
}

impl Times {
    /// One time for all threads.
    pub(crate) fn all(time: u32) -> Times {
        Times { all: Some(node(time, Below::Nothing)), ..Times::default() }
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_none() && self.followed.is_none() && self.shared.is_none()
    }

    /// Whether both have the same times, in nodes of the same form.
    pub(crate) fn is(&self, other: &Times) -> bool {
        is_tree(&self.all, &other.all)
            && is_tree(&self.followed, &other.followed)
            && is_tree(&self.shared, &other.shared)
    }

    /// Takes the later time of each thread.
    pub(crate) fn join(&mut self, other: &Times) {
        join_trees(&mut self.all, &other.all);
        join_trees(&mut self.followed, &other.followed);
        join_trees(&mut self.shared, &other.shared);
    }

    /// The times, with those that are known only through instructions whose order of memory the manual does not state.
    pub(crate) fn with_followed(&self) -> Times {
        let mut known = Times { followed: None, ..self.clone() };
        join_trees(&mut known.all, &self.followed);
        known
    }

    /// The times of accesses to shared memory.
    pub(crate) fn of_shared(&self) -> Times {
        let mut known = Times { shared: None, ..self.clone() };
        join_trees(&mut known.all, &self.shared);
        known
    }

    /// The times as a fence passes them on that is restricted to shared memory.
    pub(crate) fn restricted(&self) -> Times {
        let shared = self.of_shared().all;
        Times { all: None, followed: self.followed.clone(), shared }
    }

    /// Sets what is known only through such instructions. `all` has what the clock knows already.
    pub(crate) fn follow(&mut self, all: &Times) {
        self.followed.clone_from(&all.all);
    }

    /// Adds times to those that are known only through such instructions.
    pub(crate) fn join_followed(&mut self, more: &Times) {
        join_trees(&mut self.followed, &more.all);
        join_trees(&mut self.followed, &more.followed);
    }

    /// Whether something is known only through such instructions.
    pub(crate) fn has_followed(&self) -> bool {
        self.followed.is_some()
    }

    /// Raises the times of lanes of a warp.
    pub(crate) fn raise_lanes(&mut self, height: u32, (block, warp): (u32, u32), lanes: u32, time: u32) {
        raise(self.all.get_or_insert_with(nothing), height, 0, (thread(block, warp, 0), lanes), time);
    }

    /// Raises the times of all threads of a block.
    pub(crate) fn raise_block(&mut self, height: u32, block: u32, time: u32) {
        raise(self.all.get_or_insert_with(nothing), height, BLOCK, (thread(block, 0, 0), 0), time);
    }

    /// The time up to which the accesses of all threads of a block are known.
    pub(super) fn settled(&self, height: u32, block: u32) -> u32 {
        let Some(mut node) = self.all.as_ref() else { return 0 };
        let (mut settled, mut level) = (node.floor, height);
        while level > BLOCK
            && let Below::Nodes(nodes) = &node.below
            && let Some(below) = &nodes[(thread(block, 0, 0) >> (5 * level)) as usize % BRANCHES]
        {
            (node, level) = (below, level - 1);
            settled = settled.max(node.floor);
        }
        settled
    }

    /// The latest time of any thread of a block up to which its accesses are known.
    pub(super) fn latest(&self, height: u32, block: u32) -> u32 {
        let Some(mut node) = self.all.as_ref() else { return 0 };
        let (mut floor, mut level) = (node.floor, height);
        while level > BLOCK {
            let Below::Nodes(nodes) = &node.below else { return floor };
            let Some(below) = &nodes[(thread(block, 0, 0) >> (5 * level)) as usize % BRANCHES] else { return floor };
            (node, level) = (below, level - 1);
            floor = floor.max(node.floor);
        }
        floor.max(node.top)
    }

    /// The lanes of a mask of a warp whose accesses at `time` are not known.
    #[inline]
    pub(crate) fn unknown(&self, height: u32, (block, warp): (u32, u32), lanes: u32, time: u32) -> u32 {
        let Some(mut node) = self.all.as_ref() else { return lanes };
        let place = thread(block, warp, 0);
        let mut level = height;
        loop {
            if node.floor >= time {
                return 0;
            }
            if node.top < time {
                return lanes;
            }
            match &node.below {
                Below::Nothing => return lanes,
                Below::Lanes(known) => {
                    let late = |lane: u32| u32::from(known[lane as usize] < time) << lane;
                    return lanes & (0..32).filter(|lane| lanes >> lane & 1 == 1).fold(0, |all, lane| all | late(lane));
                }
                Below::Nodes(nodes) => match &nodes[(place >> (5 * level)) as usize % BRANCHES] {
                    Some(below) => (node, level) = (below, level - 1),
                    None => return lanes,
                },
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const HEIGHT: u32 = 3;

    fn knows(times: &Times, block: u32, warp: u32, lane: u32, time: u32) -> bool {
        times.unknown(HEIGHT, (block, warp), 1 << lane, time) == 0
    }

    #[test]
    fn height_grows_with_the_number_of_blocks() {
        assert_eq!([1, 2, 32, 33, 1024, 1025].map(height), [1, 2, 2, 3, 3, 4]);
    }

    #[test]
    fn join_takes_the_later_time_of_each_thread() {
        // An array of times is the reference.
        let mut state = 7_u64;
        let mut random = |below: u64| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) % below
        };
        const BLOCKS: u32 = 3;
        let mut clocks: Vec<(Times, Vec<u32>)> = (0..4).map(|_| (Times::default(), vec![0; 3 * 1024])).collect();
        for step in 1..400 {
            let (at, from) = (random(4) as usize, random(4) as usize);
            let (block, warp) = (random(BLOCKS.into()) as u32, random(4) as u32);
            let time = random(step) as u32;
            match random(5) {
                0 => {
                    clocks[at].0.raise_block(HEIGHT, block, time);
                    let first = block as usize * 1024;
                    clocks[at].1[first..first + 1024].iter_mut().for_each(|known| *known = (*known).max(time));
                }
                1 | 2 => {
                    let lanes = if random(2) == 0 { u32::MAX } else { random(1 << 32) as u32 };
                    clocks[at].0.raise_lanes(HEIGHT, (block, warp), lanes, time);
                    for lane in (0..32).filter(|lane| lanes >> lane & 1 == 1) {
                        let known = &mut clocks[at].1[thread(block, warp, lane) as usize];
                        *known = (*known).max(time);
                    }
                }
                3 if random(8) == 0 => {
                    clocks[at].0.join(&Times::all(time));
                    clocks[at].1.iter_mut().for_each(|known| *known = (*known).max(time));
                }
                _ => {
                    let other = clocks[from].clone();
                    clocks[at].0.join(&other.0);
                    clocks[at].1.iter_mut().zip(other.1).for_each(|(known, other)| *known = (*known).max(other));
                }
            }
            for (times, reference) in &clocks {
                for _ in 0..20 {
                    let (block, warp, lane) = (random(3) as u32, random(5) as u32, random(32) as u32);
                    let known = reference[thread(block, warp, lane) as usize];
                    assert!(known == 0 || knows(times, block, warp, lane, known));
                    assert!(!knows(times, block, warp, lane, known + 1));
                }
            }
        }
    }

    #[test]
    fn latest_time_of_a_block_is_that_of_any_of_its_threads() {
        let mut times = Times::default();
        assert_eq!(times.latest(HEIGHT, 3), 0);
        times.raise_lanes(HEIGHT, (3, 1), 1 << 4, 7);
        times.raise_lanes(HEIGHT, (3, 2), 1, 5);
        times.raise_block(HEIGHT, 40, 9);
        assert_eq!([3, 40, 4].map(|block| times.latest(HEIGHT, block)), [7, 9, 0]);
        times.join(&Times::all(6));
        assert_eq!([3, 40, 4].map(|block| times.latest(HEIGHT, block)), [7, 9, 6]);
    }

    #[test]
    fn equal_clocks_share_their_parts() {
        let mut one = Times::default();
        one.raise_lanes(HEIGHT, (1, 2), 4, 9);
        let mut other = one.clone();
        other.raise_block(HEIGHT, 40, 10);
        let before = other.clone();
        other.join(&one);
        assert!(other.is(&before));
        one.join(&other);
        assert!(one.is(&other), "a join that adds nothing shares the tree");
    }

    #[test]
    fn clocks_with_the_same_times_join_at_once() {
        let made = || {
            let mut times = Times::default();
            (0..40).for_each(|block| times.raise_lanes(HEIGHT, (block, block % 3), 6, 9 + block));
            times
        };
        let (mut one, mut other) = (made(), made());
        assert!(one.is(&other));
        one.join(&other);
        let shared = one.all.iter().zip(&other.all).all(|(one, other)| Rc::ptr_eq(one, other));
        assert!(shared, "a join of equal times makes no node");
        other.raise_lanes(HEIGHT, (7, 1), 2, 17);
        assert!(!one.is(&other));
    }
}
