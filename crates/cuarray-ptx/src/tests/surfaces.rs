//! Loads, stores and reductions of surfaces by small kernels.

use super::*;
use crate::texture::{ChannelKind, Format, Geometry, Image, Level, Surface};
use std::sync::Arc;

const HANDLE: u64 = 0x5e40_0000_0001;
/// The device address of the samples: that of the second buffer.
const SAMPLES: u64 = BASE + APART;

/// A surface over the second buffer, with four bytes between its rows.
fn surface(geometry: Geometry, format: Format, extents: [u32; 3], layers: u32) -> Textures {
    let pitch = u64::from(extents[0] * format.bytes() + 4);
    let level = Level { address: SAMPLES, extents, pitch, slice_pitch: pitch * u64::from(extents[1]) };
    let image = Image { geometry, format, layers, linear: false, levels: vec![level] };
    Textures { surfaces: [(HANDLE, Arc::new(Surface { image }))].into(), ..Textures::default() }
}

/// Executes instructions for one thread over samples; they set `%r10` to `%r13`.
fn run(body: &str, textures: Textures, samples: &mut [u32; 64]) -> ([u32; 4], Outcome) {
    run_threads(body, textures, samples, 1)
}

fn run_threads(body: &str, textures: Textures, samples: &mut [u32; 64], threads: u32) -> ([u32; 4], Outcome) {
    let source = format!(
        ".visible .entry k(.param .u64 out, .param .u64 samples, .param .u64 handle) {{
         .reg .b64 %rd<9>; .reg .b32 %r<20>; .reg .f32 %f<9>; .reg .b16 %h<4>; .reg .pred %p<4>;
         ld.param.u64 %rd0, [out]; ld.param.u64 %rd3, [handle]; mov.u32 %r19, %tid.x;
         mov.u32 %r10, 0; mov.u32 %r11, 0; mov.u32 %r12, 0; mov.u32 %r13, 0;
         {body}
         setp.eq.u32 %p3, %r19, 0; @%p3 st.global.v4.u32 [%rd0], {{%r10,%r11,%r12,%r13}}; ret; }}"
    );
    let mut out = [0_u64; 2];
    let mut words: Vec<u64> = samples.chunks(2).map(|pair| u64::from(pair[0]) | u64::from(pair[1]) << 32).collect();
    let run = Run { source: &source, threads: [threads, 1, 1], more: vec![HANDLE], textures, ..Run::default() };
    let outcome = run.over(&mut [&mut out, &mut words]);
    for (index, sample) in samples.iter_mut().enumerate() {
        *sample = (words[index / 2] >> (index % 2 * 32)) as u32;
    }
    ([out[0] as u32, (out[0] >> 32) as u32, out[1] as u32, (out[1] >> 32) as u32], outcome)
}

const WORDS: Format = Format { kind: ChannelKind::Unsigned32, channels: 1 };

#[test]
fn unformatted_accesses_count_bytes_along_x() {
    let mut samples: [u32; 64] = std::array::from_fn(|index| index as u32 * 0x0101);
    // Rows of three words with one word between them.
    let table = surface(Geometry::TwoD, WORDS, [3, 4, 1], 1);
    let body = "suld.b.2d.b32.trap {%r10}, [%rd3, {8, 1}]; suld.b.2d.v2.b32.trap {%r11,%r12}, [%rd3, {0, 2}]; \
        suld.b.2d.b16.trap %h0, [%rd3, {6, 1}]; cvt.u32.u16 %r13, %h0; sust.b.2d.b8.trap [%rd3, {1, 3}], {%h0}; \
        sust.b.2d.v2.b32.trap [%rd3, {0, 0}], {%r10, %r11};";
    let (found, outcome) = run(body, table, &mut samples);
    assert_eq!(outcome.fault, None);
    assert_eq!(found, [6 * 0x0101, 8 * 0x0101, 9 * 0x0101, 0]);
    assert_eq!([samples[0], samples[1], samples[12]], [6 * 0x0101, 8 * 0x0101, (12 * 0x0101) & 0xff]);
}

#[test]
fn layers_and_slices_are_addressed() {
    let source: [u32; 64] = std::array::from_fn(|index| index as u32);
    // Each row has one word and a gap of one word.
    for (geometry, extents, layers, body, expected) in [
        (Geometry::ThreeD, [1, 2, 3], 1, "suld.b.3d.b32.trap %r10, [%rd3, {0, 1, 2, 0}];", 2 * 4 + 2),
        (Geometry::OneDLayered, [1, 1, 1], 5, "suld.b.a1d.b32.trap %r10, [%rd3, {3, 0}];", 3 * 2),
        (Geometry::TwoDLayered, [1, 2, 1], 5, "suld.b.a2d.b32.trap %r10, [%rd3, {3, 0, 1, 0}];", 3 * 4 + 2),
        // Faces of cubes are layers.
        (Geometry::CubeLayered, [1, 1, 1], 2, "suld.b.a2d.b32.trap %r10, [%rd3, {7, 0, 0, 0}];", 7 * 2),
    ] {
        let (found, outcome) = run(body, surface(geometry, WORDS, extents, layers), &mut source.clone());
        assert_eq!((outcome.fault, found[0]), (None, expected), "{body}");
    }
}

