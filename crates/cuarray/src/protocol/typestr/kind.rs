//! The parts of a type string: kind, byte order, time unit.

use super::MAX_ITEMSIZE;

/// The kind of an element, without its size.
///
/// ```
/// use cuarray::{Kind, TypeStr};
///
/// let typestr: TypeStr = "<c16".parse()?;
/// assert_eq!(typestr.kind(), Kind::Complex);
/// assert_eq!(typestr.kind().letter(), 'c');
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Kind {
    /// `t`: a bit field, whose size counts bits.
    BitField,
    /// `b`: a truth value in a byte, 0 or 1.
    Bool,
    /// `i`: a signed integer.
    Int,
    /// `u`: an unsigned integer.
    UInt,
    /// `f`: an IEEE 754 floating-point number, or the platform's extended format (`long double`).
    Float,
    /// `c`: two floating-point numbers, the real part first.
    Complex,
    /// `m`: a duration, a signed 64-bit count of units.
    Timedelta,
    /// `M`: a point in time, a signed 64-bit count of units since 1970.
    Datetime,
    /// `O`: a pointer to a Python object. The type string can be parsed, but no device array has
    /// such elements.
    Object,
    /// `S`: a byte string of fixed length, padded with zeros.
    Bytes,
    /// `U`: a string of fixed length in characters of four bytes.
    Unicode,
    /// `V`: bytes without their own meaning, for structures and for types without a letter.
    Void,
}

impl Kind {
    /// The letter of this kind in a type string.
    pub const fn letter(self) -> char {
        match self {
            Kind::BitField => 't',
            Kind::Bool => 'b',
            Kind::Int => 'i',
            Kind::UInt => 'u',
            Kind::Float => 'f',
            Kind::Complex => 'c',
            Kind::Timedelta => 'm',
            Kind::Datetime => 'M',
            Kind::Object => 'O',
            Kind::Bytes => 'S',
            Kind::Unicode => 'U',
            Kind::Void => 'V',
        }
    }

    pub(super) const fn from_letter(letter: u8) -> Option<Kind> {
        Some(match letter {
            b't' => Kind::BitField,
            b'b' => Kind::Bool,
            b'i' => Kind::Int,
            b'u' => Kind::UInt,
            b'f' => Kind::Float,
            b'c' => Kind::Complex,
            b'm' => Kind::Timedelta,
            b'M' => Kind::Datetime,
            b'O' => Kind::Object,
            b'S' => Kind::Bytes,
            b'U' => Kind::Unicode,
            b'V' => Kind::Void,
            _ => return None,
        })
    }

    /// Whether the kind has this size, in the unit of a type string.
    pub(crate) const fn has_size(self, size: u32) -> bool {
        match self {
            Kind::Bool => size == 1,
            Kind::Int | Kind::UInt => matches!(size, 1 | 2 | 4 | 8),
            Kind::Float => matches!(size, 2 | 4 | 8 | 12 | 16),
            Kind::Complex => matches!(size, 8 | 16 | 24 | 32),
            Kind::Timedelta | Kind::Datetime => size == 8,
            Kind::Object => matches!(size, 0 | 4 | 8),
            Kind::Bytes | Kind::Void => size <= MAX_ITEMSIZE,
            Kind::Unicode => size <= MAX_ITEMSIZE / 4,
            Kind::BitField => size >= 1 && size <= MAX_ITEMSIZE,
        }
    }

