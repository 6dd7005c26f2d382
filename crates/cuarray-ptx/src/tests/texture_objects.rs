//! The objects behind handles and module variables, their failures, and the accesses of fetches.

use super::textures::{FLOAT, HANDLE, TEXELS, fetched, floats, kernel, mipmap, results, texture, textures};
use super::*;
use crate::races::causality::Why;
use crate::texture::{Geometry, ReadMode, Texture};
use std::sync::Arc;

#[test]
fn attributes_are_queried() {
    let (mut texture, bytes) = mipmap();
    texture.read = ReadMode::NormalizedFloat;
    let query = "txq.width.b32 %r10, [%rd3]; txq.level.width.b32 %r11, [%rd3], 2; txq.num_mipmap_levels.b32 %r12, [%rd3]; \
        txq.normalized_coords.b32 %r13, [%rd3];";
    assert_eq!(results(query, texture.clone(), &bytes, &[[0; 6]]), [[8, 2, 4, 1]]);
    // The numbers of OpenCL for floating point and for one channel.
    let query = "txq.channel_data_type.b32 %r10, [%rd3]; txq.channel_order.b32 %r11, [%rd3]; txq.array_size.b32 %r12, [%rd3]; \
        istypep.texref %p0, %rd3; istypep.surfref %p1, %rd3; selp.u32 %r13, 1, 0, %p0; @%p1 mov.u32 %r13, 2;";
    assert_eq!(results(query, texture, &bytes, &[[0; 6]]), [[0x10de, 0x10b0, 0, 1]]);
}

#[test]
fn module_variables_are_bound_by_their_addresses() {
    // The variables follow each other in steps of 16 bytes.
    let picture = BASE + 100 * APART;
    let (values, bytes) = floats(4);
    let mut texture = texture(Geometry::OneD, FLOAT, [4, 1, 1], 1);
    texture.sampler.normalized = true;
    let head = ".global .texref picture; .global .samplerref sampler = { addr_mode_0 = wrap, filter_mode = nearest }; \
        .global .samplerref counted = { force_unnormalized_coords = 1 };";
    let body = "tex.1d.v4.f32.f32 {%r10,_,_,_}, [picture, {%f0}]; tex.1d.v4.f32.f32 {%r11,_,_,_}, [picture, sampler, {%f1}]; \
        tex.1d.v4.f32.f32 {%r12,_,_,_}, [picture, counted, {%f2}]; mov.u64 %rd7, picture; \
        tex.1d.v4.f32.f32 {%r13,_,_,_}, [%rd7, {%f0}];";
    let source = format!("{head}\n{}", kernel(body));
    let program = load(&source).unwrap();
    let samplers = program.samplers(|number| picture + u64::from(number) * 16);
    assert_eq!(samplers.iter().map(|(address, _)| *address).collect::<Vec<_>>(), [picture + 16, picture + 32]);
    let table = Textures {
        textures: [(picture, Arc::new(texture))].into(),
        samplers: samplers.into_iter().collect(),
        ..Textures::default()
    };
    let mut out = [0; 2];
    let [x, y, z] = [0.3_f32, 1.8, 3.5].map(|part| u64::from(part.to_bits()));
    let mut texels: Vec<u64> = bytes.chunks(8).map(|chunk| u64::from_le_bytes(chunk.try_into().unwrap())).collect();
    let run = Run { source: &source, threads: [1, 1, 1], more: vec![0], textures: table, ..Run::default() };
    let outcome = run.over(&mut [&mut out, &mut [x | y << 32, z, 0, 0], &mut texels]);
    assert_eq!(outcome.fault, None);
    let found = [out[0] as u32, (out[0] >> 32) as u32, out[1] as u32, (out[1] >> 32) as u32];
    assert_eq!(found, [1, 3, 3, 1].map(|index: usize| values[index].to_bits()));
}

