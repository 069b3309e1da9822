//! Which functions are there, and under which names? One table makes the symbols of the library and
//! what `cuGetProcAddress` finds.

use std::ffi::{c_char, c_int, c_uint, c_void};
use std::sync::atomic::{AtomicBool, Ordering};

use crate::driver::{self, enter, enter_free};
use crate::pointers::{In, Out, Text};
use crate::pools::Location;
use crate::status::{Result, Status};
use crate::{
    arrays, client, conditions, contexts, copies, devices, graphs, launch, memory, modules, objects, pools, streams,
    tensors,
};

/// The code of an entry point.
struct Entry(*const c_void);

// SAFETY: code of the library, which is never changed.
unsafe impl Sync for Entry {}

/// Whether a call leaves work in the queue (`driver::enter`).
macro_rules! is_queued {
    () => {
        false
    };
    (queued) => {
        true
    };
}

macro_rules! entry_points {
    ($($(#[$how:ident])? $name:ident($($arg:ident: $ty:ty),*) = $function:path;)*) => {
        $(
            /// An entry point of the driver API (CUDA Driver API, by its name).
            ///
            /// # Safety
            /// Pointers are null or lead to what the API says of them.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
                enter(stringify!($name), is_queued!($($how)?), move |driver| $function(driver, $($arg),*))
            }
        )*
        const ENTRIES: &[(&str, Entry)] = &[$((stringify!($name), Entry($name as *const c_void)),)*];
    };
}

/// Those that need no driver.
macro_rules! free_entry_points {
    ($($name:ident($($arg:ident: $ty:ty),*) = $function:path;)*) => {
        $(
            /// An entry point of the driver API (CUDA Driver API, by its name).
            ///
            /// # Safety
            /// Pointers are null or lead to what the API says of them.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub unsafe extern "C" fn $name($($arg: $ty),*) -> c_int {
                enter_free(stringify!($name), move || $function($($arg),*))
            }
        )*
        const FREE_ENTRIES: &[(&str, Entry)] = &[$((stringify!($name), Entry($name as *const c_void)),)*];
    };
}

/// Those that say why they do nothing.
macro_rules! refusals {
    ($($why:literal: $($name:ident)*;)*) => {
        $($(
            /// An entry point of the driver API that the simulator refuses.
            #[allow(non_snake_case)]
            #[unsafe(no_mangle)]
            pub extern "C" fn $name() -> c_int {
                enter_free(stringify!($name), || Err(Status::NotSupported.because($why)))
            }
        )*)*
        const REFUSALS: &[(&str, Entry)] = &[$($((stringify!($name), Entry($name as *const c_void)),)*)*];
    };
}

free_entry_points! {
    cuDriverGetVersion(version: Out<c_int>) = devices::version;
    cuGetErrorName(status: c_int, text: Out<*const c_char>) = devices::error_name;
    cuGetErrorString(status: c_int, text: Out<*const c_char>) = devices::error_string;
    cuGetProcAddress(name: Text, found: Out<*const c_void>, version: c_int, flags: u64) = find_old;
    cuGetProcAddress_v2(name: Text, found: Out<*const c_void>, version: c_int, flags: u64, status: Out<c_int>) = find;
    cuTensorMapEncodeTiled(map: Out<[u8; 128]>, element: c_int, rank: c_uint, address: u64, dims: In<u64>, strides: In<u64>, boxes: In<c_uint>, steps: In<c_uint>, interleave: c_int, swizzle: c_int, promotion: c_int, fill: c_int) = tensors::encode_tiled;
    cuTensorMapReplaceAddress(map: Out<[u8; 128]>, address: u64) = tensors::replace_address;
    cuGetExportTable(table: Out<*const c_void>, id: In<[u8; 16]>) = export_table;
}

