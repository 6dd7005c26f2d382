//! Cubemaps: the face of a direction, the place on it, and the texels beyond the edge of a face.
//!
//! CUDA C++ Programming Guide: [cubemap
//! textures](https://docs.nvidia.com/cuda/cuda-c-programming-guide/#cubemap-textures).

/// The axes of the two places on a face, with their signs, for each major axis with its sign.
const FACES: [[(usize, f64); 2]; 6] = [
    [(2, -1.0), (1, -1.0)],
    [(2, 1.0), (1, -1.0)],
    [(0, 1.0), (2, 1.0)],
    [(0, 1.0), (2, -1.0)],
    [(0, 1.0), (1, -1.0)],
    [(0, -1.0), (1, -1.0)],
];

/// A face, and a place on it from 0 to 1 along both axes.
#[derive(Clone, Copy, PartialEq, Debug)]
pub(crate) struct Place {
    pub face: u32,
    pub place: [f64; 2],
}

/// The major axis of a direction, and the face: the coordinate of the largest magnitude, and x before y before z.
fn major(direction: [f64; 3]) -> (usize, u32) {
    let [x, y, z] = direction.map(f64::abs);
    let axis = if x >= y && x >= z { 0 } else { usize::from(z > y) + 1 };
    (axis, 2 * axis as u32 + u32::from(direction[axis] < 0.0))
}

/// Projects a direction onto its face.
pub(crate) fn project(direction: [f64; 3]) -> Place {
    let direction = direction.map(|part| if part.is_nan() { 0.0 } else { part.clamp(-LARGEST, LARGEST) });
    let (axis, face) = major(direction);
    let length = direction[axis].abs();
    let place = FACES[face as usize].map(|(axis, sign)| match length {
        0.0 => 0.5,
        _ => (sign * direction[axis] / length + 1.0) / 2.0,
    });
    Place { face, place }
}

/// The change of the place on the face by a change of the direction.
pub(crate) fn derivative(direction: [f64; 3], change: [f64; 3]) -> [f64; 2] {
    let (axis, face) = major(direction);
    let length = direction[axis].abs();
    let growth = change[axis] * direction[axis].signum();
    FACES[face as usize].map(|(axis, sign)| match length {
        0.0 => 0.0,
        _ => sign * (change[axis] * length - direction[axis] * growth) / (length * length) / 2.0,
    })
}

/// The texel of a neighbouring face behind the edge of a face of `size` texels. One of the indices is outside, by one texel.
pub(crate) fn beyond(face: u32, [column, row]: [i64; 2], size: u32) -> (u32, [i64; 2]) {
    let size = f64::from(size);
    let mut direction = [0.0; 3];
    let axis = face as usize / 2;
    // The texel lies half a texel below the edge.
    direction[axis] = (1.0 - 1.0 / size) * if face % 2 == 1 { -1.0 } else { 1.0 };
    for ((axis, sign), index) in FACES[face as usize].into_iter().zip([column, row]) {
        let place = 2.0 * (index as f64 + 0.5) / size - 1.0;
        direction[axis] = sign * place.clamp(-1.0, 1.0);
    }
    let other = project(direction);
    (other.face, other.place.map(|place| (place * size).floor() as i64))
}

/// A finite number with which all others are compared.
const LARGEST: f64 = f32::MAX as f64;
