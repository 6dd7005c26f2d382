//! Type aliases of the views for each ndim.

use super::{DeviceView, DeviceViewMut};
use crate::{AnyLayout, Ix0, Ix1, Ix2, Ix3, Ix4, Ix5, Ix6, IxDyn};

macro_rules! names {
    ($($doc:literal $ndim:ty: $read:ident $write:ident),* $(,)?) => {$(
        #[doc = concat!("A [`DeviceView`] of ", $doc, ".")]
        ///
        /// ```
        #[doc = concat!("use cuarray::python::", stringify!($read), ";")]
        /// use pyo3::prelude::*;
        ///
        /// #[pyfunction]
        #[doc = concat!("fn elements(x: ", stringify!($read), "<'_, f32>) -> usize {")]
        ///     x.len()
        /// }
        /// ```
        pub type $read<'py, T, L = AnyLayout> = DeviceView<'py, T, $ndim, L>;
        #[doc = concat!("A [`DeviceViewMut`] of ", $doc, ".")]
        ///
        /// ```
        #[doc = concat!("use cuarray::python::", stringify!($write), ";")]
        /// use pyo3::prelude::*;
        ///
        /// #[pyfunction]
        #[doc = concat!("fn elements(x: ", stringify!($write), "<'_, f32>) -> usize {")]
        ///     x.len()
        /// }
        /// ```
        pub type $write<'py, T, L = AnyLayout> = DeviceViewMut<'py, T, $ndim, L>;
    )*};
}

names! {
    "one element in no dimension" Ix0: DeviceView0 DeviceViewMut0,
    "one dimension" Ix1: DeviceView1 DeviceViewMut1,
    "two dimensions" Ix2: DeviceView2 DeviceViewMut2,
    "three dimensions" Ix3: DeviceView3 DeviceViewMut3,
    "four dimensions" Ix4: DeviceView4 DeviceViewMut4,
    "five dimensions" Ix5: DeviceView5 DeviceViewMut5,
    "six dimensions" Ix6: DeviceView6 DeviceViewMut6,
    "any number of dimensions" IxDyn: DeviceViewDyn DeviceViewMutDyn,
}
