//! Kernel launches, ordered with other work on their arrays.
//!
//! **Addresses come from guards.** A launch goes to one stream. An array argument is a guard ([`Acquired`], [`AcquiredMut`]),
//! which orders that stream after the array's producer, and the producer after that stream. A guard for another stream is an
//! error, because it orders nothing here. So is a guard for the per-thread default stream of another thread. The launch borrows
//! its guards, so they are released after it, and later work is ordered after it.
//!
//! **Checked**: the grid and block dimensions, the threads and shared memory against the kernel's limits, and the stream's context.
//! From CUDA 12.4 on, the driver reports the kernel's parameters, and the number and sizes of the arguments are checked too.
//!
//! **Not checked**: the code of the kernel, so [`Function::launch`] is `unsafe`. A kernel takes an address and computes others
//! from it. Only its code decides whether it stays within the array, uses the right element type, and leaves arrays that were
//! acquired for reading unchanged.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).

use super::Function;
use crate::{
    Acquired, AcquiredMut, Dimension, Element, Error, Owner, Result,
    array::guard::{GuardCore, Scope},
    driver::{Stream, call, keep_with_graph},
    protocol::interface::DevicePtr,
    sync,
};
use sealed::LaunchGuard;
use smallvec::SmallVec;
use std::{ffi::c_void, fmt, mem::MaybeUninit, ptr};

/// The grid, the blocks and the dynamic shared memory of a launch.
///
/// ```
/// use cuarray::kernel::LaunchConfig;
///
/// let config = LaunchConfig::for_elements(1000, 256)?; // one thread per element, in blocks of 256
/// assert_eq!(config, LaunchConfig::new([4, 1, 1], [256, 1, 1]));
/// let tiled = LaunchConfig::new([8, 8, 1], [16, 16, 1]).with_dynamic_shared(2 * 16 * 16 * 4);
/// assert_eq!(tiled.dynamic_shared, 2048);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Number of blocks in x, y and z.
    pub grid: [u32; 3],
    /// Number of threads in a block, in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// A configuration with a grid of equal blocks, without dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig { grid, block, dynamic_shared: 0 }
    }

    /// A configuration with one thread per element: blocks of `threads` threads along x. The last block may have more
    /// threads than elements remain, so the kernel must compare its index with the number of elements. For 0 elements
    /// there is one block, because a grid cannot be empty.
    ///
    /// # Errors
    /// A wrong argument: no threads, or more blocks than a grid can have (2³¹ − 1).
    pub fn for_elements(elements: usize, threads: u32) -> Result<LaunchConfig> {
        if threads == 0 {
            return Err(Error::argument("a block cannot have 0 threads"));
        }
        let blocks = elements.div_ceil(threads as usize).max(1);
        match i32::try_from(blocks) {
            Ok(blocks) => Ok(LaunchConfig::new([blocks.unsigned_abs(), 1, 1], [threads, 1, 1])),
            Err(_) => Err(Error::argument(format!(
                "{elements} elements in blocks of {threads} threads need {blocks} blocks, and a grid has at most 2147483647; let \
                 each thread process several elements"
            ))),
        }
    }

    /// Sets the dynamic shared memory of each block, in bytes.
    #[must_use]
    pub const fn with_dynamic_shared(self, bytes: u32) -> LaunchConfig {
        LaunchConfig { dynamic_shared: bytes, ..self }
    }

    fn check(&self, function: &Function) -> Result<()> {
        let refused = |why: String| Err(Error::argument(format!("kernel {:?}: {why}", function.name())));
        let LaunchConfig { grid, block, dynamic_shared } = *self;
        if grid.contains(&0) || block.contains(&0) {
            return refused(format!("a grid of {grid:?} blocks of {block:?} threads is empty"));
        }
        if grid[0] > i32::MAX as u32 || grid[1] > 65535 || grid[2] > 65535 {
            return refused(format!(
                "a grid of {grid:?} blocks is too large; a grid has at most [2147483647, 65535, 65535]"
            ));
        }
        let threads = block.iter().map(|extent| u128::from(*extent)).product::<u128>();
        let most = function.max_threads_per_block();
        if threads > u128::from(most) {
            return refused(format!(
                "a block of {block:?} has {threads} threads, but the kernel allows at most {most}"
            ));
        }
        let most = function.max_dynamic_shared();
        if dynamic_shared > most {
            return refused(format!(
                "{dynamic_shared} bytes of dynamic shared memory are more than the {most} that the kernel allows; see \
                 Function::set_max_dynamic_shared"
            ));
        }
        Ok(())
    }
}

