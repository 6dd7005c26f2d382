//! Round trips through the structure, and hostile structures.

use super::{abi, *};
use crate::{Bool8, Descr, Field, FieldType, Layout, Mask, NamedType, StreamEntry, TypeStr};
use std::{
    ffi::c_void,
    ptr::{null, null_mut},
    sync::{
        Mutex,
        atomic::{AtomicUsize, Ordering::SeqCst},
    },
};

fn interface(typestr: TypeStr, shape: &[usize]) -> Interface {
    let layout = Layout::c_contiguous(shape, typestr.itemsize()).unwrap();
    Interface::new(0x7f00_0000_0000, typestr, layout).unwrap()
}

#[test]
fn written_structures_read_back_equal() {
    let inner = Descr::new(vec![Field::new("größe", TypeStr::of::<f32>()), Field::padding(4)]).unwrap();
    let matrix = Field {
        title: Some("Matrix".into()),
        shape: [2usize, 3].into_iter().collect(),
        ..Field::new("m", TypeStr::of::<i16>())
    };
    let descr = Descr::new(vec![matrix, Field::new("inner", inner), Field::padding(4)]).unwrap();
    let structured = interface(TypeStr::void(24), &[2, 2]).with_descr(descr).unwrap();
    let mask = interface(TypeStr::of::<Bool8>(), &[4]).with_stream(StreamEntry::PerThreadDefault).with_read_only(true);
    let masked = interface(TypeStr::of::<f64>(), &[3, 4]);
    let masked = masked.clone().with_mask(Mask::new(mask, masked.layout()).unwrap()).unwrap();
    let turned = Layout::strided(&[3, 4], &[-8, 24], 8).unwrap();
    let all = [
        interface(TypeStr::of::<f32>(), &[]),
        interface(TypeStr::of::<f32>(), &[1; crate::MAX_NDIM]),
        interface("<M8[2147483647as]".parse().unwrap(), &[2]),
        interface("<U3".parse().unwrap(), &[2]),
        interface("|t1".parse().unwrap(), &[9]),
        Interface::new(0x1_0000, TypeStr::of::<i64>(), turned).unwrap().with_read_only(true),
        structured.with_stream(StreamEntry::LegacyDefault),
        masked.with_stream(StreamEntry::try_from(0x7f12).unwrap()),
    ];
    let named = NamedType::ALL.iter().map(|named| interface(TypeStr::named(*named), &[5]));
    for interface in all.into_iter().chain(named) {
        let array = CArray::new(interface.clone(), None).unwrap();
        assert_eq!(array.describe().unwrap(), interface.clone().into());
        let strides = array_of(&array).strides;
        assert_eq!(strides.is_null(), interface.layout().is_c_contiguous());
    }
}

#[test]
fn members_without_a_dictionary_entry_read_back_equal() {
    let of = || interface(TypeStr::of::<u8>(), &[4]);
    let mask = Mask::new(interface(TypeStr::of::<Bool8>(), &[4]), of().layout()).unwrap();
    let described = Described {
        interface: of().with_mask(mask).unwrap(),
        event: NonZeroUsize::new(0xe0),
        mask_event: NonZeroUsize::new(0xe1),
        device: Some(3),
        memory: Some(MemoryKind::Managed),
    };
    assert_eq!(CArray::new(described.clone(), None).unwrap().describe().unwrap(), described);
}

#[test]
fn memory_kinds_reduce_to_the_three_of_the_structure() {
    let through = |memory| {
        let described = Described { memory, ..interface(TypeStr::of::<u8>(), &[4]).into() };
        CArray::new(described, None).unwrap().describe().unwrap().memory
    };
    for kind in [MemoryKind::Device, MemoryKind::Pinned, MemoryKind::Managed] {
        assert_eq!(through(Some(kind)), Some(kind));
    }
    assert_eq!(through(Some(MemoryKind::StreamOrdered)), Some(MemoryKind::Device));
    assert_eq!(through(Some(MemoryKind::Mapped)), Some(MemoryKind::Pinned));
    assert_eq!(through(Some(MemoryKind::Other(9))), None);
}