entry_points! {
    cuInit(flags: c_uint) = driver::init;
    #[queued] cuDeviceGet(device: Out<c_int>, ordinal: c_int) = devices::get;
    #[queued] cuDeviceGetCount(count: Out<c_int>) = devices::count;
    #[queued] cuDeviceGetName(name: Out<c_char>, size: c_int, device: c_int) = devices::name;
    #[queued] cuDeviceTotalMem_v2(bytes: Out<usize>, device: c_int) = devices::total_memory;
    #[queued] cuDeviceGetAttribute(value: Out<c_int>, attribute: c_int, device: c_int) = devices::attribute;
    #[queued] cuDeviceGetUuid(uuid: Out<[u8; 16]>, device: c_int) = devices::uuid;
    #[queued] cuDeviceGetUuid_v2(uuid: Out<[u8; 16]>, device: c_int) = devices::uuid;
    cuDeviceGetLuid(luid: Out<[u8; 8]>, mask: Out<c_uint>, device: c_int) = devices::luid;
    cuDeviceGetPCIBusId(text: Out<c_char>, size: c_int, device: c_int) = devices::pci_bus;
    cuDeviceGetByPCIBusId(device: Out<c_int>, text: Text) = devices::by_pci_bus;
    cuDeviceComputeCapability(major: Out<c_int>, minor: Out<c_int>, device: c_int) = devices::capability;
    cuDeviceGetExecAffinitySupport(supported: Out<c_int>, kind: c_int, device: c_int) = devices::supports_affinity;
    cuDeviceCanAccessPeer(can: Out<c_int>, device: c_int, peer: c_int) = contexts::can_access_peer;
    cuDeviceGetP2PAttribute(value: Out<c_int>, attribute: c_int, device: c_int, peer: c_int) = contexts::peer_attribute;
    #[queued] cuDeviceGetDefaultMemPool(pool: Out<u64>, device: c_int) = pools::of_device;
    #[queued] cuDeviceGetMemPool(pool: Out<u64>, device: c_int) = pools::of_device;
    cuDeviceSetMemPool(device: c_int, pool: u64) = pools::set_of_device;
    #[queued] cuDevicePrimaryCtxRetain(context: Out<u64>, device: c_int) = contexts::primary_retain;
    cuDevicePrimaryCtxRelease(device: c_int) = contexts::primary_release;
    cuDevicePrimaryCtxRelease_v2(device: c_int) = contexts::primary_release;
    cuDevicePrimaryCtxReset(device: c_int) = contexts::primary_reset;
    cuDevicePrimaryCtxReset_v2(device: c_int) = contexts::primary_reset;
    cuDevicePrimaryCtxSetFlags(device: c_int, flags: c_uint) = contexts::primary_set_flags;
    cuDevicePrimaryCtxSetFlags_v2(device: c_int, flags: c_uint) = contexts::primary_set_flags;
    cuDevicePrimaryCtxGetState(device: c_int, flags: Out<c_uint>, active: Out<c_int>) = contexts::primary_state;
    cuCtxCreate_v2(context: Out<u64>, flags: c_uint, device: c_int) = contexts::create;
    cuCtxCreate_v3(context: Out<u64>, list: u64, count: c_int, flags: c_uint, device: c_int) = contexts::create_with_affinity;
    cuCtxCreate_v4(context: Out<u64>, parameters: u64, flags: c_uint, device: c_int) = contexts::create_with;
    cuCtxDestroy_v2(context: u64) = contexts::destroy;
    #[queued] cuCtxGetCurrent(context: Out<u64>) = contexts::get_current;
    #[queued] cuCtxSetCurrent(context: u64) = contexts::set_current;
    #[queued] cuCtxPushCurrent_v2(context: u64) = contexts::push_current;
    #[queued] cuCtxPopCurrent_v2(context: Out<u64>) = contexts::pop_current;
    #[queued] cuCtxGetDevice(device: Out<c_int>) = contexts::get_device;
    #[queued] cuCtxGetDevice_v2(device: Out<c_int>, context: u64) = contexts::get_device_of;
    #[queued] cuCtxGetFlags(flags: Out<c_uint>) = contexts::get_flags;
    cuCtxSetFlags(flags: c_uint) = contexts::set_flags;
    #[queued] cuCtxGetId(context: u64, id: Out<u64>) = contexts::get_id;
    #[queued] cuCtxGetApiVersion(context: u64, version: Out<c_uint>) = contexts::get_version;
    cuCtxSynchronize() = contexts::synchronize;
    cuCtxSynchronize_v2(context: u64) = contexts::synchronize_of;
    #[queued] cuCtxGetLimit(value: Out<usize>, limit: c_int) = contexts::get_limit;
    cuCtxSetLimit(limit: c_int, value: usize) = contexts::set_limit;
    cuCtxGetCacheConfig(config: Out<c_int>) = contexts::get_cache;
    cuCtxSetCacheConfig(config: c_int) = contexts::set_cache;
    #[queued] cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) = contexts::priorities;
    cuCtxEnablePeerAccess(context: u64, flags: c_uint) = contexts::enable_peer;
    cuCtxDisablePeerAccess(context: u64) = contexts::disable_peer;

    cuModuleLoad(module: Out<u64>, path: Text) = modules::load_file;
    cuModuleLoadData(module: Out<u64>, image: In<u8>) = modules::load_data;
    cuModuleLoadDataEx(module: Out<u64>, image: In<u8>, count: c_uint, keys: In<c_int>, values: In<usize>) = modules::load_data_with;
    cuModuleLoadFatBinary(module: Out<u64>, image: In<u8>) = modules::load_data;
    cuModuleUnload(module: u64) = modules::unload;
    cuModuleGetLoadingMode(mode: Out<c_int>) = modules::loading_mode;
    #[queued] cuModuleGetFunction(function: Out<u64>, module: u64, name: Text) = modules::get_function;
    cuModuleGetFunctionCount(count: Out<c_uint>, module: u64) = modules::function_count;
    cuModuleEnumerateFunctions(functions: Out<u64>, count: c_uint, module: u64) = modules::functions;
    cuModuleGetGlobal_v2(address: Out<u64>, bytes: Out<usize>, module: u64, name: Text) = modules::get_global;
    cuLibraryLoadData(library: Out<u64>, image: In<u8>, keys: In<c_int>, values: In<usize>, count: c_uint, options: In<c_int>, option_values: In<usize>, option_count: c_uint) = modules::library_load;
    cuLibraryLoadFromFile(library: Out<u64>, path: Text, keys: In<c_int>, values: In<usize>, count: c_uint, options: In<c_int>, option_values: In<usize>, option_count: c_uint) = modules::library_load_file;
    cuLibraryUnload(library: u64) = modules::unload;
    #[queued] cuLibraryGetModule(module: Out<u64>, library: u64) = modules::library_module;
    #[queued] cuLibraryGetKernel(kernel: Out<u64>, library: u64, name: Text) = modules::get_function;
    cuLibraryGetKernelCount(count: Out<c_uint>, library: u64) = modules::function_count;
    cuLibraryEnumerateKernels(kernels: Out<u64>, count: c_uint, library: u64) = modules::functions;
    cuLibraryGetGlobal(address: Out<u64>, bytes: Out<usize>, library: u64, name: Text) = modules::get_global;
    cuLibraryGetManaged(address: Out<u64>, bytes: Out<usize>, library: u64, name: Text) = modules::get_managed;
    #[queued] cuKernelGetFunction(function: Out<u64>, kernel: u64) = modules::function_of_kernel;
    #[queued] cuKernelGetLibrary(library: Out<u64>, kernel: u64) = modules::module_of;
    #[queued] cuKernelGetName(name: Out<*const c_char>, kernel: u64) = modules::name_of;
    #[queued] cuKernelGetAttribute(value: Out<c_int>, attribute: c_int, kernel: u64, device: c_int) = modules::attribute_on;
    #[queued] cuKernelSetAttribute(attribute: c_int, value: c_int, kernel: u64, device: c_int) = modules::set_attribute_on;
    cuKernelSetCacheConfig(kernel: u64, config: c_int, device: c_int) = modules::set_cache_on;
    #[queued] cuKernelGetParamInfo(kernel: u64, n: usize, offset: Out<usize>, size: Out<usize>) = modules::parameter_info;
    #[queued] cuKernelGetParamCount(kernel: u64, count: Out<usize>) = modules::parameter_count;
    #[queued] cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: u64) = modules::attribute;
    #[queued] cuFuncSetAttribute(function: u64, attribute: c_int, value: c_int) = modules::set_attribute;
    #[queued] cuFuncSetCacheConfig(function: u64, config: c_int) = modules::set_cache;
    cuFuncSetSharedMemConfig(function: u64, config: c_int) = modules::set_cache;
    #[queued] cuFuncGetModule(module: Out<u64>, function: u64) = modules::module_of;
    #[queued] cuFuncGetName(name: Out<*const c_char>, function: u64) = modules::name_of;
    #[queued] cuFuncGetParamInfo(function: u64, n: usize, offset: Out<usize>, size: Out<usize>) = modules::parameter_info;
    #[queued] cuFuncGetParamCount(function: u64, count: Out<usize>) = modules::parameter_count;
    #[queued] cuFuncIsLoaded(state: Out<c_int>, function: u64) = modules::is_loaded;
    #[queued] cuFuncLoad(function: u64) = modules::make_loaded;
    cuLinkCreate_v2(count: c_uint, keys: In<c_int>, values: In<usize>, link: Out<u64>) = modules::link_create;
    cuLinkAddData_v2(link: u64, kind: c_int, data: In<u8>, size: usize, name: Text, count: c_uint, keys: In<c_int>, values: In<usize>) = modules::link_add;
    cuLinkAddFile_v2(link: u64, kind: c_int, path: Text, count: c_uint, keys: In<c_int>, values: In<usize>) = modules::link_add_file;
    cuLinkComplete(link: u64, image: Out<u64>, size: Out<usize>) = modules::link_complete;
    cuLinkDestroy(link: u64) = modules::link_destroy;

    #[queued] cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) = memory::info;
    #[queued] cuMemAlloc_v2(address: Out<u64>, bytes: usize) = memory::allocate;
    #[queued] cuMemAllocPitch_v2(address: Out<u64>, pitch: Out<usize>, width: usize, height: usize, element: c_uint) = memory::allocate_rows;
    #[queued] cuMemAllocAsync(address: Out<u64>, bytes: usize, stream: u64) = memory::allocate_async;
    #[queued] cuMemAllocFromPoolAsync(address: Out<u64>, bytes: usize, pool: u64, stream: u64) = memory::allocate_from_pool;
    #[queued] cuMemAllocManaged(address: Out<u64>, bytes: usize, flags: c_uint) = memory::allocate_managed;
    #[queued] cuMemAllocHost_v2(address: Out<u64>, bytes: usize) = memory::allocate_host;
    #[queued] cuMemHostAlloc(address: Out<u64>, bytes: usize, flags: c_uint) = memory::allocate_host_with;
    cuMemFree_v2(address: u64) = memory::free;
    #[queued] cuMemFreeAsync(address: u64, stream: u64) = memory::free_async;
    cuMemFreeHost(address: u64) = memory::free_host;
    #[queued] cuMemHostGetDevicePointer_v2(device: Out<u64>, host: u64, flags: c_uint) = memory::host_device_pointer;
    #[queued] cuMemHostGetFlags(flags: Out<c_uint>, host: u64) = memory::host_flags;
    cuMemHostRegister_v2(host: u64, bytes: usize, flags: c_uint) = memory::register;
    cuMemHostUnregister(host: u64) = memory::unregister;
    #[queued] cuMemGetAddressRange_v2(start: Out<u64>, bytes: Out<usize>, address: u64) = memory::range;
    #[queued] cuMemPrefetchAsync(address: u64, bytes: usize, device: c_int, stream: u64) = memory::prefetch;
    #[queued] cuMemPrefetchAsync_v2(address: u64, bytes: usize, location: Location, flags: c_uint, stream: u64) = memory::prefetch_to;
    #[queued] cuMemAdvise(address: u64, bytes: usize, advice: c_int, device: c_int) = memory::advise;
    #[queued] cuMemAdvise_v2(address: u64, bytes: usize, advice: c_int, location: Location) = memory::advise_at;
    #[queued] cuPointerGetAttribute(value: Out<u8>, attribute: c_int, address: u64) = memory::pointer_attribute;
    #[queued] cuPointerGetAttributes(count: c_uint, attributes: In<c_int>, values: In<Out<u8>>, address: u64) = memory::pointer_attributes;
    #[queued] cuPointerSetAttribute(value: In<u8>, attribute: c_int, address: u64) = memory::set_pointer_attribute;
    cuMemPoolCreate(pool: Out<u64>, properties: In<pools::Properties>) = pools::create;
    cuMemPoolDestroy(pool: u64) = pools::destroy;
    cuMemPoolSetAttribute(pool: u64, attribute: c_int, value: In<u8>) = pools::set_attribute;
    cuMemPoolGetAttribute(pool: u64, attribute: c_int, value: Out<u8>) = pools::get_attribute;
    cuMemPoolSetAccess(pool: u64, list: In<pools::Access>, count: usize) = pools::set_access;
    cuMemPoolGetAccess(flags: Out<c_uint>, pool: u64, location: In<Location>) = pools::get_access;
    cuMemPoolTrimTo(pool: u64, bytes: usize) = pools::trim;

    #[queued] cuMemcpy(to: u64, from: u64, bytes: usize) = copies::any;
    #[queued] cuMemcpyAsync(to: u64, from: u64, bytes: usize, stream: u64) = copies::any_async;
    #[queued] cuMemcpyHtoD_v2(to: u64, from: In<u8>, bytes: usize) = copies::to_device;
    #[queued] cuMemcpyHtoDAsync_v2(to: u64, from: In<u8>, bytes: usize, stream: u64) = copies::to_device_async;
    #[queued] cuMemcpyDtoH_v2(to: u64, from: u64, bytes: usize) = copies::to_host;
    #[queued] cuMemcpyDtoHAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) = copies::to_host_async;
    #[queued] cuMemcpyDtoD_v2(to: u64, from: u64, bytes: usize) = copies::on_device;
    #[queued] cuMemcpyDtoDAsync_v2(to: u64, from: u64, bytes: usize, stream: u64) = copies::on_device_async;
    #[queued] cuMemcpyPeer(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize) = copies::peer;
    #[queued] cuMemcpyPeerAsync(to: u64, to_context: u64, from: u64, from_context: u64, bytes: usize, stream: u64) = copies::peer_async;
    #[queued] cuMemcpy2D_v2(plane: In<copies::Plane>) = copies::rows;
    #[queued] cuMemcpy2DUnaligned_v2(plane: In<copies::Plane>) = copies::rows;
    #[queued] cuMemcpy2DAsync_v2(plane: In<copies::Plane>, stream: u64) = copies::rows_async;
    #[queued] cuMemcpy3D_v2(volume: In<copies::Volume>) = copies::volume;
    #[queued] cuMemcpy3DAsync_v2(volume: In<copies::Volume>, stream: u64) = copies::volume_async;
    #[queued] cuMemsetD8_v2(to: u64, value: u8, count: usize) = copies::fill8;
    #[queued] cuMemsetD8Async(to: u64, value: u8, count: usize, stream: u64) = copies::fill8_async;
    #[queued] cuMemsetD16_v2(to: u64, value: u16, count: usize) = copies::fill16;
    #[queued] cuMemsetD16Async(to: u64, value: u16, count: usize, stream: u64) = copies::fill16_async;
    #[queued] cuMemsetD32_v2(to: u64, value: c_uint, count: usize) = copies::fill32;
    #[queued] cuMemsetD32Async(to: u64, value: c_uint, count: usize, stream: u64) = copies::fill32_async;
    #[queued] cuMemsetD2D8_v2(to: u64, pitch: usize, value: u8, width: usize, height: usize) = copies::fill8_rows;
    #[queued] cuMemsetD2D8Async(to: u64, pitch: usize, value: u8, width: usize, height: usize, stream: u64) = copies::fill8_rows_async;
    #[queued] cuMemsetD2D16_v2(to: u64, pitch: usize, value: u16, width: usize, height: usize) = copies::fill16_rows;
    #[queued] cuMemsetD2D16Async(to: u64, pitch: usize, value: u16, width: usize, height: usize, stream: u64) = copies::fill16_rows_async;
    #[queued] cuMemsetD2D32_v2(to: u64, pitch: usize, value: c_uint, width: usize, height: usize) = copies::fill32_rows;
    #[queued] cuMemsetD2D32Async(to: u64, pitch: usize, value: c_uint, width: usize, height: usize, stream: u64) = copies::fill32_rows_async;

    cuArrayCreate_v2(array: Out<u64>, plane: In<arrays::Plane>) = arrays::create;
    cuArray3DCreate_v2(array: Out<u64>, volume: In<arrays::Volume>) = arrays::create_3d;
    cuArrayDestroy(array: u64) = arrays::destroy;
    cuArrayGetDescriptor_v2(plane: Out<arrays::Plane>, array: u64) = arrays::describe;
    cuArray3DGetDescriptor_v2(volume: Out<arrays::Volume>, array: u64) = arrays::describe_3d;
    #[queued] cuMemcpyHtoA_v2(to: u64, at: usize, from: In<u8>, bytes: usize) = arrays::from_host;
    #[queued] cuMemcpyHtoAAsync_v2(to: u64, at: usize, from: In<u8>, bytes: usize, stream: u64) = arrays::from_host_async;
    #[queued] cuMemcpyAtoH_v2(to: u64, from: u64, at: usize, bytes: usize) = arrays::to_host;
    #[queued] cuMemcpyAtoHAsync_v2(to: u64, from: u64, at: usize, bytes: usize, stream: u64) = arrays::to_host_async;
    #[queued] cuMemcpyDtoA_v2(to: u64, at: usize, from: u64, bytes: usize) = arrays::from_device;
    #[queued] cuMemcpyAtoD_v2(to: u64, from: u64, at: usize, bytes: usize) = arrays::to_device;
    #[queued] cuMemcpyAtoA_v2(to: u64, to_at: usize, from: u64, from_at: usize, bytes: usize) = arrays::between;
    cuTexObjectCreate(texture: Out<u64>, resource: In<arrays::Resource>, sampling: In<arrays::Sampling>, view: In<u8>) = arrays::texture_create;
    cuTexObjectDestroy(texture: u64) = arrays::object_destroy;
    cuTexObjectGetResourceDesc(resource: Out<arrays::Resource>, texture: u64) = arrays::resource_of;
    cuSurfObjectCreate(surface: Out<u64>, resource: In<arrays::Resource>) = arrays::surface_create;
    cuSurfObjectDestroy(surface: u64) = arrays::object_destroy;
    cuSurfObjectGetResourceDesc(resource: Out<arrays::Resource>, surface: u64) = arrays::resource_of;

    #[queued] cuStreamCreate(stream: Out<u64>, flags: c_uint) = streams::create;
    #[queued] cuStreamCreateWithPriority(stream: Out<u64>, flags: c_uint, priority: c_int) = streams::create_with_priority;
    cuStreamDestroy_v2(stream: u64) = streams::destroy;
    #[queued] cuStreamSynchronize(stream: u64) = streams::synchronize;
    #[queued] cuStreamQuery(stream: u64) = streams::query;
    #[queued] cuStreamWaitEvent(stream: u64, event: u64, flags: c_uint) = streams::wait_event;
    #[queued] cuStreamGetCtx(stream: u64, context: Out<u64>) = streams::get_context;
    #[queued] cuStreamGetDevice(stream: u64, device: Out<c_int>) = streams::get_device;
    #[queued] cuStreamGetFlags(stream: u64, flags: Out<c_uint>) = streams::get_flags;
    #[queued] cuStreamGetPriority(stream: u64, priority: Out<c_int>) = streams::get_priority;
    #[queued] cuStreamGetId(stream: u64, id: Out<u64>) = streams::get_id;
    #[queued] cuStreamAddCallback(stream: u64, function: Option<extern "C" fn(u64, c_int, *mut c_void)>, data: *mut c_void, flags: c_uint) = streams::add_callback;
    #[queued] cuStreamAttachMemAsync(stream: u64, address: u64, bytes: usize, flags: c_uint) = streams::attach;
    #[queued] cuLaunchHostFunc(stream: u64, function: Option<extern "C" fn(*mut c_void)>, data: *mut c_void) = streams::launch_host;
    #[queued] cuEventCreate(event: Out<u64>, flags: c_uint) = streams::event_create;
    #[queued] cuEventRecord(event: u64, stream: u64) = streams::event_record;
    #[queued] cuEventRecordWithFlags(event: u64, stream: u64, flags: c_uint) = streams::event_record_with;
    #[queued] cuEventQuery(event: u64) = streams::event_done;
    #[queued] cuEventSynchronize(event: u64) = streams::event_done;
    cuEventDestroy_v2(event: u64) = streams::event_destroy;
    cuEventElapsedTime(milliseconds: Out<f32>, start: u64, end: u64) = streams::event_elapsed;
    cuEventElapsedTime_v2(milliseconds: Out<f32>, start: u64, end: u64) = streams::event_elapsed;

    #[queued] cuLaunchKernel(function: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, each: In<In<u8>>, extra: In<usize>) = launch::kernel;
    #[queued] cuLaunchKernelEx(config: In<launch::Config>, function: u64, each: In<In<u8>>, extra: In<usize>) = launch::kernel_with;
    #[queued] cuLaunchCooperativeKernel(function: u64, gx: c_uint, gy: c_uint, gz: c_uint, bx: c_uint, by: c_uint, bz: c_uint, shared: c_uint, stream: u64, each: In<In<u8>>) = launch::cooperative;
    #[queued] cuOccupancyMaxActiveBlocksPerMultiprocessor(blocks: Out<c_int>, function: u64, threads: c_int, shared: usize) = launch::occupancy;
    #[queued] cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(blocks: Out<c_int>, function: u64, threads: c_int, shared: usize, flags: c_uint) = launch::occupancy_with;
    #[queued] cuOccupancyMaxPotentialBlockSize(grid: Out<c_int>, block: Out<c_int>, function: u64, shared_of: Option<extern "C" fn(c_int) -> usize>, shared: usize, most: c_int) = launch::best_block;
    #[queued] cuOccupancyMaxPotentialBlockSizeWithFlags(grid: Out<c_int>, block: Out<c_int>, function: u64, shared_of: Option<extern "C" fn(c_int) -> usize>, shared: usize, most: c_int, flags: c_uint) = launch::best_block_with;
    #[queued] cuOccupancyMaxActiveClusters(clusters: Out<c_int>, function: u64, config: In<launch::Config>) = launch::active_clusters;
    #[queued] cuOccupancyMaxPotentialClusterSize(blocks: Out<c_int>, function: u64, config: In<launch::Config>) = launch::largest_cluster;
    #[queued] cuOccupancyAvailableDynamicSMemPerBlock(bytes: Out<usize>, function: u64, blocks: c_int, threads: c_int) = launch::available_shared;

    cuStreamBeginCapture(stream: u64) = graphs::begin_old;
    cuStreamBeginCapture_v2(stream: u64, mode: c_int) = graphs::begin;
    cuStreamEndCapture(stream: u64, graph: Out<u64>) = graphs::end;
    cuStreamBeginCaptureToGraph(stream: u64, graph: u64, dependencies: In<u64>, edges: In<u64>, count: usize, mode: c_int) = conditions::begin_capture;
    cuStreamUpdateCaptureDependencies(stream: u64, dependencies: In<u64>, count: usize, flags: c_uint) = conditions::depend;
    cuStreamUpdateCaptureDependencies_v2(stream: u64, dependencies: In<u64>, edges: In<u64>, count: usize, flags: c_uint) = conditions::depend_with_edges;
    #[queued] cuStreamIsCapturing(stream: u64, status: Out<c_int>) = graphs::is_capturing;
    #[queued] cuStreamGetCaptureInfo(stream: u64, status: Out<c_int>, id: Out<u64>) = graphs::capture_info;
    #[queued] cuStreamGetCaptureInfo_v2(stream: u64, status: Out<c_int>, id: Out<u64>, graph: Out<u64>, dependencies: Out<u64>, count: Out<usize>) = graphs::capture_info_2;
    #[queued] cuStreamGetCaptureInfo_v3(stream: u64, status: Out<c_int>, id: Out<u64>, graph: Out<u64>, dependencies: Out<u64>, edges: Out<u64>, count: Out<usize>) = graphs::capture_info_3;
    #[queued] cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) = graphs::exchange_mode;
    cuGraphCreate(graph: Out<u64>, flags: c_uint) = graphs::create;
    cuGraphClone(graph: Out<u64>, original: u64) = graphs::copy;
    cuGraphDestroy(graph: u64) = graphs::destroy;
    cuGraphNodeFindInClone(node: Out<u64>, original: u64, copy: u64) = graphs::node_of_copy;
    cuUserObjectCreate(object: Out<u64>, data: *mut c_void, end: Option<extern "C" fn(*mut c_void)>, count: c_uint, flags: c_uint) = objects::create;
    cuUserObjectRetain(object: u64, count: c_uint) = objects::retain;
    cuUserObjectRelease(object: u64, count: c_uint) = objects::release;
    cuGraphRetainUserObject(graph: u64, object: u64, count: c_uint, flags: c_uint) = objects::graph_retain;
    cuGraphReleaseUserObject(graph: u64, object: u64, count: c_uint) = objects::graph_release;
    cuGraphGetNodes(graph: u64, nodes: Out<u64>, count: Out<usize>) = graphs::nodes;
    cuGraphInstantiate_v2(instance: Out<u64>, graph: u64, error: Out<u64>, log: Out<c_char>, bytes: usize) = graphs::instantiate_old;
    cuGraphInstantiateWithFlags(instance: Out<u64>, graph: u64, flags: u64) = graphs::instantiate;
    cuGraphInstantiateWithParams(instance: Out<u64>, graph: u64, parameters: Out<graphs::Parameters>) = graphs::instantiate_with;
    cuGraphExecDestroy(instance: u64) = graphs::instance_destroy;
    cuGraphExecKernelNodeSetParams(instance: u64, node: u64, kernel: In<graphs::PlainKernel>) = graphs::set_plain_kernel;
    cuGraphExecKernelNodeSetParams_v2(instance: u64, node: u64, kernel: In<graphs::Kernel>) = graphs::set_kernel;
    cuGraphExecMemcpyNodeSetParams(instance: u64, node: u64, copy: In<copies::Volume>, context: u64) = graphs::set_copy;
    cuGraphExecMemsetNodeSetParams(instance: u64, node: u64, set: In<graphs::Set>, context: u64) = graphs::set_fill;
    cuGraphExecUpdate_v2(instance: u64, graph: u64, result: Out<graphs::Updated>) = graphs::update;
    #[queued] cuGraphUpload(instance: u64, stream: u64) = graphs::upload;
    #[queued] cuGraphLaunch(instance: u64, stream: u64) = graphs::launch;
    cuGraphAddKernelNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, kernel: In<graphs::PlainKernel>) = graphs::add_plain_kernel;
    cuGraphAddKernelNode_v2(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, kernel: In<graphs::Kernel>) = graphs::add_kernel;
    cuGraphAddMemsetNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, set: In<graphs::Set>, context: u64) = graphs::add_fill;
    cuGraphAddMemcpyNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, copy: In<copies::Volume>, context: u64) = graphs::add_copy;
    cuGraphAddHostNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, host: In<graphs::Host>) = graphs::add_host;
    cuGraphAddChildGraphNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, child: u64) = conditions::add_graph;
    cuGraphConditionalHandleCreate(condition: Out<u64>, graph: u64, context: u64, default: c_uint, flags: c_uint) = conditions::create;
    cuGraphAddNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize, parameters: Out<conditions::Node>) = conditions::add_node;
    cuGraphAddNode_v2(node: Out<u64>, graph: u64, dependencies: In<u64>, edges: In<u64>, count: usize, parameters: Out<conditions::Node>) = conditions::add_node_with_edges;
    cuGraphAddEmptyNode(node: Out<u64>, graph: u64, dependencies: In<u64>, count: usize) = graphs::add_empty;
}

