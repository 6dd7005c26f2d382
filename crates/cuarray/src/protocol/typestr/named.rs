//! Types that have a name but no letter: bfloat16, the smaller floating-point numbers, and complex numbers of halves.
//!
//! The NumPy array interface has one letter for floating point, which means IEEE 754. The formats of machine learning have no
//! letter and are written as void. PyTorch, CuPy and ml_dtypes write `<V2` for bfloat16, and ml_dtypes writes `<V1` for 8-bit
//! floats, which does not say which one. The rules here:
//!
//! - **Reading**: void stays void, and no type is guessed from a size. The caller names the type, and
//!   [`Interface::with_type`](crate::Interface::with_type) checks the item size. ml_dtypes writes `<f1` for
//!   `float8_e5m2`, which is no type string: it is refused, and a lenient reading takes it as void.
//! - **Writing**: bfloat16 as `<V2`, each 8-bit float as `<V1`, without a `descr`, which would only repeat that. These
//!   libraries write the same, except for `<f1`, which no reader of type strings knows, NumPy included.
//! - **Names**: those of ml_dtypes, which PyTorch and JAX use as well.
//! - **Less than a byte**: an element is a vector that fills whole bytes, with the number of its values in the name, as PyTorch
//!   names `float4_e2m1fn_x2`.
//!
//! A [`TypeStr`] carries the name, also in structures and sub-arrays. It then equals neither void nor a type of another name.

use super::{ByteOrder, Kind, TypeStr, parse::Quoted};
use crate::{Error, Result};
use std::{fmt, str::FromStr};

/// A type without a letter, which a type string can only write as void (clause I3).
///
/// ```
/// use cuarray::{NamedType, TypeStr};
///
/// let bfloat16 = TypeStr::named(NamedType::BFloat16);
/// assert_eq!((bfloat16.to_string(), bfloat16.name()), ("<V2".into(), Some(NamedType::BFloat16)));
/// assert_ne!(bfloat16, TypeStr::void(2));
///
/// assert_eq!("float8_e4m3fn".parse::<NamedType>()?, NamedType::Float8E4M3Fn);
/// assert_eq!(NamedType::Float8E4M3Fn.itemsize(), 1);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum NamedType {
    /// `bfloat16`: the upper half of an IEEE 754 single.
    BFloat16,
    /// `float8_e3m4`: 3 bits of exponent and 4 of significand, in the style of IEEE 754.
    Float8E3M4,
    /// `float8_e4m3`: 4 bits of exponent and 3 of significand, in the style of IEEE 754.
    Float8E4M3,
    /// `float8_e4m3b11fnuz`: 4 bits of exponent and 3 of significand, with a bias of 11; no infinities, one zero, one NaN.
    Float8E4M3B11Fnuz,
    /// `float8_e4m3fn`: 4 bits of exponent and 3 of significand; no infinities, two NaNs.
    Float8E4M3Fn,
    /// `float8_e4m3fnuz`: 4 bits of exponent and 3 of significand, with a bias of 8; no infinities, one zero, one NaN.
    Float8E4M3Fnuz,
    /// `float8_e5m2`: 5 bits of exponent and 2 of significand, in the style of IEEE 754.
    Float8E5M2,
    /// `float8_e5m2fnuz`: 5 bits of exponent and 2 of significand, with a bias of 16; no infinities, one zero, one NaN.
    Float8E5M2Fnuz,
    /// `float8_e8m0fnu`: a power of two with 8 bits of exponent; no zero, no sign, one NaN.
    Float8E8M0Fnu,
    /// `float4_e2m1fn_x2`: two values of 2 bits of exponent and 1 of significand in a byte; no infinities, no NaNs.
    Float4E2M1FnX2,
    /// `float4_e2m1fn_x4`: four such values in two bytes.
    Float4E2M1FnX4,
    /// `float6_e2m3fn_x4`: four values of 2 bits of exponent and 3 of significand in three bytes; no infinities, no NaNs.
    Float6E2M3FnX4,
    /// `float6_e3m2fn_x4`: four values of 3 bits of exponent and 2 of significand in three bytes; no infinities, no NaNs.
    Float6E3M2FnX4,
    /// `complex32`: a real and an imaginary part of two bytes each.
    Complex32,
}

