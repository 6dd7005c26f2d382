//! Collective calls within one group. Those between two groups are passed on without a report.

use crate::calls::{Accesses, Group, is_in_place};
use crate::{Address, Count, Handle, wrap};
use std::ffi::c_int;

/// Defines the four forms of a call: with `int` and with `MPI_Count`, blocking and nonblocking; or only those with `int`.
///
/// Forms with lists of large counts are not defined: a library that lacks them has no function that takes such a list.
macro_rules! forms {
    ($rule:ident: $name:ident $nonblocking:ident) => {
        $rule!(blocking c_int: $name);
        $rule!(nonblocking c_int: $nonblocking);
    };
    ($rule:ident: $name:ident $large:ident $nonblocking:ident $large_nonblocking:ident) => {
        $rule!(blocking c_int: $name);
        $rule!(blocking Count: $large);
        $rule!(nonblocking c_int: $nonblocking);
        $rule!(nonblocking Count: $large_nonblocking);
    };
}

/// The number of one process in a list.
fn of(list: *const c_int, rank: c_int) -> Count {
    // SAFETY: the program passes a list with a number for each process of the group.
    usize::try_from(rank).map_or(0, |rank| unsafe { list.add(rank).read_unaligned() }.into())
}

/// The blocks of all processes in one buffer.
struct Blocks {
    buffer: Address,
    counts: *const c_int,
    places: *const c_int,
    datatype: Handle,
    comm: Handle,
}

impl Blocks {
    /// Calls `add` with the start and the count of each block.
    fn each(&self, group: &Group, mut add: impl FnMut(Address, Count)) {
        let (mut lower, mut extent) = (0, 0);
        // SAFETY: the numbers are live, and the program passes the datatype of its call.
        let known = unsafe { crate::library::type_extent(self.datatype, &mut lower, &mut extent) };
        if known.is_none() || is_in_place(self.buffer) {
            return;
        }
        for rank in 0..group.size {
            let shift = (of(self.places, rank) as isize).wrapping_mul(extent);
            add(self.buffer.wrapping_add_signed(shift), of(self.counts, rank));
        }
    }

    fn read(&self, call: &mut Accesses, group: &Group) {
        self.each(group, |buffer, count| call.reads(buffer, count, self.datatype, self.comm));
    }

    fn written(&self, call: &mut Accesses, group: &Group) {
        self.each(group, |buffer, count| call.writes(buffer, count, self.datatype, self.comm));
    }
}

/// The number of elements of all processes.
fn total(count: impl Into<Count>, group: &Group) -> Count {
    count.into().saturating_mul(group.size.into())
}

macro_rules! bcast {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(buffer: Address, count: $n, datatype: Handle, root: c_int, comm: Handle) |call| {
            match Group::of(comm) {
                Some(group) if group.rank == root => call.reads(buffer, count, datatype, comm),
                Some(_) => call.writes(buffer, count, datatype, comm),
                None => {}
            }
        } }
    };
}
forms!(bcast: MPI_Bcast MPI_Bcast_c MPI_Ibcast MPI_Ibcast_c);

/// `MPI_Allreduce`, and the scans, which have its parameters.
macro_rules! allreduce {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(from: Address, to: Address, count: $n, datatype: Handle, op: Handle, comm: Handle) |call| {
            if Group::of(comm).is_some() {
                call.reads(from, count, datatype, comm);
                call.writes(to, count, datatype, comm);
            }
        } }
    };
}
forms!(allreduce: MPI_Allreduce MPI_Allreduce_c MPI_Iallreduce MPI_Iallreduce_c);
forms!(allreduce: MPI_Scan MPI_Scan_c MPI_Iscan MPI_Iscan_c);
forms!(allreduce: MPI_Exscan MPI_Exscan_c MPI_Iexscan MPI_Iexscan_c);

macro_rules! reduce {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(from: Address, to: Address, count: $n, datatype: Handle, op: Handle, root: c_int, comm: Handle) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, count, datatype, comm);
                if group.rank == root {
                    call.writes(to, count, datatype, comm);
                }
            }
        } }
    };
}
forms!(reduce: MPI_Reduce MPI_Reduce_c MPI_Ireduce MPI_Ireduce_c);

