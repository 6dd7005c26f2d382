//! Creation, limits, descriptors and destruction.

use super::*;

const FLOAT: CUarray_format = CU_AD_FORMAT_FLOAT;

/// The result of creating an array.
fn created(program: &Program, descriptor: CUDA_ARRAY3D_DESCRIPTOR) -> Result<CUarray, Option<&'static str>> {
    let mut array = CUarray::NULL;
    let result = call!(program, cuArray3DCreate_v2(&mut array, &descriptor));
    if result.is_success() { Ok(array) } else { Err(result.name()) }
}

const INVALID: Result<CUarray, Option<&str>> = Err(Some("CUDA_ERROR_INVALID_VALUE"));
const REFUSED: Result<CUarray, Option<&str>> = Err(Some("CUDA_ERROR_NOT_SUPPORTED"));

#[test]
fn array_of_each_kind_is_described_as_created() {
    let program = Program::new();
    let kinds = [
        ([64, 0, 0], 0),
        ([64, 32, 0], 0),
        ([64, 32, 16], 0),
        ([64, 0, 5], CUDA_ARRAY3D_LAYERED),
        ([64, 32, 5], CUDA_ARRAY3D_LAYERED | CUDA_ARRAY3D_SURFACE_LDST),
        ([64, 64, 6], CUDA_ARRAY3D_CUBEMAP),
        ([64, 64, 12], CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED),
        ([64, 32, 0], CUDA_ARRAY3D_TEXTURE_GATHER | CUDA_ARRAY3D_COLOR_ATTACHMENT),
        ([64, 32, 0], CUDA_ARRAY3D_DEPTH_TEXTURE),
    ];
    for (extents, flags) in kinds {
        let descriptor = described(FLOAT, 2, extents, flags);
        let array = created(&program, descriptor).unwrap();
        let (mut flat, mut deep) = (CUDA_ARRAY_DESCRIPTOR::default(), CUDA_ARRAY3D_DESCRIPTOR::default());
        ok!(program, cuArray3DGetDescriptor_v2(&mut deep, array));
        assert_eq!(deep, descriptor);
        ok!(program, cuArrayGetDescriptor_v2(&mut flat, array));
        assert_eq!((flat.Width, flat.Height, flat.Format, flat.NumChannels), (extents[0], extents[1], FLOAT, 2));
        let texels = extents.iter().map(|extent| (*extent).max(1)).product::<usize>();
        assert!(program.sim.statistics().contains(&format!("\"size\":{},", texels * 8)));
        ok!(program, cuArrayDestroy(array));
    }
    let flat = CUDA_ARRAY_DESCRIPTOR { Width: 3, Height: 0, Format: CU_AD_FORMAT_HALF, NumChannels: 1 };
    let (mut array, mut deep) = (CUarray::NULL, CUDA_ARRAY3D_DESCRIPTOR::default());
    ok!(program, cuArrayCreate_v2(&mut array, &flat));
    ok!(program, cuArray3DGetDescriptor_v2(&mut deep, array));
    assert_eq!(deep, described(CU_AD_FORMAT_HALF, 1, [3, 0, 0], 0));
}

#[test]
fn extents_and_flags_that_the_manual_excludes_are_invalid() {
    let program = Program::new();
    let excluded = [
        ([0, 0, 0], 0),
        ([4, 0, 3], 0),
        ([4, 4, 0], CUDA_ARRAY3D_LAYERED),
        ([4, 5, 6], CUDA_ARRAY3D_CUBEMAP),
        ([4, 4, 5], CUDA_ARRAY3D_CUBEMAP),
        ([4, 4, 9], CUDA_ARRAY3D_CUBEMAP | CUDA_ARRAY3D_LAYERED),
        ([4, 0, 0], CUDA_ARRAY3D_TEXTURE_GATHER),
        ([4, 4, 4], CUDA_ARRAY3D_TEXTURE_GATHER),
        ([4, 4, 0], 0x8000),
    ];
    for (extents, flags) in excluded {
        assert_eq!(created(&program, described(FLOAT, 1, extents, flags)), INVALID, "{extents:?} {flags:#x}");
    }
    for (format, channels) in [(FLOAT, 3), (FLOAT, 0), (0x7777, 1), (CU_AD_FORMAT_SNORM_INT8X4, 1)] {
        assert_eq!(created(&program, described(format, channels, [4, 4, 0], 0)), INVALID);
    }
    let descriptor = described(FLOAT, 1, [4, 4, 0], 0);
    fails!(program, INVALID_VALUE, cuArray3DCreate_v2(std::ptr::null_mut(), &descriptor));
    fails!(program, INVALID_VALUE, cuArray3DCreate_v2(&mut CUarray(0), std::ptr::null()));
    fails!(program, INVALID_VALUE, cuArrayCreate_v2(&mut CUarray(0), std::ptr::null()));
}

