//! Objects that a graph keeps alive: [`keep_with_graph`].
//!
//! Captured work runs when the graph is launched, which may be long after the arrays and modules that it uses were dropped. The driver
//! counts references of graphs to *user objects*. A graph, its clones and its executable graphs hold one each. The destructor of a user
//! object must not call the driver, so it defers the drop of what was kept.
//!
//! Driver API: [`cuUserObjectCreate`, `cuGraphRetainUserObject`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__GRAPH.html).

use super::{DeferredRelease, Driver, Stream, call, capture};
use crate::{Error, Result};
use cuarray_abi::{CU_GRAPH_USER_OBJECT_MOVE, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC, CUuserObject};
use std::{any::Any, ffi::c_void};

/// The target of a user object.
struct KeptByGraph {
    driver: Driver,
    kept: Box<dyn Any + Send>,
}

impl DeferredRelease for KeptByGraph {
    fn attempt(self: Box<Self>, _wait: bool) {
        drop(self.kept);
    }
}

unsafe extern "C" fn release(kept: *mut c_void) {
    // SAFETY: the pointer came from `Box::into_raw`, and the driver calls the destructor once.
    let kept = unsafe { Box::from_raw(kept.cast::<KeptByGraph>()) };
    let driver = kept.driver.clone();
    driver.defer(kept);
}

/// Keeps `kept` alive as long as the graph that the stream captures, its clones, and executable graphs made from them. The stream's
/// context must be current.
///
/// # Errors
/// Unsupported: the driver has no user objects (before CUDA 11.3). Errors of the driver.
pub(crate) fn keep_with_graph(stream: &Stream, kept: impl Send + 'static) -> Result<()> {
    let driver = stream.driver();
    // SAFETY: the stream is alive by its type's invariant.
    let graph = unsafe { capture::graph(driver, stream.cu_stream()) }?;
    let Some(graph) = graph.filter(|_| driver.api().cuUserObjectCreate.is_some()) else {
        return Err(Error::unsupported(
            "the driver cannot keep arrays alive for a graph (before CUDA 11.3), so they cannot be used in a capture",
        ));
    };
    let target = Box::into_raw(Box::new(KeptByGraph { driver: driver.clone(), kept: Box::new(kept) })).cast::<c_void>();
    let mut object = CUuserObject::NULL;
    // SAFETY: the driver writes one handle, which outlives the call. The destructor takes the pointer of this call.
    let created = unsafe {
        call!(driver, cuUserObjectCreate(&mut object, target, Some(release), 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC))
    };
    if let Err(error) = created {
        // SAFETY: no user object was created, so the destructor is not called.
        drop(unsafe { Box::from_raw(target.cast::<KeptByGraph>()) });
        return Err(error);
    }
    // SAFETY: the stream's capture is active, so its graph is alive. The one reference to the object moves to the graph.
    let moved = unsafe { call!(driver, cuGraphRetainUserObject(graph, object, 1, CU_GRAPH_USER_OBJECT_MOVE)) };
    moved.inspect_err(|_| {
        // SAFETY: the reference has not been moved.
        let released = unsafe { call!(driver, cuUserObjectRelease(object, 1)) };
        driver.dropped(released);
    })
}
