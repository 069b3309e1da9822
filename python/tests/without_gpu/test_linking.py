"""Texts of PTX that name each other's variables and functions are linked by the driver, as nvcc's and numba's are."""

import pytest

HEAD = """
import ctypes
import numpy as np
from cuda.bindings import driver as cu


def done(result):
    assert result[0] == cu.CUresult.CUDA_SUCCESS, result
    return result[1] if len(result) == 2 else result[1:]


def text(body):
    return (".version 7.8\\n.target sm_80\\n.address_size 64\\n" + body).encode() + b"\\0"


done(cu.cuInit(0))
done(cu.cuCtxSetCurrent(done(cu.cuDevicePrimaryCtxRetain(0))))


def linked(*texts):
    link = done(cu.cuLinkCreate(0, [], []))
    for n, one in enumerate(texts):
        done(cu.cuLinkAddData(link, cu.CUjitInputType.CU_JIT_INPUT_PTX, one, len(one), b"%d.ptx" % n, 0, [], []))
    image, size = done(cu.cuLinkComplete(link))
    return done(cu.cuModuleLoadData(image))


def ran(module, *arguments):
    kernel = done(cu.cuModuleGetFunction(module, b"k"))
    out = done(cu.cuMemAlloc(32))
    done(cu.cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, 0, ((int(out),), (ctypes.c_void_p,)), 0))
    found = np.zeros(4, np.int32)
    done(cu.cuMemcpyDtoH(found.ctypes.data, out, 16))
    return found.tolist()
"""

#: What texts keep for themselves has the same names in both.
USES = """
.extern .global .align 4 .u32 step;
.extern .global .align 4 .b8 table[];
.global .align 4 .u32 own = 5;
.extern .func (.param .b32 result) more (.param .b32 n);
.func (.param .b32 result) twice (.param .b32 n)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [n];
shl.b32 %r1, %r1, 1;
st.param.b32 [result], %r1;
ret;
}
.visible .entry k(.param .u64 out)
{
.reg .b32 %r<9>;
.reg .b64 %rd<2>;
.param .b32 given;
.param .b32 found;
ld.param.u64 %rd1, [out];
ld.global.u32 %r1, [step];
ld.global.u32 %r2, [table+4];
ld.global.u32 %r3, [own];
st.global.u32 [%rd1], %r1;
st.global.u32 [%rd1+4], %r2;
st.global.u32 [%rd1+8], %r3;
st.param.b32 [given], %r1;
call (found), more, (given);
ld.param.b32 %r4, [found];
st.global.u32 [%rd1+12], %r4;
ret;
}
"""

GIVES = """
.visible .global .align 4 .u32 step = 3;
.visible .global .align 4 .u32 table[2] = {7, 8};
.global .align 4 .u32 own = 100;
.func (.param .b32 result) twice (.param .b32 n)
{
.reg .b32 %r<3>;
ld.param.u32 %r1, [n];
ld.global.u32 %r2, [own];
mad.lo.u32 %r1, %r1, 2, %r2;
st.param.b32 [result], %r1;
ret;
}
.visible .func (.param .b32 result) more (.param .b32 n)
{
.reg .b32 %r<3>;
.param .b32 given;
.param .b32 found;
ld.param.u32 %r1, [n];
st.param.b32 [given], %r1;
call (found), twice, (given);
ld.param.b32 %r1, [found];
st.param.b32 [result], %r1;
ret;
}
"""


@pytest.mark.parametrize("order", ["uses, gives", "gives, uses"])
def test_texts_that_name_each_other(gpu, order):
    run = gpu(f"{HEAD}\nuses, gives = text('''{USES}'''), text('''{GIVES}''')\nprint(ran(linked({order})))\n")
    assert (run.code, run.out) == (0, "[3, 8, 5, 106]\n"), run.said


@pytest.mark.parametrize(
    "given, why",
    [
        ("uses", "is declared, and none of the texts to link defines it"),
        ("uses, gives, gives", "is defined in two of the texts to link"),
    ],
)
def test_what_does_not_link_is_told(gpu, given, why):
    run = gpu(f"{HEAD}\nuses, gives = text('''{USES}'''), text('''{GIVES}''')\nlinked({given})\n")
    assert run.code != 0 and why in run.said, run.said


def test_a_weak_definition_may_stand_twice(gpu):
    weak = GIVES.replace(".visible", ".weak")
    text = f"{HEAD}\nuses, gives = text('''{USES}'''), text('''{weak}''')\nprint(ran(linked(uses, gives, gives)))\n"
    run = gpu(text)
    assert (run.code, run.out) == (0, "[3, 8, 5, 106]\n"), run.said


def test_a_text_alone_lacks_what_it_declares(gpu):
    run = gpu(f"{HEAD}\nprint(cu.cuModuleLoadData(text('''{USES}''')))\n")
    assert "CUDA_ERROR_INVALID_PTX" in run.out and "`step` is declared here and defined in another text" in run.said


def test_a_managed_variable_is_the_hosts_too(gpu):
    declared = ".visible .global .attribute(.managed) .align 4 .u32 step = 3;"
    body = USES.split(".visible .entry")[1].split("ld.global.u32 %r2")[0] + "st.global.u32 [%rd1], %r1;\nret;\n}"
    program = f"""
module = done(cu.cuModuleLoadData(text('''{declared}\\n.visible .entry{body}''')))
address, size = done(cu.cuModuleGetGlobal(module, b"step"))
here = ctypes.c_uint32.from_address(int(address))
print(size, here.value, int(done(cu.cuPointerGetAttribute(cu.CUpointer_attribute.CU_POINTER_ATTRIBUTE_IS_MANAGED, address))))
here.value = 9
print(ran(module)[0])
"""
    run = gpu(HEAD + program, "--checks", "none")
    assert (run.code, run.out) == (0, "4 3 1\n9\n"), run.said
