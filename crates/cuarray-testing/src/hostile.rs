//! Dictionaries with one entry that the text forbids.

use crate::{Entries, Value};
use cuarray::{DevicePtr, Interface, Layout, TypeStr};
use proptest::prelude::*;
use proptest::sample::select;

/// A dictionary with one illegal entry.
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct Hostile {
    /// The clause that the entry violates, for example `I2`.
    pub clause: &'static str,
    /// The key of the entry.
    pub key: &'static str,
    /// The dictionary.
    pub entries: Entries,
}

/// A change of a legal dictionary; `None` removes the entry.
type Change = (&'static str, &'static str, Option<Value>);

/// Dictionaries with one entry that the text forbids. The other entries describe six floats at `data`.
///
/// An import must return an error for each. One that accepts it, panics or crashes is wrong. An import that trusts an entry may read the
/// memory at `data`, so a test that calls one passes the address of at least 24 bytes.
pub fn hostile(data: DevicePtr) -> impl Strategy<Value = Hostile> {
    change().prop_filter_map("no layout", move |(clause, key, value)| {
        let layout = Layout::c_contiguous(&[2, 3], 4).ok()?;
        let interface = Interface::new(data, TypeStr::of::<f32>(), layout).ok()?;
        let mut entries = Entries::of(&interface);
        entries.remove("strides");
        match value {
            Some(value) => entries.set(key, value),
            None => entries.remove(key),
        }
        Some(Hostile { clause, key, entries })
    })
}

fn change() -> impl Strategy<Value = Change> {
    let missing = select(vec!["shape", "typestr", "data", "version"]).prop_map(|key| ("I1", key, None));
    prop_oneof![
        missing,
        wrong("I2", "shape", sizes()),
        wrong("I3", "typestr", types()),
        wrong("I4", "data", pointers()),
        wrong("I7", "version", prop_oneof![Just(Value::None), negative(), float(), text()]),
        wrong("I8", "strides", strides()),
        wrong("I11", "stream", prop_oneof![Just(Value::Int(0)), negative(), float(), text()]),
    ]
}

fn wrong(
    clause: &'static str,
    key: &'static str,
    value: impl Strategy<Value = Value>,
) -> impl Strategy<Value = Change> {
    value.prop_map(move |value| (clause, key, Some(value)))
}

fn sizes() -> impl Strategy<Value = Value> {
    let each = prop_oneof![negative(), huge(), float(), text(), Just(Value::None)];
    prop_oneof![
        Just(Value::None),
        text(),
        any::<i64>().prop_map(|value| Value::Int(value.into())),
        each.prop_map(|value| Value::Tuple(vec![value, Value::Int(3)])),
        Just(Value::Tuple(vec![Value::Int(1 << 62), Value::Int(1 << 62)])),
        Just(Value::List(vec![Value::Int(2), Value::Int(3)])),
    ]
}

fn types() -> impl Strategy<Value = Value> {
    prop_oneof![
        Just(Value::None),
        any::<i64>().prop_map(|value| Value::Int(value.into())),
        select(vec!["", "f4", "<x4", "<f", "<f3", "|O8", "=f4", "no type", "<f4 "])
            .prop_map(|text| Value::Text(text.to_owned())),
    ]
}

fn pointers() -> impl Strategy<Value = Value> {
    let address = prop_oneof![Just(Value::None), negative(), huge(), text(), Just(Value::Int(0))];
    prop_oneof![
        Just(Value::None),
        any::<i64>().prop_map(|value| Value::Int(value.into())),
        Just(Value::Tuple(Vec::new())),
        (1..99_i128).prop_map(|value| Value::Tuple(vec![Value::Int(value)])),
        (address, any::<bool>()).prop_map(|(address, flag)| Value::Tuple(vec![address, Value::Bool(flag)])),
    ]
}

fn strides() -> impl Strategy<Value = Value> {
    let each = prop_oneof![huge(), float(), text(), Just(Value::None)];
    prop_oneof![
        any::<i64>().prop_map(|value| Value::Int(value.into())),
        Just(Value::Tuple(vec![Value::Int(4)])),
        each.prop_map(|value| Value::Tuple(vec![value, Value::Int(4)])),
        Just(Value::List(vec![Value::Int(12), Value::Int(4)])),
    ]
}

fn negative() -> impl Strategy<Value = Value> {
    (i64::MIN..0).prop_map(|value| Value::Int(value.into()))
}

fn huge() -> impl Strategy<Value = Value> {
    (1_i128 << 64..1 << 100).prop_map(Value::Int)
}

fn float() -> impl Strategy<Value = Value> {
    (-9.0..9.0_f64).prop_map(Value::Float)
}

fn text() -> impl Strategy<Value = Value> {
    select(vec!["", "1", "23", "f4"]).prop_map(|text| Value::Text(text.to_owned()))
}