#[test]
fn empty_array_has_a_null_pointer() {
    let empty = interface(TypeStr::of::<f32>(), &[0, 3]);
    assert_eq!(CArray::new(empty, None).unwrap().describe().unwrap().interface.data(), 0);
}

#[test]
fn field_name_with_a_zero_is_refused_and_the_owner_dropped() {
    let descr = Descr::new(vec![Field::new("a\0b", TypeStr::of::<f32>())]).unwrap();
    let interface = interface(TypeStr::void(4), &[2]).with_descr(descr).unwrap();
    let owner = Arc::new(());
    let error = CArray::new(interface, Some(Owner::new(owner.clone()))).unwrap_err();
    assert!(error.is_unsupported(), "{error}");
    assert_eq!(Arc::strong_count(&owner), 1);
}

#[test]
fn release_in_another_thread_drops_the_owner() {
    let owner = Arc::new(());
    let array = CArray::new(interface(TypeStr::of::<f32>(), &[2]), Some(Owner::new(owner.clone()))).unwrap();
    let address = array.into_raw() as usize;
    assert_eq!(Arc::strong_count(&owner), 2);
    std::thread::spawn(move || {
        // SAFETY: the pointer came from `into_raw`, and is taken once.
        drop(unsafe { CArray::from_raw(address as *mut RawCArray) }.unwrap());
    })
    .join()
    .unwrap();
    assert_eq!(Arc::strong_count(&owner), 1);
}

fn array_of(array: &CArray) -> &RawCArray {
    // SAFETY: the structure lives as long as the array, and this crate made it.
    unsafe { array.0.as_ref() }
}

/// Counts the releases of a structure that is not boxed.
unsafe extern "C" fn count(raw: *mut RawCArray) {
    // SAFETY: the owner is a counter that outlives the structure.
    unsafe { &*(*raw).owner.cast::<AtomicUsize>() }.fetch_add(1, SeqCst);
}

fn text(text: &str) -> [u8; abi::TEXT] {
    let mut room = [0; abi::TEXT];
    room[..text.len()].copy_from_slice(text.as_bytes());
    room
}

/// The error from reading a structure that `change` has made invalid. The structure must be released once.
fn error_after(change: impl FnOnce(&mut RawCArray)) -> Error {
    let released = AtomicUsize::new(0);
    let shape = [2i64, 3];
    let mut raw = RawCArray {
        major: abi::MAJOR,
        minor: abi::MINOR,
        release: Some(count),
        owner: (&raw const released).cast_mut().cast::<c_void>(),
        flags: 0,
        data: 0x1_0000,
        stream: 0,
        event: 0,
        shape: shape.as_ptr(),
        strides: null(),
        fields: null(),
        mask: null(),
        ndim: 2,
        nfields: 0,
        device: -1,
        memory: 0,
        typestr: text("<f4"),
        type_name: text(""),
    };
    change(&mut raw);
    // SAFETY: the structure outlives the array.
    let array = unsafe { CArray::from_raw(&mut raw) }.unwrap();
    let error = array.describe().expect_err("a hostile structure was read");
    drop(array);
    assert_eq!(released.load(SeqCst), 1);
    error
}

/// Keeps an object that a hostile structure points to. Its address is stored, so that leak sanitizers find it.
fn leaked<T>(value: T) -> *mut T {
    static LEAKED: Mutex<Vec<usize>> = Mutex::new(Vec::new());
    let object = Box::into_raw(Box::new(value));
    LEAKED.lock().unwrap().push(object.expose_provenance());
    object
}