#[test]
fn accesses_outside_trap_are_clamped_or_are_left_out() {
    let table = || surface(Geometry::TwoD, WORDS, [3, 4, 1], 1);
    let source: [u32; 64] = std::array::from_fn(|index| index as u32 + 1);
    for place in ["{12, 0}", "{-4, 0}", "{0, 4}", "{0, -1}", "{10, 0}"] {
        let load = format!("suld.b.2d.b32.trap %r10, [%rd3, {place}];");
        let fault =
            run(&load, table(), &mut source.clone()).1.fault.map(|fault| (fault.kind, fault.address, fault.write));
        assert_eq!(fault, Some((FaultKind::OutsideSurface, HANDLE, false)), "{place}");
        let store = format!("sust.b.2d.b32.trap [%rd3, {place}], 5;");
        let fault = run(&store, table(), &mut source.clone()).1.fault.map(|fault| (fault.kind, fault.write));
        assert_eq!(fault, Some((FaultKind::OutsideSurface, true)), "{place}");
        let mut samples = source;
        let both = format!("{} mov.u32 %r11, 9; {}", load.replace("trap", "zero"), store.replace("trap", "zero"));
        let (found, outcome) = run(&both, table(), &mut samples);
        assert_eq!((outcome.fault, found[..2].to_vec(), samples), (None, vec![0, 9], source), "{place}");
    }
    for (place, word) in [("{99, 0}", 2), ("{-99, 1}", 4), ("{4, 9}", 13), ("{8, -9}", 2), ("{0, 0}", 0)] {
        let mut samples = source;
        let body = format!(
            "suld.b.2d.b32.clamp %r10, [%rd3, {place}]; add.u32 %r11, %r10, 100; sust.b.2d.b32.clamp [%rd3, {place}], %r11;"
        );
        let (found, outcome) = run(&body, table(), &mut samples);
        assert_eq!((outcome.fault, found[0], samples[word]), (None, source[word], source[word] + 100), "{place}");
    }
}

#[test]
fn formatted_stores_convert_to_the_format() {
    use ChannelKind::*;
    for (kind, channels, values, expected) in [
        (Unsigned8, 4, [1, 2, 3, 0x104], 0x0403_0201_u32),
        (Signed16, 2, [0xffff_fffe, 5, 0, 0], 0x0005_fffe),
        (Half, 2, [1.0_f32.to_bits(), 0.5_f32.to_bits(), 0, 0], 0x3800_3c00),
        (UnsignedNorm8, 4, [1.0_f32.to_bits(), 0.2_f32.to_bits(), 2.0_f32.to_bits(), 0], 0x00ff_33ff),
        (SignedNorm8, 2, [(-1.0_f32).to_bits(), 1.0_f32.to_bits(), 0, 0], 0x7f81),
        (Float, 1, [3.5_f32.to_bits(), 0, 0, 0], 0x4060_0000),
    ] {
        let format = Format { kind, channels };
        let mut samples = [0; 64];
        let [r, g, b, a] = values;
        // The second sample of the row.
        let body = format!("sust.p.1d.v4.b32.trap [%rd3, {{1}}], {{{r},{g},{b},{a}}};");
        let (_, outcome) = run(&body, surface(Geometry::OneD, format, [4, 1, 1], 1), &mut samples);
        let bytes: Vec<u8> = samples.iter().flat_map(|sample| sample.to_le_bytes()).collect();
        let size = format.bytes() as usize;
        assert_eq!(outcome.fault, None);
        assert_eq!(bytes[size..2 * size], expected.to_le_bytes()[..size], "{kind:?}");
        assert!(bytes[..size].iter().chain(&bytes[2 * size..]).all(|byte| *byte == 0), "{kind:?}");
    }
}

#[test]
fn reductions_of_all_threads_are_atomic() {
    for (instruction, start, expected) in [
        ("sured.b.add.1d.u32.trap [%rd3, {4}], %r19;", 7, 7 + 31 * 32 / 2),
        ("sured.b.max.1d.u32.trap [%rd3, {4}], %r19;", 7, 31),
        ("sured.b.min.1d.s32.trap [%rd3, {4}], %r19;", -5_i32 as u32, -5_i32 as u32),
        ("sured.b.min.1d.u32.trap [%rd3, {4}], %r19;", -5_i32 as u32, 0),
        ("sured.b.or.1d.b32.trap [%rd3, {4}], %r19;", 64, 64 | 31),
        ("sured.b.and.1d.b32.trap [%rd3, {4}], %r19;", 64, 0),
        ("sured.p.add.1d.b32.trap [%rd3, {1}], %r19;", 1, 1 + 31 * 32 / 2),
        ("sured.p.max.1d.b32.trap [%rd3, {1}], %r19;", -1_i32 as u32, -1_i32 as u32),
    ] {
        let mut samples = [0; 64];
        samples[1] = start;
        let (_, outcome) = run_threads(instruction, surface(Geometry::OneD, WORDS, [4, 1, 1], 1), &mut samples, 32);
        assert_eq!((outcome.fault, samples[1]), (None, expected), "{instruction}");
        assert_eq!(outcome.races, [], "{instruction}");
    }
    let mut samples = [0; 64];
    let format = Format { kind: ChannelKind::Signed32, channels: 1 };
    samples[0] = -1_i32 as u32;
    let body = "sured.p.max.1d.b32.trap [%rd3, {0}], %r19;";
    run_threads(body, surface(Geometry::OneD, format, [4, 1, 1], 1), &mut samples, 32);
    assert_eq!(samples[0], 31);
}