macro_rules! reduce_scatter_block {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(from: Address, to: Address, count: $n, datatype: Handle, op: Handle, comm: Handle) |call| {
            if let Some(group) = Group::of(comm) {
                let all = total(count, &group);
                call.reads(from, all, datatype, comm);
                // In place, the buffer is the input too.
                let written = if is_in_place(from) { all } else { count.into() };
                call.writes(to, written, datatype, comm);
            }
        } }
    };
}
forms!(reduce_scatter_block:
    MPI_Reduce_scatter_block MPI_Reduce_scatter_block_c MPI_Ireduce_scatter_block MPI_Ireduce_scatter_block_c);

macro_rules! reduce_scatter {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(from: Address, to: Address, counts: *const $n, datatype: Handle, op: Handle, comm: Handle) |call| {
            if let Some(group) = Group::of(comm) {
                let all = (0..group.size).map(|rank| of(counts, rank)).fold(0, Count::saturating_add);
                call.reads(from, all, datatype, comm);
                let written = if is_in_place(from) { all } else { of(counts, group.rank) };
                call.writes(to, written, datatype, comm);
            }
        } }
    };
}
forms!(reduce_scatter: MPI_Reduce_scatter MPI_Ireduce_scatter);

macro_rules! gather {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle, to: Address, received: $n, into: Handle, root: c_int, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, sent, of_type, comm);
                if group.rank == root {
                    call.writes(to, total(received, &group), into, comm);
                }
            }
        } }
    };
}
forms!(gather: MPI_Gather MPI_Gather_c MPI_Igather MPI_Igather_c);

macro_rules! gatherv {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle,
            to: Address, counts: *const $n, places: *const c_int, into: Handle, root: c_int, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, sent, of_type, comm);
                if group.rank == root {
                    Blocks { buffer: to, counts, places, datatype: into, comm }.written(call, &group);
                }
            }
        } }
    };
}
forms!(gatherv: MPI_Gatherv MPI_Igatherv);

macro_rules! scatter {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle, to: Address, received: $n, into: Handle, root: c_int, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                if group.rank == root {
                    call.reads(from, total(sent, &group), of_type, comm);
                }
                call.writes(to, received, into, comm);
            }
        } }
    };
}
forms!(scatter: MPI_Scatter MPI_Scatter_c MPI_Iscatter MPI_Iscatter_c);

macro_rules! scatterv {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, counts: *const $n, places: *const c_int, of_type: Handle,
            to: Address, received: $n, into: Handle, root: c_int, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                if group.rank == root {
                    Blocks { buffer: from, counts, places, datatype: of_type, comm }.read(call, &group);
                }
                call.writes(to, received, into, comm);
            }
        } }
    };
}
forms!(scatterv: MPI_Scatterv MPI_Iscatterv);

macro_rules! allgather {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle, to: Address, received: $n, into: Handle, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, sent, of_type, comm);
                call.writes(to, total(received, &group), into, comm);
            }
        } }
    };
}
forms!(allgather: MPI_Allgather MPI_Allgather_c MPI_Iallgather MPI_Iallgather_c);

macro_rules! allgatherv {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle, to: Address, counts: *const $n, places: *const c_int, into: Handle, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, sent, of_type, comm);
                Blocks { buffer: to, counts, places, datatype: into, comm }.written(call, &group);
            }
        } }
    };
}
forms!(allgatherv: MPI_Allgatherv MPI_Iallgatherv);

macro_rules! alltoall {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: $n, of_type: Handle, to: Address, received: $n, into: Handle, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                call.reads(from, total(sent, &group), of_type, comm);
                call.writes(to, total(received, &group), into, comm);
            }
        } }
    };
}
forms!(alltoall: MPI_Alltoall MPI_Alltoall_c MPI_Ialltoall MPI_Ialltoall_c);

macro_rules! alltoallv {
    ($mode:ident $n:ty: $name:ident) => {
        wrap! { $mode $name(
            from: Address, sent: *const $n, sent_places: *const c_int, of_type: Handle,
            to: Address, received: *const $n, places: *const c_int, into: Handle, comm: Handle
        ) |call| {
            if let Some(group) = Group::of(comm) {
                Blocks { buffer: from, counts: sent, places: sent_places, datatype: of_type, comm }.read(call, &group);
                Blocks { buffer: to, counts: received, places, datatype: into, comm }.written(call, &group);
            }
        } }
    };
}
forms!(alltoallv: MPI_Alltoallv MPI_Ialltoallv);
