//! Typed kernels: the signature that [`kernel!`](crate::kernel!) states is compared with the kernel when it is loaded.

use super::{
    Argument, Function, InPlace,
    ptx::{self, Class},
};
use crate::{
    Acquired, AcquiredMut, Dimension, Element, Error, Kind, Result, array::guard::Scope, protocol::interface::DevicePtr,
};
use std::marker::PhantomData;

/// Declares types for kernels with stated parameters. The signature is checked when a kernel is loaded, and the arguments of a launch are
/// checked by the compiler.
///
/// | parameter | argument |
/// |---|---|
/// | `&[T]` | `&Acquired<T, D>` of any number of dimensions, or [`InPlace`](crate::kernel::InPlace) |
/// | `&mut [T]` | `&mut AcquiredMut<T, D>`, or [`InPlace`](crate::kernel::InPlace) |
/// | an [`Element`](trait@crate::Element), `usize` or `isize` | the value |
///
/// Each type has three functions. `load(context, ptx)` loads the kernel as [`Context::kernel`](crate::Context::kernel) does. `new(function)`
/// takes a function of any module. `launch(stream, config, arguments...)` is [`Function::launch`](crate::kernel::Function::launch), with
/// any number of arguments.
///
/// ```
/// use cuarray::{DeviceArray, kernel::LaunchConfig};
///
/// cuarray::kernel! {
///     /// Multiplies `n` elements by `factor`.
///     pub fn scale(x: &mut [f32], n: u32, factor: f32);
///     /// A C++ kernel has its mangled name in the PTX.
///     fn offset(x: &mut [f32], by: f32) = "_Z6offsetPff";
/// }
///
/// # const PTX: &str = ".version 8.0 .target sm_80 .address_size 64
/// #   .visible .entry _Z6offsetPff(.param .u64 a, .param .f32 b) { ret; }
/// #   .visible .entry scale(.param .u64 x, .param .u32 n, .param .f32 factor) {
/// #       .reg .b32 %r<3>; .reg .b64 %rd<3>; .reg .f32 %f<3>; .reg .pred %over;
/// #       ld.param.u64 %rd1, [x]; ld.param.u32 %r2, [n]; ld.param.f32 %f2, [factor]; mov.u32 %r1, %tid.x;
/// #       setp.ge.u32 %over, %r1, %r2; @%over ret;
/// #       mul.wide.u32 %rd2, %r1, 4; add.u64 %rd1, %rd1, %rd2;
/// #       ld.global.f32 %f1, [%rd1]; mul.rn.f32 %f1, %f1, %f2; st.global.f32 [%rd1], %f1; ret;
/// #   }";
/// # cuarray::__simulated!(driver, context, stream);
/// let scale = scale::load(&context, PTX)?;
/// let mut x = DeviceArray::from_host(&[1.0f32, 2.0, 3.0], [3], &stream)?;
/// let mut guard = x.acquire_mut(&stream)?;
/// // SAFETY: the kernel multiplies `n` elements, and the array has as many.
/// unsafe { scale.launch(&stream, LaunchConfig::for_elements(3, 32)?, &mut guard, 3, 10.0) }?;
/// guard.release()?;
/// assert_eq!(x.to_host()?, [10.0, 20.0, 30.0]);
///
/// cuarray::kernel! { fn wrong(x: &mut [f32], n: u64, factor: f32) = "scale"; }
/// let error = wrong::load(&context, PTX).unwrap_err();
/// assert!(error.to_string().contains("parameter 1, `n: u64`, has 8 bytes"), "{error}");
/// # offset::load(&context, PTX)?;
/// # Ok::<(), cuarray::Error>(())
/// ```
///
/// # Errors
/// `load` and `new` return [`Error::is_invalid_argument`](crate::Error::is_invalid_argument) for a wrong signature, and name the
/// parameter. Number and sizes come from the driver, from CUDA 12.4 on. `load` also reads the PTX: a float is no integer, and a name of the
/// signature that the PTX has is at the same place there.
///
/// # Safety
/// `launch` is `unsafe`, as [`Function::launch`](crate::kernel::Function::launch). The types of elements are not in PTX, so a signature
/// does not show that the kernel uses them.
#[macro_export]
macro_rules! kernel {
    (@parameters [$($head:tt)*] [$($done:tt)*] $name:ident: &mut [$type:ty] $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parameters [$($head)*] [$($done)* ($name, $crate::kernel::Write<$type>, concat!("&mut [", stringify!($type), "]"))] $($($rest)*)?);
    };
    (@parameters [$($head:tt)*] [$($done:tt)*] $name:ident: &[$type:ty] $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parameters [$($head)*] [$($done)* ($name, $crate::kernel::Read<$type>, concat!("&[", stringify!($type), "]"))] $($($rest)*)?);
    };
    (@parameters [$($head:tt)*] [$($done:tt)*] $name:ident: $type:ty $(, $($rest:tt)*)?) => {
        $crate::kernel!(@parameters [$($head)*] [$($done)* ($name, $type, stringify!($type))] $($($rest)*)?);
    };
    (
        @parameters [[$($attribute:tt)*] $visibility:vis $kernel:ident $symbol:expr]
        [$(($name:ident, $type:ty, $text:expr))*]
    ) => {
        $($attribute)*
        #[allow(non_camel_case_types)]
        #[derive(Clone, Debug)]
        $visibility struct $kernel {
            function: $crate::kernel::Function,
        }

        #[allow(dead_code)]
        impl $kernel {
            /// Loads the kernel from PTX, once for each context, and checks its signature.
            ///
            /// # Errors
            /// A wrong signature, with the parameter's name. As [`Context::kernel`]($crate::Context::kernel).
            $visibility fn load(
                context: &$crate::Context,
                ptx: impl ::core::convert::Into<::std::borrow::Cow<'static, str>>,
            ) -> $crate::Result<Self> {
                Self::new(context.kernel(ptx, $symbol)?)
            }

            /// Checks the signature of a loaded kernel.
            ///
            /// # Errors
            /// A wrong signature, with the parameter's name.
            $visibility fn new(function: $crate::kernel::Function) -> $crate::Result<Self> {
                $crate::__private::check_signature(
                    &function,
                    &[$($crate::__private::Stated::of::<$type>(stringify!($name), $text)),*],
                )?;
                Ok($kernel { function })
            }

            /// Enqueues the kernel in `stream`. The host does not wait.
            ///
            /// # Errors
            /// As [`Function::launch`]($crate::kernel::Function::launch).
            ///
            /// # Safety
            /// As [`Function::launch`]($crate::kernel::Function::launch).
            #[allow(clippy::too_many_arguments)]
            $visibility unsafe fn launch(
                &self,
                stream: &$crate::Stream,
                config: $crate::kernel::LaunchConfig,
                $($name: impl $crate::kernel::ArgumentFor<$type>),*
            ) -> $crate::Result<()> {
                // SAFETY: this function's contract.
                unsafe { self.function.launch(stream, config, ($crate::kernel!(@nested $($name)*),)) }
            }
        }
    };
    (@nested) => { () };
    (@nested $first:ident $($rest:ident)*) => { ($first, $crate::kernel!(@nested $($rest)*)) };
    (@symbol $name:ident) => { stringify!($name) };
    (@symbol $name:ident $symbol:literal) => { $symbol };
    ($(
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident($($parameters:tt)*) $(= $symbol:literal)?;
    )+) => {$(
        $crate::kernel!(
            @parameters [[$(#[$attribute])*] $visibility $name $crate::kernel!(@symbol $name $($symbol)?)] [] $($parameters)*
        );
    )+};
}

/// A parameter `&[T]` of [`kernel!`](crate::kernel!): the address of an array that the kernel reads.
///
/// ```
/// use cuarray::{DeviceArray, Ix1, Stream, Result, kernel::{ArgumentFor, Read}};
///
/// fn is_for_reading<T: cuarray::Element>(x: &DeviceArray<T, Ix1>, stream: &Stream) -> Result<()> {
///     fn accepts<T>(_: impl ArgumentFor<Read<T>>) {}
///     accepts::<T>(&x.acquire(stream)?);
///     Ok(())
/// }
/// ```
#[derive(Clone, Copy, Debug)]
pub struct Read<T>(PhantomData<T>);

/// A parameter `&mut [T]` of [`kernel!`](crate::kernel!): the address of an array that the kernel reads and writes. Its arguments are
/// those of [`ArgumentFor<Write<T>>`](ArgumentFor).
#[derive(Clone, Copy, Debug)]
pub struct Write<T>(PhantomData<T>);

/// An argument for a parameter of the type `P`: see [`kernel!`](crate::kernel!).
#[diagnostic::on_unimplemented(
    message = "`{Self}` is no argument for this kernel parameter",
    label = "the parameter is `{P}`",
    note = "arrays are passed as `&Acquired<T, D>` to read, and as `&mut AcquiredMut<T, D>` or `in_place()` to write; numbers by value"
)]
pub trait ArgumentFor<P>: Argument {}

