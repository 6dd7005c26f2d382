//! Interfaces: clauses I4, I5, I7, I9 to I11, V0 to V2.

use crate::{Bool8, Descr, Field, Interface, Layout, Mask, NamedType, StreamEntry, TypeStr, Version};
use proptest::prelude::*;

fn floats(shape: &[usize]) -> Interface {
    Interface::new(0x1000, TypeStr::of::<f32>(), Layout::c_contiguous(shape, 4).unwrap()).unwrap()
}

fn flags(shape: &[usize]) -> Interface {
    Interface::new(0x2000, TypeStr::of::<Bool8>(), Layout::c_contiguous(shape, 1).unwrap()).unwrap()
}

fn refused(data: u64, typestr: &str, shape: &[usize], strides: Option<&[isize]>) -> crate::Error {
    let typestr: TypeStr = typestr.parse().unwrap();
    let layout = match strides {
        None => Layout::c_contiguous(shape, typestr.itemsize()),
        Some(strides) => Layout::strided(shape, strides, typestr.itemsize()),
    };
    Interface::new(data, typestr, layout.unwrap()).unwrap_err()
}

#[test]
fn new_interface_is_current_writable_and_has_no_optional_entries() {
    let interface = floats(&[3, 4]);
    assert_eq!((interface.version(), interface.version().number()), (Version::V3, 3));
    assert_eq!((interface.shape(), interface.strides()), (&[3, 4][..], &[16, 4][..]));
    assert_eq!((interface.data(), interface.export_data()), (0x1000, 0x1000));
    assert_eq!((interface.nbytes(), interface.byte_range()), (48, 0x1000..0x1030));
    assert_eq!((interface.is_read_only(), interface.stream()), (false, StreamEntry::None));
    assert!(interface.mask().is_none() && interface.descr().is_none());
}

#[test]
fn versions_0_to_3_are_read() {
    for number in 0..=3 {
        let version = Version::try_from(number).unwrap();
        assert_eq!(i64::from(version.number()), number);
        assert_eq!(version.to_string(), number.to_string());
    }
    for number in [-1, 4, i64::MAX, i64::MIN] {
        let error = Version::try_from(number).unwrap_err();
        assert_eq!(error.key(), Some("version"));
        assert!(error.to_string().contains(&number.to_string()) && error.to_string().contains("reads 0 to 3"));
    }
}

#[test]
fn object_pointers_are_refused() {
    let error = refused(0x1000, "|O", &[3], None);
    assert_eq!(error.key(), Some("typestr"));
    assert!(error.to_string().contains("mean nothing on a device"), "{error}");

    let inner = Descr::new(vec![Field::new("object", "|O".parse::<TypeStr>().unwrap())]).unwrap();
    let descr = Descr::new(vec![Field::new("x", inner)]).unwrap();
    let bytes = size_of::<usize>();
    let layout = Layout::c_contiguous(&[3], bytes).unwrap();
    let interface = Interface::new(0x1000, TypeStr::void(bytes as u32), layout).unwrap();
    let error = interface.with_descr(descr).unwrap_err();
    assert_eq!(error.key(), Some("descr"));
    assert!(error.to_string().contains("mean nothing on a device"), "{error}");
}

#[test]
fn item_sizes_of_layout_typestr_and_descr_must_agree() {
    let error = Interface::new(0x1000, TypeStr::of::<f32>(), Layout::c_contiguous(&[3], 8).unwrap()).unwrap_err();
    assert_eq!(error.key(), Some("typestr"));

    let interface = Interface::new(0x1000, TypeStr::void(16), Layout::c_contiguous(&[3], 16).unwrap()).unwrap();
    // An aligned record that lost its final padding has 9 bytes instead of 16.
    let fields = vec![Field::new("x", TypeStr::of::<i64>()), Field::new("y", TypeStr::of::<Bool8>())];
    let error = interface.clone().with_descr(Descr::new(fields.clone()).unwrap()).unwrap_err();
    assert_eq!(error.key(), Some("descr"));
    assert!(error.to_string().contains("9 bytes") && error.to_string().contains("'|V16'"), "{error}");
    let padded = Descr::new([fields, vec![Field::padding(7)]].concat()).unwrap();
    assert_eq!(interface.with_descr(padded.clone()).unwrap().descr(), Some(&padded));
}

