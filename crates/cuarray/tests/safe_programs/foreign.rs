//! Memory of another library, which keeps to the contracts of the constructors that take it.

use cuarray::{Context, Driver, Error, Result, Stream, driver::Allocation, sync};
use cuarray_abi::{CU_STREAM_CAPTURE_STATUS_NONE, CUstream};
use std::sync::{
    Arc, Mutex,
    atomic::{AtomicUsize, Ordering},
};

/// The state of the other library.
#[derive(Default)]
pub struct Library {
    /// Memory that could not be freed in order, because a stream captured or a driver call failed. It is freed at the program's end.
    pub kept: Mutex<Vec<Allocation>>,
    /// The number of captures. While a stream captures, the host cannot wait for a context.
    pub captures: AtomicUsize,
}

/// A stream that an interface over the memory has named.
pub enum Named {
    Stream(Arc<Stream>),
    /// The per-thread default stream of a thread, in a context.
    PerThread(Context),
}

/// Memory of another library. The library frees it after its work in the streams that it has named, and that is all it knows.
pub struct Foreign {
    memory: Option<Allocation>,
    /// The stream of a stream-ordered allocation.
    stream: Option<Arc<Stream>>,
    named: Mutex<Vec<Named>>,
    pub device: usize,
    library: Arc<Library>,
}

impl Foreign {
    pub fn new(memory: Allocation, stream: Option<Arc<Stream>>, device: usize, library: Arc<Library>) -> Foreign {
        Foreign { memory: Some(memory), stream, named: Mutex::default(), device, library }
    }

    pub fn memory(&self) -> &Allocation {
        self.memory.as_ref().unwrap()
    }

    /// Orders the library's own work before an interface names `next`, or no stream.
    pub fn name(&self, next: Option<Named>) -> Result<()> {
        let mut named = self.named.lock().unwrap();
        match &next {
            Some(Named::Stream(next)) => self.order(&named, Some(next))?,
            _ => self.order(&named, None)?,
        }
        named.extend(next);
        Ok(())
    }

    /// Orders later work in `then`, or of the host, after the work in the streams of this library.
    fn order(&self, named: &[Named], then: Option<&Stream>) -> Result<()> {
        let streams = named.iter().filter_map(|named| match named {
            Named::Stream(stream) => Some(stream),
            Named::PerThread(_) => None,
        });
        for stream in self.stream.iter().chain(streams) {
            match then {
                Some(then) => sync::edge(stream, then)?,
                None => sync::synchronize(stream)?,
            }
        }
        for named in named {
            if let Named::PerThread(context) = named {
                if self.library.captures.load(Ordering::Relaxed) != 0 {
                    return Err(Error::unsupported("a stream captures"));
                }
                context.synchronize()?;
            }
        }
        Ok(())
    }

    fn captures(&self, named: &[Named]) -> bool {
        let streams = named.iter().filter_map(|named| match named {
            Named::Stream(stream) => Some(stream),
            Named::PerThread(_) => None,
        });
        self.stream.iter().chain(streams).any(|stream| is_capturing(stream))
    }
}

/// Whether the stream captures, or may.
pub fn is_capturing(stream: &Stream) -> bool {
    let driver: &Driver = stream.driver();
    let Ok(context) = stream.work_context() else { return true };
    let Ok(_current) = context.push() else { return true };
    let mut status = CU_STREAM_CAPTURE_STATUS_NONE;
    // SAFETY: the stream is alive; the driver writes one status.
    let known = unsafe { driver.api().cuStreamIsCapturing.unwrap()(CUstream(stream.handle()), &mut status) };
    !known.is_success() || status != CU_STREAM_CAPTURE_STATUS_NONE
}

impl Drop for Foreign {
    fn drop(&mut self) {
        let memory = self.memory.take().unwrap();
        let named = self.named.get_mut().unwrap();
        let named = std::mem::take(named);
        if self.captures(&named) || self.order(&named, self.stream.as_deref()).is_err() {
            self.library.kept.lock().unwrap().push(memory);
        }
    }
}
