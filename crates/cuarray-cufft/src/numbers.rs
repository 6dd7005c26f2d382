//! The types of numbers in memory.

use crate::engine::Engine;
use crate::kinds::Direction;
use crate::problem::Problem;
use cuarray_stream_work::Plain;
use half::{bf16, f16};
use num_complex::Complex;
use realfft::FftNum;

/// A real number in memory, and the parts of a complex one.
pub(crate) trait Number: Plain {
    /// The type of the computation.
    type Work: FftNum;

    fn load(self) -> Self::Work;
    fn store(value: Self::Work) -> Self;
    /// Numbers of the computation in the same memory, if they have the same type.
    fn same(numbers: &mut [Self]) -> Option<&mut [Self::Work]>;
    fn same_complex(numbers: &mut [Complex<Self>]) -> Option<&mut [Complex<Self::Work>]>;
    /// The engine of a problem.
    fn engine(problem: &Problem, direction: Direction) -> &Engine<Self::Work>;
}

macro_rules! number {
    ($type:ty, $work:ty, $engines:ident, $load:expr, $store:expr, $same:expr) => {
        impl Number for $type {
            type Work = $work;

            fn load(self) -> $work {
                $load(self)
            }

            fn store(value: $work) -> $type {
                $store(value)
            }

            fn same(numbers: &mut [$type]) -> Option<&mut [$work]> {
                $same(numbers)
            }

            fn same_complex(numbers: &mut [Complex<$type>]) -> Option<&mut [Complex<$work>]> {
                $same(numbers)
            }

            fn engine(problem: &Problem, direction: Direction) -> &Engine<$work> {
                problem.engines.$engines[direction as usize]
                    .get_or_init(|| Engine::new(&problem.sizes, problem.types.0, direction))
            }
        }
    };
}

fn none<A, B>(_: &mut [A]) -> Option<&mut [B]> {
    None
}

number!(f32, f32, single, std::convert::identity, std::convert::identity, Some);
number!(f64, f64, double, std::convert::identity, std::convert::identity, Some);
number!(f16, f32, single, f16::to_f32, f16::from_f32, none);
number!(bf16, f32, single, bf16::to_f32, bf16::from_f32, none);
