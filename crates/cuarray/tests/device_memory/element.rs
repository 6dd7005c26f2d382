//! Rust types as elements: their type strings, and the fields of declared structures, compared with NumPy.

use cuarray::{Bool8, Complex, Descr, Element, Interface, Layout, TypeStr, element};

fn string<T: Element>() -> String {
    TypeStr::of::<T>().to_string()
}

fn fields<T: Element>() -> String {
    T::descr().expect("a structure").to_string()
}

#[test]
#[cfg(target_endian = "little")]
fn numbers_have_the_type_strings_of_numpy() {
    assert_eq!([string::<i8>(), string::<i16>(), string::<i32>(), string::<i64>()], ["|i1", "<i2", "<i4", "<i8"]);
    assert_eq!([string::<u8>(), string::<u16>(), string::<u32>(), string::<u64>()], ["|u1", "<u2", "<u4", "<u8"]);
    assert_eq!([string::<f32>(), string::<f64>()], ["<f4", "<f8"]);
    assert_eq!([string::<Complex<f32>>(), string::<Complex<f64>>(), string::<Bool8>()], ["<c8", "<c16", "|b1"]);
    assert_eq!((f64::descr(), Complex::<f32>::descr(), Bool8::descr()), (None, None, None));
}

#[test]
#[cfg(all(feature = "half", target_endian = "little"))]
fn half_floats_are_elements() {
    use cuarray::NamedType;
    use half::{bf16, f16};

    assert_eq!((string::<f16>(), string::<bf16>()), ("<f2".into(), "<V2".into()));
    assert_eq!((f16::TYPESTR.name(), bf16::TYPESTR.name()), (None, Some(NamedType::BFloat16)));
    assert_ne!(TypeStr::of::<bf16>(), TypeStr::void(2));

    element! {
        struct Mixed {
            weight: bf16,
            scale: f16,
            both: [bf16; 2],
        }
    }
    assert_eq!(fields::<Mixed>(), "[('weight', 'bfloat16'), ('scale', '<f2'), ('both', 'bfloat16', (2,))]");
}

element! {
    /// Documented and derived, with fields of every kind.
    #[derive(Debug, PartialEq)]
    struct Record {
        /// The first.
        pub flag: i8,
        pub value: f64,
        pub(crate) point: Point,
        grid: [[i16; 3]; 2],
        points: [Point; 2],
        last: u8,
    }
}

element! {
    #[derive(Debug, PartialEq)]
    struct Point {
        x: f32,
        r#type: u8,
    }
}

/// Compares with `numpy.dtype([('flag', 'i1'), ('value', 'f8'), ('point', point), ('grid', 'i2', (2, 3)), ('points',
/// point, 2), ('last', 'u1')], align=True).descr`, where `point = numpy.dtype([('x', 'f4'), ('type', 'u1')],
/// align=True)`.
#[test]
#[cfg(all(target_endian = "little", target_pointer_width = "64"))]
fn structure_has_the_fields_that_numpy_gives_it() {
    let point = "[('x', '<f4'), ('type', '|u1'), ('', '|V3')]";
    assert_eq!(fields::<Point>(), point);
    assert_eq!(
        fields::<Record>(),
        format!(
            "[('flag', '|i1'), ('', '|V7'), ('value', '<f8'), ('point', {point}), ('grid', '<i2', (2, 3)), \
             ('points', {point}, (2,)), ('last', '|u1'), ('', '|V3')]"
        )
    );
    assert_eq!((string::<Record>(), size_of::<Record>()), ("|V56".into(), 56));
}

#[test]
fn fields_lie_at_the_offsets_of_rust() {
    let descr = Record::descr().unwrap();
    let offsets: Vec<_> = descr.offsets().zip(descr.fields()).filter(|(_, field)| !field.name.is_empty()).collect();
    let found: Vec<_> = offsets.iter().map(|(offset, field)| (*offset, &*field.name)).collect();
    assert_eq!(
        found,
        [
            (std::mem::offset_of!(Record, flag), "flag"),
            (std::mem::offset_of!(Record, value), "value"),
            (std::mem::offset_of!(Record, point), "point"),
            (std::mem::offset_of!(Record, grid), "grid"),
            (std::mem::offset_of!(Record, points), "points"),
            (std::mem::offset_of!(Record, last), "last"),
        ]
    );
    assert_eq!(descr.itemsize(), size_of::<Record>());
}

#[test]
fn packing_and_alignment_attributes_are_respected() {
    element! {
        #[repr(packed)]
        struct Packed {
            flag: u8,
            value: u32,
        }
    }
    element! {
        #[repr(align(16))]
        struct Aligned {
            value: u8,
        }
    }
    assert_eq!((size_of::<Packed>(), Packed::descr().unwrap().fields().len()), (5, 2));
    assert_eq!((string::<Aligned>(), fields::<Aligned>()), ("|V16".into(), "[('value', '|u1'), ('', '|V15')]".into()));
}

#[test]
fn structure_fits_its_interface_and_any_bytes_are_valid() {
    let size = size_of::<Record>();
    let layout = Layout::c_contiguous(&[3], size).unwrap();
    let interface = Interface::new(0x1000, TypeStr::of::<Record>(), layout).unwrap();
    let described = interface.with_descr(Record::descr().unwrap()).unwrap();
    assert_eq!(described.descr(), Record::descr().as_ref());

    // Bytes that a device wrote are read unchanged.
    let bytes: Vec<u8> = (0..size as u8).collect();
    // SAFETY: `bytes` holds as many bytes as a record, and any bytes are a valid element.
    let record = unsafe { bytes.as_ptr().cast::<Record>().read_unaligned() };
    let copy = record;
    assert_eq!(copy, record);
    assert_eq!(record.flag, 0);
    assert_eq!(record.value.to_ne_bytes()[..], bytes[8..16]);
    assert_eq!(record.point.r#type, bytes[std::mem::offset_of!(Record, point) + 4]);
}

#[test]
fn descr_is_built_once() {
    let (first, second) = (Record::descr().unwrap(), Record::descr().unwrap());
    assert_eq!(first.fields().as_ptr(), second.fields().as_ptr());
    assert_eq!(Some(first), Record::descr());
}

#[test]
fn threads_build_equal_descrs() {
    element! {
        struct Fresh {
            x: u64,
            y: u16,
        }
    }
    let lists: Vec<Option<Descr>> = std::thread::scope(|scope| {
        let threads: Vec<_> = (0..8).map(|_| scope.spawn(Fresh::descr)).collect();
        threads.into_iter().map(|thread| thread.join().unwrap()).collect()
    });
    assert!(lists.iter().all(|list| list.is_some() && *list == lists[0]));
}
