//! Texture fetches of small kernels, compared with the formulas of the CUDA C++ Programming Guide on plain arrays.

use super::*;
use crate::texture::{
    AddressMode, ChannelKind, FilterMode, Format, Geometry, Image, Level, ReadMode, Sampler, Texture,
};
use std::sync::Arc;

pub(super) const HANDLE: u64 = 0x7e40_0000_0001;
/// The device address of the texels: that of the third buffer.
pub(super) const TEXELS: u64 = BASE + 2 * APART;
pub(super) const FLOAT: Format = Format { kind: ChannelKind::Float, channels: 1 };

/// A texture over the third buffer, whose rows and slices follow each other without gaps.
pub(super) fn texture(geometry: Geometry, format: Format, extents: [u32; 3], layers: u32) -> Texture {
    let pitch = u64::from(extents[0] * format.bytes());
    let level = Level { address: TEXELS, extents, pitch, slice_pitch: pitch * u64::from(extents[1]) };
    let image = Image { geometry, format, layers, linear: false, levels: vec![level] };
    Texture { image, sampler: Sampler::default(), read: ReadMode::Element, srgb: false }
}

pub(super) fn textures(texture: Texture) -> Textures {
    Textures { textures: [(HANDLE, Arc::new(texture))].into(), ..Textures::default() }
}

/// A kernel whose threads read six words from the second buffer, `%r0` to `%r5` and `%f0` to `%f5`, and store `%r10` to `%r13`.
pub(super) fn kernel(instruction: &str) -> String {
    format!(
        ".visible .entry k(.param .u64 out, .param .u64 in, .param .u64 texels, .param .u64 handle) {{
         .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<20>; .reg .pred %p<4>; .reg .b16 %h<4>;
         ld.param.u64 %rd0, [out]; ld.param.u64 %rd1, [in]; ld.param.u64 %rd2, [texels]; ld.param.u64 %rd3, [handle];
         mov.u32 %r19, %tid.x; mul.wide.u32 %rd4, %r19, 32; add.u64 %rd5, %rd1, %rd4; mul.wide.u32 %rd4, %r19, 16;
         add.u64 %rd6, %rd0, %rd4;
         ld.global.v4.u32 {{%r0,%r1,%r2,%r3}}, [%rd5]; ld.global.v2.u32 {{%r4,%r5}}, [%rd5+16];
         mov.b32 %f0, %r0; mov.b32 %f1, %r1; mov.b32 %f2, %r2; mov.b32 %f3, %r3; mov.b32 %f4, %r4; mov.b32 %f5, %r5;
         {instruction}
         st.global.v4.u32 [%rd6], {{%r10,%r11,%r12,%r13}}; ret; }}"
    )
}

/// Executes an instruction for each element of `inputs` over the bytes of texels.
pub(super) fn fetched(
    instruction: &str,
    textures: Textures,
    bytes: &[u8],
    inputs: &[[u32; 6]],
) -> (Vec<[u32; 4]>, Outcome) {
    let source = kernel(instruction);
    let mut out = vec![0_u64; inputs.len() * 2];
    let mut words = Vec::new();
    for input in inputs {
        let [a, b, c, d, e, f] = input.map(u64::from);
        words.extend([a | b << 32, c | d << 32, e | f << 32, 0]);
    }
    let mut texels: Vec<u64> =
        bytes.chunks(8).map(|chunk| chunk.iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte))).collect();
    let threads = [inputs.len() as u32, 1, 1];
    let run = Run { source: &source, threads, more: vec![HANDLE], textures, ..Run::default() };
    let outcome = run.over(&mut [&mut out, &mut words, &mut texels]);
    let result = |pair: &[u64]| [pair[0] as u32, (pair[0] >> 32) as u32, pair[1] as u32, (pair[1] >> 32) as u32];
    (out.chunks(2).map(result).collect(), outcome)
}

pub(super) fn results(instruction: &str, texture: Texture, bytes: &[u8], inputs: &[[u32; 6]]) -> Vec<[u32; 4]> {
    let (results, outcome) = fetched(instruction, textures(texture), bytes, inputs);
    assert_eq!(outcome.fault, None, "{instruction}");
    assert_eq!(outcome.races, [], "{instruction}");
    results
}