#[test]
fn descr_that_repeats_the_typestr_is_dropped() {
    for text in ["<f4", "|V2", "<V2"] {
        let typestr: TypeStr = text.parse().unwrap();
        let layout = Layout::c_contiguous(&[3], typestr.itemsize()).unwrap();
        let interface = Interface::new(0x1000, typestr, layout).unwrap();
        let plain = Descr::new(vec![Field::new("", typestr)]).unwrap();
        assert!(interface.with_descr(plain).unwrap().descr().is_none());
    }
    let other = Descr::new(vec![Field::new("", TypeStr::of::<i32>())]).unwrap();
    assert!(floats(&[3]).with_descr(other).unwrap().descr().is_some());
}

fn of(typestr: TypeStr) -> Interface {
    let layout = Layout::strided(&[3], &[32], typestr.itemsize()).unwrap();
    Interface::new(0x1000, typestr, layout).unwrap().with_read_only(true).with_stream(StreamEntry::LegacyDefault)
}

fn parsed(typestr: &str) -> Interface {
    of(typestr.parse().unwrap())
}

fn named(named: NamedType) -> TypeStr {
    TypeStr::named(named)
}

fn point() -> Descr {
    Descr::new(vec![Field::new("x", TypeStr::of::<f32>()), Field::new("y", TypeStr::of::<i32>())]).unwrap()
}

#[test]
fn void_can_be_read_as_a_given_type_of_its_size() {
    let bfloat16 = named(NamedType::BFloat16);
    for (before, typestr, descr) in [
        ("<V2", bfloat16, None),
        ("|V2", bfloat16, None),
        ("<u2", bfloat16, None),
        ("|V1", named(NamedType::Float8E5M2), None),
        ("|u1", named(NamedType::Float8E8M0Fnu), None),
        ("|V2", "<f2".parse().unwrap(), None),
        ("|V8", ">f8".parse().unwrap(), None),
        ("|V8", "<M8[ns]".parse().unwrap(), None),
        ("|V8", TypeStr::void(8), Some(point())),
    ] {
        let before = parsed(before);
        let after = before.clone().with_type(typestr, descr.clone()).unwrap();
        assert_eq!((after.typestr(), after.descr()), (typestr, descr.as_ref()));
        assert_eq!((after.layout(), after.data(), after.stream()), (before.layout(), before.data(), before.stream()));
        assert!(after.is_read_only());
        assert_eq!(after.clone().with_type(typestr, descr).unwrap(), after, "a type may be given its own name again");
    }
}

#[test]
fn type_of_the_interface_is_not_overridden() {
    let bfloat16 = named(NamedType::BFloat16);
    let structure = parsed("|V8").with_descr(point()).unwrap();
    for (before, typestr, descr) in [
        (parsed("<f2"), bfloat16, None),
        (parsed("<i2"), bfloat16, None),
        (parsed(">V2"), bfloat16, None),
        (parsed(">u2"), bfloat16, None),
        (parsed("|V4"), bfloat16, None),
        (parsed("|V2"), named(NamedType::Float8E4M3), None),
        (parsed("|u1"), TypeStr::of::<i8>(), None),
        (parsed("<f4"), TypeStr::of::<i32>(), None),
        (parsed("<f4"), ">f4".parse().unwrap(), None),
        (parsed("<f8"), TypeStr::void(8), Some(point())),
        (of(bfloat16), TypeStr::void(2), None),
        (of(bfloat16), TypeStr::of::<u16>(), None),
        (of(named(NamedType::Float8E4M3)), named(NamedType::Float8E4M3Fn), None),
        (structure.clone(), TypeStr::void(8), None),
        (structure.clone(), TypeStr::of::<f64>(), None),
        (structure, TypeStr::void(8), Some(Descr::new(vec![Field::new("z", TypeStr::of::<f64>())]).unwrap())),
    ] {
        let error = before.clone().with_type(typestr, descr).unwrap_err();
        assert!(error.is_unsupported(), "{before:?} {typestr:?}");
        assert!(error.to_string().contains(&typestr.label()) || typestr.name().is_none(), "{error}");
    }
    let objects = parsed("|V8").with_type("|O8".parse().unwrap(), None).unwrap_err();
    assert_eq!(objects.key(), Some("typestr"));
    let bits = parsed("|V1").with_type("|t1".parse().unwrap(), None).unwrap_err();
    assert_eq!(bits.key(), Some("strides"), "packed bits have no strides, whatever their earlier type was");
}

