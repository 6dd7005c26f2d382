//! Operations on buffers.

use crate::group::{answer_in_group, submit};
use crate::plan::{Buffers, Kind};
use crate::result::{Error, Outcome, ncclResult_t};
use crate::state::{self, Collective, Handle, Job, Transfer};
use crate::types::{DataType, Reduce};
use cuarray_abi::CUstream;
use std::ffi::c_int;

/// The rank of an argument, if the communicator has it.
fn rank(name: &str, number: c_int, ranks: usize) -> Outcome<usize> {
    let rank = usize::try_from(number).ok().filter(|rank| *rank < ranks);
    rank.ok_or_else(|| Error::argument(format!("{name} is {number}, and the communicator has {ranks} ranks")))
}

fn not_null(name: &str, address: u64, is_used: bool) -> Outcome {
    if address == 0 && is_used { Err(Error::argument(format!("{name} is null"))) } else { Ok(()) }
}

/// A call with its arguments, as C passes them.
struct Call {
    name: &'static str,
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    comm: Handle,
    stream: CUstream,
}

impl Call {
    /// Submits the operation that `kind` makes of the type and the number of ranks.
    fn run(self, kind: impl FnOnce(DataType, usize) -> Outcome<Kind>) -> ncclResult_t {
        let outcome = (|| {
            let (own, ranks, _) = state::describe(self.comm)?;
            let datatype = DataType::from_raw(self.datatype)?;
            let kind = kind(datatype, ranks)?;
            let (sends, receives) = match kind {
                Kind::Reduce(_, root) | Kind::Gather(root) => (true, own == root),
                Kind::Broadcast(root) | Kind::Scatter(root) => (own == root, true),
                _ => (true, true),
            };
            not_null("sendbuff", self.send, sends && self.count > 0)?;
            not_null("recvbuff", self.receive, receives && self.count > 0)?;
            let buffers = Buffers { send: self.send, receive: self.receive };
            let work = Collective { kind, buffers, count: self.count, datatype };
            submit(vec![Job::Collective { handle: self.comm, name: self.name, work, stream: self.stream }])
        })();
        answer_in_group(self.name, outcome)
    }

    fn transfer(self, peer: c_int, is_send: bool) -> ncclResult_t {
        let outcome = (|| {
            let (_, ranks, _) = state::describe(self.comm)?;
            let datatype = DataType::from_raw(self.datatype)?;
            let peer = rank("peer", peer, ranks)?;
            let (name, address) = if is_send { ("sendbuff", self.send) } else { ("recvbuff", self.receive) };
            not_null(name, address, self.count > 0)?;
            let transfer = Transfer { address, count: self.count, datatype };
            let (handle, stream) = (self.comm, self.stream);
            submit(vec![if is_send {
                Job::Send { handle, peer, transfer, stream }
            } else {
                Job::Receive { handle, peer, transfer, stream }
            }])
        })();
        answer_in_group(self.name, outcome)
    }
}

/// `ncclAllReduce`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllReduce(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    op: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclAllReduce", send, receive, count, datatype, comm, stream }
        .run(|datatype, _| Ok(Kind::AllReduce(Reduce::from_raw(op, datatype)?)))
}

/// `ncclReduce`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclReduce(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    op: c_int,
    root: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclReduce", send, receive, count, datatype, comm, stream }
        .run(|datatype, ranks| Ok(Kind::Reduce(Reduce::from_raw(op, datatype)?, rank("root", root, ranks)?)))
}

/// `ncclReduceScatter`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclReduceScatter(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    op: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclReduceScatter", send, receive, count, datatype, comm, stream }
        .run(|datatype, _| Ok(Kind::ReduceScatter(Reduce::from_raw(op, datatype)?)))
}

/// `ncclBroadcast`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclBroadcast(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    root: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclBroadcast", send, receive, count, datatype, comm, stream }
        .run(|_, ranks| Ok(Kind::Broadcast(rank("root", root, ranks)?)))
}

/// `ncclBcast`: a broadcast in place.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclBcast(
    buffer: u64,
    count: usize,
    datatype: c_int,
    root: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclBcast", send: buffer, receive: buffer, count, datatype, comm, stream }
        .run(|_, ranks| Ok(Kind::Broadcast(rank("root", root, ranks)?)))
}

/// `ncclAllGather`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAllGather(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclAllGather", send, receive, count, datatype, comm, stream }.run(|_, _| Ok(Kind::AllGather))
}

/// `ncclAlltoAll`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclAlltoAll(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclAlltoAll", send, receive, count, datatype, comm, stream }.run(|_, _| Ok(Kind::AlltoAll))
}

/// `ncclGather`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGather(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    root: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclGather", send, receive, count, datatype, comm, stream }
        .run(|_, ranks| Ok(Kind::Gather(rank("root", root, ranks)?)))
}

/// `ncclScatter`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclScatter(
    send: u64,
    receive: u64,
    count: usize,
    datatype: c_int,
    root: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclScatter", send, receive, count, datatype, comm, stream }
        .run(|_, ranks| Ok(Kind::Scatter(rank("root", root, ranks)?)))
}

/// `ncclSend`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclSend(
    send: u64,
    count: usize,
    datatype: c_int,
    peer: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclSend", send, receive: 0, count, datatype, comm, stream }.transfer(peer, true)
}

/// `ncclRecv`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclRecv(
    receive: u64,
    count: usize,
    datatype: c_int,
    peer: c_int,
    comm: Handle,
    stream: CUstream,
) -> ncclResult_t {
    Call { name: "ncclRecv", send: 0, receive, count, datatype, comm, stream }.transfer(peer, false)
}
