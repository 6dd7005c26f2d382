//! The copies and reductions of an operation, and their order in the streams of the ranks.
//!
//! A rank reads the buffers of others and writes its own alone. Its stream waits until the buffers that it reads are ready, and the stream
//! of a buffer's rank waits until others have read it. There are no further edges.

use crate::driver::Lane;
use crate::result::{Error, Outcome};
use crate::types::{DataType, Reduce};

/// The operation of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    AllReduce(Reduce),
    Reduce(Reduce, usize),
    ReduceScatter(Reduce),
    Broadcast(usize),
    AllGather,
    AlltoAll,
    Gather(usize),
    Scatter(usize),
}

/// The buffers of a rank.
#[derive(Clone, Copy)]
pub(crate) struct Buffers {
    pub(crate) send: u64,
    pub(crate) receive: u64,
}

/// A copy into memory of the reading rank.
struct Copy {
    from: usize,
    address: u64,
    to: u64,
    bytes: usize,
}

/// A reduction into memory of the reading rank.
struct Reduction {
    operation: Reduce,
    /// The addresses of the operands, by rank.
    from: Vec<u64>,
    to: u64,
    count: usize,
}

enum Work {
    Copies(Vec<Copy>),
    Reduction(Reduction),
}

/// The work of one rank.
struct Task {
    lane: usize,
    work: Work,
}

impl Task {
    /// The other ranks whose buffers the task reads.
    fn sources(&self, lanes: usize) -> Vec<usize> {
        let is_read = |lane: &usize| match &self.work {
            Work::Copies(copies) => copies.iter().any(|copy| copy.from == *lane),
            Work::Reduction(reduction) => *lane < reduction.from.len(),
        };
        (0..lanes).filter(|lane| *lane != self.lane).filter(is_read).collect()
    }
}

