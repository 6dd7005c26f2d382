//! Texture objects and surface objects.

use super::*;
use cuarray_sim::finding::Kind;

#[test]
fn texture_object_has_the_descriptors_that_it_was_created_from() {
    let program = Program::new();
    let array = array(&program, [8, 4, 3], CUDA_ARRAY3D_LAYERED);
    let resource = resource(CU_RESOURCE_TYPE_ARRAY, array.0);
    let texture = CUDA_TEXTURE_DESC {
        filterMode: CU_TR_FILTER_MODE_LINEAR,
        maxAnisotropy: 8,
        mipmapLevelBias: 0.5,
        borderColor: [1.0, 2.0, 3.0, 4.0],
        ..normalized()
    };
    let view = CUDA_RESOURCE_VIEW_DESC {
        format: CU_RES_VIEW_FORMAT_UINT_1X32,
        width: 8,
        height: 4,
        depth: 3,
        firstLayer: 1,
        lastLayer: 2,
        ..CUDA_RESOURCE_VIEW_DESC::default()
    };
    let mut object = 0;
    ok!(program, cuTexObjectCreate(&mut object, &resource, &texture, &view));
    let mut read = (CUDA_RESOURCE_DESC::default(), CUDA_TEXTURE_DESC::default(), CUDA_RESOURCE_VIEW_DESC::default());
    ok!(program, cuTexObjectGetResourceDesc(&mut read.0, object));
    ok!(program, cuTexObjectGetTextureDesc(&mut read.1, object));
    ok!(program, cuTexObjectGetResourceViewDesc(&mut read.2, object));
    assert_eq!(read, (resource, texture, view));
    ok!(program, cuTexObjectDestroy(object));
    ok!(program, cuTexObjectCreate(&mut object, &resource, &texture, std::ptr::null()));
    fails!(program, INVALID_VALUE, cuTexObjectGetResourceViewDesc(&mut read.2, object));
}

#[test]
fn resources_that_the_manual_excludes_are_invalid() {
    let program = Program::with(Config { memory: 1 << 30, ..Config::default() });
    let memory = program.alloc(1 << 16);
    let (array, mipmapped) = (array(&program, [8, 4, 0], 0), mipmapped(&program));
    let valid = [
        (resource(CU_RESOURCE_TYPE_ARRAY, array.0), clamped()),
        (resource(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, mipmapped.0), normalized()),
        (linear(memory, CU_AD_FORMAT_UNSIGNED_INT8, 4, 1 << 16), clamped()),
        (rows(memory, 24, 16, 128), clamped()),
    ];
    for (resource, texture) in valid {
        assert_eq!(refusal(&program, resource, texture, None), None);
        assert_eq!(refusal(&program, CUDA_RESOURCE_DESC { flags: 1, ..resource }, texture, None), INVALID);
    }
    let excluded = [
        resource(4, array.0),
        resource(CU_RESOURCE_TYPE_ARRAY, 0),
        resource(CU_RESOURCE_TYPE_ARRAY, mipmapped.0),
        resource(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, array.0),
        linear(memory + 4, FLOAT, 1, 64),
        linear(memory, FLOAT, 3, 64),
        linear(memory, FLOAT, 1, 0),
        linear(memory, FLOAT, 1, (1 << 16) + 4),
        linear(0, FLOAT, 1, 64),
        rows(memory + 64, 24, 16, 128),
        rows(memory, 24, 16, 100),
        rows(memory, 40, 16, 128),
        rows(memory, 0, 16, 128),
        rows(memory, 24, 0, 128),
        rows(memory, 24, 65_001, 128),
        rows(memory, 24, 520, 128),
    ];
    for resource in excluded {
        assert_eq!(refusal(&program, resource, normalized(), None), INVALID, "{resource:?}");
    }
    let long = program.alloc((1 << 28) + 4);
    assert_eq!(refusal(&program, linear(long, CU_AD_FORMAT_UNSIGNED_INT8, 1, 1 << 28), clamped(), None), None);
    assert_eq!(refusal(&program, linear(long, CU_AD_FORMAT_UNSIGNED_INT8, 1, (1 << 28) + 1), clamped(), None), INVALID);
}

