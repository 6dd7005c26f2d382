//! The strategies draw what they say, and every kind of it.

use cuarray::{Interface, Layout};
use cuarray_testing::{AWKWARD, Value, hostile, interfaces, layouts};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

proptest! {
    #[test]
    fn layout_keeps_its_itemsize_and_bounds(itemsize in 1..20_usize, seed in any::<u8>()) {
        let mut runner = TestRunner::deterministic();
        for _ in 0..=seed {
            let layout = layouts(itemsize).new_tree(&mut runner).unwrap().current();
            prop_assert_eq!(layout.itemsize(), itemsize);
            prop_assert!(layout.ndim() <= 4 && layout.shape().iter().all(|&length| length <= 5));
        }
    }

    #[test]
    fn interface_is_accepted_again(interface in interfaces()) {
        let again = Interface::new(interface.data(), interface.typestr(), interface.layout().clone()).unwrap();
        prop_assert_eq!(again.byte_range(), interface.byte_range());
    }

    #[test]
    fn hostile_dictionary_differs_from_the_legal_one_in_its_entry(case in hostile(4096)) {
        let legal = Interface::new(4096, "<f4".parse().unwrap(), Layout::c_contiguous(&[2, 3], 4).unwrap()).unwrap();
        let legal = cuarray_testing::Entries::of(&legal);
        for key in ["shape", "typestr", "data", "version"] {
            prop_assert_eq!(case.entries.get(key) != legal.get(key), key == case.key, "{}: {:?}", key, case);
        }
        prop_assert_eq!(case.entries.get(case.key).is_none(), case.clause == "I1");
    }
}

#[track_caller]
fn drawn<T: std::fmt::Debug>(strategy: impl Strategy<Value = T>, what: &str, is_one: impl Fn(&T) -> bool) {
    let mut runner = TestRunner::deterministic();
    let found = (0..1000).any(|_| is_one(&strategy.new_tree(&mut runner).unwrap().current()));
    assert!(found, "no {what} among 1000");
}

#[test]
fn layouts_of_every_kind_are_drawn() {
    drawn(layouts(4), "empty layout", |layout| layout.is_empty());
    drawn(layouts(4), "layout without axes", |layout| layout.ndim() == 0);
    drawn(layouts(4), "reversed axis", |layout| layout.strides().iter().any(|&stride| stride < 0));
    drawn(layouts(4), "broadcast axis", |layout| !layout.is_empty() && layout.strides().contains(&0));
    drawn(layouts(4), "odd stride", |layout| layout.strides().iter().any(|stride| stride % 4 != 0));
    drawn(layouts(4), "layout in Fortran order", |layout| layout.is_f_contiguous() && !layout.is_c_contiguous());
}

#[test]
fn hostile_dictionaries_violate_every_clause() {
    for clause in ["I1", "I2", "I3", "I4", "I7", "I8", "I11"] {
        drawn(hostile(4096), clause, |case| case.clause == clause);
    }
    drawn(hostile(4096), "object type", |case| case.entries.get("typestr") == Some(&Value::Text("|O8".to_owned())));
}

#[test]
fn awkward_arrays_have_layouts_and_distinct_names() {
    for (number, array) in AWKWARD.iter().enumerate() {
        assert!(array.layout().is_ok(), "{}", array.name);
        assert!(AWKWARD[..number].iter().all(|other| other.name != array.name), "{}", array.name);
    }
}