    pub(super) const fn sizes(self) -> &'static str {
        match self {
            Kind::Bool => "1 byte",
            Kind::Int | Kind::UInt => "1, 2, 4 or 8 bytes",
            Kind::Float => {
                "2, 4, 8, 12 or 16 bytes (8-bit floats are written as '<V1', and the caller names their type)"
            }
            Kind::Complex => "8, 16, 24 or 32 bytes",
            Kind::Timedelta | Kind::Datetime => "8 bytes",
            Kind::Object => "no size, 4 or 8 bytes",
            Kind::Bytes | Kind::Void => "0 to 2147483647 bytes",
            Kind::Unicode => "0 to 536870911 characters",
            Kind::BitField => "1 to 2147483647 bits",
        }
    }

    pub(super) const fn noun(self) -> &'static str {
        match self {
            Kind::BitField => "bit field",
            Kind::Bool => "bool",
            Kind::Int => "signed integer",
            Kind::UInt => "unsigned integer",
            Kind::Float => "floating point",
            Kind::Complex => "complex",
            Kind::Timedelta => "timedelta",
            Kind::Datetime => "datetime",
            Kind::Object => "Python object",
            Kind::Bytes => "byte string",
            Kind::Unicode => "Unicode string",
            Kind::Void => "void",
        }
    }
}

/// The byte order of a number: the first character of a type string.
///
/// ```
/// use cuarray::{ByteOrder, TypeStr};
///
/// assert_eq!(">f4".parse::<TypeStr>()?.byte_order(), ByteOrder::Big);
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ByteOrder {
    /// `<`: the least significant byte first, as on every GPU.
    Little,
    /// `>`: the most significant byte first.
    Big,
    /// `|`: not applicable.
    NotApplicable,
}

impl ByteOrder {
    /// The byte order of this machine.
    pub const NATIVE: ByteOrder = if cfg!(target_endian = "big") { ByteOrder::Big } else { ByteOrder::Little };

    /// The character of this order in a type string.
    pub const fn symbol(self) -> char {
        match self {
            ByteOrder::Little => '<',
            ByteOrder::Big => '>',
            ByteOrder::NotApplicable => '|',
        }
    }
}

/// The unit of a datetime or timedelta.
///
/// ```
/// use cuarray::{TimeUnit, TypeStr};
///
/// let typestr: TypeStr = "<m8[25s]".parse()?;
/// assert_eq!(typestr.unit(), Some((25, TimeUnit::Second)));
/// assert_eq!(TimeUnit::Second.symbol(), "s");
/// # Ok::<(), cuarray::Error>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum TimeUnit {
    /// `Y`
    Year,
    /// `M`
    Month,
    /// `W`
    Week,
    /// `D`
    Day,
    /// `h`
    Hour,
    /// `m`
    Minute,
    /// `s`
    Second,
    /// `ms`
    Millisecond,
    /// `us`
    Microsecond,
    /// `ns`
    Nanosecond,
    /// `ps`
    Picosecond,
    /// `fs`
    Femtosecond,
    /// `as`
    Attosecond,
}

impl TimeUnit {
    /// The spelling of the unit in a type string.
    pub const fn symbol(self) -> &'static str {
        match self {
            TimeUnit::Year => "Y",
            TimeUnit::Month => "M",
            TimeUnit::Week => "W",
            TimeUnit::Day => "D",
            TimeUnit::Hour => "h",
            TimeUnit::Minute => "m",
            TimeUnit::Second => "s",
            TimeUnit::Millisecond => "ms",
            TimeUnit::Microsecond => "us",
            TimeUnit::Nanosecond => "ns",
            TimeUnit::Picosecond => "ps",
            TimeUnit::Femtosecond => "fs",
            TimeUnit::Attosecond => "as",
        }
    }

    pub(super) const fn from_symbol(symbol: &[u8]) -> Option<TimeUnit> {
        Some(match symbol {
            b"Y" => TimeUnit::Year,
            b"M" => TimeUnit::Month,
            b"W" => TimeUnit::Week,
            b"D" => TimeUnit::Day,
            b"h" => TimeUnit::Hour,
            b"m" => TimeUnit::Minute,
            b"s" => TimeUnit::Second,
            b"ms" => TimeUnit::Millisecond,
            b"us" => TimeUnit::Microsecond,
            b"ns" => TimeUnit::Nanosecond,
            b"ps" => TimeUnit::Picosecond,
            b"fs" => TimeUnit::Femtosecond,
            b"as" => TimeUnit::Attosecond,
            _ => return None,
        })
    }
}