/// Texels without a pattern, and their bytes.
pub(super) fn floats(count: usize) -> (Vec<f32>, Vec<u8>) {
    let values: Vec<f32> =
        (0..count as u32).map(|n| (n.wrapping_mul(2_654_435_761) >> 20) as f32 / 16.0 - 100.0).collect();
    let bytes = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    (values, bytes)
}

/// The index in an image of a coordinate that the guide's address modes convert, or `None` for the border.
fn index(mode: AddressMode, index: i64, size: i64) -> Option<i64> {
    let mut copies = 0;
    let mut at = index;
    while at < 0 {
        (at, copies) = (at + size, copies + 1);
    }
    while at >= size {
        (at, copies) = (at - size, copies + 1);
    }
    match mode {
        _ if copies == 0 => Some(at),
        AddressMode::Border => None,
        AddressMode::Clamp => Some(if index < 0 { 0 } else { size - 1 }),
        AddressMode::Mirror if copies % 2 == 1 => Some(size - 1 - at),
        AddressMode::Wrap | AddressMode::Mirror => Some(at),
    }
}

/// The texels along one axis with their weights: the guide's `i`, `i + 1` and the fraction in steps of 1/256.
fn axis(mode: AddressMode, place: f64, size: i64, filter: FilterMode) -> Vec<(Option<i64>, f64)> {
    if filter == FilterMode::Point {
        return vec![(index(mode, place.floor() as i64, size), 1.0)];
    }
    let base = (place - 0.5).floor();
    let fraction = ((place - 0.5 - base) * 256.0 + 0.5).floor() / 256.0;
    let first = base as i64;
    vec![(index(mode, first, size), 1.0 - fraction), (index(mode, first + 1, size), fraction)]
}

const MODES: [AddressMode; 4] = [AddressMode::Clamp, AddressMode::Border, AddressMode::Wrap, AddressMode::Mirror];
const FILTERS: [FilterMode; 2] = [FilterMode::Point, FilterMode::Linear];
const BORDER: f32 = 7.5;

/// Coordinates inside, outside and at the edges of an image of some texels, which are not places of equal distance.
fn places(size: u32) -> Vec<f32> {
    let size = size as f32;
    let mut places: Vec<f32> = (0..24).map(|n| n as f32 * size / 9.1 - size * 0.83).collect();
    places.extend([0.0, 0.25, 0.5, 0.75, size - 0.5, size - 0.25, size + 0.25, -0.25]);
    places
}

#[test]
fn fetches_of_one_to_three_dimensions_follow_the_formulas_of_the_guide() {
    let cases = [
        (Geometry::OneD, [7, 1, 1], "tex.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}];"),
        (Geometry::TwoD, [7, 5, 1], "tex.2d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0,%f1}];"),
        (Geometry::ThreeD, [7, 5, 3], "tex.3d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0,%f1,%f2,%f2}];"),
    ];
    for (geometry, extents, instruction) in cases {
        let (values, bytes) = floats(extents.iter().product::<u32>() as usize);
        for (mode, filter, normalized) in MODES.into_iter().flat_map(|mode| {
            FILTERS.into_iter().flat_map(move |filter| [true, false].map(|normalized| (mode, filter, normalized)))
        }) {
            let repeats = matches!(mode, AddressMode::Wrap | AddressMode::Mirror);
            let effective = if repeats && !normalized { AddressMode::Clamp } else { mode };
            let mut texture = texture(geometry, FLOAT, extents, 1);
            let border = [BORDER.to_bits(); 4];
            texture.sampler = Sampler { address: [mode; 3], filter, normalized, border, ..Sampler::default() };
            let columns = places(extents[0]);
            let inputs: Vec<[u32; 6]> = (0..columns.len())
                .map(|n| {
                    let place = [columns[n], places(extents[1])[(n * 7) % 32], places(extents[2])[(n * 5) % 32]];
                    let mut scaled = [0, 1, 2].map(|axis| match normalized {
                        true => place[axis] / extents[axis] as f32,
                        false => place[axis],
                    });
                    scaled[2] = if geometry == Geometry::ThreeD { scaled[2] } else { 0.0 };
                    let [x, y, z] = scaled.map(f32::to_bits);
                    [x, y, z, 0, 0, 0]
                })
                .collect();
            let found = results(instruction, texture, &bytes, &inputs);
            for (input, found) in inputs.iter().zip(found) {
                let dimensions = match geometry {
                    Geometry::OneD => 1,
                    Geometry::TwoD => 2,
                    _ => 3,
                };
                let along = |axis_number: usize| {
                    let size = f64::from(extents[axis_number]);
                    let at = f64::from(f32::from_bits(input[axis_number]));
                    let place = if normalized { at * size } else { at };
                    match axis_number < dimensions {
                        true => axis(effective, place, extents[axis_number].into(), filter),
                        false => vec![(Some(0), 1.0)],
                    }
                };
                let mut expected = 0.0;
                for (column, x) in along(0) {
                    for (row, y) in along(1) {
                        for (depth, z) in along(2) {
                            let value = match (column, row, depth) {
                                (Some(column), Some(row), Some(depth)) => {
                                    let row = depth * i64::from(extents[1]) + row;
                                    values[(row * i64::from(extents[0]) + column) as usize]
                                }
                                _ => BORDER,
                            };
                            expected += f64::from(value) * x * y * z;
                        }
                    }
                }
                let result = f64::from(f32::from_bits(found[0]));
                let place = input.map(f32::from_bits);
                assert!(
                    (result - expected).abs() < 1e-4,
                    "{geometry:?} {mode:?} {filter:?} {normalized} {place:?}: {result} is not {expected}"
                );
            }
        }
    }
}

