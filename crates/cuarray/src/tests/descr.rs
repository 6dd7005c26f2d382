//! Fields of structured types: clause I9.

use crate::{Descr, Field, FieldType, Interface, Layout, MAX_NDIM, NamedType, TypeStr};
use proptest::prelude::*;

fn typestr(text: &str) -> TypeStr {
    text.parse().unwrap()
}

fn array(name: &str, text: &str, shape: &[usize]) -> Field {
    Field { shape: shape.iter().copied().collect(), ..Field::new(name, typestr(text)) }
}

/// Compares with `numpy.dtype([('a', '<f4'), (('title', 'b'), '>i2', (2, 3)), ('c', [('x', '<f8'), ('y', 'u1')])],
/// align=True).descr`.
#[test]
fn numpy_descr_round_trips_through_text() {
    let inner = vec![Field::new("x", typestr("<f8")), Field::new("y", typestr("|u1")), Field::padding(7)];
    let inner = Descr::new(inner).unwrap();
    let titled = Field { title: Some("title".into()), ..array("b", ">i2", &[2, 3]) };
    let descr = Descr::new(vec![Field::new("a", typestr("<f4")), titled, Field::new("c", inner.clone())]).unwrap();
    assert_eq!(descr.itemsize(), 32);
    assert_eq!(descr.offsets().collect::<Vec<_>>(), [0, 4, 16]);
    assert_eq!(inner.offsets().collect::<Vec<_>>(), [0, 8, 9]);
    assert_eq!((inner.depth(), descr.depth()), (1, 2));
    assert_eq!(
        descr.to_string(),
        "[('a', '<f4'), (('title', 'b'), '>i2', (2, 3)), ('c', [('x', '<f8'), ('y', '|u1'), ('', '|V7')])]"
    );
    assert_eq!(format!("{inner:?}"), "Descr([('x', '<f8'), ('y', '|u1'), ('', '|V7')])");
}

#[test]
fn padding_counts_at_every_position() {
    let fields = vec![Field::padding(3), Field::new("x", typestr("|u1")), Field::padding(4), Field::padding(0)];
    let descr = Descr::new(fields).unwrap();
    assert_eq!((descr.itemsize(), descr.offsets().collect::<Vec<_>>()), (8, vec![0, 3, 4, 8]));
    assert_eq!(descr.fields().iter().map(Field::is_padding).collect::<Vec<_>>(), [true, false, true, true]);
}

#[test]
fn single_unnamed_field_is_a_plain_type() {
    let plain = |field: Field| Descr::new(vec![field]).unwrap().as_plain();
    assert_eq!(plain(Field::new("", typestr("<f4"))), Some(typestr("<f4")));
    assert_eq!(plain(Field::new("", typestr("<V2"))), Some(typestr("|V2")));
    assert_eq!(plain(Field::new("x", typestr("<f4"))), None);
    assert_eq!(plain(array("", "<f4", &[2])), None);
    assert_eq!(plain(Field::new("", Descr::new(vec![]).unwrap())), None);
    assert_eq!(Descr::new(vec![]).unwrap().as_plain(), None);
}

#[test]
fn arrays_of_structures_multiply_the_item_size() {
    let inner = Descr::new(vec![Field::new("x", typestr("<f8"))]).unwrap();
    let field = Field { shape: [3usize].into_iter().collect(), ..Field::new("c", inner) };
    let descr = Descr::new(vec![field, array("d", "<f4", &[2])]).unwrap();
    assert_eq!(descr.to_string(), "[('c', [('x', '<f8')], (3,)), ('d', '<f4', (2,))]");
    assert_eq!((descr.itemsize(), descr.offsets().collect::<Vec<_>>()), (32, vec![0, 24]));
    assert_eq!(Descr::new(vec![array("none", "<f8", &[0, 5])]).unwrap().itemsize(), 0);
}

