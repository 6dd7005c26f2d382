//! A macro for operations that exist for several types.

/// Chooses the width of an operation by its PTX type.
macro_rules! by_type {
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane| $body)),)* _ => None }
    };
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident, $b:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane, $b: $lane| $body)),)* _ => None }
    };
    ($ty:expr, { $($pattern:pat => $lane:ty),* $(,)? }, $map:ident, |$a:ident, $b:ident, $c:ident| $body:expr) => {
        match $ty { $($pattern => Some($map(|$a: $lane, $b: $lane, $c: $lane| $body)),)* _ => None }
    };
}
pub(super) use by_type;
