"""Warp's CUDA build on the simulated driver.

Warp's library brings a CUDA runtime of its own, which asks the driver for tables that are not documented. What of Warp's
exported functions needs it goes to the driver here: memory, copies, captured graphs. What Warp computes by kernels of its
library (sums, scans, sorts, sparse matrices) its functions for the host compute, as a simulated GPU's memory lies in the
host's. Meshes, trees, hash grids, volumes and textures are refused.
"""

import ctypes
import functools
import re
import sys

#: The versions of Warp whose functions are known.
SUPPORTED = ("1.19.0",)
#: Instead of a stream: the context's own.
CURRENT = ctypes.c_void_p(-1).value
#: What Warp's functions for the host compute in the place of its own kernels.
ON_HOST = re.compile(
    r"wp_(array_(copy|fill|inner_\w+|scan_\w+|sum_\w+)|radix_sort_pairs_\w+|segmented_sort_pairs_\w+|runlength_encode_int|bsr_\w+)_device$"
)
#: What only Warp's own CUDA runtime can do.
REFUSED = re.compile(
    r"wp_((bvh|mesh|hash_grid|volume|texture|surface|deterministic)\w*_device|cuda_graph_(insert|update|node|alloc)\w*"
    r"|cuda_graphics\w*|cuda_ipc\w*|cuda_timing_begin)$"
)


def plain(value):
    """An argument as C has it: numbers stay, pointers become addresses."""
    if value is None:
        return 0
    if isinstance(value, (ctypes._SimpleCData)):
        return value.value or 0
    return value


def address_of(value):
    """Where a pointer leads, in whatever form Python has it."""
    value = plain(value)
    if isinstance(value, int):
        return value
    return ctypes.cast(value, ctypes.c_void_p).value or 0

#: Gives a condition of a graph the number at an address, or whether that is 0.
SET_CONDITION = b"""
.version 8.3
.target sm_80
.address_size 64
.extern .func cudaGraphSetConditional(.param .b64 condition, .param .b32 value);
.visible .entry set_condition(.param .u64 from, .param .u64 condition, .param .u32 otherwise)
{
.reg .pred %p<3>;
.reg .b32 %r<4>;
.reg .b64 %rd<3>;
ld.param.u64 %rd1, [from];
ld.param.u64 %rd2, [condition];
ld.param.u32 %r1, [otherwise];
ld.global.u32 %r2, [%rd1];
setp.ne.u32 %p1, %r2, 0;
setp.ne.u32 %p2, %r1, 0;
xor.pred %p1, %p1, %p2;
selp.u32 %r3, 1, 0, %p1;
{
.param .b64 a;
.param .b32 b;
st.param.b64 [a], %rd2;
st.param.b32 [b], %r3;
call.uni cudaGraphSetConditional, (a, b);
}
ret;
}
"""


class ConditionalNode(ctypes.Structure):
    """CUgraphNodeParams of a node with a condition."""

    _fields_ = [
        *((name, ctypes.c_int) for name in ("kind", "reserved0", "reserved1", "reserved2")),
        ("condition", ctypes.c_uint64),
        *((name, ctypes.c_uint) for name in ("when", "count")),
        ("bodies", ctypes.POINTER(ctypes.c_void_p)),
        ("context", ctypes.c_void_p),
        ("rest", ctypes.c_char * 208),
    ]


class Hook:
    """A function in the place of one of the library's, which takes the same settings."""

    def __init__(self, function):
        self.function = function
        self.argtypes, self.restype = None, ctypes.c_int

    def __call__(self, *arguments):
        return self.function(*arguments)


