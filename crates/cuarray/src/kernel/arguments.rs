//! The arguments of launches: elements by value, guards, and tuples of both.

use crate::{
    Acquired, AcquiredMut, Dimension, Element, Owner, Result,
    array::guard::{GuardCore, Scope},
    driver::Stream,
    protocol::{interface::DevicePtr, padding},
};
use smallvec::SmallVec;
use std::{ffi::c_void, fmt, mem::MaybeUninit};

/// An argument of a kernel: a number or a structure of an [`Element`] type, passed by value, or an array, passed as its guard. A tuple
/// stands for its members.
///
/// `usize` and `isize` are passed as 64-bit integers: `size_t` and `ptrdiff_t` in CUDA C++, `.u64` and `.s64` in PTX. The padding
/// of structures is passed as zeros.
///
/// Guards are borrowed: `&array` for an [`Acquired`], `&mut array` for an [`AcquiredMut`]. So a launch cannot receive two writable
/// arguments over one array:
///
/// ```compile_fail,E0499
/// # use cuarray::{AcquiredMut, kernel::{Function, LaunchConfig}};
/// fn twice(kernel: &Function, mut array: AcquiredMut<'_>) {
///     let (stream, config) = (array.stream().clone(), LaunchConfig::new([1, 1, 1], [1, 1, 1]));
///     let _ = unsafe { kernel.launch(&stream, config, (&mut array, &mut array)) };
/// }
/// ```
///
/// A kernel that reads and writes one array through one parameter takes `&mut array`. If it has a parameter for each role, both
/// arguments are [`array.in_place()`](AcquiredMut::in_place).
///
/// A view has no address to pass:
///
/// ```compile_fail,E0277
/// # use cuarray::{RawView, Stream, kernel::{Function, LaunchConfig}};
/// fn not_ordered(kernel: &Function, stream: &Stream, array: &RawView) {
///     let _ = unsafe { kernel.launch(stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), (array,)) };
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be passed to a kernel",
    label = "neither an element nor a guard",
    note = "pass numbers, `Bool8` and structures of `cuarray::element!` by value",
    note = "acquire arrays for the launch's stream, and pass the guards as `&Acquired` or `&mut AcquiredMut`"
)]
pub trait Argument: sealed::Argument {}

impl<A: sealed::Argument> Argument for A {}

/// The arguments of a kernel, in the order of its parameters: a tuple of up to sixteen [`Argument`]s, or `()`. More of them fit into
/// tuples within the tuple: `(a, b, (c, d))` has four arguments.
///
/// ```
/// # use cuarray::{Acquired, AcquiredMut, Result, kernel::{Function, LaunchConfig}};
/// /// A call of `saxpy(float a, const float *x, float *y, unsigned n)`.
/// ///
/// /// # Safety
/// /// `kernel` has this signature.
/// unsafe fn saxpy(kernel: &Function, a: f32, x: &Acquired<'_>, y: &mut AcquiredMut<'_>, n: u32) -> Result<()> {
///     let stream = y.stream().clone();
///     // SAFETY: this function's contract.
///     unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n as usize, 256)?, (a, x, y, n)) }
/// }
/// ```
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be the arguments of a kernel",
    note = "pass a tuple of up to 16 arguments, also for one argument: `(x,)`; a member may be a tuple of further arguments",
    note = "numbers and structures of `cuarray::element!` go by value, and arrays as `&Acquired` or `&mut AcquiredMut`"
)]
pub trait Arguments: sealed::Arguments {}

impl<A: sealed::Arguments> Arguments for A {}

/// The conversion of arguments to the bytes that a kernel receives; sealed, because launches rely on it.
pub(crate) mod sealed {
    use super::{LaunchGuard, Passing};
    use crate::Element;

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be passed to a kernel",
        label = "neither an element nor a guard",
        note = "pass numbers, `Bool8` and structures of `cuarray::element!` by value",
        note = "acquire arrays for the launch's stream, and pass the guards as `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Argument {
        /// The values whose bytes the kernel receives.
        type Values;

        fn values(&self) -> Self::Values;

