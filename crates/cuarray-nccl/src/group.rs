//! `ncclGroupStart` and `ncclGroupEnd`: the jobs of a thread that are submitted together.

use crate::result::{Error, Outcome, answer, ncclResult_t};
use crate::state::{self, Job};
use std::cell::RefCell;

#[derive(Default)]
struct Group {
    depth: usize,
    jobs: Vec<Job>,
    /// The first failure of a call in the group, which fails the group.
    error: Option<Error>,
}

thread_local! {
    static GROUP: RefCell<Group> = RefCell::default();
}

/// Submits a job, or keeps it until the group ends.
pub(crate) fn submit(jobs: Vec<Job>) -> Outcome {
    let now = GROUP.with(|group| {
        let mut group = group.borrow_mut();
        if group.depth == 0 {
            return Some(jobs);
        }
        group.jobs.extend(jobs);
        None
    });
    now.map_or(Ok(()), state::submit)
}

/// The C result of a function that may be called in a group.
pub(crate) fn answer_in_group(function: &str, outcome: Outcome) -> ncclResult_t {
    if let Err(error) = &outcome {
        GROUP.with(|group| {
            let mut group = group.borrow_mut();
            if group.depth > 0 {
                group.error.get_or_insert_with(|| error.clone());
            }
        });
    }
    answer(function, outcome)
}

/// `ncclGroupStart`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupStart() -> ncclResult_t {
    GROUP.with(|group| group.borrow_mut().depth += 1);
    ncclResult_t::SUCCESS
}

/// `ncclGroupEnd`.
#[unsafe(no_mangle)]
pub(crate) extern "C" fn ncclGroupEnd() -> ncclResult_t {
    let ended = GROUP.with(|group| {
        let mut group = group.borrow_mut();
        if group.depth == 0 {
            return Err(Error::usage("no group has been started"));
        }
        group.depth -= 1;
        Ok((group.depth == 0).then(|| std::mem::take(&mut *group)))
    });
    answer(
        "ncclGroupEnd",
        ended.and_then(|group| match group {
            None => Ok(()),
            Some(Group { error: Some(error), jobs, .. }) => {
                jobs.into_iter().for_each(state::give_up);
                Err(error)
            }
            Some(Group { jobs, .. }) => state::submit(jobs),
        }),
    )
}