#[test]
fn bytes_are_copied_only_between_arrays_of_one_type() {
    let structure = parsed("|V8").with_descr(point()).unwrap();
    let other = parsed("|V8").with_descr(Descr::new(vec![Field::new("z", TypeStr::of::<f64>())]).unwrap()).unwrap();
    let (bfloat16, float8) = (of(named(NamedType::BFloat16)), of(named(NamedType::Float8E5M2)));
    for (one, two, alike) in [
        (parsed("<f4"), parsed("<f4"), true),
        (parsed("<f4"), parsed(">f4"), false),
        (parsed("|V8"), parsed("<V8"), true),
        (parsed("|V8"), parsed("|V4"), false),
        (parsed("|V8"), parsed("<f8"), false),
        (structure.clone(), structure.clone(), true),
        (structure.clone(), other, false),
        (structure.clone(), parsed("|V8"), true),
        (structure, parsed("<f8"), false),
        (bfloat16.clone(), bfloat16.clone(), true),
        (bfloat16.clone(), parsed("<V2"), true),
        (bfloat16.clone(), parsed("<u2"), false),
        (bfloat16, parsed("|V1"), false),
        (float8, of(named(NamedType::Float8E4M3)), false),
    ] {
        assert_eq!((one.has_type_of(&two), two.has_type_of(&one)), (alike, alike), "{one:?} {two:?}");
    }
}

#[test]
fn null_pointer_is_only_valid_for_arrays_without_bytes() {
    let error = refused(0, "<f4", &[3], None);
    assert_eq!(error.key(), Some("data"));
    assert!(error.to_string().contains("null") && error.to_string().contains("(3,)"), "{error}");
    assert_eq!(refused(0, "<f4", &[], None).key(), Some("data"));

    for (shape, strides) in [(&[0][..], &[4][..]), (&[0, 3], &[48, 16]), (&[3, 0], &[-4, isize::MIN])] {
        for data in [0, 1, 0xdead, u64::MAX] {
            let layout = Layout::strided(shape, strides, 4).unwrap();
            let interface = Interface::new(data, TypeStr::of::<f32>(), layout).unwrap();
            assert_eq!((interface.data(), interface.export_data(), interface.byte_range()), (data, 0, data..data));
        }
    }
    let nothing = Interface::new(0, TypeStr::void(0), Layout::c_contiguous(&[3], 0).unwrap()).unwrap();
    assert_eq!((nothing.export_data(), nothing.byte_range()), (0, 0..0));
}

#[test]
fn extent_must_stay_within_the_address_space() {
    for (data, stride) in [(u64::MAX - 10, 4), (u64::MAX, 0), (7, -4), (u64::MAX, isize::MAX / 4)] {
        let error = refused(data, "<f4", &[3], Some(&[stride]));
        assert_eq!(error.key(), Some("data"));
        assert!(error.to_string().contains(&format!("{data:#x}")), "{error}");
    }
    let lowest = Interface::new(8, TypeStr::of::<f32>(), Layout::strided(&[3], &[-4], 4).unwrap()).unwrap();
    assert_eq!(lowest.byte_range(), 0..12);
    let highest = Interface::new(u64::MAX - 12, TypeStr::of::<f32>(), Layout::c_contiguous(&[3], 4).unwrap()).unwrap();
    assert_eq!(highest.byte_range(), u64::MAX - 12..u64::MAX);
}