class Core:
    """Warp's library, with other functions in the place of some."""

    def __init__(self, library):
        self._library = library
        self._driver = ctypes.CDLL("libcuda.so.1")
        #: Memory that graphs use, and what they copy from the host.
        self._of_graphs, self._patterns = set(), []
        self._primary = None
        #: By contexts.
        self._set_condition = {}

    def __getattr__(self, name):
        function = getattr(self._library, name)
        if hasattr(Driver, name):
            function = Hook(functools.partial(getattr(Driver, name), self))
        elif ON_HOST.match(name):
            function = Hook(functools.partial(on_host, self, name))
        elif REFUSED.match(name):
            function = Hook(functools.partial(refuse, name))
        setattr(self, name, function)
        return function

    def own(self, name):
        """The library's function."""
        hook = getattr(self, name)
        own = getattr(self._library, name)
        own.argtypes, own.restype = hook.argtypes, hook.restype
        return own

    def call(self, name, *arguments):
        """Whether a function of the driver did what it was asked for; arguments are addresses and sizes."""
        wide = [ctypes.c_uint64(a) if isinstance(a, int) else a for a in arguments]
        return getattr(self._driver, name)(*wide) == 0

    def within(self, context):
        return Within(self, address_of(context))

    def context_of(self, address):
        """The context that memory was given in; nothing, if it is none of a device."""
        context = ctypes.c_void_p()
        known = address and self.call("cuPointerGetAttribute", ctypes.byref(context), 1, address)
        return context.value if known else None

    def is_captured(self, context):
        return Driver.wp_cuda_stream_is_capturing(self, self.stream(context, None))

    def stream(self, context, stream):
        stream = address_of(stream)
        if stream in (CURRENT, 0):
            return address_of(self.wp_cuda_context_get_stream(context or None))
        return stream

    def wrote(self, start, bytes):
        """The driver learns that the host wrote there: it copies the bytes to themselves."""
        if start and bytes:
            self.call("cuMemcpyHtoD_v2", start, ctypes.create_string_buffer(ctypes.string_at(start, bytes), bytes), bytes)

    def block(self, address):
        """The block of memory around an address: its start and its bytes; nothing, if it is none of a device."""
        start, bytes = ctypes.c_uint64(), ctypes.c_size_t()
        found = self.context_of(address) and self.call("cuMemGetAddressRange_v2", ctypes.byref(start), ctypes.byref(bytes), address)
        return (start.value, bytes.value) if found else (0, 0)


class Within:
    """A context that is current for a while."""

    def __init__(self, core, context):
        self.core, self.context = core, context

    def __enter__(self):
        if self.context:
            self.core.call("cuCtxPushCurrent_v2", self.context)

    def __exit__(self, *_):
        if self.context:
            self.core.call("cuCtxPopCurrent_v2", ctypes.byref(ctypes.c_void_p()))


def refuse(name, *_):
    what = name.removeprefix("wp_").removesuffix("_device").replace("_", " ")
    raise RuntimeError(
        f"kc gpu: Warp does this ({what}) with the CUDA runtime of its library, which needs tables of the driver that are not "
        "documented; take the device cpu for it"
    )


def on_host(core, name, *arguments):
    """What the function for the host gives for the memory of a device."""
    host = getattr(core._library, name.removesuffix("_device") + "_host")
    hook = getattr(core, name)
    # The one for devices may have the context first.
    there = getattr(core, name.removesuffix("_device") + "_host").argtypes
    more = len(hook.argtypes) - len(there)
    if more not in (0, 1):
        refuse(name)
    host.argtypes, host.restype = there, hook.restype
    given = [address for argument in arguments[more:] for address in places(argument)]
    context = arguments[0] if more else next(filter(None, map(core.context_of, given)), None)
    if core.is_captured(context):
        raise RuntimeError(f"kc gpu: `{name}` while a graph is captured: what the host computes is no work of a graph")
    with core.within(context):
        core.call("cuCtxSynchronize")
        result = host(*arguments[more:])
        # What it wrote lies in the arrays that it was given.
        for address in given:
            core.wrote(*core.block(address))
    return True if hook.restype is ctypes.c_bool and result is None else result


