//! Rust types that may be the elements of a device array.
//!
//! Other programs write bytes into device memory, and the host cannot check them. So only a type for which every bit
//! pattern is a valid value may be read from there. Rust's `bool` is not such a type: anything but 0 and 1 is undefined
//! behaviour, while a `|b1` array may hold any bytes. [`Bool8`] is the element type of such arrays. [`Complex`] has the
//! layout of complex numbers in C and NumPy.
//!
//! [`element!`](crate::element) declares structures. It requires such a type for every field, uses the layout of C, and
//! provides the list of fields that other libraries read. It is a plain macro: its checks are trait bounds in its expansion.

use crate::{Descr, Dims, Field, FieldType, Kind, TypeStr};

/// A type that can be read from device memory.
///
/// | Rust | type string |
/// |---|---|
/// | `i8` to `i64`, `u8` to `u64`, `f32`, `f64` | `|i1` to `<i8`, `|u1` to `<u8`, `<f4`, `<f8` |
/// | [`Complex<f32>`], [`Complex<f64>`] | `<c8`, `<c16` |
/// | [`Bool8`] | `|b1` |
/// | `half::f16`, with the feature `half` | `<f2` |
/// | `half::bf16`, with the feature `half` | `<V2`, named [`bfloat16`](crate::NamedType::BFloat16) |
/// | a structure declared in [`element!`](crate::element) | `|V` and its size, with [fields](Element::descr) |
///
/// # Safety
/// Every bit pattern of `size_of::<Self>()` bytes is a valid `Self`, and `TYPESTR` describes these bytes. ([`TypeStr::of`]
/// fails to compile if the two sizes differ.) Values have no padding, because uploads read all of their bytes. Declare a
/// structure with padding in [`element!`](crate::element), which writes zeros there.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be an element of a device array",
    note = "elements are numbers of a stated size, `Bool8` for truth values, and structures that are declared in `cuarray::element!`",
    note = "write `Bool8` for `bool`, `u64` for `usize`, `i64` for `isize`, and `u32` for `char`"
)]
pub unsafe trait Element: Copy + Send + Sync + 'static {
    /// The type string of arrays of `Self`.
    const TYPESTR: TypeStr;

    /// The fields, for types that the type string does not describe fully (clause I9).
    #[doc(hidden)]
    fn descr() -> Option<Descr> {
        None
    }

    /// Whether values have padding, inside fields too.
    #[doc(hidden)]
    const HAS_PADDING: bool = false;

    /// Writes zeros over the padding of the value at `at`, at any alignment.
    ///
    /// # Safety
    /// `at` is valid for writes of the type's size.
    #[doc(hidden)]
    unsafe fn clear_padding(_at: *mut u8) {}
}