impl<T: Element> ArgumentFor<T> for T {}
impl ArgumentFor<usize> for usize {}
impl ArgumentFor<isize> for isize {}
impl<T, D: Dimension, S: Scope> ArgumentFor<Read<T>> for &Acquired<'_, T, D, S> {}
impl<T, D: Dimension, S: Scope> ArgumentFor<Write<T>> for &mut AcquiredMut<'_, T, D, S> {}
impl<T, D: Dimension, S: Scope> ArgumentFor<Read<T>> for InPlace<'_, T, D, S> {}
impl<T, D: Dimension, S: Scope> ArgumentFor<Write<T>> for InPlace<'_, T, D, S> {}

/// The type of a parameter; part of the expansion of [`kernel!`](crate::kernel!).
#[doc(hidden)]
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be a parameter of a kernel",
    note = "parameters are `&[T]`, `&mut [T]`, and elements by value"
)]
pub trait Parameter {
    /// The bytes of the parameter.
    const SIZE: usize;
    /// Whether the parameter is a float or an integer; `None` for other types.
    const IS_FLOAT: Option<bool>;
}

impl<T: Element> Parameter for T {
    const SIZE: usize = size_of::<T>();
    const IS_FLOAT: Option<bool> = match T::TYPESTR.kind() {
        Kind::Float => Some(true),
        Kind::Int | Kind::UInt | Kind::Bool => Some(false),
        _ => None,
    };
}

