//! Launching kernels, in order with the data that they work on.
//!
//! **Addresses come from guards.** A launch goes to one stream; an array goes to a kernel as the guard ([`Acquired`],
//! [`AcquiredMut`]) that orders that stream after the array's producer, and the producer after that stream. A guard for another
//! stream orders nothing here, and is refused, as is one for the per-thread default stream of another thread. The launch borrows the guards: while it is made they are held, and what is
//! enqueued when they are released comes after it.
//!
//! **What is checked**: the extents of the grid and of a block, the threads and the shared memory against what the kernel may have; the stream's
//! context; the number of the arguments and the bytes of each against the kernel's parameters, if the driver tells them (from CUDA
//! 12.4 on).
//!
//! **What cannot be**, so that [`Function::launch`] is `unsafe`: what the kernel does. It takes an address and does arithmetic with it;
//! that it stays within the array, takes its elements for what they are, and writes to no array that it was only lent for
//! reading is in its code alone, which nobody here reads.
//!
//! Driver API: [execution control](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).

use super::Function;
use crate::driver::{Stream, call};
use crate::{Acquired, AcquiredMut, Dimension, Element, Error, Result, Scope, protocol::interface::DevicePtr};
use smallvec::SmallVec;
use std::{ffi::c_void, mem, ptr};

/// How many threads run a kernel, and what memory each block shares.
///
/// ```
/// use cuarray::kernel::LaunchConfig;
///
/// let config = LaunchConfig::for_elements(1000, 256)?; // a thread for each, in blocks of 256
/// assert_eq!(config, LaunchConfig::new([4, 1, 1], [256, 1, 1]));
/// let tiled = LaunchConfig::new([8, 8, 1], [16, 16, 1]).with_dynamic_shared(2 * 16 * 16 * 4);
/// assert_eq!(tiled.dynamic_shared, 2048);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LaunchConfig {
    /// Blocks, in x, y and z.
    pub grid: [u32; 3],
    /// Threads of a block, in x, y and z.
    pub block: [u32; 3],
    /// Bytes of dynamic shared memory for each block.
    pub dynamic_shared: u32,
}

impl LaunchConfig {
    /// That grid of such blocks, without dynamic shared memory.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchConfig {
        LaunchConfig { grid, block, dynamic_shared: 0 }
    }

    /// As many blocks of `threads`, along x, as give every element a thread. The last block may have threads to spare: the kernel
    /// has to compare. For no elements it is one block, for a grid cannot be empty.
    ///
    /// # Errors
    /// A wrong argument: no threads, or more blocks than a grid can have (2³¹ − 1).
    pub fn for_elements(elements: usize, threads: u32) -> Result<LaunchConfig> {
        if threads == 0 {
            return Err(Error::argument("a block of 0 threads"));
        }
        let blocks = elements.div_ceil(threads as usize).max(1);
        match i32::try_from(blocks) {
            Ok(blocks) => Ok(LaunchConfig::new([blocks.unsigned_abs(), 1, 1], [threads, 1, 1])),
            Err(_) => Err(Error::argument(format!(
                "{elements} elements in blocks of {threads} threads are {blocks} blocks, and a grid has at most 2147483647; let \
                 each thread do several"
            ))),
        }
    }

    /// The same with as many bytes of dynamic shared memory for each block.
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
                "a grid of {grid:?} blocks is too large; it has at most [2147483647, 65535, 65535]"
            ));
        }
        let threads = block.iter().map(|extent| u128::from(*extent)).product::<u128>();
        let most = function.max_threads_per_block();
        if threads > u128::from(most) {
            return refused(format!("a block of {block:?} is {threads} threads, and this kernel may have {most}"));
        }
        let most = function.max_dynamic_shared();
        if dynamic_shared > most {
            return refused(format!(
                "{dynamic_shared} bytes of dynamic shared memory are more than the {most} that it may have; see \
                 Function::set_max_dynamic_shared"
            ));
        }
        Ok(())
    }
}

