//! Code that is generated for kernels on x86-64 processors with AVX2.
//!
//! The generated code works on whole warps, on the frames of the interpreter. So it can leave to the interpreter before any instruction, and
//! an instruction without a [template](super::template) is executed by its function, as the interpreter would. So is one that is not in a
//! run, as a *step*, behind which code continues if the fragment is as before. It leaves where threads diverge or meet, unless they meet again
//! soon, at the end of a turn, and after a fault. At a barrier, it continues with the next warp.
//!
//! `flow` finds the blocks of a function, and `value` the registers with linear values. `emitter` emits the blocks, with `cache`, `rows`,
//! `floats`, `predicates`, `access`, `narrow`, `hulls`, `scattered`, `atomics`, `steps`, `divergence` and `leaving`. The code calls the functions of
//! `calls`. `compiled` keeps the code, in `executable` memory. `run` enters it, with `linear_rows`. If accesses are recorded, `journal` has those
//! that the code makes itself, and `written` knows those of shared memory that it may make.

mod access;
mod atomics;
mod cache;
mod calls;
mod cohort;
mod compiled;
mod context;
mod divergence;
mod emitter;
mod executable;
mod floats;
mod flow;
mod following;
mod hulls;
mod journal;
mod leaving;
mod linear_rows;
mod narrow;
mod predicates;
mod rows;
mod run;
mod scattered;
mod steps;
mod value;
mod written;

pub(crate) use cohort::Cohort;
pub(crate) use compiled::Generated;
pub(crate) use following::Following;
pub(crate) use journal::Journal;
pub(crate) use run::{Deferred, Native};
