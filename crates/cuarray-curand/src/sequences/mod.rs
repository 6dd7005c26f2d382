//! The sequences of the generators.

pub(crate) mod lanes;
pub(crate) mod mrg32k3a;
pub(crate) mod mt19937;
pub(crate) mod mtgp32;
pub(crate) mod philox;
pub(crate) mod visits;
pub(crate) mod xorwow;