refusals! {
    "memory and events of the simulator cannot be shared with other processes":
        cuIpcGetMemHandle cuIpcOpenMemHandle cuIpcOpenMemHandle_v2 cuIpcCloseMemHandle cuIpcGetEventHandle cuIpcOpenEventHandle
        cuMemPoolExportToShareableHandle cuMemPoolImportFromShareableHandle cuMemExportToShareableHandle;
    "arrays with levels of detail are not simulated; use cuArray3DCreate":
        cuMipmappedArrayCreate cuMipmappedArrayGetLevel cuMipmappedArrayDestroy;
    "references to textures and surfaces are not simulated, as CUDA 12 has none; use cuTexObjectCreate and cuSurfObjectCreate":
        cuModuleGetTexRef cuModuleGetSurfRef;
    "virtual memory of the driver (cuMemAddressReserve and what belongs to it) is not simulated; use cuMemAlloc":
        cuMemAddressReserve cuMemAddressFree cuMemCreate cuMemRelease cuMemMap cuMemUnmap cuMemSetAccess
        cuMemGetAllocationGranularity;
    "tensor maps of image patches and of single rows are not simulated; use cuTensorMapEncodeTiled":
        cuTensorMapEncodeIm2col cuTensorMapEncodeIm2colWide;
    "launches of several devices at once are not simulated; launch on each":
        cuLaunchCooperativeKernelMultiDevice;
    "the graph of a node, and nodes of events, are not simulated; capture a stream":
        cuGraphChildGraphNodeGetGraph cuGraphAddEventRecordNode cuGraphAddEventWaitNode;
    "waiting for values in memory is not simulated; use events":
        cuStreamWaitValue32 cuStreamWaitValue32_v2 cuStreamWaitValue64 cuStreamWaitValue64_v2 cuStreamWriteValue32
        cuStreamWriteValue32_v2 cuStreamWriteValue64 cuStreamWriteValue64_v2;
}

