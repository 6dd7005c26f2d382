//! Code that is generated for kernels on x86-64 processors with AVX2.
//!
//! The generated code works on whole warps, on the frames of the interpreter. So it can leave to the interpreter before any instruction, and
//! an instruction without a [template](super::template) is executed by its function, as the interpreter would. It leaves where threads
//! diverge or meet, at instructions that are not in runs, at the end of a turn, and after a fault.
//!
//! `flow` finds the blocks of a function, and `value` the registers with linear values. `emitter` emits the blocks, with `cache`, `rows`,
//! `floats`, `predicates`, `access`, `narrow`, `hulls`, `scattered`, `divergence` and `leaving`. The code calls the functions of `calls`. `compiled` keeps the code, in `executable` memory. `run` enters it, with
//! `linear_rows`.

mod access;
mod cache;
mod calls;
mod compiled;
mod context;
mod divergence;
mod emitter;
mod executable;
mod floats;
mod flow;
mod hulls;
mod leaving;
mod linear_rows;
mod narrow;
mod predicates;
mod rows;
mod run;
mod scattered;
mod value;

pub(crate) use compiled::Generated;
pub(crate) use run::{Deferred, Native};