impl NamedType {
    /// All named types.
    pub const ALL: &'static [NamedType] = &[
        NamedType::BFloat16,
        NamedType::Float8E3M4,
        NamedType::Float8E4M3,
        NamedType::Float8E4M3B11Fnuz,
        NamedType::Float8E4M3Fn,
        NamedType::Float8E4M3Fnuz,
        NamedType::Float8E5M2,
        NamedType::Float8E5M2Fnuz,
        NamedType::Float8E8M0Fnu,
        NamedType::Float4E2M1FnX2,
        NamedType::Float4E2M1FnX4,
        NamedType::Float6E2M3FnX4,
        NamedType::Float6E3M2FnX4,
        NamedType::Complex32,
    ];

    pub(super) fn from_name(name: &[u8]) -> Option<NamedType> {
        NamedType::ALL.iter().copied().find(|named| named.name().as_bytes() == name)
    }

    /// The name in ml_dtypes, or in PyTorch for the types that ml_dtypes does not have.
    pub const fn name(self) -> &'static str {
        match self {
            NamedType::BFloat16 => "bfloat16",
            NamedType::Float8E3M4 => "float8_e3m4",
            NamedType::Float8E4M3 => "float8_e4m3",
            NamedType::Float8E4M3B11Fnuz => "float8_e4m3b11fnuz",
            NamedType::Float8E4M3Fn => "float8_e4m3fn",
            NamedType::Float8E4M3Fnuz => "float8_e4m3fnuz",
            NamedType::Float8E5M2 => "float8_e5m2",
            NamedType::Float8E5M2Fnuz => "float8_e5m2fnuz",
            NamedType::Float8E8M0Fnu => "float8_e8m0fnu",
            NamedType::Float4E2M1FnX2 => "float4_e2m1fn_x2",
            NamedType::Float4E2M1FnX4 => "float4_e2m1fn_x4",
            NamedType::Float6E2M3FnX4 => "float6_e2m3fn_x4",
            NamedType::Float6E3M2FnX4 => "float6_e3m2fn_x4",
            NamedType::Complex32 => "complex32",
        }
    }

    /// The size of one element in bytes. An element of a type with `_x2` or `_x4` in its name has that many values.
    pub const fn itemsize(self) -> usize {
        match self {
            NamedType::BFloat16 | NamedType::Float4E2M1FnX4 => 2,
            NamedType::Float6E2M3FnX4 | NamedType::Float6E3M2FnX4 => 3,
            NamedType::Complex32 => 4,
            _ => 1,
        }
    }
}

impl fmt::Display for NamedType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// Parses a name; the error lists the known names.
impl FromStr for NamedType {
    type Err = Error;

    fn from_str(name: &str) -> Result<NamedType> {
        NamedType::from_name(name.as_bytes()).ok_or_else(|| {
            let names = NamedType::ALL.iter().map(|named| named.name()).collect::<Vec<_>>().join(", ");
            Error::argument(format!("{} is not the name of a type; the names are {names}", Quoted(name)))
        })
    }
}

impl TypeStr {
    /// The named type. It is written as void and equals only itself.
    pub const fn named(named: NamedType) -> TypeStr {
        // Void has no byte order, but all producers of these types write the machine's byte order.
        let (order, size) = (ByteOrder::NATIVE, named.itemsize() as u32);
        TypeStr { order, kind: Kind::Void, unit: None, name: Some(named), size, multiple: 0 }
    }

    /// The name of a type without a letter.
    pub const fn name(self) -> Option<NamedType> {
        self.name
    }

    /// The type in a message: the name if it has one, else the type string.
    pub(crate) fn label(self) -> String {
        self.name.map_or_else(|| self.to_string(), |named| named.to_string())
    }
}