macro_rules! words {
    ($([$($generics:tt)*] $type:ty),*) => {$(
        impl<$($generics)*> Parameter for $type {
            const SIZE: usize = size_of::<DevicePtr>();
            const IS_FLOAT: Option<bool> = Some(false);
        }
    )*};
}
words! { [] usize, [] isize, [T: Element] Read<T>, [T: Element] Write<T> }

/// A parameter of a signature.
#[derive(Clone, Copy, Debug)]
pub struct Stated {
    name: &'static str,
    text: &'static str,
    size: usize,
    is_float: Option<bool>,
}

impl Stated {
    /// The parameter `name` of type `P`, which the source writes as `text`.
    pub const fn of<P: Parameter>(name: &'static str, text: &'static str) -> Stated {
        Stated { name, text, size: P::SIZE, is_float: P::IS_FLOAT }
    }
}

/// Compares a signature with the parameters that the driver and the PTX know.
///
/// # Errors
/// [`Error::is_invalid_argument`]: the number of parameters, or one of them, differs.
pub fn check_signature(function: &Function, signature: &[Stated]) -> Result<()> {
    let refused = |why: String| Err(Error::argument(format!("kernel {:?}: {why}", function.name())));
    let (sizes, in_ptx) = (function.parameters(), function.stated_parameters());
    let count = sizes.map(<[usize]>::len).or(in_ptx.map(<[ptx::Parameter]>::len));
    if let Some(count) = count.filter(|&count| count != signature.len()) {
        let names: Vec<&str> = signature.iter().map(|stated| stated.name).collect();
        return refused(format!(
            "the signature has {} parameters ({}), and the kernel has {count}",
            names.len(),
            names.join(", ")
        ));
    }
    for (index, stated) in signature.iter().enumerate() {
        let found = in_ptx.and_then(|parameters| parameters.get(index));
        let place = format!("parameter {index}, `{}: {}`,", stated.name, stated.text);
        let known = found.map(|found| format!(" (`{} {}` in the PTX)", found.text, found.name)).unwrap_or_default();
        let size = sizes.and_then(|sizes| sizes.get(index)).copied().or(found.map(|found| found.size));
        if let Some(size) = size.filter(|&size| size != stated.size) {
            return refused(format!("{place} has {} bytes, and the kernel's has {size}{known}", stated.size));
        }
        let Some(found) = found else { continue };
        let is_float = match found.class {
            Class::Float => Some(true),
            Class::Integer => Some(false),
            Class::Bits => None,
        };
        if let (Some(stated_float), Some(found_float)) = (stated.is_float, is_float)
            && stated_float != found_float
        {
            let kind = |is_float| if is_float { "a float" } else { "an integer or an address" };
            return refused(format!(
                "{place} is {}, and the kernel's is {}{known}",
                kind(stated_float),
                kind(found_float)
            ));
        }
        let elsewhere = in_ptx.and_then(|all| all.iter().position(|other| *other.name == *stated.name));
        if let Some(elsewhere) = elsewhere.filter(|&elsewhere| elsewhere != index) {
            return refused(format!("{place} is parameter {elsewhere} in the PTX"));
        }
    }
    Ok(())
}
