//! Sends and receives.

use crate::calls::Accesses;
use crate::library::is_nobody;
use crate::{Address, Count, Handle, requests, wrap};
use std::ffi::c_int;

/// Sends of one kind, with counts of this type.
macro_rules! sends {
    ($mode:ident $n:ty: $($name:ident)*) => {$(
        wrap! { $mode $name(buffer: Address, count: $n, datatype: Handle, dest: c_int, tag: c_int, comm: Handle)
            |call| if dest >= 0 { call.reads(buffer, count, datatype, comm) } }
    )*};
}
sends!(blocking c_int: MPI_Send MPI_Bsend MPI_Ssend MPI_Rsend);
sends!(blocking Count: MPI_Send_c MPI_Bsend_c MPI_Ssend_c MPI_Rsend_c);
sends!(nonblocking c_int: MPI_Isend MPI_Ibsend MPI_Issend MPI_Irsend);
sends!(nonblocking Count: MPI_Isend_c MPI_Ibsend_c MPI_Issend_c MPI_Irsend_c);

/// Receives whose last parameter is the status, or the request of a nonblocking one.
macro_rules! receives {
    ($n:ty: $blocking:ident $nonblocking:ident) => {
        wrap! { blocking $blocking(buffer: Address, count: $n, datatype: Handle, source: c_int, tag: c_int, comm: Handle, status: Address)
            |call| if !is_nobody(source) { call.writes(buffer, count, datatype, comm) } }
        wrap! { nonblocking $nonblocking(buffer: Address, count: $n, datatype: Handle, source: c_int, tag: c_int, comm: Handle)
            |call| if !is_nobody(source) { call.writes(buffer, count, datatype, comm) } }
    };
}
receives!(c_int: MPI_Recv MPI_Irecv);
receives!(Count: MPI_Recv_c MPI_Irecv_c);

/// A send and a receive in one call.
macro_rules! exchanges {
    ($n:ty: $blocking:ident $nonblocking:ident) => {
        wrap! { blocking $blocking(
            from: Address, sent: $n, of: Handle, dest: c_int, tag: c_int,
            to: Address, received: $n, into: Handle, source: c_int, other: c_int, comm: Handle, status: Address
        ) |call| {
            if dest >= 0 {
                call.reads(from, sent, of, comm);
            }
            if !is_nobody(source) {
                call.writes(to, received, into, comm);
            }
        } }
        wrap! { nonblocking $nonblocking(
            from: Address, sent: $n, of: Handle, dest: c_int, tag: c_int,
            to: Address, received: $n, into: Handle, source: c_int, other: c_int, comm: Handle
        ) |call| {
            if dest >= 0 {
                call.reads(from, sent, of, comm);
            }
            if !is_nobody(source) {
                call.writes(to, received, into, comm);
            }
        } }
    };
}
exchanges!(c_int: MPI_Sendrecv MPI_Isendrecv);
exchanges!(Count: MPI_Sendrecv_c MPI_Isendrecv_c);

/// Adds the accesses of an exchange in one buffer. A process without a partner accesses nothing on that side.
fn exchanged(
    call: &mut Accesses,
    (dest, source): (c_int, c_int),
    buffer: Address,
    count: impl Into<Count>,
    datatype: Handle,
    comm: Handle,
) {
    if !is_nobody(source) {
        call.writes(buffer, count, datatype, comm);
    } else if dest >= 0 {
        call.reads(buffer, count, datatype, comm);
    }
}

/// An exchange in one buffer.
macro_rules! replaces {
    ($n:ty: $blocking:ident $nonblocking:ident) => {
        wrap! { blocking $blocking(
            buffer: Address, count: $n, datatype: Handle, dest: c_int, tag: c_int, source: c_int, other: c_int, comm: Handle, status: Address
        ) |call| exchanged(call, (dest, source), buffer, count, datatype, comm) }
        wrap! { nonblocking $nonblocking(
            buffer: Address, count: $n, datatype: Handle, dest: c_int, tag: c_int, source: c_int, other: c_int, comm: Handle
        ) |call| exchanged(call, (dest, source), buffer, count, datatype, comm) }
    };
}
replaces!(c_int: MPI_Sendrecv_replace MPI_Isendrecv_replace);
replaces!(Count: MPI_Sendrecv_replace_c MPI_Isendrecv_replace_c);

/// Persistent requests: the accesses begin when the request is started.
macro_rules! persistent {
    ($n:ty: $($name:ident $access:ident)*) => {$(
        /// The function of MPI with this name.
        ///
        /// # Safety
        /// The arguments are as MPI defines them.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name(
            buffer: Address, count: $n, datatype: Handle, partner: c_int, tag: c_int, comm: Handle, request: Address,
        ) -> c_int {
            let real = wrap!(@real $name (count));
            type Real = unsafe extern "C" fn(Address, $n, Handle, c_int, c_int, Handle, Address) -> c_int;
            // SAFETY: the function has this name in every MPI library, and words take `int`s and pointers alike.
            let real: Real = unsafe { std::mem::transmute(real) };
            // SAFETY: by this function's contract.
            let result = unsafe { real(buffer, count, datatype, partner, tag, comm, request) };
            if result == crate::SUCCESS && !is_nobody(partner) {
                let accesses = crate::calls::described(|call| call.$access(buffer, count, datatype, comm));
                // SAFETY: the call has set the request.
                unsafe { requests::made(request, concat!(stringify!($name), "\0"), accesses) };
            }
            result
        }
    )*};
}
persistent!(c_int: MPI_Send_init reads MPI_Bsend_init reads MPI_Ssend_init reads MPI_Rsend_init reads MPI_Recv_init writes);
persistent!(Count: MPI_Send_init_c reads MPI_Bsend_init_c reads MPI_Ssend_init_c reads MPI_Rsend_init_c reads MPI_Recv_init_c writes);