/// One argument of a kernel: a number or a structure of an [`Element`] type, passed by value, or an array, passed as its guard.
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

/// The arguments of a kernel, in the order of its parameters: a tuple of up to sixteen [`Argument`]s, or `()`.
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
    note = "pass a tuple of up to 16 arguments, also for one argument: `(x,)`; more fit into a structure of `cuarray::element!`",
    note = "numbers and structures of `cuarray::element!` go by value, and arrays as `&Acquired` or `&mut AcquiredMut`"
)]
pub trait Arguments: sealed::Arguments {}

impl<A: sealed::Arguments> Arguments for A {}

/// The conversion of arguments to the bytes that a kernel receives; sealed, because launches rely on it.
pub(crate) mod sealed {
    use super::{Owner, Result, Stream};
    use crate::{Element, protocol::padding};
    use std::{ffi::c_void, mem::MaybeUninit};

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

    impl<'a> Passed<'a> {
        /// An argument whose value is at its place in memory. Clears the padding, because the kernel receives all bytes.
        pub(super) fn new<A: Argument>(argument: &'a A, value: &'a mut MaybeUninit<A::Value>) -> Passed<'a> {
            padding::clear_value(value);
            Passed { value: value.as_ptr().cast(), size: size_of::<A::Value>(), guard: argument.guard() }
        }
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be passed to a kernel",
        label = "neither an element nor a guard",
        note = "pass numbers, `Bool8` and structures of `cuarray::element!` by value",
        note = "acquire arrays for the launch's stream, and pass the guards as `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Argument {
        type Value: Element;

        /// The value whose bytes the kernel receives.
        fn value(&self) -> Self::Value;

        /// The guard, if the argument is one.
        fn guard(&self) -> Option<&dyn LaunchGuard>;
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be the arguments of a kernel",
        note = "pass a tuple of up to 16 arguments, also for one argument: `(x,)`; more fit into a structure of `cuarray::element!`",
        note = "numbers and structures of `cuarray::element!` go by value, and arrays as `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Arguments {
        fn pass<R>(self, to: impl FnOnce(&[Passed<'_>]) -> R) -> R;
    }
}

// Without this, the compiler's message would be about `Element`, and not about kernels.
#[diagnostic::do_not_recommend]
impl<T: Element> sealed::Argument for T {
    type Value = T;

    fn value(&self) -> T {
        *self
    }

    fn guard(&self) -> Option<&dyn sealed::LaunchGuard> {
        None
    }
}

macro_rules! sizes {
    ($($size:ty => $value:ty),*) => {$(
        /// `size_t` and `ptrdiff_t` have 64 bits on every device, whatever the host.
        impl sealed::Argument for $size {
            type Value = $value;

            fn value(&self) -> $value {
                *self as $value
            }

            fn guard(&self) -> Option<&dyn sealed::LaunchGuard> {
                None
            }
        }
    )*};
}
sizes! { usize => u64, isize => i64 }

impl<T, D: Dimension, S: Scope> sealed::Argument for &Acquired<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.data()
    }

    fn guard(&self) -> Option<&dyn sealed::LaunchGuard> {
        Some(Acquired::core(self))
    }
}

impl<T, D: Dimension, S: Scope> sealed::Argument for &mut AcquiredMut<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.data()
    }

    fn guard(&self) -> Option<&dyn sealed::LaunchGuard> {
        Some(AcquiredMut::core(self))
    }
}

impl<S: Scope> sealed::LaunchGuard for GuardCore<'_, S> {
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

impl<T, D: Dimension, S: Scope> sealed::Argument for InPlace<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.0.data()
    }

    fn guard(&self) -> Option<&dyn sealed::LaunchGuard> {
        Some(AcquiredMut::core(self.0))
    }
}

