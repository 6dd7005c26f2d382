//! The choice of an algorithm of a convolution. All compute by the same products of matrices.

use crate::convolution::{self, Kind};
use crate::convolution_descriptor::Problem;
use crate::handle::Handle;
use crate::status::{BAD_PARAM, NOT_SUPPORTED, NULL_POINTER, Outcome, cudnnStatus_t, write};
use crate::types::*;
use std::ffi::{c_int, c_void};
use std::time::Instant;

/// `cudnnGetConvolution…AlgorithmMaxCount`.
fn tell_count(kind: Kind, to: *mut c_int) -> Outcome {
    write(to, kind.count())
}

/// Writes what is known about the algorithms: first those that compute, in the order of preference, then the others.
fn tell(kind: Kind, time: f32, requested: c_int, returned: *mut c_int, to: *mut cudnnConvolutionAlgoPerf_t) -> Outcome {
    if returned.is_null() || to.is_null() {
        return Err(NULL_POINTER);
    }
    if requested < 1 {
        return Err(BAD_PARAM);
    }
    let others = (0..kind.count()).filter(|algo| !kind.supported().contains(algo));
    let all = kind.supported().iter().copied().chain(others);
    let mut count = 0;
    for (index, algo) in all.take(requested.unsigned_abs() as usize).enumerate() {
        let (status, time, memory) = match kind.workspace(algo) {
            Ok(bytes) => (cudnnStatus_t::SUCCESS, time, bytes),
            Err(status) => (status, -1.0, 0),
        };
        let known =
            cudnnConvolutionAlgoPerf_t { algo, status, time, memory, determinism: 1, math: 0, reserved: [0; 3] };
        write(to.wrapping_add(index), known)?;
        count += 1;
    }
    write(returned, count)
}

/// The functions of a kind of convolution. The descriptors come in the order of the header, and those of a [`Problem`] are named.
macro_rules! functions {
    ($($kind:ident $count:ident $get:ident $find:ident $find_in:ident $bytes:ident
        ($first:ident $second:ident $third:ident) ($first_at:ident $second_at:ident $third_at:ident)
        [$x:ident $w:ident $y:ident] [$x_at:ident $w_at:ident $y_at:ident];)*) => { $(
        pub(crate) fn $count(_: &Handle, to: *mut c_int) -> Outcome {
            tell_count(Kind::$kind, to)
        }

        /// Without measurements, so the time is unknown.
        pub(crate) fn $get(
            _: &Handle,
            $first: usize,
            $second: usize,
            conv: cudnnConvolutionDescriptor_t,
            $third: usize,
            requested: c_int,
            returned: *mut c_int,
            to: *mut cudnnConvolutionAlgoPerf_t,
        ) -> Outcome {
            Problem::of(conv, $x, $w, $y)?;
            tell(Kind::$kind, -1.0, requested, returned, to)
        }

        /// Without the memory of the program. There is one algorithm, so nothing is measured.
        pub(crate) fn $find(
            _: &Handle,
            $first: usize,
            $second: usize,
            conv: cudnnConvolutionDescriptor_t,
            $third: usize,
            requested: c_int,
            returned: *mut c_int,
            to: *mut cudnnConvolutionAlgoPerf_t,
        ) -> Outcome {
            Problem::of(conv, $x, $w, $y)?;
            tell(Kind::$kind, 0.0, requested, returned, to)
        }

        /// With the memory of the program, in which it computes once and waits.
        pub(crate) fn $find_in(
            handle: &Handle,
            $first: usize,
            $first_at: *mut c_void,
            $second: usize,
            $second_at: *mut c_void,
            conv: cudnnConvolutionDescriptor_t,
            $third: usize,
            $third_at: *mut c_void,
            requested: c_int,
            returned: *mut c_int,
            to: *mut cudnnConvolutionAlgoPerf_t,
            workspace: *mut c_void,
            given: usize,
        ) -> Outcome {
            let problem = Problem::of(conv, $x, $w, $y)?;
            if returned.is_null() || to.is_null() {
                return Err(NULL_POINTER);
            }
            if requested < 1 {
                return Err(BAD_PARAM);
            }
            let stream = handle.settings().stream;
            if handle.place.is_capturing(stream)? {
                return Err(NOT_SUPPORTED);
            }
            let start = Instant::now();
            convolution::measured(handle, Kind::$kind, problem, [$x_at, $w_at, $y_at], (workspace, given))?;
            handle.place.wait(stream)?;
            tell(Kind::$kind, start.elapsed().as_secs_f32() * 1e3, requested, returned, to)
        }

        pub(crate) fn $bytes(
            _: &Handle,
            $first: usize,
            $second: usize,
            conv: cudnnConvolutionDescriptor_t,
            $third: usize,
            algo: cudnnConvolutionAlgo_t,
            to: *mut usize,
        ) -> Outcome {
            Problem::of(conv, $x, $w, $y)?;
            write(to, Kind::$kind.workspace(algo)?)
        }
    )* };
}

functions! {
    Forward count_forward get_forward find_forward find_forward_in bytes_forward (x w y) (x_at w_at y_at) [x w y] [x_at w_at y_at];
    Data count_data get_data find_data find_data_in bytes_data (w y x) (w_at y_at x_at) [x w y] [x_at w_at y_at];
    Filter count_filter get_filter find_filter find_filter_in bytes_filter (x y w) (x_at y_at w_at) [x w y] [x_at w_at y_at];
}
