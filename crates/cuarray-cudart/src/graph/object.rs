//! Objects of the program that graphs keep alive.

use super::passed_on;
use crate::driver::cu;
use crate::types::*;
use cuarray_abi::Api;
use std::ffi::{c_uint, c_void};

passed_on! {
    fn cudaUserObjectCreate(object_out: *mut cudaUserObject_t, ptr: *mut c_void, destroy: cudaHostFn_t, initial_refcount: c_uint, flags: c_uint)
        needs object_out => cuUserObjectCreate;
    fn cudaUserObjectRetain(object: cudaUserObject_t, count: c_uint) => cuUserObjectRetain;
    fn cudaUserObjectRelease(object: cudaUserObject_t, count: c_uint) => cuUserObjectRelease;
    fn cudaGraphRetainUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint, flags: c_uint)
        => cuGraphRetainUserObject;
    fn cudaGraphReleaseUserObject(graph: cudaGraph_t, object: cudaUserObject_t, count: c_uint) => cuGraphReleaseUserObject;
}
