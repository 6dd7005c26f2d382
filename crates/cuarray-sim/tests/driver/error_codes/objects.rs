//! One object of each kind of handle, and arguments that are valid or wrong for a parameter.

use super::calls::Parameter;
use super::*;

const PTX: &std::ffi::CStr = c".version 8.0\n.target sm_80\n.address_size 64
    .global .texref image;
    .global .surfref canvas;
    .visible .entry nothing() { ret; }";

/// Bytes of host memory for each pointer. A string or a small structure in it ends with zeros.
const ROOM: usize = 4096;
/// The most parameters of an entry point.
const PARAMETERS: usize = 16;

/// The types of handles, and of the addresses and numbers that stand for objects.
pub const KINDS: [&str; 22] = [
    "CUstream",
    "CUevent",
    "CUcontext",
    "CUmodule",
    "CUfunction",
    "CUlibrary",
    "CUkernel",
    "CUmemoryPool",
    "CUgraph",
    "CUgraphNode",
    "CUgraphExec",
    "CUarray",
    "CUdeviceptr",
    "CUmipmappedArray",
    "CUtexref",
    "CUsurfref",
    "CUlinkState",
    "CUuserObject",
    "CUtexObject",
    "CUsurfObject",
    "CUmemGenericAllocationHandle",
    "CUgreenCtx",
];

/// The handle of each type, in the order of [`KINDS`].
pub struct Objects {
    handles: [u64; KINDS.len()],
}

impl Objects {
    /// Makes one object of each kind, in the current context.
    pub fn new(p: &Program) -> Objects {
        let (stream, event, address) = (p.stream(0), p.event(), p.alloc(ROOM));
        let (mut module, mut function, mut context) = (CUmodule::NULL, CUfunction::NULL, CUcontext::NULL);
        ok!(p, cuModuleLoadData(&mut module, PTX.as_ptr().cast()));
        ok!(p, cuModuleGetFunction(&mut function, module, c"nothing".as_ptr()));
        let (mut library, mut kernel, none) = (CUlibrary::NULL, CUkernel::NULL, std::ptr::null_mut());
        ok!(p, cuLibraryLoadData(&mut library, PTX.as_ptr().cast(), none, none.cast(), 0, none.cast(), none.cast(), 0));
        ok!(p, cuLibraryGetKernel(&mut kernel, library, c"nothing".as_ptr()));
        let (mut texture, mut surface) = (CUtexref::NULL, CUsurfref::NULL);
        ok!(p, cuModuleGetTexRef(&mut texture, module, c"image".as_ptr()));
        ok!(p, cuModuleGetSurfRef(&mut surface, module, c"canvas".as_ptr()));
        let (mut graph, mut node, mut exec) = (CUgraph::NULL, CUgraphNode::NULL, CUgraphExec::NULL);
        ok!(p, cuGraphCreate(&mut graph, 0));
        ok!(p, cuGraphAddEmptyNode(&mut node, graph, std::ptr::null(), 0));
        ok!(p, cuGraphInstantiateWithFlags(&mut exec, graph, 0));
        let (mut user, mut link) = (CUuserObject::NULL, CUlinkState::NULL);
        ok!(p, cuUserObjectCreate(&mut user, none.cast(), Some(nothing), 1, CU_USER_OBJECT_NO_DESTRUCTOR_SYNC));
        ok!(p, cuLinkCreate_v2(0, none.cast(), none.cast(), &mut link));
        let (mut pool, mut physical) = (CUmemoryPool::NULL, 0);
        ok!(p, cuMemPoolCreate(&mut pool, &pool_of_device()));
        ok!(p, cuMemCreate(&mut physical, 2 << 20, &memory_of_device(), 0));
        let (mut array, mut mipmap) = (CUarray::NULL, CUmipmappedArray::NULL);
        let of = CUDA_ARRAY3D_DESCRIPTOR { Flags: CUDA_ARRAY3D_SURFACE_LDST, ..array_of_bytes() };
        ok!(p, cuArray3DCreate_v2(&mut array, &of));
        ok!(p, cuMipmappedArrayCreate(&mut mipmap, &of, 2));
        let (mut sampled, mut stored, mut resource) = (0, 0, CUDA_RESOURCE_DESC::default());
        resource.res[0] = array.0 as u64;
        let of = CUDA_TEXTURE_DESC { flags: CU_TRSF_READ_AS_INTEGER, ..CUDA_TEXTURE_DESC::default() };
        ok!(p, cuTexObjectCreate(&mut sampled, &resource, &of, std::ptr::null()));
        ok!(p, cuSurfObjectCreate(&mut stored, &resource));
        let (mut whole, mut description, mut green) =
            (CUdevResource::default(), CUdevResourceDesc::NULL, CUgreenCtx::NULL);
        ok!(p, cuDeviceGetDevResource(0, &mut whole, CU_DEV_RESOURCE_TYPE_SM));
        ok!(p, cuDevResourceGenerateDesc(&mut description, &mut whole, 1));
        ok!(p, cuGreenCtxCreate(&mut green, description, 0, CU_GREEN_CTX_DEFAULT_STREAM));
        ok!(p, cuCtxCreate_v2(&mut context, 0, 0));
        ok!(p, cuCtxPopCurrent_v2(&mut context));
        let handles = [
            stream.0 as u64,
            event.0 as u64,
            context.0 as u64,
            module.0 as u64,
            function.0 as u64,
            library.0 as u64,
            kernel.0 as u64,
            pool.0 as u64,
            graph.0 as u64,
            node.0 as u64,
            exec.0 as u64,
            array.0 as u64,
            address,
            mipmap.0 as u64,
            texture.0 as u64,
            surface.0 as u64,
            link.0 as u64,
            user.0 as u64,
            sampled,
            stored,
            physical,
            green.0 as u64,
        ];
        Objects { handles }
    }