/// One argument of a kernel: a number or a structure of an [`Element`] type, by value; or an array, by its guard.
///
/// Guards are lent: `&array` for an [`Acquired`], `&mut array` for an [`AcquiredMut`], so that no array can be given for writing
/// twice:
///
/// ```compile_fail,E0499
/// # use cuarray::{AcquiredMut, kernel::{Function, LaunchConfig}};
/// fn twice(kernel: &Function, mut array: AcquiredMut<'_>) {
///     let (stream, config) = (array.stream().clone(), LaunchConfig::new([1, 1, 1], [1, 1, 1]));
///     let _ = unsafe { kernel.launch(&stream, config, (&mut array, &mut array)) };
/// }
/// ```
///
/// A view has no address to give:
///
/// ```compile_fail,E0277
/// # use cuarray::{RawView, Stream, kernel::{Function, LaunchConfig}};
/// fn not_ordered(kernel: &Function, stream: &Stream, array: &RawView) {
///     let _ = unsafe { kernel.launch(stream, LaunchConfig::new([1, 1, 1], [1, 1, 1]), (array,)) };
/// }
/// ```
pub trait Argument: sealed::Argument {}

impl<A: sealed::Argument> Argument for A {}

/// The arguments of a kernel, in the order of its parameters: a tuple of up to sixteen [`Argument`]s; `()` for none.
///
/// ```
/// # use cuarray::{Acquired, AcquiredMut, Result, kernel::{Function, LaunchConfig}};
/// /// A call of `saxpy(float a, const float *x, float *y, unsigned n)`.
/// ///
/// /// # Safety
/// /// `kernel` is that.
/// unsafe fn saxpy(kernel: &Function, a: f32, x: &Acquired<'_>, y: &mut AcquiredMut<'_>, n: u32) -> Result<()> {
///     let stream = y.stream().clone();
///     // SAFETY: this function's contract.
///     unsafe { kernel.launch(&stream, LaunchConfig::for_elements(n as usize, 256)?, (a, x, y, n)) }
/// }
/// ```
pub trait Arguments: sealed::Arguments {}

impl<A: sealed::Arguments> Arguments for A {}

/// What only this crate may say of a type: which bytes of it a kernel gets.
pub(crate) mod sealed {
    use super::Stream;
    use std::ffi::c_void;

    /// An argument while a launch is made.
    pub struct Lent<'a> {
        pub(super) value: *const c_void,
        pub(super) size: usize,
        pub(super) stream: Option<&'a Stream>,
        pub(super) is_for_this_thread: bool,
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be given to a kernel",
        label = "neither an element nor a guard",
        note = "numbers, `Bool8` and structures of `cuarray::element!` go by value; arrays as `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Argument {
        type Value;

        /// What the kernel gets; its bytes, whatever they mean there.
        fn value(&self) -> Self::Value;

        /// The stream in which alone it may be used.
        fn stream(&self) -> Option<&Stream>;

        /// Whether that stream means in this thread what it meant where it was ordered.
        fn is_for_this_thread(&self) -> bool {
            true
        }
    }

    #[diagnostic::on_unimplemented(
        message = "`{Self}` cannot be the arguments of a kernel",
        note = "the arguments are a tuple, of one too: `(x,)`; numbers and structures of `cuarray::element!` go by value, arrays as \
                `&Acquired` or `&mut AcquiredMut`"
    )]
    pub trait Arguments {
        fn lend<R>(self, to: impl FnOnce(&[Lent<'_>]) -> R) -> R;
    }
}

impl<T: Element> sealed::Argument for T {
    type Value = T;

    fn value(&self) -> T {
        *self
    }

    fn stream(&self) -> Option<&Stream> {
        None
    }
}

impl<T, D: Dimension, S: Scope> sealed::Argument for &Acquired<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.as_device_ptr()
    }

    fn stream(&self) -> Option<&Stream> {
        Some(Acquired::stream(self))
    }

    fn is_for_this_thread(&self) -> bool {
        Acquired::is_for_this_thread(self)
    }
}

impl<T, D: Dimension, S: Scope> sealed::Argument for &mut AcquiredMut<'_, T, D, S> {
    type Value = DevicePtr;

    fn value(&self) -> DevicePtr {
        self.as_device_ptr()
    }

    fn stream(&self) -> Option<&Stream> {
        Some(AcquiredMut::stream(self))
    }

    fn is_for_this_thread(&self) -> bool {
        AcquiredMut::is_for_this_thread(self)
    }
}