        /// Adds an entry for each parameter.
        fn pass<'a>(&'a self, values: &'a mut Self::Values, to: &mut Passing<'a>);
    }

    /// An argument for one parameter.
    pub trait Single {
        type Value: Element;

        fn value(&self) -> Self::Value;

        /// The guard, if the argument is one.
        fn guard(&self) -> Option<&dyn LaunchGuard>;
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be the arguments of a kernel",
        note = "pass a tuple of up to 16 arguments, also for one argument: `(x,)`; a member may be a tuple of further arguments",
        note = "numbers and structures of `cuarray::element!` go by value, and arrays as `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Arguments: Argument {}
}

/// The arguments of a launch, by parameter.
pub type Passing<'a> = SmallVec<[Passed<'a>; 16]>;

/// An argument during a launch.
pub struct Passed<'a> {
    pub(super) value: *const c_void,
    pub(super) size: usize,
    pub(super) guard: Option<&'a dyn LaunchGuard>,
}

/// A guard as a launch sees it.
pub trait LaunchGuard {
    /// The only stream that the guard can be used in.
    fn stream(&self) -> &Stream;

    /// Checks that the guard orders work which this thread enqueues in the stream. `capture` is the capture that the stream
    /// takes part in now.
    fn check_order(&self, capture: Option<u64>) -> Result<()>;

    /// An owner that keeps the memory alive.
    fn keep(&self) -> Option<Owner>;
}

/// Runs `to` with an entry for each parameter.
pub(super) fn passed<A: Arguments, R>(arguments: A, to: impl FnOnce(&[Passed<'_>]) -> R) -> R {
    let mut values = arguments.values();
    let mut passing = Passing::new();
    arguments.pass(&mut values, &mut passing);
    to(&passing)
}

// Without this, the compiler's message would be about `Single`, and not about kernels.
#[diagnostic::do_not_recommend]
impl<A: sealed::Single> sealed::Argument for A {
    type Values = MaybeUninit<A::Value>;

    fn values(&self) -> MaybeUninit<A::Value> {
        MaybeUninit::new(self.value())
    }

    fn pass<'a>(&'a self, values: &'a mut MaybeUninit<A::Value>, to: &mut Passing<'a>) {
        // The kernel receives all bytes of the value, which is at its place in memory now.
        padding::clear_value(values);
        to.push(Passed { value: values.as_ptr().cast(), size: size_of::<A::Value>(), guard: self.guard() });
    }
}

#[diagnostic::do_not_recommend]
impl<T: Element> sealed::Single for T {
    type Value = T;

    fn value(&self) -> T {
        *self
    }

    fn guard(&self) -> Option<&dyn LaunchGuard> {
        None
    }
}

macro_rules! sizes {
    ($($size:ty => $value:ty),*) => {$(
        /// `size_t` and `ptrdiff_t` have 64 bits on every device, whatever the host.
        impl sealed::Single for $size {
            type Value = $value;

            fn value(&self) -> $value {
                *self as $value
            }

            fn guard(&self) -> Option<&dyn LaunchGuard> {
                None
            }
        }
    )*};
}
sizes! { usize => u64, isize => i64 }

impl<T, D: Dimension, S: Scope> sealed::Single for &Acquired<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.data()
    }

    fn guard(&self) -> Option<&dyn LaunchGuard> {
        Some(Acquired::core(self))
    }
}

impl<T, D: Dimension, S: Scope> sealed::Single for &mut AcquiredMut<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.data()
    }

    fn guard(&self) -> Option<&dyn LaunchGuard> {
        Some(AcquiredMut::core(self))
    }
}

impl<S: Scope> LaunchGuard for GuardCore<'_, S> {
    fn stream(&self) -> &Stream {
        GuardCore::stream(self)
    }

    fn check_order(&self, capture: Option<u64>) -> Result<()> {
        GuardCore::check_order(self, capture)
    }

    fn keep(&self) -> Option<Owner> {
        GuardCore::keep(self)
    }
}

/// An array that a kernel receives through several parameters, and writes through some of them; from [`AcquiredMut::in_place`].
pub struct InPlace<'a, T, D: Dimension, S: Scope>(&'a AcquiredMut<'a, T, D, S>);