#[test]
fn sparse_video_and_compressed_arrays_are_not_supported() {
    let program = Program::new();
    for flags in [CUDA_ARRAY3D_SPARSE, CUDA_ARRAY3D_DEFERRED_MAPPING, CUDA_ARRAY3D_VIDEO_ENCODE_DECODE] {
        assert_eq!(created(&program, described(FLOAT, 1, [4, 4, 0], flags)), REFUSED);
    }
    for format in [CU_AD_FORMAT_NV12, CU_AD_FORMAT_BC1_UNORM, CU_AD_FORMAT_UNORM_INT_101010_2] {
        assert_eq!(created(&program, described(format, 4, [4, 4, 0], 0)), REFUSED);
    }
}

#[test]
fn extents_are_limited_by_the_attributes_of_the_device() {
    let program = Program::new();
    let limit = |attribute| {
        let mut value = 0;
        ok!(program, cuDeviceGetAttribute(&mut value, attribute, 0));
        usize::try_from(value).unwrap()
    };
    let layered = CUDA_ARRAY3D_LAYERED;
    // The attributes of width, height and depth by their numbers, and extents of 1 elsewhere.
    let kinds: [(u32, &[u32]); 8] = [
        (0, &[21]),
        (0, &[22, 23]),
        (layered, &[42, 0, 43]),
        (layered, &[27, 28, 29]),
        (CUDA_ARRAY3D_TEXTURE_GATHER, &[45, 46]),
        (CUDA_ARRAY3D_SURFACE_LDST, &[55]),
        (CUDA_ARRAY3D_SURFACE_LDST, &[56, 57]),
        (layered | CUDA_ARRAY3D_SURFACE_LDST, &[63, 64, 65]),
    ];
    for (flags, attributes) in kinds {
        for (axis, attribute) in attributes.iter().enumerate().filter(|(_, attribute)| **attribute != 0) {
            let mut extents = [0; 3];
            for (extent, attribute) in extents.iter_mut().zip(attributes) {
                *extent = usize::from(*attribute != 0);
            }
            for (more, fits) in [(0, true), (1, false)] {
                extents[axis] = limit(*attribute) + more;
                let array = created(&program, described(CU_AD_FORMAT_UNSIGNED_INT8, 1, extents, flags));
                assert_eq!(array.is_ok(), fits, "attribute {attribute}: {extents:?} {flags:#x}: {array:?}");
                if let Ok(array) = array {
                    ok!(program, cuArrayDestroy(array));
                }
            }
        }
    }
    // The second set of limits of 3-D arrays is deeper and less wide.
    for (extents, fits) in [([8, 8, 32_768], true), ([8_193, 8, 32_768], false), ([8_193, 8, 16_384], true)] {
        let array = created(&program, described(CU_AD_FORMAT_UNSIGNED_INT8, 1, extents, 0));
        assert_eq!(array.is_ok(), fits, "{extents:?}");
        array.map(|array| ok!(program, cuArrayDestroy(array))).ok();
    }
}

#[test]
fn array_that_does_not_fit_is_out_of_memory() {
    let program = Program::with(Config { memory: 1 << 20, ..Config::default() });
    let descriptor = described(FLOAT, 4, [1024, 1024, 0], 0);
    assert_eq!(created(&program, descriptor), Err(Some("CUDA_ERROR_OUT_OF_MEMORY")));
    let mut mipmapped = CUmipmappedArray::NULL;
    fails!(program, OUT_OF_MEMORY, cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 3));
}