    /// The handle of a type; `None` for a type that is no handle.
    pub fn handle(&self, ty: &str) -> Option<u64> {
        KINDS.iter().position(|kind| *kind == ty).map(|index| self.handles[index])
    }

    /// Ends all objects. The handles stay, as those of ended objects.
    pub fn end(&self, p: &Program) {
        let of = |ty| self.handle(ty).unwrap();
        let handle = |ty| of(ty) as usize;
        ok!(p, cuGreenCtxDestroy(CUgreenCtx(handle("CUgreenCtx"))));
        ok!(p, cuTexObjectDestroy(of("CUtexObject")));
        ok!(p, cuSurfObjectDestroy(of("CUsurfObject")));
        ok!(p, cuArrayDestroy(CUarray(handle("CUarray"))));
        ok!(p, cuMipmappedArrayDestroy(CUmipmappedArray(handle("CUmipmappedArray"))));
        ok!(p, cuMemRelease(of("CUmemGenericAllocationHandle")));
        ok!(p, cuMemPoolDestroy(CUmemoryPool(handle("CUmemoryPool"))));
        ok!(p, cuLinkDestroy(CUlinkState(handle("CUlinkState"))));
        ok!(p, cuUserObjectRelease(CUuserObject(handle("CUuserObject")), 1));
        ok!(p, cuGraphExecDestroy(CUgraphExec(handle("CUgraphExec"))));
        ok!(p, cuGraphDestroy(CUgraph(handle("CUgraph"))));
        ok!(p, cuLibraryUnload(CUlibrary(handle("CUlibrary"))));
        ok!(p, cuModuleUnload(CUmodule(handle("CUmodule"))));
        ok!(p, cuMemFree_v2(of("CUdeviceptr")));
        ok!(p, cuEventDestroy_v2(CUevent(handle("CUevent"))));
        ok!(p, cuStreamDestroy_v2(CUstream(handle("CUstream"))));
        ok!(p, cuCtxDestroy_v2(CUcontext(handle("CUcontext"))));
    }
}

unsafe extern "C" fn nothing(_: *mut c_void) {}

fn pool_of_device() -> CUmemPoolProps {
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemPoolProps = unsafe { std::mem::zeroed() };
    (props.allocType, props.location.kind) = (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE);
    props
}

fn memory_of_device() -> CUmemAllocationProp {
    // SAFETY: all-zero is a valid description.
    let mut props: CUmemAllocationProp = unsafe { std::mem::zeroed() };
    (props.kind, props.location.kind) = (CU_MEM_ALLOCATION_TYPE_PINNED, CU_MEM_LOCATION_TYPE_DEVICE);
    props
}

fn array_of_bytes() -> CUDA_ARRAY3D_DESCRIPTOR {
    let format = CU_AD_FORMAT_UNSIGNED_INT8;
    CUDA_ARRAY3D_DESCRIPTOR { Width: 4, Height: 2, Format: format, NumChannels: 1, ..Default::default() }
}

/// A copy of one byte of host memory to itself.
fn rectangle(host: *mut c_void) -> CUDA_MEMCPY2D {
    // SAFETY: all-zero is a copy without memory.
    let mut copy: CUDA_MEMCPY2D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost, copy.srcPitch) = (CU_MEMORYTYPE_HOST, host, 8);
    (copy.dstMemoryType, copy.dstHost, copy.dstPitch) = (CU_MEMORYTYPE_HOST, host, 8);
    (copy.WidthInBytes, copy.Height) = (1, 1);
    copy
}

/// Like [`rectangle`], with a depth.
fn cuboid(host: *mut c_void) -> CUDA_MEMCPY3D {
    // SAFETY: all-zero is a copy without memory.
    let mut copy: CUDA_MEMCPY3D = unsafe { std::mem::zeroed() };
    (copy.srcMemoryType, copy.srcHost, copy.srcPitch, copy.srcHeight) = (CU_MEMORYTYPE_HOST, host, 8, 1);
    (copy.dstMemoryType, copy.dstHost, copy.dstPitch, copy.dstHeight) = (CU_MEMORYTYPE_HOST, host, 8, 1);
    (copy.WidthInBytes, copy.Height, copy.Depth) = (1, 1, 1);
    copy
}

