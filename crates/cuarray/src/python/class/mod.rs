//! The Python class `DeviceArray`: its attributes and methods.

mod comparison;
mod conversion;
mod methods;