#[test]
fn every_format_is_read_as_an_element_and_as_a_number() {
    use ChannelKind::*;
    // The bytes of the first channel, the element as bits, and the number.
    let cases: [(ChannelKind, u32, u32, f32); 16] = [
        (Unsigned8, 255, 255, 1.0),
        (Unsigned8, 51, 51, 0.2),
        (Signed8, 0x80, 0xffff_ff80, -1.0),
        (Signed8, 127, 127, 1.0),
        (Unsigned16, 65535, 65535, 1.0),
        (Unsigned16, 13107, 13107, 0.2),
        (Signed16, 0x8001, 0xffff_8001, -1.0),
        (Signed16, 0x8000, 0xffff_8000, -1.0),
        (Half, 0x3c00, 0x3f80_0000, 1.0),
        (Half, 0xc500, 0xc0a0_0000, -5.0),
        (Float, 0x3fa0_0000, 0x3fa0_0000, 1.25),
        (UnsignedNorm8, 51, 0x3e4c_cccd, 0.2),
        (SignedNorm8, 0x81, 0xbf80_0000, -1.0),
        (UnsignedNorm16, 65535, 0x3f80_0000, 1.0),
        (SignedNorm16, 0x8000, 0xbf80_0000, -1.0),
        (SignedNorm16, 32767, 0x3f80_0000, 1.0),
    ];
    let words: [(ChannelKind, u32, u32); 2] =
        [(Unsigned32, 0xdead_beef, 0xdead_beef), (Signed32, 0xffff_fff0, 0xffff_fff0)];
    let instruction = "tex.1d.v4.u32.s32 {%r10,%r11,%r12,%r13}, [%rd3, {%r0}];";
    for channels in [1, 2, 4] {
        for (kind, raw, element, number) in cases {
            let bytes: Vec<u8> = raw.to_le_bytes()[..kind.bytes() as usize].repeat(2 * channels);
            let mut texture = texture(Geometry::OneD, Format { kind, channels: channels as u32 }, [2, 1, 1], 1);
            let rows = results(instruction, texture.clone(), &bytes, &[[1, 0, 0, 0, 0, 0]]);
            assert_eq!(rows[0][..channels], vec![element; channels], "{kind:?} {channels}");
            texture.read = ReadMode::NormalizedFloat;
            let rows = results(instruction, texture, &bytes, &[[0, 0, 0, 0, 0, 0]]);
            assert_eq!(rows[0][..channels], vec![number.to_bits(); channels], "{kind:?} {channels}");
        }
        for (kind, raw, element) in words {
            let bytes = raw.to_le_bytes().repeat(2 * channels);
            let mut texture = texture(Geometry::OneD, Format { kind, channels: channels as u32 }, [2, 1, 1], 1);
            // Integers of 32 bits are never promoted.
            texture.read = ReadMode::NormalizedFloat;
            let rows = results(instruction, texture, &bytes, &[[1, 0, 0, 0, 0, 0]]);
            assert_eq!(rows[0][..channels], vec![element; channels], "{kind:?} {channels}");
        }
    }
}