/// From which version of CUDA on a name means a later form; of other names the last form is meant.
const SINCE: &[(&str, c_int)] = &[
    ("cuCtxCreate_v3", 11_040),
    ("cuCtxCreate_v4", 12_050),
    ("cuStreamGetCaptureInfo_v2", 11_030),
    ("cuStreamGetCaptureInfo_v3", 12_030),
    ("cuGetProcAddress_v2", 12_000),
    ("cuStreamUpdateCaptureDependencies_v2", 12_030),
    ("cuGraphAddNode_v2", 12_030),
    ("cuGraphAddKernelNode_v2", 12_000),
    ("cuGraphExecKernelNodeSetParams_v2", 12_000),
    ("cuMemAdvise_v2", 12_020),
    ("cuMemPrefetchAsync_v2", 12_020),
    // Functions of their own, which have the names of others with an ending.
    ("cuCtxGetDevice_v2", c_int::MAX),
    ("cuCtxSynchronize_v2", c_int::MAX),
];

/// The code of a function in the form that a version of CUDA has.
fn entry(name: &str, version: c_int) -> Option<*const c_void> {
    let all = || ENTRIES.iter().chain(FREE_ENTRIES).chain(REFUSALS);
    let form = |wanted: &str| all().find(|(known, _)| *known == wanted).map(|(_, entry)| entry.0);
    let is_there = |wanted: &str| {
        let since = SINCE.iter().find(|(later, _)| *later == wanted).map(|(_, since)| *since);
        since.is_none_or(|since| version >= since)
    };
    let later = (2..=4).rev().map(|form| format!("{name}_v{form}")).filter(|wanted| is_there(wanted));
    later.chain([name.to_string()]).find_map(|wanted| form(&wanted))
}