#[test]
fn levels_of_a_mipmapped_array_are_arrays_that_only_it_destroys() {
    let program = Program::new();
    let descriptor = described(FLOAT, 1, [20, 12, 0], CUDA_ARRAY3D_SURFACE_LDST);
    let mut mipmapped = CUmipmappedArray::NULL;
    // The number of levels is clamped to those that the extents allow.
    ok!(program, cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 99));
    let (mut levels, mut described) = ([CUarray::NULL; 5], CUDA_ARRAY3D_DESCRIPTOR::default());
    for ((number, level), extents) in (0..).zip(&mut levels).zip([(20, 12), (10, 6), (5, 3), (2, 1), (1, 1)]) {
        ok!(program, cuMipmappedArrayGetLevel(level, mipmapped, number));
        ok!(program, cuArray3DGetDescriptor_v2(&mut described, *level));
        assert_eq!((described.Width, described.Height, described.Flags), (extents.0, extents.1, descriptor.Flags));
    }
    fails!(program, INVALID_VALUE, cuMipmappedArrayGetLevel(&mut levels[0].clone(), mipmapped, 5));
    fails!(program, INVALID_HANDLE, cuArrayDestroy(levels[0]));
    ok!(program, cuMipmappedArrayDestroy(mipmapped));
    fails!(program, INVALID_HANDLE, cuMipmappedArrayDestroy(mipmapped));
    fails!(program, INVALID_HANDLE, cuMipmappedArrayGetLevel(&mut levels[0].clone(), mipmapped, 0));
    fails!(program, INVALID_HANDLE, cuArray3DGetDescriptor_v2(&mut described, levels[1]));
    assert!(!program.sim.statistics().contains("\"kind\":\"array\""));
}

#[test]
fn queries_that_no_array_here_answers_fail_as_documented() {
    let program = Program::new();
    let (array, mut other) = (bytes(&program, [8, 8, 0], 0), CUarray::NULL);
    let (mut sparse, mut memory) = Default::default();
    fails!(program, INVALID_VALUE, cuArrayGetSparseProperties(&mut sparse, array));
    fails!(program, INVALID_VALUE, cuArrayGetMemoryRequirements(&mut memory, array, 0));
    fails!(program, INVALID_VALUE, cuArrayGetPlane(&mut other, array, 0));
    fails!(program, INVALID_HANDLE, cuArrayGetPlane(&mut other, CUarray(5), 0));
    let mut mipmapped = CUmipmappedArray::NULL;
    let descriptor = described(CU_AD_FORMAT_UNSIGNED_INT8, 1, [8, 8, 0], 0);
    ok!(program, cuMipmappedArrayCreate(&mut mipmapped, &descriptor, 2));
    fails!(program, INVALID_VALUE, cuMipmappedArrayGetSparseProperties(&mut sparse, mipmapped));
    fails!(program, INVALID_VALUE, cuMipmappedArrayGetMemoryRequirements(&mut memory, mipmapped, 0));
}

#[test]
fn array_needs_a_context_and_ends_with_it() {
    let program = Program::new();
    let mut context = CUcontext::NULL;
    ok!(program, cuCtxCreate_v2(&mut context, 0, 0));
    let (array, mut descriptor) = (bytes(&program, [8, 8, 0], 0), CUDA_ARRAY3D_DESCRIPTOR::default());
    ok!(program, cuCtxDestroy_v2(context));
    ok!(program, cuCtxSetCurrent(program.context));
    fails!(program, INVALID_HANDLE, cuArrayDestroy(array));
    ok!(program, cuCtxSetCurrent(CUcontext::NULL));
    let wanted = described(FLOAT, 1, [4, 4, 0], 0);
    fails!(program, INVALID_CONTEXT, cuArray3DCreate_v2(&mut CUarray(0), &wanted));
    fails!(program, INVALID_CONTEXT, cuArray3DGetDescriptor_v2(&mut descriptor, array));
    fails!(program, INVALID_CONTEXT, cuMipmappedArrayCreate(&mut CUmipmappedArray(0), &wanted, 1));
}

#[test]
fn capture_forbids_creation_and_destruction() {
    let program = Program::new();
    let (array, stream) = (bytes(&program, [8, 8, 0], 0), program.stream(CU_STREAM_NON_BLOCKING));
    let descriptor = described(FLOAT, 1, [4, 4, 0], 0);
    ok!(program, cuStreamBeginCapture_v2(stream, CU_STREAM_CAPTURE_MODE_GLOBAL));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuArray3DCreate_v2(&mut CUarray(0), &descriptor));
    fails!(program, STREAM_CAPTURE_UNSUPPORTED, cuArrayDestroy(array));
}