#[test]
#[expect(clippy::too_many_lines, reason = "a list of hostile structures")]
fn hostile_structures_are_refused_and_released_once() {
    let field = |name: &'static std::ffi::CStr, typestr: &str| abi::CField {
        name: name.as_ptr(),
        title: null(),
        fields: null(),
        shape: null(),
        nfields: 0,
        ndim: 0,
        typestr: text(typestr),
        type_name: text(""),
    };
    type Change = Box<dyn FnOnce(&mut RawCArray)>;
    let cases: Vec<(&str, Change)> = vec![
        ("version 99.0", Box::new(|raw| raw.major = 99)),
        ("flags 0x80", Box::new(|raw| raw.flags = 0x80)),
        ("-1 dimensions", Box::new(|raw| raw.ndim = -1)),
        ("2147483647 dimensions", Box::new(|raw| raw.ndim = i32::MAX)),
        ("65 dimensions", Box::new(|raw| raw.ndim = 65)),
        ("null in a cuarray of 2", Box::new(|raw| raw.shape = null())),
        ("length -3", Box::new(|raw| raw.shape = leaked([-3i64, 2]).cast())),
        ("too big", Box::new(|raw| raw.shape = leaked([i64::MAX, 2]).cast())),
        ("reach further", Box::new(|raw| raw.strides = leaked([i64::MAX, i64::MIN]).cast())),
        ("cuarray.data: ", Box::new(|raw| raw.data = 0)),
        ("cuarray.data: ", Box::new(|raw| raw.data = u64::MAX - 8)),
        ("cuarray.stream: ", Box::new(|raw| raw.flags = abi::HAS_STREAM)),
        ("cuarray.stream: ", Box::new(|raw| raw.stream = 1)),
        ("cuarray.event: ", Box::new(|raw| raw.flags = abi::HAS_EVENT)),
        ("cuarray.event: ", Box::new(|raw| raw.event = 1)),
        ("-2 is not a device", Box::new(|raw| raw.device = -2)),
        ("cuarray.typestr: ", Box::new(|raw| raw.typestr = text("float32"))),
        ("not a text", Box::new(|raw| raw.typestr = [b'<'; abi::TEXT])),
        ("not a text", Box::new(|raw| raw.typestr = [0xff; abi::TEXT])),
        ("is named bfloat16", Box::new(|raw| raw.type_name = text("bfloat16"))),
        ("Python objects", Box::new(|raw| raw.typestr = text("|O8"))),
        ("disagree", Box::new(|raw| raw.nfields = 1)),
        ("disagree", Box::new(move |raw| raw.fields = leaked(field(c"x", "<f4")))),
        (
            "void is expected",
            Box::new(move |raw| {
                raw.fields = leaked(field(c"x", "<f4"));
                raw.nfields = 1;
            }),
        ),
        (
            "adds up to 4 bytes",
            Box::new(move |raw| {
                raw.typestr = text("|V8");
                raw.fields = leaked(field(c"x", "<f4"));
                raw.nfields = 1;
            }),
        ),
        (
            "not UTF-8",
            Box::new(move |raw| {
                raw.typestr = text("|V4");
                raw.fields = leaked(field(c"\xff", "<f4"));
                raw.nfields = 1;
            }),
        ),
        (
            "2147483647 fields",
            Box::new(move |raw| {
                raw.typestr = text("|V4");
                raw.fields = leaked(field(c"x", "<f4"));
                raw.nfields = i32::MAX;
            }),
        ),
        (
            "in 33 levels",
            Box::new(move |raw| {
                // A table that contains itself.
                raw.typestr = text("|V4");
                let table = leaked(field(c"x", "|V4"));
                // SAFETY: the object is never freed, and no reference to it exists.
                unsafe { ((*table).fields, (*table).nfields) = (table, 1) };
                (raw.fields, raw.nfields) = (table, 1);
            }),
        ),
        ("has a mask itself", Box::new(|raw| raw.mask = &raw const *raw)),
        (
            "cuarray.mask: ",
            Box::new(|raw| {
                let shape = leaked([7i64]).cast();
                raw.mask = leaked(RawCArray { release: None, owner: null_mut(), ndim: 1, shape, ..copy(raw) });
            }),
        ),
        ("version 2.0", Box::new(|raw| raw.mask = leaked(RawCArray { major: 2, ..copy(raw) }))),
    ];
    for (expected, change) in cases {
        let error = error_after(change);
        assert!(error.is_unsupported() || error.is_invalid_interface(), "{expected}: {error:?}");
        assert!(error.to_string().contains(expected), "{expected}: {error}");
    }
}