/// Enqueues an operation of all ranks.
pub(crate) fn collective(
    kind: Kind,
    lanes: &[Lane<'_>],
    buffers: &[Buffers],
    count: usize,
    datatype: DataType,
) -> Outcome {
    let ranks = lanes.len();
    let size = datatype.size();
    let bytes = count.checked_mul(size).filter(|bytes| bytes.checked_mul(ranks).is_some());
    let bytes = bytes.ok_or_else(|| Error::argument(format!("{count} elements are too many")))?;
    if count == 0 {
        return Ok(());
    }
    check_captures(lanes)?;
    let block = |number: usize| (number * bytes) as u64;
    let copies = |lane, copies| Task { lane, work: Work::Copies(copies) };
    let reduction = |lane, operation, offset: u64, count, to| Task {
        lane,
        work: Work::Reduction(Reduction {
            operation,
            from: buffers.iter().map(|each| each.send + offset).collect(),
            to,
            count,
        }),
    };
    let tasks: Vec<Task> = match kind {
        Kind::AllReduce(operation) => {
            // Each rank reduces a part, and then takes the other parts from the other ranks.
            let part = count.div_ceil(ranks);
            let parts: Vec<(usize, u64, usize)> = (0..ranks)
                .map(|rank| (rank, (rank * part).min(count), ((rank + 1) * part).min(count)))
                .filter(|(_, start, end)| start < end)
                .map(|(rank, start, end)| (rank, (start * size) as u64, end - start))
                .collect();
            let reduced = parts.iter().map(|&(rank, offset, count)| {
                reduction(rank, operation, offset, count, buffers[rank].receive + offset)
            });
            run(lanes, &reduced.collect::<Vec<_>>(), datatype)?;
            (0..ranks)
                .map(|rank| {
                    let others = parts.iter().filter(|(from, ..)| *from != rank);
                    let copy = |&(from, offset, count): &(usize, u64, usize)| Copy {
                        from,
                        address: buffers[from].receive + offset,
                        to: buffers[rank].receive + offset,
                        bytes: count * size,
                    };
                    copies(rank, others.map(copy).collect())
                })
                .collect()
        }
        Kind::Reduce(operation, root) => vec![reduction(root, operation, 0, count, buffers[root].receive)],
        Kind::ReduceScatter(operation) => {
            (0..ranks).map(|rank| reduction(rank, operation, block(rank), count, buffers[rank].receive)).collect()
        }
        Kind::Broadcast(root) => (0..ranks)
            .map(|rank| {
                copies(rank, vec![Copy { from: root, address: buffers[root].send, to: buffers[rank].receive, bytes }])
            })
            .collect(),
        Kind::AllGather => (0..ranks).map(|rank| copies(rank, gathered(rank, buffers, bytes))).collect(),
        Kind::AlltoAll => (0..ranks)
            .map(|rank| {
                let copy = |from: usize| Copy {
                    from,
                    address: buffers[from].send + block(rank),
                    to: buffers[rank].receive + block(from),
                    bytes,
                };
                copies(rank, (0..ranks).map(copy).collect())
            })
            .collect(),
        Kind::Gather(root) => vec![copies(root, gathered(root, buffers, bytes))],
        Kind::Scatter(root) => (0..ranks)
            .map(|rank| {
                let address = buffers[root].send + block(rank);
                copies(rank, vec![Copy { from: root, address, to: buffers[rank].receive, bytes }])
            })
            .collect(),
    };
    run(lanes, &tasks, datatype)
}

/// The copies of all send buffers to a rank, in the order of the ranks.
fn gathered(rank: usize, buffers: &[Buffers], bytes: usize) -> Vec<Copy> {
    let copy = |(from, each): (usize, &Buffers)| Copy {
        from,
        address: each.send,
        to: buffers[rank].receive + (from * bytes) as u64,
        bytes,
    };
    buffers.iter().enumerate().map(copy).collect()
}

/// Enqueues a send and its receive.
pub(crate) fn transfer(sender: Lane<'_>, send: u64, receiver: Lane<'_>, receive: u64, bytes: usize) -> Outcome {
    if bytes == 0 {
        return Ok(());
    }
    let lanes = [sender, receiver];
    check_captures(&lanes)?;
    let copy = Copy { from: 0, address: send, to: receive, bytes };
    run(&lanes, &[Task { lane: 1, work: Work::Copies(vec![copy]) }], DataType::Uint8)
}

/// Refuses streams of different captures, as no edge can lead from one graph to another.
fn check_captures(lanes: &[Lane<'_>]) -> Outcome {
    let captures = lanes.iter().map(Lane::capture).collect::<Outcome<Vec<_>>>()?;
    if captures.windows(2).any(|pair| pair[0] != pair[1]) {
        return Err(Error::usage(
            "the streams of the ranks are not in one capture: operations of several ranks in their own graphs are not supported",
        ));
    }
    Ok(())
}

fn run(lanes: &[Lane<'_>], tasks: &[Task], datatype: DataType) -> Outcome {
    let sources: Vec<Vec<usize>> = tasks.iter().map(|task| task.sources(lanes.len())).collect();
    for (number, lane) in lanes.iter().enumerate() {
        if sources.iter().any(|each| each.contains(&number)) {
            lane.record_ready()?;
        }
    }
    for (task, sources) in tasks.iter().zip(&sources) {
        let lane = &lanes[task.lane];
        for source in sources {
            lane.wait_until_ready(&lanes[*source])?;
        }
        match &task.work {
            Work::Copies(copies) => {
                for copy in copies {
                    lane.copy(copy.to, lanes[copy.from].rank, copy.address, copy.bytes)?;
                }
            }
            Work::Reduction(reduction) => reduce(lane, lanes, reduction, datatype)?,
        }
        if !sources.is_empty() {
            lane.record_done()?;
        }
    }
    for (task, sources) in tasks.iter().zip(&sources) {
        for source in sources {
            lanes[*source].wait_until_done(&lanes[task.lane])?;
        }
    }
    Ok(())
}

/// Brings the operands to the rank's device and reduces them there.
fn reduce(lane: &Lane<'_>, lanes: &[Lane<'_>], reduction: &Reduction, datatype: DataType) -> Outcome {
    let bytes = reduction.count * datatype.size();
    if let [address] = reduction.from[..] {
        return lane.copy(reduction.to, lane.rank, address, bytes);
    }
    let staging = lane.allocate(bytes * lanes.len())?;
    let copies =
        reduction.from.iter().enumerate().try_for_each(|(from, address)| {
            lane.copy(staging + (from * bytes) as u64, lanes[from].rank, *address, bytes)
        });
    let reduced = copies
        .and_then(|()| lane.reduce(datatype, reduction.operation, reduction.to, staging, reduction.count, lanes.len()));
    // Freed after a failure, too.
    reduced.and(lane.free(staging))
}
