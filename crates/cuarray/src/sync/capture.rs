//! Capture checks, made before any call that would invalidate a capture.
//!
//! Driver API: [`cuStreamIsCapturing`, `cuStreamGetCaptureInfo`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__STREAM.html);
//! these queries leave every capture intact, also when they ask about the legacy default stream.

use crate::{
    Error, Result,
    driver::{CUresult, CaptureStatus, Stream},
};

/// The capture that a stream took part in at some time, as far as it is known.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum KnownCapture {
    /// The driver was not asked, since no edge was needed.
    #[default]
    NotAsked,
    /// The stream ran its work.
    NoCapture,
    /// The id of the capture.
    Capture(u64),
}

impl KnownCapture {
    /// The capture as [`of`] returns it; asks the driver now if it was not asked.
    pub(super) fn or_ask(self, stream: &Stream) -> Result<Option<u64>> {
        match self {
            KnownCapture::NotAsked => of(stream),
            KnownCapture::NoCapture => Ok(None),
            KnownCapture::Capture(id) => Ok(Some(id)),
        }
    }
}

impl From<Option<u64>> for KnownCapture {
    fn from(capture: Option<u64>) -> KnownCapture {
        capture.map_or(KnownCapture::NoCapture, KnownCapture::Capture)
    }
}

/// The id of the capture that a stream takes part in; `None` if the stream runs its work.
///
/// # Errors
/// Unsupported: the capture has been invalidated, or the stream is the legacy default stream and another stream's capture
/// makes it unusable.
pub(crate) fn of(stream: &Stream) -> Result<Option<u64>> {
    match stream.capture_status() {
        Ok(CaptureStatus::None) => Ok(None),
        // A driver that has captures but no capture ids: treat all of its captures as one.
        Ok(CaptureStatus::Active) => Ok(Some(stream.capture_id()?.unwrap_or(0))),
        status => Err(unusable(stream.handle(), status)),
    }
}

/// Checks that the host can wait for work without a stream, which runs in the legacy default stream of `context`.
///
/// # Errors
/// Unsupported: a blocking stream of the context is capturing.
#[cfg(feature = "python")]
pub(crate) fn of_legacy(context: &crate::driver::Context) -> Result<()> {
    match context.legacy_capture_status() {
        Ok(CaptureStatus::None) => Ok(()),
        status => Err(unusable(1, status)),
    }
}

/// The error for a stream whose capture has failed, or whose capture status is unknown.
#[cold]
fn unusable(handle: usize, status: Result<CaptureStatus>) -> Error {
    match status {
        Ok(_) => Error::unsupported(format!(
            "{} is capturing a graph, and the capture has failed; end it, and begin a new capture",
            name(handle)
        )),
        Err(error) if error.driver_code() == Some(CUresult::CUDA_ERROR_STREAM_CAPTURE_IMPLICIT) => {
            Error::unsupported(format!(
                "{} cannot be used while a stream of its context that waits for it is capturing a graph; capture in a \
                 non-blocking stream, or order the work in another stream (the capture is unchanged)",
                name(handle)
            ))
        }
        Err(error) => error,
    }
}

/// Checks that work in `then` can be ordered after work in `first`: both streams run, or both take part in one capture.
pub(super) fn agree(first: (&Stream, Option<u64>), then: (&Stream, Option<u64>)) -> Result<()> {
    let (running, capturing) = match (first.1, then.1) {
        (first, then) if first == then => return Ok(()),
        (None, Some(_)) => (first.0, then.0),
        (Some(_), None) => (then.0, first.0),
        _ => {
            return Err(Error::unsupported(format!(
                "{} and {} are capturing two graphs, so their work cannot be ordered; use streams of one capture (the captures \
                 are unchanged)",
                name(first.0.handle()),
                name(then.0.handle())
            )));
        }
    };
    Err(Error::unsupported(format!(
        "{} is capturing a graph and {} is not, so their work cannot be ordered; let both take part in the capture, or work on \
         the array before it begins, or pass sync=False and order the work yourself (the capture is unchanged)",
        name(capturing.handle()),
        name(running.handle())
    )))
}

/// The error for a capturing stream that would have to wait for work outside of the capture.
#[cold]
pub(super) fn still_pending(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph, and work on the array that was enqueued outside of it is not done; wait for that work before the \
         capture begins (the capture is unchanged)",
        name(stream.handle())
    ))
}

/// The error for work with a guard that was acquired in another capture, or `before` any capture.
#[cold]
pub(super) fn differs(stream: &Stream, before: bool) -> Error {
    let when = match before {
        true => "before the stream began to capture a graph; acquire it during the capture",
        false => "during a capture that has ended; acquire it again",
    };
    Error::unsupported(format!("the array was acquired for {} {when}", name(stream.handle())))
}

/// The error for the end of a guard whose stream has begun a capture since.
#[cold]
pub(super) fn began_since(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} has begun to capture a graph since the array was acquired, so the array cannot be released now; it is released when the \
         capture has ended, and until then the array cannot be acquired (the capture is unchanged)",
        name(stream.handle())
    ))
}

/// The error for a host wait on a capturing stream.
#[cold]
pub(super) fn cannot_wait(stream: &Stream) -> Error {
    Error::unsupported(format!(
        "{} is capturing a graph: its work does not run, so the host cannot wait for it; order your work in a stream of the capture, or \
         pass sync=False (the capture is unchanged)",
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
