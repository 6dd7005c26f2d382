//! Element types in DLPack: a code, bits, and lanes.
//!
//! DLPack has codes for bfloat16 and the smaller floats, so these types keep their names. It has no codes for bytes, text, times and
//! structures, so such arrays cannot be exchanged. All numbers are in the machine's byte order. An element has whole bytes: values
//! of 4 and 6 bits are read in the vectors that have a name, and other vectors (`lanes` above 1) are refused.

use super::abi::DLDataType;
use crate::{Error, Kind, NamedType, Result, TypeStr};

const INT: u8 = 0;
const UINT: u8 = 1;
const FLOAT: u8 = 2;
const BFLOAT: u8 = 4;
const COMPLEX: u8 = 5;
const BOOL: u8 = 6;
const FLOAT4: u8 = 17;

/// Types without a letter, with their names in this crate.
const NAMED: [(DLDataType, NamedType); 14] = [
    (of(BFLOAT, 16, 1), NamedType::BFloat16),
    (of(7, 8, 1), NamedType::Float8E3M4),
    (of(8, 8, 1), NamedType::Float8E4M3),
    (of(9, 8, 1), NamedType::Float8E4M3B11Fnuz),
    (of(10, 8, 1), NamedType::Float8E4M3Fn),
    (of(11, 8, 1), NamedType::Float8E4M3Fnuz),
    (of(12, 8, 1), NamedType::Float8E5M2),
    (of(13, 8, 1), NamedType::Float8E5M2Fnuz),
    (of(14, 8, 1), NamedType::Float8E8M0Fnu),
    (of(FLOAT4, 4, 2), NamedType::Float4E2M1FnX2),
    (of(FLOAT4, 4, 4), NamedType::Float4E2M1FnX4),
    (of(15, 6, 4), NamedType::Float6E2M3FnX4),
    (of(16, 6, 4), NamedType::Float6E3M2FnX4),
    (of(COMPLEX, 32, 1), NamedType::Complex32),
];

const fn of(code: u8, bits: u8, lanes: u16) -> DLDataType {
    DLDataType { code, bits, lanes }
}

/// The names of codes in messages; a type of [`NAMED`] may have another size or number of lanes than the one that is read.
const CODES: [(u8, &str); 9] = [
    (INT, "int"),
    (UINT, "uint"),
    (FLOAT, "float"),
    (3, "opaque handles"),
    (COMPLEX, "complex"),
    (BOOL, "bool"),
    (15, "float6_e2m3fn"),
    (16, "float6_e3m2fn"),
    (FLOAT4, "float4_e2m1fn"),
];

/// Reads an element type of DLPack.
///
/// # Errors
/// [`Error::is_unsupported`]: a vector or a type of less than a byte without a name, or a code that has no type string.
pub(crate) fn read(dtype: DLDataType) -> Result<TypeStr> {
    let kind = match dtype.code {
        INT => Kind::Int,
        UINT => Kind::UInt,
        FLOAT => Kind::Float,
        COMPLEX => Kind::Complex,
        BOOL => Kind::Bool,
        _ => return named(dtype),
    };
    let size = u32::from(dtype.bits / 8);
    if dtype.lanes != 1 || u32::from(dtype.bits) != size * 8 || !kind.has_size(size) {
        return named(dtype);
    }
    Ok(TypeStr::native(kind, size))
}

fn named(dtype: DLDataType) -> Result<TypeStr> {
    let found = NAMED.iter().find(|(candidate, _)| *candidate == dtype);
    found.map(|(_, name)| TypeStr::named(*name)).ok_or_else(|| refused(dtype))
}

#[cold]
fn refused(DLDataType { code, bits, lanes }: DLDataType) -> Error {
    if lanes != 1 && bits >= 8 {
        return Error::unsupported(format!(
            "the DLPack elements are vectors of {lanes} lanes; an array of the lanes, with one more dimension, is expected"
        ));
    }
    let named = NAMED.iter().map(|(dtype, name)| (dtype.code, name.name()));
    let mut names = CODES.into_iter().chain(named);
    let name = names.find(|(candidate, _)| *candidate == code).map_or("an unknown type", |(_, name)| name);
    let lanes = if lanes == 1 { String::new() } else { format!(" and {lanes} lanes") };
    Error::unsupported(format!(
        "the DLPack elements are {name} (code {code}) of {bits} bits{lanes}, for which the CUDA Array Interface has no type string"
    ))
}

/// Writes an element type for DLPack.
///
/// # Errors
/// [`Error::is_unsupported`]: bytes, text, times, structures, bit fields and swapped bytes have no code.
pub(crate) fn write(typestr: TypeStr) -> Result<DLDataType> {
    if let Some(name) = typestr.name() {
        let dtype = NAMED.into_iter().find_map(|(dtype, candidate)| (candidate == name).then_some(dtype));
        return dtype.ok_or_else(|| unnameable(typestr, "no code"));
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
    Ok(of(code, (typestr.itemsize() * 8) as u8, 1))
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
            assert_eq!(usize::from(dtype.bits) * usize::from(dtype.lanes), typestr.itemsize() * 8, "{typestr}");
            assert_eq!(read(dtype).unwrap(), typestr);
        }
    }

    #[test]
    fn unknown_dlpack_codes_are_refused() {
        let mut read_back = 0;
        for code in 0..=u8::MAX {
            for bits in 0..=u8::MAX {
                for lanes in 0..=5 {
                    match read(of(code, bits, lanes)) {
                        Ok(typestr) => {
                            assert_eq!(write(typestr).unwrap(), of(code, bits, lanes));
                            read_back += 1;
                        }
                        Err(error) => assert!(error.is_unsupported(), "{error}"),
                    }
                }
            }
        }
        // Four ints of each sign, five floats, three complex numbers, bool, and the named ones.
        assert_eq!(read_back, 4 + 4 + 5 + 3 + 1 + NamedType::ALL.len());
    }

    #[test]
    fn refused_dlpack_types_are_named_with_bits_and_lanes() {
        for (dtype, part) in [
            (of(FLOAT, 32, 4), "vectors of 4 lanes"),
            (of(FLOAT4, 4, 1), "float4_e2m1fn (code 17) of 4 bits,"),
            (of(FLOAT4, 4, 3), "float4_e2m1fn (code 17) of 4 bits and 3 lanes,"),
            (of(15, 6, 2), "float6_e2m3fn (code 15) of 6 bits and 2 lanes,"),
            (of(14, 4, 1), "float8_e8m0fnu (code 14) of 4 bits,"),
        ] {
            let error = read(dtype).unwrap_err().to_string();
            assert!(error.contains(part), "{error}");
        }
    }

    #[test]
    fn types_without_a_dlpack_code_are_refused() {
        for text in [">f4", "|S3", "<U2", "|V8", "<M8[ns]", "<m8", "|t1", "<t16", "<c32"] {
            let error = write(text.parse().unwrap()).unwrap_err();
            assert!(error.is_unsupported() && error.to_string().contains("DLPack"), "{text}: {error}");
        }
    }
}