#[test]
fn packed_bits_share_bytes() {
    let bits = |text: &str, shape: &[usize]| {
        let typestr: TypeStr = text.parse().unwrap();
        Interface::new(0x1000, typestr, Layout::c_contiguous(shape, typestr.itemsize()).unwrap()).unwrap()
    };
    for (text, shape, bytes) in [
        ("|t1", &[8][..], 1),
        ("|t1", &[9], 2),
        ("|t1", &[3, 100], 38),
        ("|t1", &[], 1),
        ("|t12", &[3], 5),
        ("|t16", &[3], 6),
        ("|t1", &[0], 0),
    ] {
        let interface = bits(text, shape);
        assert_eq!(
            (interface.nbytes(), interface.byte_range()),
            (bytes, 0x1000..0x1000 + bytes as u64),
            "{interface:?}"
        );
    }
    let error = refused(0x1000, "|t1", &[8], Some(&[2]));
    assert_eq!(error.key(), Some("strides"));
    assert!(error.to_string().contains("packed"), "{error}");
}

#[test]
fn older_versions_have_no_stream_and_the_oldest_no_mask() {
    let complete = || {
        let mask = Mask::new(flags(&[3]), floats(&[3]).layout()).unwrap();
        floats(&[3]).with_stream(StreamEntry::LegacyDefault).with_mask(mask).unwrap()
    };
    let expected = [
        (Version::V0, StreamEntry::None, false),
        (Version::V1, StreamEntry::None, true),
        (Version::V2, StreamEntry::None, true),
        (Version::V3, StreamEntry::LegacyDefault, true),
    ];
    for (version, stream, mask) in expected {
        let interface = complete().with_version(version);
        assert_eq!((interface.version(), interface.stream(), interface.mask().is_some()), (version, stream, mask));
        // Mask and stream added in the opposite order.
        let mask = Mask::new(flags(&[3]), floats(&[3]).layout()).unwrap();
        let other = floats(&[3]).with_version(version).with_mask(mask).unwrap().with_stream(StreamEntry::LegacyDefault);
        assert_eq!(interface, other);
    }
}

#[test]
fn masks_broadcast_to_the_array() {
    let array = floats(&[2, 3, 4]);
    for shape in [&[2, 3, 4][..], &[3, 4], &[4], &[], &[1], &[2, 1, 1], &[1, 1, 4]] {
        let mask = Mask::new(flags(shape), array.layout()).unwrap();
        assert_eq!(array.clone().with_mask(mask).unwrap().mask().unwrap().interface().shape(), shape);
    }
    for shape in [&[3][..], &[2], &[2, 3], &[1, 2, 3, 4], &[2, 3, 0], &[64]] {
        let error = Mask::new(flags(shape), array.layout()).unwrap_err();
        assert_eq!(error.key(), Some("mask"));
        assert!(error.to_string().contains("(2, 3, 4)"), "{error}");
    }
    // The array is not broadcast to the mask.
    assert!(Mask::new(flags(&[3]), floats(&[1]).layout()).is_err());
    assert!(Mask::new(flags(&[0]), floats(&[0]).layout()).is_ok());
    assert!(Mask::new(flags(&[1]), floats(&[0]).layout()).is_ok());
}

#[test]
fn mask_of_another_shape_is_refused() {
    let mask = Mask::new(flags(&[4]), floats(&[4]).layout()).unwrap();
    assert_eq!(floats(&[3]).with_mask(mask).unwrap_err().key(), Some("mask"));
}

#[test]
fn mask_must_have_truth_values_and_no_mask_of_its_own() {
    let array = floats(&[4]);
    let masked = flags(&[4]).with_mask(Mask::new(flags(&[4]), array.layout()).unwrap()).unwrap();
    assert!(Mask::new(masked, array.layout()).unwrap_err().to_string().contains("mask itself"));
    for text in ["|b1", "|t1", "|t8", "|u1", "<i8", "<f4", "<c8"] {
        let typestr: TypeStr = text.parse().unwrap();
        let layout = Layout::c_contiguous(&[4], typestr.itemsize()).unwrap();
        let mask = Interface::new(0x2000, typestr, layout).unwrap();
        assert!(Mask::new(mask, array.layout()).is_ok(), "{text}");
    }
    for text in ["|V2", "<M8[s]", "<m8[s]", "|S3", "<U1"] {
        let typestr: TypeStr = text.parse().unwrap();
        let layout = Layout::c_contiguous(&[4], typestr.itemsize()).unwrap();
        let mask = Interface::new(0x2000, typestr, layout).unwrap();
        let error = Mask::new(mask, array.layout()).unwrap_err();
        assert!(error.to_string().contains("neither true nor false"), "{text}: {error}");
    }
}

