//! The trace of a program: a line for every call, or a timeline of calls and work.
//!
//! The end of the file's name chooses: `.json` is a [`timeline`] for viewers, any other name has [`lines`] of text. A person reads the
//! lines to see which calls a library makes, with all arguments. The timeline shows when they ran and what they made the devices do.

mod arguments;
mod lines;
pub(crate) mod timeline;

pub(crate) use arguments::{Word, shown};
use cuarray_abi::CUresult;
use cuarray_races::site::Site;
use lines::Lines;
use std::fs::File;
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};
use timeline::Timeline;

/// An open trace.
pub(crate) enum Trace {
    Lines(Lines),
    Timeline(Arc<Timeline>),
}

/// A call that has returned.
pub(crate) struct Made<'a> {
    pub symbol: &'static str,
    pub result: CUresult,
    pub thread: u64,
    pub site: &'a Site,
    pub took: Duration,
    /// The number by which the work that the call enqueued names it; `None` without such work.
    pub flow: Option<u64>,
}

impl Trace {
    /// Opens a trace. `%p` in the name becomes the process id.
    ///
    /// # Errors
    /// A sentence with the path and the reason.
    pub(crate) fn create(path: &Path) -> Result<Trace, String> {
        let path = path.to_string_lossy().replace("%p", &std::process::id().to_string());
        let file = File::create(&path).map_err(|error| format!("CUARRAY_SIM_TRACE={path}: {error}"))?;
        Ok(match path.ends_with(".json") {
            true => Trace::Timeline(Arc::new(Timeline::new(file))),
            false => Trace::Lines(Lines::new(file)),
        })
    }

    pub(crate) fn timeline(&self) -> Option<&Arc<Timeline>> {
        match self {
            Trace::Timeline(timeline) => Some(timeline),
            Trace::Lines(_) => None,
        }
    }

    /// Begins a call: its arguments are shown as they are now, because the call may free them.
    pub(crate) fn begin(&self, shown: impl Fn() -> String) -> Begun<'_> {
        let arguments = match self {
            Trace::Lines(_) => shown(),
            Trace::Timeline(_) => String::new(),
        };
        Begun { trace: self, arguments, at: Instant::now() }
    }
}

/// A call that has begun.
pub(crate) struct Begun<'a> {
    trace: &'a Trace,
    arguments: String,
    at: Instant,
}

impl Begun<'_> {
    pub(crate) fn took(&self) -> Duration {
        self.at.elapsed()
    }

    /// Writes the call.
    pub(crate) fn end(&self, call: &Made<'_>) {
        match self.trace {
            Trace::Lines(lines) => lines.write(call, &self.arguments),
            Trace::Timeline(timeline) => timeline.call(call, self.at),
        }
    }
}
