//! The C functions: all that the headers of cuRAND declare.

use crate::discrete;
use crate::distribution::{Kind, Normal};
use crate::generator::{Algorithm, Choice, Ordering};
use crate::handles::{self, curandGenerator_t};
use crate::poisson::Table;
use crate::sobol::{self, DIMENSIONS, Form};
use crate::status::refuse;
use crate::status::{Outcome, curandStatus_t};
use cuarray_abi::CUstream;
use cuarray_stand_in::report_use;
use cuarray_stream_work::{c_name, guarded, write};
use std::ffi::{c_int, c_uint, c_void};
use std::sync::atomic::AtomicBool;
use std::sync::{Arc, Once, OnceLock};

/// The version of the interface: that of the newest cuRAND 10 whose functions are exported.
const VERSION: [c_int; 3] = [10, 4, 5];
/// The largest mean of a Poisson distribution.
const LARGEST_MEAN: f64 = 400_000.0;

const OUT_OF_RANGE: curandStatus_t = curandStatus_t::OUT_OF_RANGE;
const TYPE_ERROR: curandStatus_t = curandStatus_t::TYPE_ERROR;

/// Exports functions under their C names.
macro_rules! exports {
    ($($(#[$doc:meta])* $name:ident($($arg:ident: $ty:ty),*) $body:block)*) => { $(
        $(#[$doc])*
        ///
        /// # Safety
        /// Each pointer is null or points to what cuRAND's documentation says.
        #[unsafe(no_mangle)]
        pub unsafe extern "C" fn $name($($arg: $ty),*) -> curandStatus_t {
            guarded(const { c_name(concat!(stringify!($name), "\0")) }, || $body)
        }
        exports!(@node $name);
    )* };
    (@node $name:ident) => {
        #[cfg(all(versioned, not(test)))]
        ::std::arch::global_asm!(concat!(".symver ", stringify!($name), ", ", stringify!($name), "@@libcurand.so.10"));
    };
    (@refused $($name:ident)*) => { $(
        #[doc = concat!("`", stringify!($name), "`, which is refused.")]
        #[unsafe(no_mangle)]
        pub extern "C" fn $name() -> curandStatus_t {
            static TOLD: AtomicBool = AtomicBool::new(false);
            refuse(stringify!($name), &TOLD);
            curandStatus_t::ARCH_MISMATCH
        }
        exports!(@node $name);
    )* };
}

exports! {
    @refused
    curandGeneratePoissonMethod curandGenerateBinomial curandGenerateBinomialMethod
}

/// The algorithm of a `curandRngType_t`.
fn algorithm(kind: c_uint) -> Outcome<Algorithm> {
    match kind {
        100 | 101 => Ok(Algorithm::Xorwow),
        121 => Ok(Algorithm::Mrg32k3a),
        141 => Ok(Algorithm::Mtgp32),
        142 => Ok(Algorithm::Mt19937),
        161 => Ok(Algorithm::Philox),
        200 | 201 => Ok(Algorithm::Sobol32(Form::Plain)),
        202 => Ok(Algorithm::Sobol32(Form::Scrambled)),
        203 => Ok(Algorithm::Sobol64(Form::Plain)),
        204 => Ok(Algorithm::Sobol64(Form::Scrambled)),
        _ => Err(TYPE_ERROR),
    }
}

fn create(generator: *mut curandGenerator_t, kind: c_uint, on_device: bool) -> Outcome {
    if generator.is_null() {
        return Err(curandStatus_t::NOT_INITIALIZED);
    }
    let algorithm = algorithm(kind)?;
    static REPORT: Once = Once::new();
    REPORT.call_once(|| report_use("libcurand.so.10"));
    let choice = Choice { algorithm, seed: 0, offset: 0, ordering: Ordering::Default, dimensions: 1 };
    write(generator, handles::create(choice, on_device)?)
}

/// Generates single results with a generator whose words have 32 bits, or of any for distributions.
fn generate<T: crate::generator::Output + cuarray_stream_work::Plain>(
    generator: curandGenerator_t,
    output: *mut T,
    count: usize,
    kind: Kind,
) -> Outcome {
    let handle = handles::find(generator)?;
    let is_wide = handle.with(|current| Ok(matches!(current.choice.algorithm, Algorithm::Sobol64(_))))?;
    if (matches!(kind, Kind::Bits) && is_wide) || (matches!(kind, Kind::Bits64) && !is_wide) {
        return Err(TYPE_ERROR);
    }
    handle.generate(output, count, kind)
}

/// The Poisson distribution of a mean.
fn poisson(mean: f64) -> Outcome<Table> {
    // The comparison is false for NaN too.
    if mean > 0.0 && mean <= LARGEST_MEAN { Ok(Table::new(mean)) } else { Err(OUT_OF_RANGE) }
}

/// A list for the program, which lives until the process ends.
fn list<W: sobol::Word>(list: &'static OnceLock<Vec<W>>, to: *mut *const W, make: impl FnOnce() -> Vec<W>) -> Outcome {
    write(to, list.get_or_init(make).as_ptr())
}

exports! {
    /// `curandCreateGenerator`.
    curandCreateGenerator(generator: *mut curandGenerator_t, rng_type: c_uint) { create(generator, rng_type, true) }

    /// `curandCreateGeneratorHost`.
    curandCreateGeneratorHost(generator: *mut curandGenerator_t, rng_type: c_uint) { create(generator, rng_type, false) }

    /// `curandDestroyGenerator`. It waits for the work of the context.
    curandDestroyGenerator(generator: curandGenerator_t) { handles::destroy(generator) }

    /// `curandGetVersion`.
    curandGetVersion(version: *mut c_int) {
        let [major, minor, patch] = VERSION;
        write(version, major * 1000 + minor * 100 + patch)
    }

    /// `curandGetProperty`: a part of the version.
    curandGetProperty(part: c_uint, value: *mut c_int) {
        write(value, *VERSION.get(part as usize).ok_or(OUT_OF_RANGE)?)
    }

    /// `curandSetStream`.
    curandSetStream(generator: curandGenerator_t, stream: *mut c_void) {
        handles::find(generator)?.with(|current| {
            current.stream = CUstream(stream.addr());
            Ok(())
        })
    }

    /// `curandSetPseudoRandomGeneratorSeed`.
    curandSetPseudoRandomGeneratorSeed(generator: curandGenerator_t, seed: u64) {
        handles::find(generator)?.choose(|choice| {
            if choice.algorithm.is_quasi() {
                return Err(TYPE_ERROR);
            }
            choice.seed = seed;
            Ok(())
        })
    }

    /// `curandSetGeneratorOffset`.
    curandSetGeneratorOffset(generator: curandGenerator_t, offset: u64) {
        handles::find(generator)?.choose(|choice| {
            if matches!(choice.algorithm, Algorithm::Mt19937 | Algorithm::Mtgp32) {
                return Err(TYPE_ERROR);
            }
            choice.offset = offset;
            Ok(())
        })
    }

    /// `curandSetGeneratorOrdering`. The default, best and dynamic orderings are the same.
    curandSetGeneratorOrdering(generator: curandGenerator_t, order: c_uint) {
        let handle = handles::find(generator)?;
        let for_host = handle.is_for_host();
        handle.choose(|choice| {
            choice.ordering = match (choice.algorithm, order) {
                (Algorithm::Sobol32(_) | Algorithm::Sobol64(_), 201) => Ordering::Default,
                (Algorithm::Sobol32(_) | Algorithm::Sobol64(_), _) => return Err(OUT_OF_RANGE),
                (Algorithm::Mt19937, 100) if for_host => return Err(OUT_OF_RANGE),
                (_, 100 | 101) => Ordering::Default,
                (Algorithm::Xorwow, 102) => Ordering::Seeded,
                (_, 103) => Ordering::Legacy,
                (_, 104) if !for_host => Ordering::Default,
                _ => return Err(OUT_OF_RANGE),
            };
            Ok(())
        })
    }

    /// `curandSetQuasiRandomGeneratorDimensions`.
    curandSetQuasiRandomGeneratorDimensions(generator: curandGenerator_t, num_dimensions: c_uint) {
        handles::find(generator)?.choose(|choice| {
            if !choice.algorithm.is_quasi() {
                return Err(TYPE_ERROR);
            }
            let dimensions = num_dimensions as usize;
            if !(1..=DIMENSIONS).contains(&dimensions) {
                return Err(OUT_OF_RANGE);
            }
            choice.dimensions = dimensions;
            Ok(())
        })
    }

    /// `curandGenerate`.
    curandGenerate(generator: curandGenerator_t, outputPtr: *mut c_uint, num: usize) {
        generate(generator, outputPtr, num, Kind::Bits)
    }

    /// `curandGenerateLongLong`, for generators of 64 bits.
    curandGenerateLongLong(generator: curandGenerator_t, outputPtr: *mut u64, num: usize) {
        generate(generator, outputPtr, num, Kind::Bits64)
    }

    /// `curandGenerateUniform`.
    curandGenerateUniform(generator: curandGenerator_t, outputPtr: *mut f32, num: usize) {
        generate(generator, outputPtr, num, Kind::Uniform)
    }

    /// `curandGenerateUniformDouble`.
    curandGenerateUniformDouble(generator: curandGenerator_t, outputPtr: *mut f64, num: usize) {
        generate(generator, outputPtr, num, Kind::UniformDouble)
    }

    /// `curandGenerateNormal`.
    curandGenerateNormal(generator: curandGenerator_t, outputPtr: *mut f32, n: usize, mean: f32, stddev: f32) {
        generate(generator, outputPtr, n, Kind::Normal(Normal { mean, deviation: stddev, logarithmic: false }))
    }

    /// `curandGenerateNormalDouble`.
    curandGenerateNormalDouble(generator: curandGenerator_t, outputPtr: *mut f64, n: usize, mean: f64, stddev: f64) {
        generate(generator, outputPtr, n, Kind::NormalDouble(Normal { mean, deviation: stddev, logarithmic: false }))
    }

    /// `curandGenerateLogNormal`.
    curandGenerateLogNormal(generator: curandGenerator_t, outputPtr: *mut f32, n: usize, mean: f32, stddev: f32) {
        generate(generator, outputPtr, n, Kind::Normal(Normal { mean, deviation: stddev, logarithmic: true }))
    }

    /// `curandGenerateLogNormalDouble`.
    curandGenerateLogNormalDouble(generator: curandGenerator_t, outputPtr: *mut f64, n: usize, mean: f64, stddev: f64) {
        generate(generator, outputPtr, n, Kind::NormalDouble(Normal { mean, deviation: stddev, logarithmic: true }))
    }

    /// `curandGeneratePoisson`.
    curandGeneratePoisson(generator: curandGenerator_t, outputPtr: *mut c_uint, n: usize, lambda: f64) {
        handles::find(generator)?;
        generate(generator, outputPtr, n, Kind::Poisson(Arc::new(poisson(lambda)?)))
    }

    /// `curandCreatePoissonDistribution`, for the device functions of cuRAND's header.
    curandCreatePoissonDistribution(lambda: f64, discrete_distribution: *mut u64) {
        if discrete_distribution.is_null() {
            return Err(OUT_OF_RANGE);
        }
        write(discrete_distribution, discrete::create(lambda, &poisson(lambda)?)?)
    }

    /// `curandDestroyDistribution`.
    curandDestroyDistribution(discrete_distribution: u64) { discrete::destroy(discrete_distribution) }

    /// `curandGenerateSeeds`. Seeds are made when they are needed.
    curandGenerateSeeds(generator: curandGenerator_t) { handles::find(generator).map(drop) }

    /// `curandGetDirectionVectors32`.
    curandGetDirectionVectors32(vectors: *mut *const u32, set: c_uint) {
        static LISTS: [OnceLock<Vec<u32>>; 2] = [const { OnceLock::new() }; 2];
        match set {
            101 => list(&LISTS[0], vectors, || sobol::all(Form::Plain)),
            102 => list(&LISTS[1], vectors, || sobol::all(Form::Scrambled)),
            _ => Err(OUT_OF_RANGE),
        }
    }

    /// `curandGetDirectionVectors64`.
    curandGetDirectionVectors64(vectors: *mut *const u64, set: c_uint) {
        static LISTS: [OnceLock<Vec<u64>>; 2] = [const { OnceLock::new() }; 2];
        match set {
            103 => list(&LISTS[0], vectors, || sobol::all(Form::Plain)),
            104 => list(&LISTS[1], vectors, || sobol::all(Form::Scrambled)),
            _ => Err(OUT_OF_RANGE),
        }
    }

    /// `curandGetScrambleConstants32`.
    curandGetScrambleConstants32(constants: *mut *const u32) {
        static LIST: OnceLock<Vec<u32>> = OnceLock::new();
        list(&LIST, constants, sobol::shifts)
    }

    /// `curandGetScrambleConstants64`.
    curandGetScrambleConstants64(constants: *mut *const u64) {
        static LIST: OnceLock<Vec<u64>> = OnceLock::new();
        list(&LIST, constants, sobol::shifts)
    }
}