#[test]
fn srgb_is_linear_before_the_filter_and_alpha_is_not() {
    let format = Format { kind: ChannelKind::Unsigned8, channels: 4 };
    let mut texture = texture(Geometry::OneD, format, [2, 1, 1], 1);
    (texture.read, texture.srgb, texture.sampler.filter) = (ReadMode::NormalizedFloat, true, FilterMode::Linear);
    let bytes = [0, 128, 255, 128, 255, 128, 255, 128];
    let instruction = "tex.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}];";
    let rows = results(instruction, texture, &bytes, &[[1.0_f32.to_bits(), 0, 0, 0, 0, 0]]);
    let [r, g, b, a] = rows[0].map(f32::from_bits);
    // The mean of 0 and 1, and the number of 128 by the standard's own table.
    assert_eq!((r, b, a), (0.5, 1.0, 128.0 / 255.0));
    assert!((g - 0.215_860_53).abs() < 1e-7, "{g}");
}

#[test]
fn layers_are_chosen_without_a_filter_and_the_last_takes_the_place_of_those_behind() {
    let (values, bytes) = floats(3 * 4 * 2);
    for (geometry, extents, instruction) in [
        (Geometry::OneDLayered, [4, 1, 1], "tex.a1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%r0,%f1}];"),
        (Geometry::TwoDLayered, [4, 2, 1], "tex.a2d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%r0,%f1,%f2,%f2}];"),
    ] {
        let mut texture = texture(geometry, FLOAT, extents, 3);
        texture.sampler.filter = FilterMode::Linear;
        let inputs: Vec<[u32; 6]> =
            (0..5).map(|layer| [layer, 1.5_f32.to_bits(), 0.5_f32.to_bits(), 0, 0, 0]).collect();
        let found = results(instruction, texture, &bytes, &inputs);
        let layer = (extents[0] * extents[1]) as usize;
        let expected: Vec<u32> = [0, 1, 2, 2, 2].iter().map(|n| values[n * layer + 1].to_bits()).collect();
        assert_eq!(found.iter().map(|row| row[0]).collect::<Vec<_>>(), expected, "{geometry:?}");
    }
}

#[test]
fn directions_select_faces_of_a_cube_by_the_table_of_the_guide() {
    let (values, bytes) = floats(2 * 6 * 4);
    let texture = texture(Geometry::CubeLayered, FLOAT, [2, 2, 1], 2);
    let instruction = "tex.acube.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%r0,%f1,%f2,%f3}];";
    // The direction, the face, and the column and row of the texel.
    let cases = [
        ([1.0, 0.4, 0.3], 0, [0, 0]),
        ([1.0, -0.4, -0.3], 0, [1, 1]),
        ([-2.0, 0.4, 0.3], 1, [1, 0]),
        ([0.4, 3.0, 0.3], 2, [1, 1]),
        ([0.4, -3.0, 0.3], 3, [1, 0]),
        ([-0.4, 0.2, 1.0], 4, [0, 0]),
        ([-0.4, -0.2, -1.0], 5, [1, 1]),
    ];
    for layer in [0, 1] {
        let inputs: Vec<[u32; 6]> = cases
            .iter()
            .map(|(direction, ..)| {
                let [x, y, z] = direction.map(|part: f32| part.to_bits());
                [layer, x, y, z, 0, 0]
            })
            .collect();
        let found = results(instruction, texture.clone(), &bytes, &inputs);
        for ((direction, face, [column, row]), found) in cases.iter().zip(found) {
            let texel = (layer as usize * 6 + face) * 4 + row * 2 + column;
            assert_eq!(found[0], values[texel].to_bits(), "{direction:?}");
        }
    }
}