macro_rules! arguments {
    ($($name:ident)*) => {
        impl<$($name: sealed::Argument),*> sealed::Arguments for ($($name,)*) {
            #[allow(non_snake_case)]
            fn pass<R>(self, to: impl FnOnce(&[sealed::Passed<'_>]) -> R) -> R {
                let ($($name,)*) = self;
                to(&[$(sealed::Passed::new(&$name, &mut MaybeUninit::new($name.value()))),*])
            }
        }
    };
}
arguments! {}
arguments! { A }
arguments! { A B }
arguments! { A B C }
arguments! { A B C D }
arguments! { A B C D E }
arguments! { A B C D E F }
arguments! { A B C D E F G }
arguments! { A B C D E F G H }
arguments! { A B C D E F G H I }
arguments! { A B C D E F G H I J }
arguments! { A B C D E F G H I J K }
arguments! { A B C D E F G H I J K L }
arguments! { A B C D E F G H I J K L M }
arguments! { A B C D E F G H I J K L M N }
arguments! { A B C D E F G H I J K L M N O }
arguments! { A B C D E F G H I J K L M N O P }

impl Function {
    /// Enqueues the kernel in `stream`. The host does not wait. Memory that the guards keep is freed after the kernel.
    ///
    /// If the stream captures a graph, the graph keeps the module and the arrays of the guards. Launches of the graph are not
    /// ordered with other work on the arrays; the program that launches it orders them.
    ///
    /// # Errors
    /// A wrong argument, with the kernel's name. The configuration is empty or beyond the kernel's limits, the stream is of another
    /// context than the module, a guard is for another stream, or the arguments have a wrong number or size. Errors of the driver. A
    /// kernel that fails while it runs makes later calls fail.
    ///
    /// # Safety
    /// The arguments match the kernel: it reads and writes through each address only elements of the array, of their type, and
    /// writes through no address of an [`Acquired`]. Addresses passed otherwise (as a `u64`, in a structure, in memory) are valid, and
    /// the work on their memory is ordered. The number and sizes of the arguments are right, if the driver does not report the
    /// parameters.
    ///
    /// Driver API: [`cuLaunchKernel`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, arguments: impl Arguments) -> Result<()> {
        config.check(self)?;
        let context = self.module().context();
        if stream.known_context()?.is_some_and(|of_stream| of_stream != *context) {
            return Err(self.refused(format!("{stream:?} belongs to another context than the module")));
        }
        let stream = &stream.resolve_in(context);
        let capture = sync::capture_of(stream)?;
        arguments.pass(|passed| {
            self.check_arguments(stream, capture, passed)?;
            let _current = context.push()?;
            if capture.is_some() {
                let arrays: Vec<Owner> =
                    passed.iter().filter_map(|argument| argument.guard.and_then(LaunchGuard::keep)).collect();
                keep_with_graph(stream, (arrays, self.module().clone()))?;
            }
            let mut values: SmallVec<[*mut c_void; 16]> =
                passed.iter().map(|argument| argument.value.cast_mut()).collect();
            let LaunchConfig { grid: [gx, gy, gz], block: [bx, by, bz], dynamic_shared } = config;
            // SAFETY: the function is alive as its module is, the stream by its type's invariant. The driver reads one value per
            // parameter, of the parameter's size: both were compared above, or are the caller's promise. The values outlive the
            // call. The caller promises that the kernel's accesses are valid.
            unsafe {
                let (values, none) = (values.as_mut_ptr(), ptr::null_mut());
                call!(
                    context.driver(),
                    cuLaunchKernel(
                        self.handle(),
                        gx,
                        gy,
                        gz,
                        bx,
                        by,
                        bz,
                        dynamic_shared,
                        stream.cu_stream(),
                        values,
                        none
                    )
                )
            }?;
            self.module().used_in(stream);
            Ok(())
        })
    }

    fn check_arguments(&self, stream: &Stream, capture: Option<u64>, passed: &[sealed::Passed<'_>]) -> Result<()> {
        if let Some(sizes) = self.parameters() {
            if sizes.len() != passed.len() {
                return Err(self.refused(format!("the kernel takes {} arguments, got {}", sizes.len(), passed.len())));
            }
            let wrong = sizes.iter().zip(passed).position(|(size, argument)| *size != argument.size);
            if let Some(index) = wrong {
                let (size, bytes) = (sizes[index], passed[index].size);
                return Err(self.refused(format!("parameter {index} has {size} bytes, and the argument has {bytes}")));
            }
        }
        for (index, argument) in passed.iter().enumerate() {
            let Some(guard) = argument.guard else { continue };
            if guard.stream() != stream {
                return Err(self.refused(format!(
                    "argument {index} is an array acquired for {:?}, and the launch goes to {stream:?}; acquire the array for that stream",
                    guard.stream()
                )));
            }
            guard.check_order(capture).map_err(|error| self.refused(format!("argument {index}: {error}")))?;
        }
        Ok(())
    }

    fn refused(&self, why: String) -> Error {
        Error::argument(format!("kernel {:?}: {why}", self.name()))
    }
}