#[test]
fn textures_and_views_that_the_manual_excludes_are_invalid() {
    let program = Program::new();
    let flat = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 4, 0], 0).0);
    let cube = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 8, 6], CUDA_ARRAY3D_CUBEMAP).0);
    let layered = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 4, 5], CUDA_ARRAY3D_LAYERED).0);
    let levels = resource(CU_RESOURCE_TYPE_MIPMAPPED_ARRAY, mipmapped(&program).0);
    let seamless = CUDA_TEXTURE_DESC { flags: CU_TRSF_SEAMLESS_CUBEMAP, ..clamped() };
    assert_eq!(refusal(&program, cube, seamless, None), None);
    let excluded = [
        (flat, seamless),
        (levels, clamped()),
        (flat, CUDA_TEXTURE_DESC { flags: 0x80, ..clamped() }),
        (flat, CUDA_TEXTURE_DESC { filterMode: 2, ..clamped() }),
        (flat, CUDA_TEXTURE_DESC { mipmapFilterMode: 2, ..clamped() }),
        (flat, CUDA_TEXTURE_DESC { addressMode: [0, 4, 0], ..clamped() }),
    ];
    for (resource, texture) in excluded {
        assert_eq!(refusal(&program, resource, texture, None), INVALID, "{texture:?}");
    }
    let view = CUDA_RESOURCE_VIEW_DESC { width: 8, height: 4, ..CUDA_RESOURCE_VIEW_DESC::default() };
    let of_layers = CUDA_RESOURCE_VIEW_DESC { depth: 5, lastLayer: 4, ..view };
    let of_levels = CUDA_RESOURCE_VIEW_DESC { height: 8, firstMipmapLevel: 1, lastMipmapLevel: 3, ..view };
    for (resource, view) in [(flat, view), (layered, of_layers), (levels, of_levels)] {
        assert_eq!(refusal(&program, resource, normalized(), Some(view)), None, "{view:?}");
    }
    let excluded = [
        (flat, CUDA_RESOURCE_VIEW_DESC { width: 4, ..view }),
        (flat, CUDA_RESOURCE_VIEW_DESC { depth: 1, ..view }),
        (flat, CUDA_RESOURCE_VIEW_DESC { format: CU_RES_VIEW_FORMAT_FLOAT_1X16, ..view }),
        (flat, CUDA_RESOURCE_VIEW_DESC { format: 0x99, ..view }),
        (flat, CUDA_RESOURCE_VIEW_DESC { lastMipmapLevel: 1, ..view }),
        (flat, CUDA_RESOURCE_VIEW_DESC { lastLayer: 1, ..view }),
        (layered, CUDA_RESOURCE_VIEW_DESC { lastLayer: 5, ..of_layers }),
        (layered, CUDA_RESOURCE_VIEW_DESC { firstLayer: 3, lastLayer: 2, ..of_layers }),
        (levels, CUDA_RESOURCE_VIEW_DESC { lastMipmapLevel: 4, ..of_levels }),
        (linear(program.alloc(64), FLOAT, 1, 64), view),
    ];
    for (resource, view) in excluded {
        assert_eq!(refusal(&program, resource, normalized(), Some(view)), INVALID, "{view:?}");
    }
    let compressed = CUDA_RESOURCE_VIEW_DESC { format: CU_RES_VIEW_FORMAT_UNSIGNED_BC1, ..view };
    assert_eq!(refusal(&program, flat, clamped(), Some(compressed)), Some("CUDA_ERROR_NOT_SUPPORTED"));
}

#[test]
fn surface_object_needs_an_array_for_surfaces() {
    let program = Program::new();
    let surface = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST).0);
    let (mut object, mut read) = (0, CUDA_RESOURCE_DESC::default());
    ok!(program, cuSurfObjectCreate(&mut object, &surface));
    ok!(program, cuSurfObjectGetResourceDesc(&mut read, object));
    assert_eq!(read, surface);
    ok!(program, cuSurfObjectDestroy(object));
    let plain = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 4, 0], 0).0);
    let memory = linear(program.alloc(64), FLOAT, 1, 64);
    for resource in [plain, memory, CUDA_RESOURCE_DESC { flags: 1, ..surface }] {
        fails!(program, INVALID_VALUE, cuSurfObjectCreate(&mut object, &resource));
    }
    fails!(program, INVALID_VALUE, cuSurfObjectCreate(&mut object, std::ptr::null()));
    fails!(program, INVALID_VALUE, cuSurfObjectCreate(std::ptr::null_mut(), &surface));
}

