//! How findings reach people: the formats in which a [`Report`](crate::finding::Report) is written.
//!
//! Each file here is one format, and all are written from the same plain data. JSON is for programs, the trace for timeline
//! viewers, the page for eyes. None of them computes anything about the program that was watched; what they share is how
//! things are called (`words`) and the lines of the program that a reader wants to see (`source`).

mod html;
#[cfg(test)]
mod sample;
mod source;
mod trace;
mod words;