#[test]
fn names_are_written_as_python_literals() {
    for (name, written) in [
        ("it's", r#"("it's", '|u1')"#),
        ("\"", r#"('"', '|u1')"#),
        ("'\"", r#"('\'"', '|u1')"#),
        ("a\\b\n\t\r\u{1}", r"('a\\b\n\t\r\x01', '|u1')"),
        ("größe", "('größe', '|u1')"),
    ] {
        assert_eq!(Field::new(name, typestr("|u1")).to_string(), written);
    }
}

#[test]
fn offsets_become_padding_and_round_trip() {
    let fields =
        [(3, Field::new("a", typestr("|u1"))), (8, array("b", "<f4", &[2])), (16, Field::new("c", typestr("<i2")))];
    let descr = Descr::from_offsets(24, fields).unwrap();
    assert_eq!(
        descr.to_string(),
        "[('', '|V3'), ('a', '|u1'), ('', '|V4'), ('b', '<f4', (2,)), ('c', '<i2'), ('', '|V6')]"
    );
    assert_eq!(descr.itemsize(), 24);
    let placed: Vec<_> = descr.offsets().zip(descr.fields()).filter(|(_, field)| !field.is_padding()).collect();
    assert_eq!(placed.iter().map(|(offset, _)| *offset).collect::<Vec<_>>(), [3, 8, 16]);
    assert_eq!(Descr::from_offsets(5, []).unwrap().to_string(), "[('', '|V5')]");
    assert_eq!(Descr::from_offsets(0, []).unwrap().fields(), []);
}

#[test]
fn overlapping_or_truncated_offsets_are_refused() {
    let (long, short) = (|| Field::new("long", typestr("<i8")), || Field::new("short", typestr("<i2")));
    for (itemsize, fields, message) in [
        (8, vec![(0, long()), (0, short())], "field ('short', '<i2') begins at byte 0"),
        (16, vec![(8, long()), (0, short())], "field ('short', '<i2') begins at byte 0"),
        (16, vec![(0, long()), (7, short())], "the fields before that take 8 bytes"),
        (7, vec![(0, long())], "the item ends at byte 7"),
        (usize::MAX, vec![(0, long())], "gap"),
        (8, vec![(usize::MAX, long())], "gap"),
        (i32::MAX as usize + 1, vec![(i32::MAX as usize - 7, long())], "bytes"),
    ] {
        let error = Descr::from_offsets(itemsize, fields).unwrap_err();
        assert_eq!(error.key(), Some("descr"));
        assert!(error.to_string().contains(message), "{error}");
    }
}

#[test]
fn named_type_is_printed_by_its_name() {
    let bfloat16 = TypeStr::named(NamedType::BFloat16);
    let (named, void) = (Field::new("x", bfloat16), Field::new("x", typestr("<V2")));
    assert_eq!((named.to_string(), void.to_string()), ("('x', 'bfloat16')".into(), "('x', '<V2')".into()));
    assert_ne!(named, void);
}

fn refused(fields: Vec<Field>) -> String {
    let error = Descr::new(fields).unwrap_err();
    assert_eq!(error.key(), Some("descr"));
    error.to_string()
}

#[test]
fn hostile_field_lists_are_refused() {
    let u1 = || typestr("|u1");
    assert!(refused(vec![Field::new("x", u1()), Field::new("x", u1())]).contains("named 'x'"));
    let titled = Field { title: Some("x".into()), ..Field::new("y", u1()) };
    assert!(refused(vec![Field::new("x", u1()), titled]).contains("named 'x'"));
    assert!(refused(vec![array("x", "|u1", &[usize::MAX, 2])]).contains("too big"));
    assert!(refused(vec![array("x", "<f8", &[1 << 28])]).contains("too big"));
    assert!(refused(vec![array("x", "|u1", &[1; MAX_NDIM + 1])]).contains("65 dimensions"));
    assert!(refused(vec![array("x", "|V1", &[1 << 30]), array("y", "|V1", &[1 << 30])]).contains("2147483647"));
    let many = (0..=Descr::MAX_FIELDS).map(|_| Field::padding(0)).collect();
    assert!(refused(many).contains("65536 fields"));
}

#[test]
fn nesting_depth_is_bounded() {
    let mut descr = Descr::new(vec![Field::new("x", typestr("|u1"))]).unwrap();
    for depth in 2..=Descr::MAX_DEPTH {
        descr = Descr::new(vec![Field::new("x", descr)]).unwrap();
        assert_eq!(descr.depth(), depth);
    }
    assert!(refused(vec![Field::new("x", descr)]).contains("32 levels"));
}

/// Each level holds the level below it twice, so n levels have 2^n fields.
#[test]
fn shared_structures_count_every_repetition() {
    let mut descr = Descr::new(vec![Field::new("x", typestr("|V0"))]).unwrap();
    let error = loop {
        match Descr::new(vec![Field::new("a", descr.clone()), Field::new("b", descr)]) {
            Ok(deeper) => descr = deeper,
            Err(error) => break error,
        }
    };
    assert!(error.to_string().contains("65536 fields"), "{error}");
}

/// The length of a message does not depend on the length of a field list or a name.
#[test]
fn messages_about_long_lists_are_short() {
    let many = Descr::new((0..60_000).map(|index| Field::new(format!("f{index}"), typestr("|u1"))).collect()).unwrap();
    let too_big = Field { shape: [1 << 20].into_iter().collect(), ..Field::new("x", many.clone()) };
    let message = refused(vec![too_big]);
    assert!(message.len() < 400, "{} bytes", message.len());
    assert!(message.contains("('f0', '|u1')") && message.contains("... is too big"), "{message}");

    let long = "x".repeat(1 << 20);
    let message = refused(vec![Field::new(&long, typestr("|u1")), Field::new(&long, typestr("|u1"))]);
    assert!(message.len() < 400, "{} bytes", message.len());

    let three = Interface::new(0x1000, TypeStr::void(3), Layout::c_contiguous(&[1], 3).unwrap()).unwrap();
    let message = three.with_descr(many).unwrap_err().to_string();
    assert!(message.len() < 400 && message.contains("... adds up to 60000 bytes"), "{message}");
}

/// A message is never cut within a character that takes several bytes.
#[test]
fn message_is_cut_between_characters() {
    for length in 195..205 {
        let name = "ß".repeat(length);
        let message = refused(vec![Field::new(&name, typestr("|u1")), Field::new(&name, typestr("|u1"))]);
        assert_eq!(message.ends_with("..."), length > 198, "{message}");
    }
}

fn any_descr() -> impl Strategy<Value = Descr> {
    let kinds = vec!["<f4", "|u1", "|V3", "<c16", "<U2", "|t12", "<M8[ns]"];
    let scalar = prop::sample::select(kinds).prop_map(|text| FieldType::from(typestr(text)));
    let shape = || prop::collection::vec(0usize..4, 0..3);
    let leaf = structure(prop::collection::vec((scalar.clone(), shape()), 0..4));
    leaf.prop_recursive(4, 64, 4, move |inner| {
        let ty = prop_oneof![scalar.clone(), inner.prop_map(FieldType::Struct)];
        structure(prop::collection::vec((ty, shape()), 0..4))
    })
}

fn structure(fields: impl Strategy<Value = Vec<(FieldType, Vec<usize>)>>) -> impl Strategy<Value = Descr> {
    fields.prop_map(|fields| {
        let named = fields.into_iter().enumerate().map(|(index, (ty, shape))| Field {
            shape: shape.into_iter().collect(),
            ..Field::new(format!("f{index}"), ty)
        });
        Descr::new(named.collect()).unwrap()
    })
}

/// The size by definition, without the values that `Descr` caches.
fn size(descr: &Descr) -> usize {
    descr.fields().iter().map(field_size).sum()
}

fn field_size(field: &Field) -> usize {
    let one = match &field.ty {
        FieldType::TypeStr(typestr) => typestr.itemsize(),
        FieldType::Struct(descr) => size(descr),
    };
    one * field.shape.iter().product::<usize>()
}

proptest! {
    #[test]
    fn sizes_and_offsets_match_the_definition(descr in any_descr()) {
        prop_assert_eq!(descr.itemsize(), size(&descr));
        let mut next = 0;
        for (offset, field) in descr.offsets().zip(descr.fields()) {
            prop_assert_eq!(offset, next);
            next += field_size(field);
        }
        prop_assert_eq!(next, descr.itemsize());
        prop_assert_eq!(&Descr::new(descr.fields().to_vec()).unwrap(), &descr);
    }
}