fn copy(raw: &RawCArray) -> RawCArray {
    // SAFETY: the structure is plain numbers and pointers, and the copy is never released.
    unsafe { std::ptr::read(raw) }
}

#[test]
fn additions_of_a_later_minor_version_are_ignored() {
    let array = CArray::new(interface(TypeStr::of::<f32>(), &[2]), None).unwrap();
    // SAFETY: this crate made the structure, and no other code reads it meanwhile.
    let raw = unsafe { &mut *array.0.as_ptr() };
    (raw.minor, raw.flags, raw.memory) = (7, 1 << 40, 99);
    let void = CArray::new(interface(TypeStr::void(2), &[2]), None).unwrap();
    // SAFETY: this crate made the structure, and no other code reads it meanwhile.
    unsafe { (*void.0.as_ptr()).type_name = text("float7_later") };
    assert_eq!(array.describe().unwrap().memory, None);
    assert_eq!(void.describe().unwrap().interface.typestr(), TypeStr::void(2));
}

#[test]
fn null_pointer_is_refused_and_null_release_is_allowed() {
    // SAFETY: the contract allows null.
    assert!(unsafe { CArray::from_raw(null_mut()) }.is_err());
    let mut raw = copy(array_of(&CArray::new(interface(TypeStr::of::<f32>(), &[]), None).unwrap()));
    raw.release = None;
    // SAFETY: the structure outlives the array, and needs no lengths.
    drop(unsafe { CArray::from_raw(&mut raw) }.unwrap());
}

#[test]
fn nested_structures_keep_their_field_names() {
    let mut descr = Descr::new(vec![Field::new("leaf", TypeStr::of::<u8>())]).unwrap();
    for level in 0..Descr::MAX_DEPTH - 1 {
        descr = Descr::new(vec![Field::new(format!("level{level}"), descr)]).unwrap();
    }
    let interface = interface(TypeStr::void(1), &[3]).with_descr(descr).unwrap();
    let array = CArray::new(interface.clone(), None).unwrap();
    let read = array.describe().unwrap().interface;
    assert_eq!(read, interface);
    assert!(matches!(read.descr().unwrap().fields()[0].ty, FieldType::Struct(_)));
}

#[test]
fn panic_of_an_owner_does_not_leave_the_release() {
    static DROPPED: AtomicUsize = AtomicUsize::new(0);
    struct Panics;
    impl Drop for Panics {
        fn drop(&mut self) {
            DROPPED.fetch_add(1, SeqCst);
            // The payload panics too when it is dropped.
            std::panic::panic_any(PanicsAgain);
        }
    }
    struct PanicsAgain;
    impl Drop for PanicsAgain {
        fn drop(&mut self) {
            panic!("the payload of a panic was dropped");
        }
    }
    drop(CArray::new(interface(TypeStr::of::<f32>(), &[3]), Some(Owner::new(Arc::new(Panics)))).unwrap());
    let raw =
        CArray::new(interface(TypeStr::of::<f32>(), &[3]), Some(Owner::new(Arc::new(Panics)))).unwrap().into_raw();
    // SAFETY: this code owns the structure, and releases it once.
    unsafe { (*raw).release.unwrap()(raw) };
    assert_eq!(DROPPED.load(SeqCst), 2);
}