def places(argument):
    """Addresses that an argument may hold: itself, or those of an array's description."""
    value = plain(argument)
    if isinstance(value, int) and not isinstance(value, bool):
        yield value
        described = value and not isinstance(argument, int)
    elif isinstance(value, (bytes, str, float, bool)):
        return
    else:
        yield (value := address_of(value))
        described = True
    # A description in the host's memory begins with the address of the data.
    if described and value:
        yield ctypes.c_uint64.from_address(value).value


class Driver:
    """What the driver does in the place of Warp's CUDA runtime, by the names of Warp's functions."""

    def allocated(core, name, context, bytes, *more):
        found = ctypes.c_uint64()
        with core.within(context):
            done = core.call(name, ctypes.byref(found), max(plain(bytes), 1), *more)
        return found.value if done else None

    def wp_alloc_device(core, context, bytes, tag=None):
        return Driver.allocated(core, "cuMemAlloc_v2", context, bytes)

    wp_alloc_device_default = wp_alloc_device

    def wp_alloc_device_async(core, context, bytes, stream=None, tag=None):
        if core.is_captured(context):
            # The graph uses it again and again.
            found = Driver.wp_alloc_device(core, context, bytes)
            core._of_graphs.add(found)
            return found
        return Driver.allocated(core, "cuMemAllocAsync", context, bytes, core.stream(context, stream))

    def wp_alloc_device_managed(core, context, bytes, tag=None):
        return Driver.allocated(core, "cuMemAllocManaged", context, bytes, 1)

    def wp_alloc_pinned(core, bytes, tag=None):
        return Driver.allocated(core, "cuMemAllocHost_v2", core._primary, bytes)

    def wp_free_pinned(core, address):
        with core.within(core._primary):
            core.call("cuMemFreeHost", address_of(address))

    def wp_free_device(core, context, address):
        if address_of(address) in core._of_graphs or core.is_captured(context):
            return
        with core.within(context):
            core.call("cuMemFree_v2", address_of(address))

    wp_free_device_default = wp_free_device

    def wp_free_device_async(core, context, address, stream=None):
        if address_of(address) in core._of_graphs or core.is_captured(context):
            return
        with core.within(context):
            core.call("cuMemFreeAsync", address_of(address), core.stream(context, stream))

    def copy(core, name, context, to, source, bytes, stream):
        if not plain(bytes):
            return True
        with core.within(context):
            return core.call(name, address_of(to), address_of(source), plain(bytes), core.stream(context, stream))

    def wp_memcpy_h2d(core, context, to, source, bytes, stream=None):
        return Driver.copy(core, "cuMemcpyHtoDAsync_v2", context, to, source, bytes, stream)

    def wp_memcpy_d2h(core, context, to, source, bytes, stream=None):
        return Driver.copy(core, "cuMemcpyDtoHAsync_v2", context, to, source, bytes, stream)

    def wp_memcpy_d2d(core, context, to, source, bytes, stream=None):
        return Driver.copy(core, "cuMemcpyDtoDAsync_v2", context, to, source, bytes, stream)

    def wp_memcpy_p2p(core, to_context, to, context, source, bytes, stream=None):
        return Driver.copy(core, "cuMemcpyAsync", context, to, source, bytes, stream)

    def wp_memcpy_batch(core, context, to, sources, sizes, count, stream=None):
        lists = [ctypes.cast(address_of(one), ctypes.POINTER(ctypes.c_uint64)) for one in (to, sources, sizes)]
        each = ([one[n] for one in lists] for n in range(plain(count)))
        return all([Driver.copy(core, "cuMemcpyAsync", context, a, b, bytes, stream) for a, b, bytes in each])

    def wp_memset_device(core, context, address, value, bytes, stream=None):
        if not plain(bytes):
            return True
        with core.within(context):
            value = ctypes.c_ubyte(plain(value) & 255)
            return core.call("cuMemsetD8Async", address_of(address), value, plain(bytes), core.stream(context, stream))

    def wp_memtile_device(core, context, to, source, bytes, times):
        pattern, stream = ctypes.string_at(address_of(source), plain(bytes)), core.stream(context, None)
        number = {1: ctypes.c_ubyte, 2: ctypes.c_ushort, 4: ctypes.c_uint}.get(plain(bytes))
        with core.within(context):
            if number is not None:
                value = number(int.from_bytes(pattern, "little"))
                core.call(f"cuMemsetD{8 * plain(bytes)}Async", address_of(to), value, plain(times), stream)
                return
            whole = ctypes.create_string_buffer(pattern * plain(times), plain(bytes) * plain(times))
            core.call("cuMemcpyHtoDAsync_v2", address_of(to), whole, len(whole), stream)
            if core.is_captured(context):
                core._patterns.append(whole)
            else:
                core.call("cuStreamSynchronize", stream)

    def wp_cuda_device_get_primary_context(core, ordinal):
        # Whatever Warp's runtime says of itself when it sees a context for the first time, is known.
        said = core._library.wp_is_error_output_enabled()
        core._library.wp_set_error_output_enabled(0)
        context = core.own("wp_cuda_device_get_primary_context")(ordinal)
        core.own("wp_cuda_context_get_stream")(context)
        core._library.wp_set_error_output_enabled(said)
        core._primary = core._primary or context
        return context

    def wp_cuda_load_module(core, context, path):
        with open(plain(path), "rb") as file:
            text = file.read()
        module = ctypes.c_void_p()
        with core.within(context):
            done = core.call("cuModuleLoadDataEx", ctypes.byref(module), ctypes.c_char_p(text), ctypes.c_uint(0), None, None)
        return module.value if done else None

    def wp_cuda_stream_is_capturing(core, stream):
        status = ctypes.c_int()
        # The default stream is in no graph.
        if address_of(stream):
            with core.within(core._primary):
                core.call("cuStreamIsCapturing", address_of(stream), ctypes.byref(status))
        return int(status.value == 1)

    def wp_cuda_stream_get_capture_id(core, stream):
        if not address_of(stream):
            return 0
        status, number = ctypes.c_int(), ctypes.c_uint64()
        nothing = [ctypes.c_void_p()] * 3
        with core.within(core._primary):
            core.call("cuStreamGetCaptureInfo_v2", address_of(stream), ctypes.byref(status), ctypes.byref(number), *nothing)
        return number.value

    def wp_cuda_graph_begin_capture(core, context, stream, external=0, mode=0):
        with core.within(context):
            return bool(plain(external)) or core.call("cuStreamBeginCapture_v2", core.stream(context, stream), plain(mode))

    def wp_cuda_graph_end_capture(core, context, stream, graph):
        with core.within(context):
            return core.call("cuStreamEndCapture", core.stream(context, stream), graph)

    def conditional(core, context, stream, when, condition, otherwise=False):
        """Adds a node with a body, which runs by the number at an address: the condition and the body."""
        graph, handle = ctypes.c_void_p(), ctypes.c_uint64()
        status, number, nothing = ctypes.c_int(), ctypes.c_uint64(), [ctypes.c_void_p()] * 2
        asked = core.call("cuStreamGetCaptureInfo_v2", stream, ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), *nothing)
        if not (asked and core.call("cuGraphConditionalHandleCreate", ctypes.byref(handle), address_of(graph), 0, 0, 0)):
            return None
        if not Driver.set_condition(core, context, stream, condition, handle.value, otherwise):
            return None
        node = ConditionalNode(kind=13, condition=handle.value, when=when, count=1)
        if not core.call("cuGraphAddNode", ctypes.byref(ctypes.c_void_p()), address_of(graph), None, 0, ctypes.byref(node)):
            return None
        return handle.value, node.bodies[0]

    def set_condition(core, context, stream, condition, handle, otherwise=False):
        if address_of(context) not in core._set_condition:
            module, function = ctypes.c_void_p(), ctypes.c_void_p()
            core.call("cuModuleLoadData", ctypes.byref(module), ctypes.c_char_p(SET_CONDITION))
            core.call("cuModuleGetFunction", ctypes.byref(function), address_of(module), ctypes.c_char_p(b"set_condition"))
            core._set_condition[address_of(context)] = address_of(function)
        values = ctypes.c_uint64(address_of(condition)), ctypes.c_uint64(plain(handle)), ctypes.c_uint32(otherwise)
        given = (ctypes.c_void_p * 3)(*map(ctypes.addressof, values))
        return core.call("cuLaunchKernel", core._set_condition[address_of(context)], *[1] * 6, 0, stream, given, None)

    def wp_cuda_graph_insert_while(core, context, stream, arch, use_ptx, condition, body, handle):
        with core.within(context):
            made = Driver.conditional(core, context, core.stream(context, stream), 1, condition)
        if made:
            ctypes.c_uint64.from_address(address_of(handle)).value, ctypes.c_uint64.from_address(address_of(body)).value = made
        return bool(made)

    def wp_cuda_graph_insert_if_else(core, context, stream, arch, use_ptx, condition, on_true, on_false):
        with core.within(context):
            stream = core.stream(context, stream)
            for body, otherwise in ((on_true, False), (on_false, True)):
                if not address_of(body):
                    continue
                made = Driver.conditional(core, context, stream, 0, condition, otherwise)
                if not made:
                    return False
                ctypes.c_uint64.from_address(address_of(body)).value = made[1]
        return True

    def wp_cuda_graph_set_condition(core, context, stream, arch, use_ptx, condition, handle):
        with core.within(context):
            return Driver.set_condition(core, context, core.stream(context, stream), condition, handle)

    def wp_cuda_graph_pause_capture(core, context, stream, graph):
        with core.within(context):
            return core.call("cuStreamEndCapture", core.stream(context, stream), graph)

    def wp_cuda_graph_resume_capture(core, context, stream, graph):
        with core.within(context):
            return core.call("cuStreamBeginCaptureToGraph", core.stream(context, stream), address_of(graph), None, None, 0, 0)

    def wp_cuda_graph_insert_child_graph(core, context, stream, child):
        graph, node, nothing = ctypes.c_void_p(), ctypes.c_void_p(), [ctypes.c_void_p()] * 2
        status, number = ctypes.c_int(), ctypes.c_uint64()
        with core.within(context):
            stream = core.stream(context, stream)
            asked = core.call("cuStreamGetCaptureInfo_v2", stream, ctypes.byref(status), ctypes.byref(number), ctypes.byref(graph), *nothing)
            return asked and core.call("cuGraphAddChildGraphNode", ctypes.byref(node), address_of(graph), None, 0, address_of(child))

    def wp_cuda_graph_check_conditional_body(core, graph):
        # The driver looks at the bodies when the whole graph is instantiated.
        return True

    def wp_cuda_graph_create_exec(core, context, stream, graph, instance):
        with core.within(context):
            return core.call("cuGraphInstantiateWithFlags", instance, address_of(graph), 0)

    def wp_cuda_graph_launch(core, instance, stream):
        return core.call("cuGraphLaunch", address_of(instance), core.stream(None, stream))

    def wp_cuda_graph_exec_destroy(core, context, instance):
        return core.call("cuGraphExecDestroy", address_of(instance))

    def wp_cuda_graph_destroy(core, context, graph):
        return core.call("cuGraphDestroy", address_of(graph))


def change(context):
    """Warp loads its library with other functions in the place of some, and compiles to PTX with source lines."""
    import warp

    if warp.config.version not in SUPPORTED:
        print(f"kc gpu: Warp {', '.join(SUPPORTED)} runs, and this is {warp.config.version}: its CUDA runtime fails here", file=sys.stderr)
        return
    warp.config.cuda_output = "ptx"
    warp.config.lineinfo = True
    warp.config.line_directives = True
    load = context.Runtime.load_dll

    def load_dll(self, path):
        library = load(self, path)
        return Core(library) if path.endswith("warp.so") else library

    context.Runtime.load_dll = load_dll
