//! The order of a function's blocks in the code.
//!
//! The fragment of a warp that is furthest behind in the code runs. Diverged threads reconverge as soon as possible
//! if every block precedes its successors, and every loop is contiguous and precedes its exits. Such an order is a
//! *weak topological order* (Bourdoncle, 1993): strongly connected components in topological order, and recursively
//! inside each of them, without the edges to its head.

/// The deepest nesting of loops that is ordered. Deeper loops keep the order of the text.
const DEPTH: usize = 64;

/// Returns the reachable blocks in order. `next` has the successors of each block.
pub(super) fn order(next: &[Vec<usize>]) -> Vec<usize> {
    let mut reached = vec![false; next.len()];
    let mut open = vec![0];
    while let Some(block) = open.pop() {
        if !std::mem::replace(&mut reached[block], true) {
            open.extend(&next[block]);
        }
    }
    let members: Vec<usize> = (0..next.len()).filter(|block| reached[*block]).collect();
    let mut previous = vec![Vec::new(); next.len()];
    for (block, successors) in next.iter().enumerate() {
        successors.iter().for_each(|target| previous[*target].push(block));
    }
    let mut search = Search::new(next);
    let mut result = Vec::with_capacity(members.len());
    // Pieces that are not ordered yet; the last one is ordered first.
    let mut pieces = vec![Piece { members, head: None, depth: 0, whole: false }];
    // The piece of each block, by a number that is never reused.
    let mut inside = vec![0_u32; next.len()];
    let mut number = 0;
    while let Some(piece) = pieces.pop() {
        if piece.whole || piece.depth > DEPTH {
            result.extend(piece.members);
            continue;
        }
        number += 1;
        piece.members.iter().for_each(|block| inside[*block] = number);
        let parts = search.components(&piece, |block| inside[block] == number);
        // Components come in reverse topological order, as the stack of pieces needs them.
        for mut part in parts {
            part.sort_unstable();
            if part.len() == 1 {
                pieces.push(Piece { members: part, head: None, depth: 0, whole: true });
                continue;
            }
            let head = head_of(&previous, &part, piece.head);
            pieces.push(Piece { members: part, head: Some(head), depth: piece.depth + 1, whole: false });
        }
    }
    result
}

struct Piece {
    members: Vec<usize>,
    /// The head of the loop; edges to it are ignored.
    head: Option<usize>,
    depth: usize,
    /// Whether the piece is one block.
    whole: bool,
}

/// Returns the entry of a loop: the first member in the text with an edge from outside.
fn head_of(previous: &[Vec<usize>], part: &[usize], outer: Option<usize>) -> usize {
    let from_outside = |block: &usize| previous[*block].iter().any(|source| part.binary_search(source).is_err());
    let entered = part.iter().copied().filter(|block| Some(*block) != outer).find(from_outside);
    entered.unwrap_or(part[0])
}

const UNSEEN: usize = usize::MAX;

/// Tarjan's algorithm without recursion. The tables cover all blocks, and only the entries of a piece are reset. So
/// the time for many loops is linear in the length of the function.
struct Search<'n> {
    next: &'n [Vec<usize>],
    index: Vec<usize>,
    low: Vec<usize>,
    on_stack: Vec<bool>,
}

impl<'n> Search<'n> {
    fn new(next: &'n [Vec<usize>]) -> Search<'n> {
        let count = next.len();
        Search { next, index: vec![UNSEEN; count], low: vec![0; count], on_stack: vec![false; count] }
    }

    /// Returns the strongly connected components of a piece in reverse topological order.
    fn components(&mut self, piece: &Piece, inside: impl Fn(usize) -> bool) -> Vec<Vec<usize>> {
        let Search { next, index, low, on_stack } = self;
        piece.members.iter().for_each(|member| index[*member] = UNSEEN);
        let edges = |block: usize| {
            let head = piece.head;
            next[block].iter().copied().filter(|target| inside(*target) && Some(*target) != head).collect::<Vec<_>>()
        };
        let (mut stack, mut found, mut count) = (Vec::new(), Vec::new(), 0);
        // The head first, then the others in the order of the text.
        for root in piece.head.into_iter().chain(piece.members.iter().copied()) {
            if index[root] != UNSEEN {
                continue;
            }
            let mut work = vec![(root, edges(root), 0)];
            (index[root], low[root]) = (count, count);
            count += 1;
            stack.push(root);
            on_stack[root] = true;
            while let Some((block, targets, at)) = work.last_mut() {
                let block = *block;
                if let Some(target) = targets.get(*at).copied() {
                    *at += 1;
                    if index[target] == UNSEEN {
                        (index[target], low[target]) = (count, count);
                        count += 1;
                        stack.push(target);
                        on_stack[target] = true;
                        work.push((target, edges(target), 0));
                    } else if on_stack[target] {
                        low[block] = low[block].min(index[target]);
                    }
                    continue;
                }
                work.pop();
                if let Some((parent, ..)) = work.last() {
                    low[*parent] = low[*parent].min(low[block]);
                }
                if low[block] == index[block] {
                    let mut part = Vec::new();
                    while let Some(member) = stack.pop() {
                        on_stack[member] = false;
                        part.push(member);
                        if member == block {
                            break;
                        }
                    }
                    found.push(part);
                }
            }
        }
        found
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(edges: &[&[usize]]) -> Vec<usize> {
        order(&edges.iter().map(|targets| targets.to_vec()).collect::<Vec<_>>())
    }

    #[test]
    fn blocks_precede_their_successors() {
        // A branch whose second target is at the end of the text.
        assert_eq!(of(&[&[1, 3], &[2], &[], &[1]]), [0, 3, 1, 2]);
        // An unreachable block is left out.
        assert_eq!(of(&[&[2], &[2], &[]]), [0, 2]);
    }

    #[test]
    fn loops_are_contiguous() {
        // 0 → 1 → {2 (exit), 3 → 1}: the body 3 precedes the exit.
        assert_eq!(of(&[&[1], &[2, 3], &[], &[1]]), [0, 1, 3, 2]);
        // A loop in a loop, with the exits first in the text.
        assert_eq!(of(&[&[1], &[5, 2], &[4, 3], &[2], &[1], &[]]), [0, 1, 2, 3, 4, 5]);
        // A loop with two entries.
        let order = of(&[&[1, 2], &[2, 3], &[1], &[]]);
        assert_eq!((order[0], order[3], order.len()), (0, 3, 4));
    }

    #[test]
    fn many_loops_take_linear_time() {
        // Consecutive loops of two blocks: resetting all blocks for each of them would take minutes.
        let count = 100_000;
        let next: Vec<Vec<usize>> = (0..2 * count)
            .map(|block| if block % 2 == 0 { vec![block + 1, block + 2] } else { vec![block - 1] })
            .chain([Vec::new()])
            .collect();
        let expected: Vec<usize> = (0..=2 * count).collect();
        assert_eq!(order(&next), expected);
    }
}
