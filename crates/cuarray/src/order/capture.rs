//! Asking whether streams capture, before anything is done that would harm a capture.
//!
//! Driver API: [`cuStreamIsCapturing`, `cuStreamGetCaptureInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html);
//! asking harms no capture, not even of the legacy default stream.

use crate::{
    Error, Result,
    driver::{CUresult, CaptureStatus, Stream},
};

/// The capture that a stream records into, by its number; `None` if the stream runs what it is given.
///
/// # Errors
/// Unsupported: the capture has been spoiled, or the stream is the legacy default one and out of use while another captures.
pub(super) fn of(stream: &Stream) -> Result<Option<u64>> {
    match stream.capture_status() {
        Ok(CaptureStatus::None) => Ok(None),
        // A driver that has captures but no numbers for them has one capture, as far as anybody can tell.
        Ok(CaptureStatus::Active) => Ok(Some(stream.capture_id()?.unwrap_or(0))),
        Ok(CaptureStatus::Invalidated) => Err(Error::unsupported(format!(
            "{} is capturing a graph, and the capture has failed; end it, and capture anew",
            name(stream)
        ))),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) => {
            Err(Error::unsupported(format!(
                "{} cannot be used while a stream of its context that waits for it is capturing a graph; capture in a \
                 non-blocking stream, or order the work in another stream than this (nothing was done to the capture)",
                name(stream)
            )))
        }
        Err(error) => Err(error),
    }
}

/// Checks that work in `then` can be ordered after work in `first`: both run, or both go into one graph.
pub(super) fn agree(first: (&Stream, Option<u64>), then: (&Stream, Option<u64>)) -> Result<()> {
    let (running, capturing) = match (first.1, then.1) {
        (first, then) if first == then => return Ok(()),
        (None, Some(_)) => (first.0, then.0),
        (Some(_), None) => (then.0, first.0),
        _ => {
            return Err(Error::unsupported(format!(
                "{} and {} are capturing two graphs, whose work nothing can order; use streams of one capture (nothing was done \
                 to the captures)",
                name(first.0),
                name(then.0)
            )));
        }
    };
    Err(Error::unsupported(format!(
        "{} is capturing a graph and {} is not, so their work cannot be ordered; let both take part in the capture, or work on \
         the array before it begins, or say sync=False and order the work yourself (nothing was done to the capture)",
        name(capturing),
        name(running)
    )))
}

/// The refusal of an order after work that runs, in a stream that captures.
#[cold]
pub(super) fn still_pending(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph, and work on the array that was enqueued outside of it is not done; wait for that before the \
         capture begins (nothing was done to the capture)",
        name(stream)
    ))
}

/// The refusal of a host wait.
#[cold]
pub(super) fn cannot_wait(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph: its work does not run, and cannot be waited for; order yours in a stream of the capture, or \
         say sync=False (nothing was done to the capture)",
        name(stream)
    ))
}

fn name(stream: &Stream) -> String {
    match stream.handle() {
        1 => "the legacy default stream".to_owned(),
        2 => "the per-thread default stream".to_owned(),
        handle => format!("stream {handle:#x}"),
    }
}