/// That a function is not there is an answer: the pointer is null.
fn find(name: Text, found: Out<*const c_void>, version: c_int, _: u64, status: Out<c_int>) -> Result {
    let code = entry(name.str()?, version);
    found.set(code.unwrap_or(std::ptr::null()))?;
    status.set_if_wanted(c_int::from(code.is_none()));
    Ok(())
}

fn find_old(name: Text, found: Out<*const c_void>, version: c_int, flags: u64) -> Result {
    find(name, found, version, flags, Out::at(0))
}

fn export_table(table: Out<*const c_void>, _: In<[u8; 16]>) -> Result {
    static TOLD: AtomicBool = AtomicBool::new(false);
    table.set(std::ptr::null())?;
    let caller = client::library().unwrap_or_else(|| "this program".to_string());
    // NVRTC only looks whether they are there; of Warp `kc gpu` replaces what needs them.
    if caller.starts_with("libnvrtc") || caller == "warp.so" || TOLD.swap(true, Ordering::Relaxed) {
        return Err(Status::NotFound.into());
    }
    let why = format!(
        "{caller} uses tables of the driver that are not documented, as the CUDA runtime (cudart) does that CuPy, PyTorch and JAX bring; \
         the simulator has the documented driver API alone, and what needs more fails"
    );
    Err(Status::NotFound.because(why))
}

/// The process ends, or the library goes.
#[used]
#[unsafe(link_section = ".fini_array")]
static AT_END: extern "C" fn() = at_end;

extern "C" fn at_end() {
    // A panic must not leave here either.
    let _ = std::panic::catch_unwind(driver::end);
}