#[test]
fn null_arguments_and_a_missing_context_are_errors() {
    let program = Program::new();
    let resource = resource(CU_RESOURCE_TYPE_ARRAY, array(&program, [8, 4, 0], 0).0);
    let (mut object, texture, none) = (0, clamped(), std::ptr::null());
    fails!(program, INVALID_VALUE, cuTexObjectCreate(std::ptr::null_mut(), &resource, &texture, none));
    fails!(program, INVALID_VALUE, cuTexObjectCreate(&mut object, std::ptr::null(), &texture, none));
    fails!(program, INVALID_VALUE, cuTexObjectCreate(&mut object, &resource, std::ptr::null(), none));
    fails!(program, INVALID_VALUE, cuTexObjectDestroy(0));
    fails!(program, INVALID_VALUE, cuSurfObjectDestroy(0));
    ok!(program, cuCtxSetCurrent(CUcontext::NULL));
    fails!(program, INVALID_CONTEXT, cuTexObjectCreate(&mut object, &resource, &texture, none));
    fails!(program, INVALID_CONTEXT, cuTexObjectDestroy(5));
}

#[test]
fn objects_that_are_left_are_leaks_and_destroyed_ones_are_not_used() {
    let program = Program::new();
    let array = array(&program, [8, 4, 0], CUDA_ARRAY3D_SURFACE_LDST);
    let resource = resource(CU_RESOURCE_TYPE_ARRAY, array.0);
    let (mut texture, mut surface) = (0, 0);
    ok!(program, cuTexObjectCreate(&mut texture, &resource, &clamped(), std::ptr::null()));
    ok!(program, cuSurfObjectCreate(&mut surface, &resource));
    let leaked = program.sim.report_with_leaks();
    let kinds: Vec<&str> =
        leaked.findings.iter().filter_map(|finding| finding.object.as_ref()).map(|object| object.kind).collect();
    assert!(kinds.contains(&"texture object") && kinds.contains(&"surface object"), "{kinds:?}");
    ok!(program, cuTexObjectDestroy(texture));
    ok!(program, cuSurfObjectDestroy(surface));
    fails!(program, INVALID_VALUE, cuTexObjectDestroy(texture));
    fails!(program, INVALID_VALUE, cuSurfObjectGetResourceDesc(&mut CUDA_RESOURCE_DESC::default(), surface));
    ok!(program, cuArrayDestroy(array));
    fails!(program, INVALID_VALUE, cuSurfObjectCreate(&mut surface, &resource));
    let kinds: Vec<Kind> = program.sim.report().findings.iter().map(|finding| finding.kind).collect();
    assert_eq!(kinds, [Kind::DestroyedHandle; 3]);
}

#[test]
fn width_of_linear_textures_is_that_of_the_attribute() {
    let program = Program::new();
    let (mut width, mut limit) = (0, 0);
    ok!(program, cuDeviceGetAttribute(&mut limit, 69, 0));
    for (format, channels) in [(CU_AD_FORMAT_UNSIGNED_INT8, 1), (FLOAT, 4)] {
        ok!(program, cuDeviceGetTexture1DLinearMaxWidth(&mut width, format, channels, 0));
        assert_eq!(width, limit as usize);
    }
    fails!(program, INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(&mut width, FLOAT, 3, 0));
    fails!(program, INVALID_VALUE, cuDeviceGetTexture1DLinearMaxWidth(std::ptr::null_mut(), FLOAT, 1, 0));
    fails!(program, INVALID_DEVICE, cuDeviceGetTexture1DLinearMaxWidth(&mut width, FLOAT, 1, 7));
}
