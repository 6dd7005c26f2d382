//! Type strings: clause I3, compared with NumPy.

use crate::{Bool8, ByteOrder, Complex, Kind, NamedType, TimeUnit, TypeStr};
use proptest::prelude::*;
use std::collections::HashSet;

fn read(text: &str) -> TypeStr {
    text.parse().unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// The values of `numpy.dtype(...).str` for every kind of type, with `numpy.dtype(...).itemsize`.
const NUMPY_WRITES: &[(&str, Kind, usize)] = &[
    ("|b1", Kind::Bool, 1),
    ("|i1", Kind::Int, 1),
    ("<i2", Kind::Int, 2),
    (">i4", Kind::Int, 4),
    ("<i8", Kind::Int, 8),
    ("|u1", Kind::UInt, 1),
    (">u2", Kind::UInt, 2),
    ("<u4", Kind::UInt, 4),
    ("<u8", Kind::UInt, 8),
    ("<f2", Kind::Float, 2),
    ("<f4", Kind::Float, 4),
    (">f8", Kind::Float, 8),
    ("<f12", Kind::Float, 12),
    ("<f16", Kind::Float, 16),
    ("<c8", Kind::Complex, 8),
    (">c16", Kind::Complex, 16),
    ("<c24", Kind::Complex, 24),
    ("<c32", Kind::Complex, 32),
    ("|S0", Kind::Bytes, 0),
    ("|S5", Kind::Bytes, 5),
    ("<U0", Kind::Unicode, 0),
    ("<U3", Kind::Unicode, 12),
    (">U3", Kind::Unicode, 12),
    ("|V0", Kind::Void, 0),
    ("|V5", Kind::Void, 5),
    ("|V2147483647", Kind::Void, 2147483647),
    ("<M8", Kind::Datetime, 8),
    ("<m8", Kind::Timedelta, 8),
    ("<M8[ns]", Kind::Datetime, 8),
    (">M8[as]", Kind::Datetime, 8),
    ("<m8[25s]", Kind::Timedelta, 8),
    ("<M8[7D]", Kind::Datetime, 8),
    ("<m8[2147483647us]", Kind::Timedelta, 8),
    ("|O", Kind::Object, size_of::<usize>()),
];

#[test]
fn type_strings_of_numpy_round_trip() {
    for &(text, kind, itemsize) in NUMPY_WRITES {
        let typestr = read(text);
        assert_eq!((typestr.kind(), typestr.itemsize()), (kind, itemsize), "{text}");
        assert_eq!(typestr.to_string(), text);
        assert_eq!(typestr.byte_order().symbol(), text.chars().next().unwrap());
        assert_eq!(typestr.kind().letter(), text.chars().nth(1).unwrap());
        assert_eq!(TypeStr::from_lenient(text).unwrap(), (typestr, None), "{text}");
    }
}

#[test]
fn every_time_unit_is_read() {
    let units = [
        ("Y", TimeUnit::Year),
        ("M", TimeUnit::Month),
        ("W", TimeUnit::Week),
        ("D", TimeUnit::Day),
        ("h", TimeUnit::Hour),
        ("m", TimeUnit::Minute),
        ("s", TimeUnit::Second),
        ("ms", TimeUnit::Millisecond),
        ("us", TimeUnit::Microsecond),
        ("ns", TimeUnit::Nanosecond),
        ("ps", TimeUnit::Picosecond),
        ("fs", TimeUnit::Femtosecond),
        ("as", TimeUnit::Attosecond),
    ];
    for (symbol, unit) in units {
        assert_eq!(read(&format!("<M8[{symbol}]")).unit(), Some((1, unit)));
        assert_eq!(read(&format!(">m8[300{symbol}]")).unit(), Some((300, unit)));
        assert_eq!(unit.symbol(), symbol);
    }
    assert_eq!(read("<M8").unit(), None);
    assert_eq!(read("<i8").unit(), None);
}

#[test]
fn bit_fields_count_bits() {
    for (text, bits, itemsize) in [("|t1", 1, 1), ("<t1", 1, 1), ("|t8", 8, 1), ("|t9", 9, 2), (">t16", 16, 2)] {
        let typestr = read(text);
        assert_eq!((typestr.bits(), typestr.itemsize()), (Some(bits), itemsize), "{text}");
        assert_eq!(typestr.to_string(), text);
    }
    assert_eq!(read("|b1").bits(), None);
}

#[test]
fn invalid_type_string_is_refused_with_the_reason() {
    let cases = [
        ("", "byte order"),
        ("f4", "byte order"),
        ("=f4", "byte order"),
        ("@f4", "byte order"),
        ("!f4", "byte order"),
        (" <f4", "byte order"),
        ("float32", "byte order"),
        ("<", "no kind"),
        ("<x4", "no kind"),
        ("< f4", "no kind"),
        ("<F4", "no kind"),
        ("<f", "no size"),
        ("<f04", "no size"),
        ("<f-4", "no size"),
        ("<f+4", "no size"),
        ("<V99999999999999999999", "no size"),
        ("|S", "no size"),
        ("<f4 ", "text after its size"),
        ("<f4[ns]", "text after its size"),
        ("<f4\0", "text after its size"),
        ("<b2", "1 byte"),
        ("|i3", "1, 2, 4 or 8"),
        ("<i16", "1, 2, 4 or 8"),
        ("<f1", "floating point takes"),
        ("<c4", "complex takes"),
        ("<M4", "datetime takes 8"),
        ("|V2147483648", "void takes"),
        ("<U536870912", "Unicode string takes"),
        ("|t0", "bits"),
        ("|O0", "Python object takes"),
        ("|O3", "Python object takes"),
        ("|f4", "needs a byte order"),
        ("|u2", "needs a byte order"),
        ("|M8[ns]", "needs a byte order"),
        ("|U3", "needs a byte order"),
        ("<M8[]", "unit"),
        ("<M8[ns", "unit"),
        ("<M8ns]", "unit"),
        ("<M8[0s]", "unit"),
        ("<M8[05s]", "unit"),
        ("<M8[5]", "unit"),
        ("<M8[-3s]", "unit"),
        ("<M8[2147483648s]", "unit"),
        ("<M8[99999999999s]", "unit"),
        ("<M8[B]", "unit"),
        ("<M8[ns]]", "unit"),
        ("<M8[generic]", "unit"),
        ("<M8[µs]", "unit"),
        ("é", "byte order"),
        ("<é4", "no kind"),
    ];
    for (text, why) in cases {
        let error = text.parse::<TypeStr>().expect_err(text);
        assert_eq!(error.key(), Some("typestr"));
        let message = error.to_string();
        assert!(message.contains(why), "{text}: {message}");
        assert!(message.contains("'<f4'"), "{text}: {message}");
    }
}

#[test]
fn message_about_a_long_type_string_is_short_and_printable() {
    let message = "\0x'\u{1b}[31m".repeat(100_000).parse::<TypeStr>().unwrap_err().to_string();
    assert!(message.len() < 600, "{}", message.len());
    assert!(message.chars().all(|c| !c.is_control()));
}

#[test]
fn equality_ignores_the_spelling() {
    for (one, other) in [
        ("|i1", "<i1"),
        ("<u1", ">u1"),
        ("|b1", ">b1"),
        ("|V2", "<V2"),
        ("|S3", ">S3"),
        ("<t1", "|t1"),
        ("<M8[s]", "<M8[1s]"),
        ("|O", "|O8"),
    ] {
        assert_eq!(read(one), read(other), "{one} {other}");
        assert_eq!(HashSet::from([read(one), read(other)]).len(), 1, "{one} {other}");
        assert_eq!((read(one).to_string(), read(other).to_string()), (one.into(), other.into()));
    }
    for (one, other) in [
        ("<f4", ">f4"),
        ("<f4", "<i4"),
        ("<f4", "<f8"),
        ("|V4", "|S4"),
        ("<U1", "<U2"),
        ("<U1", ">U1"),
        ("|t1", "|t2"),
        ("<M8[s]", "<M8[ms]"),
        ("<M8[s]", "<M8[2s]"),
        ("<M8[s]", "<M8"),
        ("<M8[s]", "<m8[s]"),
    ] {
        assert_ne!(read(one), read(other), "{one} {other}");
    }
}

#[test]
fn types_in_the_byte_order_of_the_machine_are_native() {
    let (own, foreign) = if cfg!(target_endian = "big") { ('>', '<') } else { ('<', '>') };
    for kind in ["f4", "c8", "i2", "u8", "M8[ns]", "U3"] {
        assert!(read(&format!("{own}{kind}")).is_native());
        assert!(!read(&format!("{foreign}{kind}")).is_native());
    }
    for kind in ["i1", "u1", "b1", "S7", "V2"] {
        assert!(read(&format!("{foreign}{kind}")).is_native());
        assert!(read(&format!("|{kind}")).is_native());
    }
}

#[test]
fn elements_have_the_type_strings_of_numpy() {
    let n = ByteOrder::NATIVE.symbol();
    let cases = [
        (TypeStr::of::<i8>(), "|i1".to_string()),
        (TypeStr::of::<i16>(), format!("{n}i2")),
        (TypeStr::of::<i32>(), format!("{n}i4")),
        (TypeStr::of::<i64>(), format!("{n}i8")),
        (TypeStr::of::<u8>(), "|u1".to_string()),
        (TypeStr::of::<u16>(), format!("{n}u2")),
        (TypeStr::of::<u32>(), format!("{n}u4")),
        (TypeStr::of::<u64>(), format!("{n}u8")),
        (TypeStr::of::<f32>(), format!("{n}f4")),
        (TypeStr::of::<f64>(), format!("{n}f8")),
        (TypeStr::of::<Complex<f32>>(), format!("{n}c8")),
        (TypeStr::of::<Complex<f64>>(), format!("{n}c16")),
        (TypeStr::of::<Bool8>(), "|b1".to_string()),
    ];
    for (typestr, text) in cases {
        assert_eq!(typestr.to_string(), text);
        assert_eq!(typestr, read(&text));
        assert!(typestr.is_native());
    }
}

#[test]
fn constructor_checks_like_the_parser() {
    assert_eq!(TypeStr::new(ByteOrder::Big, Kind::Complex, 16).unwrap(), read(">c16"));
    assert_eq!(TypeStr::new(ByteOrder::NotApplicable, Kind::BitField, 12).unwrap(), read("|t12"));
    for (order, kind, size) in [
        (ByteOrder::Little, Kind::Float, 3),
        (ByteOrder::NotApplicable, Kind::Float, 4),
        (ByteOrder::Little, Kind::Unicode, u32::MAX),
        (ByteOrder::Little, Kind::Datetime, 4),
    ] {
        assert_eq!(TypeStr::new(order, kind, size).unwrap_err().key(), Some("typestr"));
    }
}

#[test]
fn lenient_reading_accepts_the_spellings_of_real_producers() {
    let n = ByteOrder::NATIVE.symbol();
    let long = size_of::<std::ffi::c_long>();
    let cases = [
        ("=f", format!("{n}f4")),
        ("f", format!("{n}f4")),
        ("float32", format!("{n}f4")),
        ("f4", format!("{n}f4")),
        ("=f4", format!("{n}f4")),
        ("@f4", format!("{n}f4")),
        ("!f4", ">f4".into()),
        (">f", ">f4".into()),
        ("<d", "<f8".into()),
        ("!d", ">f8".into()),
        ("|f4", format!("{n}f4")),
        ("|u2", format!("{n}u2")),
        ("|U3", format!("{n}U3")),
        ("=b", "|i1".into()),
        ("B", "|u1".into()),
        ("<B", "|u1".into()),
        ("?", "|b1".into()),
        ("=?", "|b1".into()),
        ("h", format!("{n}i2")),
        ("=H", format!("{n}u2")),
        ("i", format!("{n}i4")),
        ("=I", format!("{n}u4")),
        ("q", format!("{n}i8")),
        ("=Q", format!("{n}u8")),
        ("l", format!("{n}i{long}")),
        ("L", format!("{n}u{long}")),
        ("e", format!("{n}f2")),
        ("Zf", format!("{n}c8")),
        ("=Zd", format!("{n}c16")),
        ("F", format!("{n}c8")),
        ("D", format!("{n}c16")),
        ("c", "|S1".into()),
        ("b1", "|b1".into()),
        ("i1", "|i1".into()),
        ("=u1", "|u1".into()),
        ("V2", "|V2".into()),
        ("S5", "|S5".into()),
        ("U3", format!("{n}U3")),
        ("M8[ns]", format!("{n}M8[ns]")),
        ("=m8[25s]", format!("{n}m8[25s]")),
        ("t1", "|t1".into()),
        ("bool", "|b1".into()),
        ("int8", "|i1".into()),
        ("uint64", format!("{n}u8")),
        ("float16", format!("{n}f2")),
        ("complex128", format!("{n}c16")),
        ("datetime64", format!("{n}M8")),
        ("datetime64[ns]", format!("{n}M8[ns]")),
        ("timedelta64[25s]", format!("{n}m8[25s]")),
    ];
    for (text, expected) in cases {
        assert!(text.parse::<TypeStr>().is_err(), "{text}");
        let (typestr, deviation) = TypeStr::from_lenient(text).unwrap_or_else(|error| panic!("{text}: {error}"));
        assert_eq!(typestr.to_string(), expected, "{text}");
        let deviation = deviation.unwrap();
        assert!(deviation.contains(&format!("'{text}'")) && deviation.contains(&expected), "{deviation}");
        // Lenient reading returns a valid type string.
        assert_eq!(read(&expected), typestr);
    }
}

#[test]
fn lenient_reading_does_not_guess() {
    // `=l` has 4 bytes in the buffer protocol and 8 in NumPy; the size of a long double depends on the machine.
    for text in [
        "",
        "=",
        "=l",
        "<l",
        ">L",
        "g",
        "=g",
        "G",
        "x",
        "float33",
        "float8",
        ">f1",
        "f1",
        "=f3",
        "datetime64[x]",
        "ff",
        "Zq",
        "<<f4",
        "=<f4",
    ] {
        let error = TypeStr::from_lenient(text).expect_err(text);
        assert_eq!(error.key(), Some("typestr"));
    }
}

#[test]
fn debug_output_is_compact() {
    assert_eq!(format!("{:?}", read("<m8[25s]")), "TypeStr(<m8[25s])");
    assert_eq!(format!("{:?}", TypeStr::named(NamedType::BFloat16)), "TypeStr(<V2 bfloat16)");
}

#[test]
fn named_type_is_written_as_void_and_equals_only_itself() {
    for &named in NamedType::ALL {
        let typestr = TypeStr::named(named);
        assert_eq!(typestr.to_string(), format!("<V{}", named.itemsize()));
        assert_eq!((typestr.kind(), typestr.itemsize()), (Kind::Void, named.itemsize()));
        assert_eq!((typestr.name(), typestr.label()), (Some(named), named.to_string()));
        assert!(typestr.is_native());
        // The name is lost when the type string is written and read again; nothing is guessed.
        let read_again = read(&typestr.to_string());
        assert_eq!((read_again.name(), read_again.label()), (None, typestr.to_string()));
        assert_ne!(read_again, typestr);
        for &other in NamedType::ALL {
            assert_eq!(TypeStr::named(other) == typestr, other == named);
        }
    }
    let all: HashSet<TypeStr> = NamedType::ALL.iter().map(|&named| TypeStr::named(named)).collect();
    assert_eq!(all.len(), NamedType::ALL.len());
}

#[test]
fn type_name_is_read_as_a_named_type() {
    for &named in NamedType::ALL {
        assert_eq!(named.name().parse::<NamedType>().unwrap(), named);
        let (typestr, deviation) = TypeStr::from_lenient(named.name()).unwrap();
        assert_eq!(typestr, TypeStr::named(named));
        assert!(deviation.unwrap().ends_with(&format!("read as '{named}'")));
        assert!(named.name().parse::<TypeStr>().is_err());
    }
    for text in ["", "bfloat", "BFLOAT16", " bfloat16", "bfloat16\0", "float8", "float8_e4m3fnx"] {
        let error = text.parse::<NamedType>().unwrap_err().to_string();
        assert!(error.contains("float8_e8m0fnu"), "{error}");
    }
}

#[test]
fn eight_bit_floats_are_read_as_void() {
    for text in ["<f1", "|f1"] {
        let error = text.parse::<TypeStr>().unwrap_err().to_string();
        assert!(error.contains("'<V1'"), "{error}");
        let (typestr, deviation) = TypeStr::from_lenient(text).unwrap();
        assert_eq!((typestr, typestr.name()), (TypeStr::void(1), None));
        assert!(deviation.unwrap().contains("does not say which"));
    }
}

fn valid() -> impl Strategy<Value = String> {
    let order = prop_oneof![Just('<'), Just('>')];
    let any_order = prop_oneof![Just('<'), Just('>'), Just('|')];
    let numbers = prop::sample::select(vec![
        "i2", "i4", "i8", "u2", "u4", "u8", "f2", "f4", "f8", "f12", "f16", "c8", "c16", "c24", "c32",
    ]);
    let bytes = prop::sample::select(vec!["i1", "u1", "b1", "O", "O4", "O8"]);
    let unit = prop::sample::select(vec!["Y", "M", "W", "D", "h", "m", "s", "ms", "us", "ns", "ps", "fs", "as"]);
    prop_oneof![
        (order.clone(), numbers).prop_map(|(order, rest)| format!("{order}{rest}")),
        (any_order.clone(), bytes).prop_map(|(order, rest)| format!("{order}{rest}")),
        (any_order.clone(), prop_oneof![Just('S'), Just('V')], 0..=i32::MAX).prop_map(|(o, k, n)| format!("{o}{k}{n}")),
        (any_order, 1..=i32::MAX).prop_map(|(order, bits)| format!("{order}t{bits}")),
        (order.clone(), 0..=i32::MAX / 4).prop_map(|(order, count)| format!("{order}U{count}")),
        (order, prop_oneof![Just('m'), Just('M')], prop::option::of((prop::option::of(1..=i32::MAX), unit))).prop_map(
            |(order, kind, unit)| match unit {
                None => format!("{order}{kind}8"),
                Some((None, unit)) => format!("{order}{kind}8[{unit}]"),
                Some((Some(multiple), unit)) => format!("{order}{kind}8[{multiple}{unit}]"),
            }
        ),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn every_type_string_round_trips(text in valid()) {
        let typestr: TypeStr = text.parse().unwrap();
        prop_assert_eq!(typestr.to_string(), &text[..]);
        prop_assert_eq!(TypeStr::from_lenient(&text).unwrap(), (typestr, None));
        prop_assert!(typestr.itemsize() <= i32::MAX as usize);
    }

    #[test]
    fn accepted_text_is_printed_again(text in "[<>|=@]?[tbiufcmMOSUV]?[0-9]{0,12}(\\[[0-9]{0,11}[a-zA-Z]{0,3}\\]?)?") {
        if let Ok(typestr) = text.parse::<TypeStr>() {
            prop_assert_eq!(typestr.to_string(), &text[..]);
        }
        if let Ok((typestr, deviation)) = TypeStr::from_lenient(&text) {
            prop_assert_eq!(typestr.to_string().parse::<TypeStr>().unwrap(), typestr);
            prop_assert_eq!(deviation.is_none(), text.parse::<TypeStr>().is_ok());
        }
    }

    #[test]
    fn any_text_is_accepted_or_refused(text in ".{0,40}") {
        let _ = TypeStr::from_lenient(&text).map_err(|error| error.to_string());
    }
}