#[test]
fn unordered_stores_of_different_values_race() {
    let table = || surface(Geometry::OneD, WORDS, [32, 1, 1], 1);
    let to = |place: &str| format!("shl.b32 %r18, %r19, 2; sust.b.1d.b32.trap [%rd3, {{{place}}}], %r19;");
    let apart = run_threads(&to("%r18"), table(), &mut [0; 64], 32).1;
    assert_eq!(apart.races, []);
    let together = run_threads(&to("8"), table(), &mut [0; 64], 32).1.races;
    assert!(together.iter().any(|race| race.address == SAMPLES + 8 && race.accesses[0].writes), "{together:?}");
}

#[test]
fn misaligned_and_unknown_accesses_fail() {
    let table = || surface(Geometry::OneD, WORDS, [4, 1, 1], 1);
    let fault =
        |body: &str, table: Textures| run(body, table, &mut [0; 64]).1.fault.map(|fault| (fault.kind, fault.address));
    assert_eq!(fault("suld.b.1d.b32.trap %r10, [%rd3, {2}];", table()), Some((FaultKind::Misaligned, SAMPLES + 2)));
    let unknown = fault("suld.b.1d.b32.trap %r10, [%rd3, {0}];", Textures::default());
    assert_eq!(unknown, Some((FaultKind::NoTexture, HANDLE)));
    let other = fault("sust.b.2d.b32.trap [%rd3, {0, 0}], 1;", table());
    assert_eq!(other, Some((FaultKind::OtherGeometry, HANDLE)));
}

#[test]
fn attributes_are_queried() {
    let format = Format { kind: ChannelKind::Signed16, channels: 4 };
    let body = "suq.width.b32 %r10, [%rd3]; suq.height.b32 %r11, [%rd3]; suq.channel_data_type.b32 %r12, [%rd3]; \
        suq.array_size.b32 %r13, [%rd3];";
    let (found, outcome) = run(body, surface(Geometry::TwoDLayered, format, [3, 2, 1], 4), &mut [0; 64]);
    assert_eq!((outcome.fault, found), (None, [3, 2, 0x10d8, 4]));
}

#[test]
fn forms_that_the_manual_does_not_list_are_invalid() {
    for instruction in [
        "suld.p.1d.b32.trap %r0, [%rd0, {%r1}];",
        "suld.b.cube.b32.trap %r0, [%rd0, {%r1,%r1,%r1,%r1}];",
        "suld.b.1d.u32.trap %r0, [%rd0, {%r1}];",
        "suld.b.1d.v4.b64.trap {%rd1,%rd2,%rd3,%rd4}, [%rd0, {%r1}];",
        "suld.b.2d.b32.trap %r0, [%rd0, {%r1}];",
        "sust.p.a1d.b32.trap [%rd0, {%r1,%r2}], %r0;",
        "sust.p.1d.u32.trap [%rd0, {%r1}], %r0;",
        "sured.b.add.1d.s64.trap [%rd0, {%r1}], %rd1;",
        "sured.b.and.1d.u32.trap [%rd0, {%r1}], %r0;",
        "sured.b.add.a2d.u32.trap [%rd0, {%r1,%r2,%r3,%r3}], %r0;",
        "tex.cube.v4.f32.s32 {%r0,%r1,%r2,%r3}, [%rd0, {%r0,%r1,%r2,%r3}];",
        "tex.2d.v4.f32.f32 {%r0,%r1,%r2}, [%rd0, {%r0,%r1}];",
        "tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%rd0, {%r0}];",
        "tex.2d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [data, {%r0,%r1}];",
        "tld4.r.3d.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%rd0, {%r0,%r1,%r2,%r3}];",
        "tex.cube.v4.f32.f32 {%r0,%r1,%r2,%r3}, [%rd0, {%r0,%r1,%r2,%r3}], {%r0,%r1,%r2};",
        "txq.level.num_samples.b32 %r0, [%rd0], 1;",
        "suq.normalized_coords.b32 %r0, [%rd0];",
    ] {
        let source = format!(
            ".global .b32 data; .visible .entry k() {{ .reg .b64 %rd<9>; .reg .b32 %r<9>; {instruction} ret; }}"
        );
        let error = load(&source).err().unwrap_or_else(|| panic!("{instruction} was taken"));
        assert!(!error.unsupported, "{instruction}: {error}");
    }
}