#[test]
fn display_describes_the_interface() {
    let view = Layout::strided(&[3, 2], &[16, -8], 4).unwrap();
    let mask = Mask::new(flags(&[2]), &view).unwrap();
    let interface = Interface::new(0x1000, TypeStr::of::<f32>(), view)
        .unwrap()
        .with_read_only(true)
        .with_stream(StreamEntry::try_from(0x7f00).unwrap())
        .with_mask(mask)
        .unwrap();
    let expected = "\
CUDA Array Interface, version 3
  typestr  '<f4'                floating point, 4 bytes, little-endian
  shape    (3, 2)               6 elements, 24 bytes
  strides  (16, -8)             not contiguous
  data     0x1000               read-only, bytes 0xff8 to 0x1023
  stream   0x7f00               a stream handle
  mask     (2,)                 '|b1' at 0x2000";
    if cfg!(target_endian = "little") {
        assert_eq!(interface.to_string(), expected);
        assert_eq!(
            format!("{interface:?}"),
            "Interface(v3 '<f4' (3, 2) at 0x1000, strides (16, -8), read-only, stream 0x7f00, \
             mask Interface(v3 '|b1' (2,) at 0x2000))"
        );
    }
    let empty = Interface::new(0, "|t1".parse().unwrap(), Layout::c_contiguous(&[0], 1).unwrap()).unwrap();
    assert!(empty.to_string().contains("bit field of 1 bit\n"), "{empty}");
    assert!(empty.to_string().contains("writable, no bytes"), "{empty}");
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]

    #[test]
    fn byte_range_covers_exactly_the_elements(
        data in 1u64..200,
        axes in prop::collection::vec((0usize..4, -20isize..20), 0..4),
    ) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        let layout = Layout::strided(&shape, &strides, 4).unwrap();
        let mut starts = vec![data as i64];
        for (&length, &stride) in shape.iter().zip(&strides) {
            starts = starts.iter().flat_map(|&at| (0..length as i64).map(move |i| at + i * stride as i64)).collect();
        }
        let lowest = starts.iter().min().copied();
        match Interface::new(data, TypeStr::of::<f32>(), layout) {
            Err(error) => {
                prop_assert_eq!(error.key(), Some("data"));
                prop_assert!(lowest.unwrap() < 0);
            }
            Ok(interface) => {
                let range = interface.byte_range();
                match lowest {
                    None => prop_assert!(range.is_empty() && interface.export_data() == 0),
                    Some(lowest) => {
                        prop_assert_eq!(range.start as i64, lowest);
                        prop_assert_eq!(range.end as i64, starts.iter().max().unwrap() + 4);
                    }
                }
            }
        }
    }

    #[test]
    fn any_pointer_and_layout_is_accepted_or_refused(
        data in prop_oneof![any::<u64>(), 0u64..64, (0u64..64).prop_map(|below| u64::MAX - below)],
        axes in prop::collection::vec((prop_oneof![0usize..4, any::<usize>()], any::<isize>()), 0..3),
    ) {
        let (shape, strides): (Vec<usize>, Vec<isize>) = axes.into_iter().unzip();
        for typestr in [TypeStr::of::<f64>(), "|t1".parse().unwrap()] {
            let Ok(layout) = Layout::strided(&shape, &strides, typestr.itemsize()) else { continue };
            let Ok(interface) = Interface::new(data, typestr, layout) else { continue };
            let range = interface.byte_range();
            prop_assert!(range.start <= range.end);
            prop_assert!(range.is_empty() || (range.start <= data && data < range.end));
            let _ = (interface.to_string(), format!("{interface:?}"));
        }
    }
}
