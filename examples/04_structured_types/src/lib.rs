//! Arrays of structures, compatible with the record arrays of NumPy and numba.

use pyo3::prelude::*;

cuarray::element! {
    /// One particle. In NumPy: `np.dtype([("id", "u4"), ("position", "f4", 3), ("velocity", "f4", 3), ("alive", "?")], align=True)`.
    #[derive(Debug, PartialEq)]
    pub struct Particle {
        /// Unique number of the particle.
        pub id: u32,
        /// Position in metres.
        pub position: [f32; 3],
        /// Velocity in metres per second.
        pub velocity: [f32; 3],
        /// Whether the particle still exists. Device memory may hold any byte, which a Rust `bool` may not.
        pub alive: cuarray::Bool8,
    }
}

/// A module with two functions.
#[pymodule]
mod structured_types {
    use super::Particle;
    use cuarray::{CContiguous, DeviceArray, Ix1, Stream, kernel::LaunchConfig, python::DeviceViewMut};
    use pyo3::{exceptions::PyValueError, prelude::*};

    /// Returns particles at rest in the origin, with ids from 0 on.
    #[pyfunction]
    fn particles(count: u32, stream: Stream) -> PyResult<DeviceArray<Particle, Ix1>> {
        let one = |id| Particle { id, position: [0.0; 3], velocity: [0.0; 3], alive: true.into() };
        let host: Vec<Particle> = (0..count).map(one).collect();
        Ok(DeviceArray::from_host(&host, [host.len()], &stream)?)
    }

    /// Moves each particle by `dt` times its velocity, in the array's home stream.
    #[pyfunction]
    fn advance(mut particles: DeviceViewMut<'_, Particle, Ix1, CContiguous>, dt: f32) -> PyResult<()> {
        let stream = particles.stream()?;
        let kernel = stream.work_context()?.kernel(include_str!("advance.ptx"), "advance")?;
        let count = particles.len();
        let n = u32::try_from(count).map_err(|_| PyValueError::new_err("more than 2**32 particles"))?;
        let mut particles = particles.acquire_mut(&stream)?;
        // SAFETY: the kernel uses the layout declared above and accesses `n` particles, and the array has `n`.
        unsafe { kernel.launch(&stream, LaunchConfig::for_elements(count, 256)?, (&mut particles, dt, n)) }?;
        particles.release()?;
        Ok(())
    }
}