impl<T, D: Dimension, S: Scope> Clone for InPlace<'_, T, D, S> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<T, D: Dimension, S: Scope> Copy for InPlace<'_, T, D, S> {}

impl<T, D: Dimension, S: Scope> fmt::Debug for InPlace<'_, T, D, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("InPlace").field(self.0).finish()
    }
}

impl<'v, T, D: Dimension, S: Scope> AcquiredMut<'v, T, D, S> {
    /// The array as several arguments of one launch, for a kernel with a parameter for its input and another one for its output.
    ///
    /// Input and output are the same elements. A thread may read an element before it writes that element itself. Reading an element
    /// that another thread writes needs synchronization in the kernel, as in every launch.
    ///
    /// ```
    /// # cuarray::__simulated!(driver, context, stream);
    /// use cuarray::{DeviceArray, kernel::LaunchConfig};
    ///
    /// // scale(float factor, const float *from, float *to), for one block
    /// const PTX: &str = "// ...
    /// #   .version 8.0 .target sm_80 .address_size 64
    /// #   .visible .entry scale(.param .f32 factor, .param .u64 from, .param .u64 to) {
    /// #       .reg .b32 %r<2>; .reg .b64 %rd<4>; .reg .f32 %f<3>;
    /// #       ld.param.f32 %f1, [factor]; ld.param.u64 %rd1, [from]; ld.param.u64 %rd2, [to]; mov.u32 %r1, %tid.x;
    /// #       mul.wide.u32 %rd3, %r1, 4; add.u64 %rd1, %rd1, %rd3; add.u64 %rd2, %rd2, %rd3;
    /// #       ld.global.f32 %f2, [%rd1]; mul.rn.f32 %f2, %f2, %f1; st.global.f32 [%rd2], %f2; ret;
    /// #   }
    /// # ";
    ///
    /// let scale = context.kernel(PTX, "scale")?;
    /// let mut x = DeviceArray::from_host(&[1.0f32, 2.0, 3.0], [3], &stream)?;
    /// let mut guard = x.acquire_mut(&stream)?;
    /// let both = guard.in_place();
    /// // SAFETY: each of the 3 threads reads its element, and then writes it.
    /// unsafe { scale.launch(&stream, LaunchConfig::new([1, 1, 1], [3, 1, 1]), (10.0f32, both, both)) }?;
    /// guard.release()?;
    /// assert_eq!(x.to_host()?, [10.0, 20.0, 30.0]);
    /// # Ok::<(), cuarray::Error>(())
    /// ```
    pub fn in_place(&mut self) -> InPlace<'_, T, D, S> {
        InPlace(self)
    }
}

impl<T, D: Dimension, S: Scope> sealed::Single for InPlace<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.0.data()
    }

    fn guard(&self) -> Option<&dyn LaunchGuard> {
        Some(AcquiredMut::core(self.0))
    }
}

macro_rules! arguments {
    ($($name:ident $index:tt)*) => {
        impl<$($name: sealed::Argument),*> sealed::Argument for ($($name,)*) {
            type Values = ($($name::Values,)*);

            #[allow(clippy::unused_unit)]
            fn values(&self) -> Self::Values {
                ($(self.$index.values(),)*)
            }

            #[allow(unused_variables)]
            fn pass<'a>(&'a self, values: &'a mut Self::Values, to: &mut Passing<'a>) {
                $(self.$index.pass(&mut values.$index, to);)*
            }
        }

        impl<$($name: sealed::Argument),*> sealed::Arguments for ($($name,)*) {}
    };
}
arguments! {}
arguments! { A 0 }
arguments! { A 0 B 1 }
arguments! { A 0 B 1 C 2 }
arguments! { A 0 B 1 C 2 D 3 }
arguments! { A 0 B 1 C 2 D 3 E 4 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 }
arguments! { A 0 B 1 C 2 D 3 E 4 F 5 G 6 H 7 I 8 J 9 K 10 L 11 M 12 N 13 O 14 P 15 }
