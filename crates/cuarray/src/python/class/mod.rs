//! The Python class `DeviceArray`: its attributes and methods.

mod comparison;
mod methods;