#[test]
fn a_seamless_cube_filters_across_its_edges_and_corners() {
    // Each face has one value, 0 to 5.
    let bytes: Vec<u8> = (0..6).flat_map(|face| (face as f32).to_le_bytes().repeat(16)).collect();
    let instruction = "tex.cube.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0,%f1,%f2,%f2}];";
    let edge = [1.0_f32, 0.0, 1.0];
    let corner = [1.0_f32, 1.0, 1.0];
    let inputs = [edge, corner].map(|direction| {
        let [x, y, z] = direction.map(f32::to_bits);
        [x, y, z, 0, 0, 0]
    });
    let mut texture = texture(Geometry::Cube, FLOAT, [4, 4, 1], 1);
    texture.sampler.filter = FilterMode::Linear;
    let apart = results(instruction, texture.clone(), &bytes, &inputs);
    assert_eq!(apart.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), [0.0, 0.0]);
    texture.sampler.seamless_cube = true;
    let joined = results(instruction, texture, &bytes, &inputs);
    // The faces +x and +z have the values 0 and 4, and +y has 2.
    assert_eq!(joined.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), [2.0, 2.0]);
}

/// A mipmap of 8, 4, 2 and 1 texels, whose values are 100 times their level.
pub(super) fn mipmap() -> (Texture, Vec<u8>) {
    let mut texture = texture(Geometry::OneD, FLOAT, [8, 1, 1], 1);
    let (mut levels, mut bytes, mut address) = (Vec::new(), Vec::new(), TEXELS);
    for (level, size) in [8_u32, 4, 2, 1].into_iter().enumerate() {
        let pitch = u64::from(size) * 4;
        levels.push(Level { address, extents: [size, 1, 1], pitch, slice_pitch: pitch });
        bytes.extend((0..size).flat_map(|_| (level as f32 * 100.0).to_le_bytes()));
        address += pitch;
    }
    texture.image.levels = levels;
    texture.sampler.normalized = true;
    (texture, bytes)
}

#[test]
fn levels_of_detail_have_a_bias_limits_and_a_filter() {
    let instruction = "tex.level.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}], %f1;";
    let levels = [-1.0_f32, 0.0, 0.4, 0.75, 1.5, 2.25, 3.0, 9.0];
    let inputs = levels.map(|level| [0.3_f32.to_bits(), level.to_bits(), 0, 0, 0, 0]);
    let cases: [(FilterMode, f32, [f32; 2], [f32; 8]); 4] = [
        (FilterMode::Point, 0.0, [0.0, 99.0], [0.0, 0.0, 0.0, 100.0, 200.0, 200.0, 300.0, 300.0]),
        (FilterMode::Linear, 0.0, [0.0, 99.0], [0.0, 0.0, 39.84375, 75.0, 150.0, 225.0, 300.0, 300.0]),
        (FilterMode::Linear, 0.5, [0.0, 99.0], [0.0, 50.0, 89.84375, 125.0, 200.0, 275.0, 300.0, 300.0]),
        (FilterMode::Linear, 0.0, [1.0, 2.0], [100.0, 100.0, 100.0, 100.0, 150.0, 200.0, 200.0, 200.0]),
    ];
    for (filter, bias, clamp, expected) in cases {
        let (mut texture, bytes) = mipmap();
        let sampler = &mut texture.sampler;
        (sampler.mipmap_filter, sampler.level_bias, sampler.level_clamp) = (filter, bias, clamp);
        let found = results(instruction, texture, &bytes, &inputs);
        assert_eq!(found.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), expected, "{filter:?} {bias}");
    }
    let (mut texture, bytes) = mipmap();
    texture.sampler.level_bias = 2.0;
    let base = "tex.base.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}];";
    for instruction in [base, &base.replace(".base", "")] {
        assert_eq!(results(instruction, texture.clone(), &bytes, &inputs[..1])[0][0], 0, "{instruction}");
    }
}

#[test]
fn gradients_choose_the_level_whose_texels_have_their_size() {
    let instruction = "tex.grad.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}], {%f1}, {%f2};";
    let (texture, bytes) = mipmap();
    // The image has 8 texels, so a step of 1/8 is one texel.
    let cases = [(0.125, 0.0, 0.0), (0.0, -0.25, 100.0), (0.5, 0.25, 200.0), (0.0, 0.0, 0.0), (4.0, 0.0, 300.0)];
    let inputs: Vec<[u32; 6]> = cases
        .iter()
        .map(|(x, y, _): &(f32, f32, f32)| [0.3_f32.to_bits(), x.to_bits(), y.to_bits(), 0, 0, 0])
        .collect();
    let found = results(instruction, texture, &bytes, &inputs);
    let expected: Vec<f32> = cases.iter().map(|case| case.2).collect();
    assert_eq!(found.iter().map(|row| f32::from_bits(row[0])).collect::<Vec<_>>(), expected);
}

