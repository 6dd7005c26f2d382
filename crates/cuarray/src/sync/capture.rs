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
        spoiled => Err(unusable(stream.handle(), spoiled)),
    }
}

/// Whether the legacy default stream of a context can be used.
///
/// # Errors
/// Unsupported: not while another stream captures.
#[cfg(feature = "python")]
pub(super) fn of_legacy(context: &crate::driver::Context) -> Result<()> {
    match context.legacy_capture_status() {
        Ok(CaptureStatus::None) => Ok(()),
        spoiled => Err(unusable(1, spoiled)),
    }
}

/// What a stream is refused for that answered neither that it captures nor that it does not.
#[cold]
fn unusable(handle: usize, answer: Result<CaptureStatus>) -> Error {
    match answer {
        Ok(_) => Error::unsupported(format!(
            "{} is capturing a graph, and the capture has failed; end it, and capture anew",
            name(handle)
        )),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) => {
            Error::unsupported(format!(
                "{} cannot be used while a stream of its context that waits for it is capturing a graph; capture in a \
                 non-blocking stream, or order the work in another stream than this (nothing was done to the capture)",
                name(handle)
            ))
        }
        Err(error) => error,
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
                name(first.0.handle()),
                name(then.0.handle())
            )));
        }
    };
    Err(Error::unsupported(format!(
        "{} is capturing a graph and {} is not, so their work cannot be ordered; let both take part in the capture, or work on \
         the array before it begins, or say sync=False and order the work yourself (nothing was done to the capture)",
        name(capturing.handle()),
        name(running.handle())
    )))
}

/// The refusal of an order after work that runs, in a stream that captures.
#[cold]
pub(super) fn still_pending(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph, and work on the array that was enqueued outside of it is not done; wait for that before the \
         capture begins (nothing was done to the capture)",
        name(stream.handle())
    ))
}

/// The refusal of a host wait.
#[cold]
pub(super) fn cannot_wait(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph: its work does not run, and cannot be waited for; order yours in a stream of the capture, or \
         say sync=False (nothing was done to the capture)",
        name(stream.handle())
    ))
}

fn name(handle: usize) -> String {
    match handle {
        1 => "the legacy default stream".to_owned(),
        2 => "the per-thread default stream".to_owned(),
        handle => format!("stream {handle:#x}"),
    }
}