/// Declares a structure whose values can be read from device memory: an [`Element`], with its fields.
///
/// The structure is `repr(C)`, `Clone` and `Copy`. Each field is an [`Element`] or an array, also nested, of elements. The list
/// of fields includes the gaps of alignment, between fields and at the end, so every reader finds every field.
/// Attributes and documentation are kept; `#[repr(packed)]` and `#[repr(align(16))]` have their usual effect. An attribute macro
/// that adds, removes or retypes a field is refused, because only the declared fields are checked. Uploads and kernel arguments
/// have zeros as padding.
///
/// ```
/// use cuarray::{Element, TypeStr};
///
/// cuarray::element! {
///     /// A particle in the detector.
///     #[derive(Debug, PartialEq)]
///     pub struct Particle {
///         pub charge: i8,
///         pub position: [f32; 3],
///         pub energy: f64,
///     }
/// }
///
/// assert_eq!(TypeStr::of::<Particle>().to_string(), "|V24");
/// assert_eq!(
///     Particle::descr().unwrap().to_string(),
///     "[('charge', '|i1'), ('', '|V3'), ('position', '<f4', (3,)), ('energy', '<f8')]"
/// );
/// ```
///
/// A field type with invalid bit patterns is refused, and so is a pointer:
///
/// ```compile_fail,E0277
/// cuarray::element! {
///     struct Flagged {
///         flag: bool,
///     }
/// }
/// ```
#[macro_export]
macro_rules! element {
    (
        $(#[$attribute:meta])*
        $visibility:vis struct $name:ident {
            $($(#[$field_attribute:meta])* $field_visibility:vis $field:ident: $type:ty),+ $(,)?
        }
    ) => {
        $(#[$attribute])*
        #[derive(::core::clone::Clone, ::core::marker::Copy)]
        #[repr(C)]
        $visibility struct $name {
            $($(#[$field_attribute])* $field_visibility $field: $type),+
        }

        // An attribute macro may have rewritten the structure. The pattern names all of its fields, and no pointer converts to
        // one of another type. So this compiles only if the structure has exactly the declared fields.
        const _: () = {
            #[allow(dead_code, clippy::all, clippy::pedantic)]
            fn has_the_declared_fields(value: &$name) {
                let $name { $($field: _),+ } = value;
                $(let _: *const $type = &raw const value.$field;)+
            }
        };

        // SAFETY: the structure has the declared fields and no others, as checked above. Each field is a `Member`, for which
        // every bit pattern is valid, and padding may hold anything. So every bit pattern of the whole is valid too. The type
        // string is void of the structure's size. `clear_padding` writes zeros between the fields and inside them.
        unsafe impl $crate::Element for $name {
            const TYPESTR: $crate::TypeStr = {
                let size = ::core::mem::size_of::<$name>();
                ::core::assert!(size <= 0x7fff_ffff, "no element has more than 2147483647 bytes");
                $crate::TypeStr::void(size as u32)
            };

            fn descr() -> ::core::option::Option<$crate::Descr> {
                static DESCR: ::std::sync::OnceLock<::core::option::Option<$crate::Descr>> =
                    ::std::sync::OnceLock::new();
                let fields = || {
                    $crate::Descr::from_offsets(
                        ::core::mem::size_of::<$name>(),
                        [$((
                            ::core::mem::offset_of!($name, $field),
                            $crate::__private::field::<$type>(::core::stringify!($field)),
                        )),+],
                    )
                };
                // Only a structure that exceeds the limits of `Descr` has no list of fields.
                DESCR.get_or_init(|| fields().ok()).clone()
            }

            const HAS_PADDING: bool = $crate::__private::padding_exists(
                ::core::mem::size_of::<$name>(),
                &[$($crate::__private::Place::of::<$type>(::core::mem::offset_of!($name, $field))),+],
            );

            unsafe fn clear_padding(at: *mut u8) {
                // SAFETY: this function's contract; these are the fields, and `HAS_PADDING` has checked their order.
                unsafe {
                    $crate::__private::clear_padding(
                        at,
                        ::core::mem::size_of::<$name>(),
                        const { &[$($crate::__private::Place::of::<$type>(::core::mem::offset_of!($name, $field))),+] },
                    )
                }
            }
        }

        // Evaluated for every structure, also if no function uses it.
        const _: bool = <$name as $crate::Element>::HAS_PADDING;
    };
}

impl TypeStr {
    /// The type string of a Rust type.
    pub const fn of<T: Element>() -> TypeStr {
        const { assert!(size_of::<T>() == T::TYPESTR.itemsize(), "Element::TYPESTR is of another size than the type") };
        T::TYPESTR
    }
}

/// A type of a field in a structure of [`element!`](crate::element): an [`Element`], or an array of elements.
///
/// # Safety
/// As [`Element`].
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be part of an element of a device array",
    note = "fields are numbers of a stated size, `Bool8`, structures that are declared in `cuarray::element!`, and arrays of these"
)]
pub unsafe trait Member: Copy + Send + Sync + 'static {
    /// The type of a single value, and the shape of the array that holds the values.
    fn type_and_shape() -> (FieldType, Dims);

    /// As [`Element::HAS_PADDING`].
    const HAS_PADDING: bool;

    /// As [`Element::clear_padding`].
    ///
    /// # Safety
    /// `at` is valid for writes of the type's size.
    unsafe fn clear_padding(at: *mut u8);
}

// SAFETY: `Element` has the same contract.
unsafe impl<T: Element> Member for T {
    fn type_and_shape() -> (FieldType, Dims) {
        (T::descr().map_or(FieldType::TypeStr(T::TYPESTR), FieldType::Struct), Dims::new())
    }

    const HAS_PADDING: bool = <T as Element>::HAS_PADDING;

    unsafe fn clear_padding(at: *mut u8) {
        // SAFETY: this function's contract.
        unsafe { <T as Element>::clear_padding(at) };
    }
}

// SAFETY: an array has only the bytes of its elements, and all their bit patterns are valid.
unsafe impl<T: Member, const N: usize> Member for [T; N] {
    fn type_and_shape() -> (FieldType, Dims) {
        let (ty, mut shape) = T::type_and_shape();
        shape.insert(0, N);
        (ty, shape)
    }

    const HAS_PADDING: bool = N > 0 && T::HAS_PADDING;

    unsafe fn clear_padding(at: *mut u8) {
        for index in 0..N {
            // SAFETY: this function's contract, for each element of the array.
            unsafe { T::clear_padding(at.add(index * size_of::<T>())) };
        }
    }
}

/// The field for `name` in a structure's declaration.
pub fn field<T: Member>(name: &str) -> Field {
    let (ty, shape) = T::type_and_shape();
    Field { shape, ..Field::new(name.strip_prefix("r#").unwrap_or(name), ty) }
}

macro_rules! elements {
    ($($rust:ty: $kind:ident),* $(,)?) => {$(
        // SAFETY: every bit pattern of the number is valid; `TYPESTR` has its size and kind.
        unsafe impl Element for $rust {
            const TYPESTR: TypeStr = TypeStr::native(Kind::$kind, size_of::<$rust>() as u32);
        }
    )*};
}

elements! {
    i8: Int, i16: Int, i32: Int, i64: Int,
    u8: UInt, u16: UInt, u32: UInt, u64: UInt,
    f32: Float, f64: Float,
    Complex<f32>: Complex, Complex<f64>: Complex,
    Bool8: Bool,
}

#[cfg(feature = "half")]
elements! {
    half::f16: Float,
}

// SAFETY: every pattern of the two bytes is a number or a NaN.
#[cfg(feature = "half")]
unsafe impl Element for half::bf16 {
    const TYPESTR: TypeStr = TypeStr::named(crate::NamedType::BFloat16);
}

/// A complex number: the real part, then the imaginary, as in C and NumPy (`c8`, `c16`).
///
/// ```
/// use cuarray::{Complex, TypeStr};
///
/// let z = Complex { re: 1.0f32, im: -2.0 };
/// assert_eq!(TypeStr::of::<Complex<f32>>().itemsize(), size_of_val(&z));
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[repr(C)]
pub struct Complex<T> {
    /// The real part.
    pub re: T,
    /// The imaginary part.
    pub im: T,
}

/// An element of a `|b1` array: a byte that is false if it is zero.
///
/// ```
/// use cuarray::{Bool8, TypeStr};
///
/// assert_eq!(TypeStr::of::<Bool8>().to_string(), "|b1");
/// assert!(Bool8(255).get() && !Bool8::from(false).get());
/// ```
#[derive(Clone, Copy, Debug, Default)]
#[repr(transparent)]
pub struct Bool8(
    /// The byte as stored in memory.
    pub u8,
);

impl Bool8 {
    /// The truth value.
    pub const fn get(self) -> bool {
        self.0 != 0
    }
}

impl From<bool> for Bool8 {
    fn from(value: bool) -> Bool8 {
        Bool8(u8::from(value))
    }
}

impl PartialEq for Bool8 {
    fn eq(&self, other: &Bool8) -> bool {
        self.get() == other.get()
    }
}

impl Eq for Bool8 {}

const _: () = {
    assert!(size_of::<Complex<f32>>() == 8 && size_of::<Complex<f64>>() == 16);
};