#[test]
fn failures_name_the_handle_or_the_texel() {
    let instruction = "tex.1d.v4.f32.f32 {%r10,%r11,%r12,%r13}, [%rd3, {%f0}];";
    let (_, bytes) = floats(4);
    let fault = |texture: Option<Texture>| {
        let table = texture.map(textures).unwrap_or_default();
        let (_, outcome) = fetched(instruction, table, &bytes, &[[0; 6]]);
        outcome.fault.map(|fault| (fault.kind, fault.address, fault.size))
    };
    assert_eq!(fault(None), Some((FaultKind::NoTexture, HANDLE, 0)));
    let other = texture(Geometry::TwoD, FLOAT, [2, 2, 1], 1);
    assert_eq!(fault(Some(other)), Some((FaultKind::OtherGeometry, HANDLE, 0)));
    let mut freed = texture(Geometry::OneD, FLOAT, [4, 1, 1], 1);
    freed.image.levels[0].address = TEXELS + APART;
    assert_eq!(fault(Some(freed)), Some((FaultKind::IllegalAddress, TEXELS + APART, 4)));
}

#[test]
fn fetched_texels_are_recorded_and_race_with_writes() {
    let (_, bytes) = floats(64);
    let texture = texture(Geometry::OneD, FLOAT, [64, 1, 1], 1);
    // Each thread writes its own texel, and fetches that of the next thread.
    let write = "mul.wide.u32 %rd4, %r19, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r19;";
    let fetch = "add.u32 %r18, %r19, 1; tex.1d.v4.f32.s32 {%r10,%r11,%r12,%r13}, [%rd3, {%r18}];";
    let inputs = [[0; 6]; 60];
    let outcome =
        |between: &str| fetched(&format!("{write} {between} {fetch}"), textures(texture.clone()), &bytes, &inputs).1;
    let races = outcome("").races;
    assert!(!races.is_empty() && races.iter().all(|race| (TEXELS..TEXELS + 256).contains(&race.address)), "{races:?}");
    assert_eq!(outcome("bar.sync 0;").races, []);
    let touched = fetched(fetch, textures(texture.clone()), &bytes, &inputs).1.touched;
    let texels: Vec<(u64, u64)> =
        touched.iter().filter(|range| range.start >= TEXELS).map(|range| (range.start, range.end)).collect();
    assert_eq!(texels, [(TEXELS + 4, TEXELS + 61 * 4)]);
}

#[test]
fn a_fetch_of_bytes_that_its_launch_has_written_is_a_strict_race() {
    let picture = textures(texture(Geometry::OneD, FLOAT, [64, 1, 1], 1));
    let fetch = "tex.1d.v4.f32.s32 {%r10,%r11,%r12,%r13}, [%rd3, {%r19}];";
    let write = "mul.wide.u32 %rd4, %r19, 4; add.u64 %rd4, %rd2, %rd4; st.global.u32 [%rd4], %r19;";
    let found = |body: &str, strict| {
        let source = kernel(body);
        let (mut out, mut input, mut texels) = ([0; 64], [0; 128], [0; 32]);
        let more = vec![HANDLE];
        let run = Run { source: &source, more, textures: picture.clone(), strict, ..Run::default() };
        let races = run.over(&mut [&mut out, &mut input, &mut texels]).races;
        races.into_iter().map(|race| (race.accesses.map(|access| access.writes), race.why)).collect::<Vec<_>>()
    };
    // Each thread fetches the texel that it has written itself.
    let own = format!("{write} bar.sync 0; {fetch}");
    assert_eq!(found(&own, false), []);
    assert_eq!(found(&own, true), [([true, false], Some(Why::Texture))]);
    // A write after the fetch does not reach it.
    let later = format!("{fetch} bar.sync 0; {write}");
    assert_eq!(found(&later, true), []);
    let plain = own.replace(fetch, "ld.global.u32 %r10, [%rd4]; mov.b32 %r11, 0; mov.b32 %r12, 0; mov.b32 %r13, 0;");
    assert_eq!(found(&plain, true), []);
}
