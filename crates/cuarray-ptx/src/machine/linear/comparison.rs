//! Comparisons of linear values, by their bounds.

use super::Linear;
use crate::machine::memory::Slot;

/// A comparison.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Test {
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

const TESTS: [Test; 6] =
    [Test::Equal, Test::NotEqual, Test::Less, Test::LessOrEqual, Test::Greater, Test::GreaterOrEqual];
/// The bit in the code of a signed comparison.
const SIGNED: u32 = 8;

/// Encodes a comparison as an operand.
pub(super) fn encoded(test: Test, signed: bool) -> u32 {
    test as u32 | if signed { SIGNED } else { 0 }
}

/// Decodes a comparison, and whether its numbers are signed.
#[inline(always)]
pub(super) fn decoded(code: u32) -> (Test, bool) {
    (TESTS[code as usize % SIGNED as usize % 6], code & SIGNED != 0)
}

/// Whether a comparison of two numbers holds.
#[inline(always)]
pub(super) fn compared_equal<S: Slot>(test: Test, signed: bool, a: u64, b: u64) -> bool {
    let order = match (signed, size_of::<S>()) {
        (true, 8) => (a as i64).cmp(&(b as i64)),
        (true, _) => (a as i32).cmp(&(b as i32)),
        _ => a.cmp(&b),
    };
    match test {
        Test::Equal => order.is_eq(),
        Test::NotEqual => order.is_ne(),
        Test::Less => order.is_lt(),
        Test::LessOrEqual => order.is_le(),
        Test::Greater => order.is_gt(),
        Test::GreaterOrEqual => order.is_ge(),
    }
}

/// Whether a comparison holds in all lanes; `None` if the bounds of the values do not decide it.
#[inline(always)]
pub(super) fn compared<S: Slot>(test: Test, signed: bool, a: Linear, b: Linear) -> Option<bool> {
    if signed {
        holds(test, a.signed_bounds::<S>()?, b.signed_bounds::<S>()?)
    } else {
        holds(test, a.unsigned_bounds::<S>()?, b.unsigned_bounds::<S>()?)
    }
}

/// Whether a comparison of two numbers between bounds holds; `None` if the bounds do not decide it.
#[inline(always)]
fn holds<T: Ord + Copy>(test: Test, a: (T, T), b: (T, T)) -> Option<bool> {
    let less = if a.1 < b.0 { Some(true) } else { (a.0 >= b.1).then_some(false) };
    let greater = if a.0 > b.1 { Some(true) } else { (a.1 <= b.0).then_some(false) };
    let differ = || {
        if less == Some(true) || greater == Some(true) {
            Some(true)
        } else {
            (a.0 == a.1 && b.0 == b.1).then_some(a.0 != b.0)
        }
    };
    match test {
        Test::Equal => Some(!differ()?),
        Test::NotEqual => differ(),
        Test::Less => less,
        Test::LessOrEqual => Some(!greater?),
        Test::Greater => greater,
        Test::GreaterOrEqual => Some(!less?),
    }
}