/// Host memory for the pointers among the arguments of one call.
pub struct Room(Box<[[u64; ROOM / 8]; PARAMETERS]>);

impl Room {
    pub fn new() -> Room {
        Room(Box::new([[0; ROOM / 8]; PARAMETERS]))
    }

    /// Fills the room of a parameter; returns its address.
    fn fill(&mut self, index: usize, parameter: Parameter) -> u64 {
        let room = &mut self.0[index];
        room.fill(0);
        let at = room.as_mut_ptr();
        if parameter.name.contains("path") {
            return c"/no folder/nothing".as_ptr().expose_provenance() as u64;
        }
        // SAFETY: each value is shorter than the room, which is aligned for it.
        unsafe {
            match parameter.ty.trim_start_matches('*').trim_start() {
                "const c_char" => at.cast::<u8>().copy_from_nonoverlapping(c"nothing".as_ptr().cast(), 7),
                "const c_void" => {
                    at.cast::<u8>().copy_from_nonoverlapping(PTX.as_ptr().cast(), PTX.count_bytes());
                }
                "const CUmemPoolProps" => at.cast::<CUmemPoolProps>().write(pool_of_device()),
                "const CUmemAllocationProp" => at.cast::<CUmemAllocationProp>().write(memory_of_device()),
                "const CUDA_ARRAY_DESCRIPTOR" => at.cast::<CUDA_ARRAY_DESCRIPTOR>().write(CUDA_ARRAY_DESCRIPTOR {
                    Width: 4,
                    Height: 2,
                    Format: CU_AD_FORMAT_UNSIGNED_INT8,
                    NumChannels: 1,
                }),
                "const CUDA_MEMCPY2D" => at.cast::<CUDA_MEMCPY2D>().write(rectangle(at.cast())),
                "const CUDA_MEMCPY3D" => at.cast::<CUDA_MEMCPY3D>().write(cuboid(at.cast())),
                "const CUDA_ARRAY3D_DESCRIPTOR" => at.cast::<CUDA_ARRAY3D_DESCRIPTOR>().write(array_of_bytes()),
                _ => {}
            }
        }
        at.expose_provenance() as u64
    }
}

/// A valid argument. A structure is valid if it may be all zero, or [`Room`] fills it.
pub fn valid(objects: &Objects, room: &mut Room, index: usize, parameter: Parameter) -> u64 {
    if let Some(handle) = objects.handle(parameter.ty) {
        return handle;
    }
    let Parameter { ty, name } = parameter;
    let function = ["CUstreamCallback", "CUhostFn", "CUoccupancyB2DSize", "CUlogsCallback", "CUasyncCallback"];
    match ty {
        _ if ty.starts_with('*') => room.fill(index, parameter),
        _ if function.contains(&ty) => 1,
        "CUdevice"
        | "CUlimit"
        | "CUstreamCaptureMode"
        | "CUfunc_cache"
        | "CUsharedconfig"
        | "CUaddress_mode"
        | "CUfilter_mode"
        | "CUfunction_attribute" => 0,
        "CUpointer_attribute" => u64::from(CU_POINTER_ATTRIBUTE_MEMORY_TYPE),
        // The other enumerations begin with 1.
        _ if ty.starts_with("CU") => 1,
        _ if name.contains("pitch") => 64,
        _ if is_amount(name) => 4,
        _ if ["block", "grid", "x", "y", "z", "refcount", "levels", "channels"]
            .iter()
            .any(|part| name.contains(part)) =>
        {
            1
        }
        _ => 0,
    }
}

/// Whether a parameter is a number of bytes, or of other things that need no array.
fn is_amount(name: &str) -> bool {
    ["byte", "size", "width", "height", "pitch", "length"].iter().any(|part| name.contains(part))
        || ["len", "n"].contains(&name)
}

/// The arguments that the manual refuses for a parameter: null, a handle that has ended, a number that is no value of its type.
/// Empty for a number of elements, which the driver trusts, and for data.
pub fn wrong(ended: &Objects, parameter: Parameter) -> Vec<u64> {
    let Parameter { ty, name } = parameter;
    let data = ["value", "val", "ui", "us", "uc", "bias", "clamp", "user_data"].contains(&name);
    let elements = ["num", "count", "offset"].iter().any(|part| name.contains(part)) || is_amount(name);
    match ended.handle(ty) {
        Some(handle) => vec![0, handle, 0xbad0],
        None if ty.starts_with('*') => vec![0],
        None if data || elements => Vec::new(),
        None if ["c_int", "CUdevice"].contains(&ty) => vec![u64::MAX],
        None => vec![0, u64::from(u32::MAX)],
    }
}