#[test]
fn four_texels_are_gathered_counter_clockwise_from_the_lower_left() {
    let bytes: Vec<u8> = (0..12_u8).flat_map(|texel| [texel, 100 + texel]).collect();
    let texture = texture(Geometry::TwoD, Format { kind: ChannelKind::Unsigned8, channels: 2 }, [4, 3, 1], 1);
    let at = |x: f32, y: f32| [x.to_bits(), y.to_bits(), 0, 0, 0, 0];
    let gather =
        |component: &str| format!("tld4.{component}.2d.v4.u32.f32 {{%r10,%r11,%r12,%r13}}, [%rd3, {{%f0,%f1}}];");
    let found = results(&gather("r"), texture.clone(), &bytes, &[at(2.0, 1.0), at(0.1, 0.1)]);
    assert_eq!(found, [[5, 6, 2, 1], [0, 0, 0, 0]]);
    let found = results(&gather("g"), texture.clone(), &bytes, &[at(2.0, 1.0), at(9.0, 9.0)]);
    assert_eq!(found, [[105, 106, 102, 101], [111; 4]]);
    // The format has two channels.
    assert_eq!(results(&gather("b"), texture.clone(), &bytes, &[at(2.0, 1.0)]), [[0; 4]]);
    let moved = gather("r").replace("}];", "}], {%r2,%r3};");
    let input = [2.0_f32.to_bits(), 1.0_f32.to_bits(), 1, 1, 0, 0];
    assert_eq!(results(&moved, texture, &bytes, &[input]), [[10, 11, 7, 6]]);
}

#[test]
fn linear_memory_has_no_sampler_and_zeros_outside() {
    let bytes: Vec<u8> = (1..=4_u32).flat_map(u32::to_le_bytes).collect();
    let format = Format { kind: ChannelKind::Unsigned32, channels: 1 };
    let mut texture = texture(Geometry::OneD, format, [4, 1, 1], 1);
    (texture.image.linear, texture.sampler.normalized) = (true, true);
    let inputs = [0, 3, 4, u32::MAX].map(|index| [index, 0, 0, 0, 0, 0]);
    let instruction = "tex.1d.v4.u32.s32 {%r10,%r11,%r12,%r13}, [%rd3, {%r0}];";
    let found = results(instruction, texture, &bytes, &inputs);
    assert_eq!(found, [[1, 0, 0, 1], [4, 0, 0, 1], [0; 4], [0; 4]]);
}

#[test]
fn offsets_count_texels() {
    let (values, bytes) = floats(16);
    let mut texture = texture(Geometry::TwoD, FLOAT, [4, 4, 1], 1);
    (texture.sampler.normalized, texture.sampler.address) = (true, [AddressMode::Wrap; 3]);
    let instruction = "tex.2d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0,%f1}], {%r2,%r3};";
    let input = [0.1_f32.to_bits(), 0.6_f32.to_bits(), -1_i32 as u32, 3, 0, 0];
    assert_eq!(results(instruction, texture, &bytes, &[input])[0][0], values[4 + 3].to_bits());
}

#[test]
fn results_of_16_bits_are_rounded_and_the_predicate_is_set() {
    let bytes: Vec<u8> = [1.0_f32, -0.333_333_34, 2.0, 65504.0].iter().flat_map(|value| value.to_le_bytes()).collect();
    let texture = texture(Geometry::OneD, Format { kind: ChannelKind::Float, channels: 4 }, [1, 1, 1], 1);
    let halves = "tex.1d.v4.f16.f32 {%h0,%h1,%h2,%h3}|%p0, [%rd3, {%f0}]; cvt.u32.u16 %r10, %h0; cvt.u32.u16 %r11, %h1; \
        cvt.u32.u16 %r12, %h2; selp.u32 %r13, 1, 0, %p0;";
    let input = [[0; 6]];
    assert_eq!(results(halves, texture.clone(), &bytes, &input), [[0x3c00, 0xb555, 0x4000, 1]]);
    let pairs = "tex.1d.v2.f16x2.f32 {%r10,%r11}, [%rd3, {%f0}]; mov.u32 %r12, 0; mov.u32 %r13, 0;";
    assert_eq!(results(pairs, texture, &bytes, &input), [[0xb555_3c00, 0x7bff_4000, 0, 0]]);
}