macro_rules! arguments {
    ($($name:ident)*) => {
        impl<$($name: sealed::Argument),*> sealed::Arguments for ($($name,)*) {
            #[allow(non_snake_case)]
            fn lend<R>(self, to: impl FnOnce(&[sealed::Lent<'_>]) -> R) -> R {
                let ($($name,)*) = self;
                to(&[$(sealed::Lent {
                    value: ptr::from_ref(&$name.value()).cast(),
                    size: mem::size_of::<$name::Value>(),
                    stream: $name.stream(),
                    is_for_this_thread: $name.is_for_this_thread(),
                }),*])
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
    /// Enqueues the kernel in `stream`. The host waits for nothing, and memory that is freed later is freed after it.
    ///
    /// # Errors
    /// A wrong argument, with the kernel's name: a configuration that is empty or beyond the kernel's limits; a stream of another context
    /// than the module's; a guard for another stream than `stream`; arguments whose number or sizes are not the kernel's. Whatever the
    /// driver refuses. A kernel that fails while it runs shows in later calls.
    ///
    /// # Safety
    /// What the arguments are the kernel takes them for: elements of the type, and as many, as it reads and writes through each
    /// address; and it writes through no address that came from an [`Acquired`]. Addresses that it has otherwise (as a `u64`, in a
    /// structure, in memory) are good, and ordered, in the same sense. With a driver that does not tell the sizes of the parameters
    /// ([`Function::parameters`]), their number and sizes are right. If the stream captures a graph, the module is held for as
    /// long as the graph may be launched.
    ///
    /// Driver API: [`cuLaunchKernel`](https://docs.nvidia.com/cuda/cuda-driver-api/group__CUDA__EXEC.html).
    pub unsafe fn launch(&self, stream: &Stream, config: LaunchConfig, arguments: impl Arguments) -> Result<()> {
        config.check(self)?;
        let context = self.module().context();
        if stream.known_context()?.is_some_and(|of_stream| of_stream != *context) {
            return Err(self.refused(format!("{stream:?} is of another context than its module")));
        }
        arguments.lend(|lent| {
            self.check_arguments(stream, lent)?;
            let mut values: SmallVec<[*mut c_void; 16]> =
                lent.iter().map(|argument| argument.value.cast_mut()).collect();
            let LaunchConfig { grid: [gx, gy, gz], block: [bx, by, bz], dynamic_shared } = config;
            let _current = context.push()?;
            // SAFETY: the function is alive as its module is, the stream by its type's invariant; the driver reads as many
            // values as the kernel has parameters, each of its parameter's size, which was compared or is the caller's word,
            // and the values outlive the call. What the kernel does is by this function's contract.
            unsafe {
                let (values, none) = (values.as_mut_ptr(), ptr::null_mut());
                call!(
                    context.driver(),
                    cuLaunchKernel(self.raw(), gx, gy, gz, bx, by, bz, dynamic_shared, stream.raw(), values, none)
                )
            }?;
            self.module().used_in(stream);
            Ok(())
        })
    }

    fn check_arguments(&self, stream: &Stream, lent: &[sealed::Lent<'_>]) -> Result<()> {
        if let Some(sizes) = self.parameters() {
            if sizes.len() != lent.len() {
                return Err(self.refused(format!("it takes {} arguments, and {} are given", sizes.len(), lent.len())));
            }
            let wrong = sizes.iter().zip(lent).position(|(size, argument)| *size != argument.size);
            if let Some(index) = wrong {
                let (size, given) = (sizes[index], lent[index].size);
                return Err(self.refused(format!("parameter {index} has {size} bytes, and the argument {given}")));
            }
        }
        for (index, argument) in lent.iter().enumerate() {
            if argument.stream.is_some_and(|of_guard| of_guard != stream) {
                return Err(self.refused(format!(
                    "argument {index} is an array that was acquired for {:?}, and the launch goes to {stream:?}; acquire it for that",
                    argument.stream
                )));
            }
            if !argument.is_for_this_thread {
                return Err(self.refused(format!(
                    "argument {index} is an array that was acquired for the per-thread default stream of another thread; acquire it in \
                     the thread that launches"
                )));
            }
        }
        Ok(())
    }

    fn refused(&self, why: String) -> Error {
        Error::argument(format!("kernel {:?}: {why}", self.name()))
    }
}
