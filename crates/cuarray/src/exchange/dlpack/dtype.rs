//! Element types in DLPack: a code, bits, and lanes.
//!
//! DLPack has codes for bfloat16 and the 8-bit floats, so these types keep their names. It has no codes for bytes, text, times and
//! structures, so such arrays cannot be exchanged. All numbers are in the machine's byte order. An interface cannot express
//! vectors (`lanes` above 1) or types of less than a byte.

use super::abi::DLDataType;
use crate::{Error, Kind, NamedType, Result, TypeStr};

const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;

/// Codes that stand for one type each, with its name in this crate.
const NAMED: [(u8, NamedType); 9] = [
    (BFLOAT, NamedType::BFloat16),
    (7, NamedType::Float8E3M4),
    (8, NamedType::Float8E4M3),
    (9, NamedType::Float8E4M3B11Fnuz),
    (10, NamedType::Float8E4M3Fn),
    (11, NamedType::Float8E4M3Fnuz),
    (12, NamedType::Float8E5M2),
    (13, NamedType::Float8E5M2Fnuz),
    (14, NamedType::Float8E8M0Fnu),
];

/// Codes that cannot be read, with their names for the message.
const REFUSED: [(u8, &str); 4] =
    [(3, "opaque handles"), (15, "float6_e2m3fn"), (16, "float6_e3m2fn"), (17, "float4_e2m1fn")];

/// Reads an element type of DLPack.
///
/// # Errors
/// [`Error::is_unsupported`]: a vector, a type of less than a byte, or a code that has no type string.
pub(crate) fn read(dtype: DLDataType) -> Result<TypeStr> {
    let DLDataType { code, bits, lanes } = dtype;
    if lanes != 1 {
        return Err(Error::unsupported(format!(
            "the DLPack elements are vectors of {lanes} lanes; an array of the lanes, with one more dimension, is expected"
        )));
    }
    let kind = match code {
        INT => Kind::Int,
        UINT => Kind::UInt,
        FLOAT => Kind::Float,
        COMPLEX => Kind::Complex,
        BOOL => Kind::Bool,
        _ => {
            let named =
                NAMED.iter().find(|(candidate, name)| *candidate == code && usize::from(bits) == name.itemsize() * 8);
            return named.map(|(_, name)| TypeStr::named(*name)).ok_or_else(|| refused(dtype));
        }
    };
    let size = u32::from(bits / 8);
    if bits % 8 != 0 || !kind.has_size(size) {
        return Err(refused(dtype));
    }
    Ok(TypeStr::native(kind, size))
}

#[cold]
fn refused(DLDataType { code, bits, .. }: DLDataType) -> Error {
    let names = REFUSED.into_iter().chain(NAMED.into_iter().map(|(code, name)| (code, name.name())));
    let name = match code {
        INT => "int",
        UINT => "uint",
        FLOAT => "float",
        COMPLEX => "complex",
        BOOL => "bool",
        _ => names.into_iter().find(|(candidate, _)| *candidate == code).map_or("an unknown type", |(_, name)| name),
    };
    Error::unsupported(format!(
        "the DLPack elements are {name} (code {code}) of {bits} bits, for which the CUDA Array Interface has no type string"
    ))
}

/// Writes an element type for DLPack.
///
/// # Errors
/// [`Error::is_unsupported`]: bytes, text, times, structures, bit fields and swapped bytes have no code.
pub(crate) fn write(typestr: TypeStr) -> Result<DLDataType> {
    let of = |code| DLDataType { code, bits: (typestr.itemsize() * 8) as u8, lanes: 1 };
    if let Some(name) = typestr.name() {
        let code = NAMED.into_iter().find_map(|(code, candidate)| (candidate == name).then_some(code));
        return code.map(of).ok_or_else(|| unnameable(typestr, "no code"));
    }
    let code = match typestr.kind() {
        Kind::Int => INT,
        Kind::UInt => UINT,
        Kind::Float => FLOAT,
        Kind::Complex => COMPLEX,
        Kind::Bool => BOOL,
        _ => return Err(unnameable(typestr, "no code")),
    };
    // `bits` is one byte. Only complex numbers of long doubles exceed its range, with 256 bits.
    if typestr.itemsize() > 31 {
        return Err(unnameable(typestr, "no code of that size"));
    }
    if !typestr.is_native() {
        return Err(unnameable(typestr, "no code for swapped bytes"));
    }
    Ok(of(code))
}

#[cold]
fn unnameable(typestr: TypeStr, why: &str) -> Error {
    Error::unsupported(format!(
        "elements of type '{}' cannot be exchanged by DLPack, which has {why}; the CUDA Array Interface can",
        typestr.label()
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn types_with_a_dlpack_code_read_back_equal() {
        let plain =
            ["|i1", "<i2", "<i4", "<i8", "|u1", "<u2", "<u4", "<u8", "<f2", "<f4", "<f8", "<f16", "<c8", "<c16", "|b1"];
        let plain = plain.into_iter().map(|text| text.parse().unwrap());
        for typestr in plain.chain(NamedType::ALL.iter().copied().map(TypeStr::named)) {
            let dtype = write(typestr).unwrap();
            assert_eq!((usize::from(dtype.bits), dtype.lanes), (typestr.itemsize() * 8, 1), "{typestr}");
            assert_eq!(read(dtype).unwrap(), typestr);
        }
    }

    #[test]
    fn unknown_dlpack_codes_are_refused() {
        let mut read_back = 0;
        for code in 0..=u8::MAX {
            for bits in 0..=u8::MAX {
                match read(DLDataType { code, bits, lanes: 1 }) {
                    Ok(typestr) => {
                        assert_eq!(write(typestr).unwrap(), DLDataType { code, bits, lanes: 1 });
                        read_back += 1;
                    }
                    Err(error) => assert!(error.is_unsupported(), "{error}"),
                }
            }
        }
        // Four ints of each sign, five floats, three complex numbers, bool, and the named ones.
        assert_eq!(read_back, 4 + 4 + 5 + 3 + 1 + NamedType::ALL.len());
        assert!(read(DLDataType { code: FLOAT, bits: 32, lanes: 4 }).unwrap_err().is_unsupported());
    }

    #[test]
    fn types_without_a_dlpack_code_are_refused() {
        for text in [">f4", "|S3", "<U2", "|V8", "<M8[ns]", "<m8", "|t1", "<t16", "<c32"] {
            let error = write(text.parse().unwrap()).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains("DLPack"), "{text}: {error}");
        }
    }
}
