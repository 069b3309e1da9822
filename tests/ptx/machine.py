"""A machine that runs PTX, thread by thread, as the PTX ISA manual describes it: for checking kc's device code without a GPU.

It knows the instructions that kc writes, and refuses others by name (`Unknown`). Memory accesses must be aligned and inside memory that was
given out. Threads of a warp meet only at `activemask` and `shfl.sync`: which of them meet there is drawn by chance, because real
warps may part anywhere; a shuffle whose mask names a thread that never comes is an error.
"""

from __future__ import annotations

import fractions
import math
import random
import re
import struct

LANES = 32
GLOBAL, LOCAL, PARAM = 0x7F00_0000_0000, 1 << 60, 1 << 61


class Unknown(Exception):
    """An instruction or a feature that this machine does not have."""


class Fault(Exception):
    """What would stop a GPU, or is undefined there."""


def mask(bits: int) -> int:
    return (1 << bits) - 1


def signed(value: int, bits: int) -> int:
    value &= mask(bits)
    return value - (1 << bits) if value >> (bits - 1) else value


CODES = {16: "<e", 32: "<f", 64: "<d"}
INTS = {16: "<H", 32: "<I", 64: "<Q"}


def to_float(value: int, bits: int) -> float:
    return struct.unpack(CODES[bits], struct.pack(INTS[bits], value & mask(bits)))[0]


def from_float(value: float, bits: int) -> int:
    """Rounds to the nearest, ties to even."""
    if value != value:
        return {16: 0x7FFF, 32: 0x7FFFFFFF, 64: 0x7FFFFFFFFFFFFFFF}[bits]
    try:
        return struct.unpack(INTS[bits], struct.pack(CODES[bits], value))[0]
    except OverflowError:
        return struct.unpack(INTS[bits], struct.pack(CODES[bits], math.copysign(math.inf, value)))[0]


def fused(a: float, b: float, c: float, bits: int) -> int:
    """a * b + c with one rounding."""
    if not (math.isfinite(a) and math.isfinite(b) and math.isfinite(c)):
        try:
            return from_float(a * b + c, bits)
        except (OverflowError, ValueError):
            return from_float(math.nan, bits)
    exact = fractions.Fraction(a) * fractions.Fraction(b) + fractions.Fraction(c)
    if exact == 0:
        return from_float(a * b + c if (a == 0 or b == 0) else 0.0, bits)
    return rounded(exact, bits)


def rounded(exact: fractions.Fraction, bits: int) -> int:
    """The nearest float of an exact value that is not 0."""
    if bits == 64:
        try:
            return from_float(float(exact), 64)
        except OverflowError:
            return from_float(math.copysign(math.inf, exact), 64)
    try:
        near = float(exact)
    except OverflowError:
        return from_float(math.copysign(math.inf, exact), bits)
    # Rounded twice, a tie could go wrong: an inexact double is made odd first.
    error = exact - fractions.Fraction(near)
    if error and math.isfinite(near):
        word = struct.unpack("<Q", struct.pack("<d", near))[0]
        if not word & 1:
            word += 1 if (error > 0) == (near > 0) else -1
            near = struct.unpack("<d", struct.pack("<Q", word))[0]
    return from_float(near, bits)


def divide(a: float, b: float) -> float:
    if b == 0:
        return math.nan if a == 0 or a != a else math.copysign(math.inf, a) * math.copysign(1, b)
    return a / b


def root(a: float) -> float:
    return a if a == 0 or a != a else math.nan if a < 0 else math.sqrt(a)


def product(a: float, b: float) -> float:
    return a * b


def least(a: float, b: float) -> float:
    if a != a or b != b:
        return b if a != a else a
    if a == b == 0:
        return a if math.copysign(1, a) < 0 else b
    return min(a, b)


def greatest(a: float, b: float) -> float:
    return -least(-a, -b) if a == a and b == b else (b if a != a else a)


def failed_assert():
    raise Fault("an assert failed")


def permuted(a: int, b: int, choice: int) -> int:
    """`prmt`: each byte is one of eight, or its sign everywhere."""
    whole, made = (b & mask(32)) << 32 | a & mask(32), 0
    for n in range(4):
        pick = choice >> 4 * n & 15
        byte = whole >> 8 * (pick & 7) & 255
        made |= ((255 if byte & 128 else 0) if pick & 8 else byte) << 8 * n
    return made


COMPARE = {
    "eq": lambda a, b: a == b, "ne": lambda a, b: a != b, "lt": lambda a, b: a < b, "le": lambda a, b: a <= b,
    "gt": lambda a, b: a > b, "ge": lambda a, b: a >= b,
}


def compare(name: str, is_float: bool):
    if not is_float:
        return COMPARE[name]
    if name == "num":
        return lambda a, b: a == a and b == b
    if name == "nan":
        return lambda a, b: a != a or b != b
    if name in COMPARE:
        plain = COMPARE[name]
        return lambda a, b: a == a and b == b and plain(a, b)
    plain = COMPARE[name[:-1]]
    return lambda a, b: a != a or b != b or plain(a, b)


class Memory:
    """Global memory: pieces given out one after the other, at multiples of 256 bytes plus `shift`."""

    def __init__(self):
        self.bytes = bytearray()
        self.pieces: list[tuple[int, int]] = []

    def give(self, data: bytes, shift: int = 0) -> int:
        start = -(-len(self.bytes) // 256) * 256 + 256 + shift
        self.bytes.extend(bytes(start - len(self.bytes)) + data + bytes(4))
        self.pieces.append((start, len(data)))
        return GLOBAL + start

    def at(self, address: int, size: int) -> int:
        offset = address - GLOBAL
        if address % size:
            raise Fault(f"misaligned address {address:#x} for {size} bytes")
        # Atomics on 16 bits go through the whole word, which allocators give out.
        if not any(start // 4 * 4 <= offset and offset + size <= -(-(start + length) // 4) * 4 for start, length in self.pieces):
            raise Fault(f"access outside of memory: {address:#x}")
        return offset

    def read(self, address: int, size: int) -> bytes:
        offset = self.at(address, size)
        return bytes(self.bytes[offset:offset + size])


class Registers(dict):
    """LLVM leaves a register unset where no bit of it that matters depends on it (`copysign` of anything and x, for its sign)."""

    def __missing__(self, register: str) -> int:
        return 0x5A5A_5A5A_5A5A_5A5A & mask(bits_of(register))


class Thread:
    __slots__ = ("regs", "pc", "special", "local", "params", "handed", "steps")

    def __init__(self, special: dict[str, int], local: int, params: bytes):
        self.regs = Registers()
        self.pc = 0
        self.special = special
        self.local = bytearray(local)
        self.params = params
        # What it hands to a function that it calls, and what it gets from it or gives itself.
        self.handed: dict[str, bytearray] = {}
        self.steps = 0


MEET = object()
REGISTER_BITS = {"p": 1, "rs": 16, "r": 32, "rd": 64, "SP": 64, "SPL": 64, "rq": 128}


def bits_of(register: str) -> int:
    match = re.fullmatch(r"%([a-zA-Z]+)\d*", register)
    if not match or match[1] not in REGISTER_BITS:
        raise Unknown(f"register {register}")
    return REGISTER_BITS[match[1]]


def kind(ty: str) -> tuple[str, int]:
    match = re.fullmatch(r"(pred|[bsuf])(\d*)", ty)
    if not match:
        raise Unknown(f"type {ty}")
    return (match[1][0], 1) if match[1] == "pred" else (match[1], int(match[2]))


class Kernel:
    """One entry of a PTX text, or a function that one calls."""

    def __init__(self, text: str, name: str, directive: str = ".entry"):
        start = re.search(rf"{re.escape(directive)}\s+(?:\([^)]*\) )?{re.escape(name)}\(", text)
        if not start:
            raise Unknown(f"no {directive} {name}")
        self.text = text
        end = text.index("\n}\n", start.end())
        head, body = text[start.end():end].split("{", 1)
        self.params: dict[str, int] = {}
        self.sizes: list[tuple[int, int]] = []
        at = 0
        for match in re.finditer(r"\.param (?:\.align (\d+) )?\.(\w+) (\w+)(?:\[(\d+)\])?", head):
            size = int(match[4]) if match[4] else kind(match[2])[1] // 8
            align = int(match[1]) if match[1] else size
            at = -(-at // align) * align
            self.params[match[3]] = at
            self.sizes.append((at, size))
            at += size
        self.param_bytes = at
        self.local = 0
        self.depots: dict[str, int] = {}
        self.labels: dict[str, int] = {}
        lines = []
        for line in body.replace("{ .reg .b32 tmp;", "").splitlines():
            line = line.split("//")[0].strip()
            if match := re.match(r"\.local \.align (\d+) \.b8 \s*(\w+)\[(\d+)\]", line):
                self.local = -(-self.local // 16) * 16
                self.depots[match[2]] = self.local
                self.local += int(match[3])
                continue
            while match := re.match(r"([$\w]+):", line):
                self.labels[match[1]] = len(lines)
                line = line[match.end():].strip()
            if not line or line.startswith(".") or line in "{}":
                continue
            for part in line.rstrip("} ").split(";") if line.endswith("; }") else [line.rstrip(";")]:
                if part.strip():
                    lines.append(part.strip())
        self.lines = lines
        self.code = [self.instruction(line) for line in lines]

    # Operands

    def value(self, operand: str, bits: int = 64):
        """A function of the thread that gives the operand's bits."""
        operand = operand.strip()
        if operand.startswith("%"):
            special = operand[1:]
            if special in ("tid.x", "ntid.x", "ctaid.x", "nctaid.x", "laneid"):
                return lambda t: t.special[special]
            bits_of(operand) if operand != "tmp" else None
            return lambda t: t.regs[operand]
        if operand.startswith("0f") or operand.startswith("0d"):
            number = int(operand[2:], 16)
            return lambda t: number
        if re.fullmatch(r"text\w*", operand):
            return lambda t: 0
        if operand in self.params:
            address = PARAM + self.params[operand]
            return lambda t: address
        if operand in self.depots:
            address = LOCAL + self.depots[operand]
            return lambda t: address
        try:
            number = int(operand.removesuffix("U"), 0) & mask(bits)
        except ValueError:
            raise Unknown(f"operand {operand}") from None
        return lambda t: number

    def typed(self, operand: str, ty: str):
        """The operand as a number of a type."""
        form, bits = kind(ty)
        get = self.value(operand, bits)
        if form == "f":
            return lambda t: to_float(get(t), bits)
        if form == "s":
            return lambda t: signed(get(t), bits)
        if ty == "pred":
            return get
        return lambda t: get(t) & mask(bits)

    def write(self, register: str, ty: str):
        """A function that keeps a number of a type in a register."""
        form, bits = kind(ty)
        if register in ("_", "tmp"):
            return lambda t, v: None
        wide = mask(bits_of(register))
        narrow = mask(bits)
        if form == "f":
            def keep(t, v):
                t.regs[register] = from_float(v, bits)
        elif form == "s":
            def keep(t, v):
                t.regs[register] = signed(v, bits) & wide
        else:
            def keep(t, v):
                t.regs[register] = v & narrow
        return keep

    def address(self, operand: str):
        match = re.fullmatch(r"\[([^+\]]+)(?:\+(-?\d+))?\]", operand.replace(" ", ""))
        if not match:
            raise Unknown(f"address {operand}")
        base, offset = self.value(match[1]), int(match[2] or 0)
        return lambda t: (base(t) + offset) & mask(64)

    # Instructions: each is a function of (machine, thread) that gives the next place, MEET, or None for the next line.

    def instruction(self, line: str):
        guard = None
        if match := re.match(r"@(!?)(%p\d+)\s+", line):
            negated, register = match[1] == "!", match[2]
            guard = lambda t: bool(t.regs[register]) != negated
            line = line[match.end():]
        word, _, rest = line.partition(" ") if " " in line else line.partition("\t")
        rest = rest.strip()
        operands = [o.strip() for o in re.findall(r"\{[^}]*\}|\[[^\]]*\]|[^,\s][^,]*", rest)]
        run = self.operation(word.strip(), operands)
        if guard is None:
            return run
        return lambda m, t: run(m, t) if guard(t) else None

    def operation(self, word: str, o: list[str]):
        parts = word.split(".")
        name, ty = parts[0], parts[-1]
        if name == "bra":
            target = self.labels
            label = o[0]
            return lambda m, t: target[label]
        if name == "ret":
            end = len(self.lines) if hasattr(self, "lines") else None
            return lambda m, t: -1 if end is None else end
        if name in ("activemask", "shfl"):
            return lambda m, t: MEET
        if name == "call":
            # Prints say nothing here.
            if "vprintf" in o:
                return lambda m, t: None
            if "__assertfail" in o:
                return lambda m, t: failed_assert()
            return self.call(o)
        if name in ("ld", "st") and "param" in parts:
            if match := re.fullmatch(r"\[(param\d+|retval0|func_retval0)(?:\+(\d+))?\]", o[1] if name == "ld" else o[0]):
                return self.hand(name, parts, o, match[1], int(match[2] or 0))
        if name == "prmt":
            a, b, choice, put = self.value(o[1], 32), self.value(o[2], 32), self.value(o[3], 32), self.write(o[0], "b32")
            return lambda m, t: put(t, permuted(a(t), b(t), choice(t)))
        if name in ("ld", "st"):
            return self.access(name, parts, o)
        if name in ("atom", "red"):
            return self.atomic(parts, o)
        if name == "mov" and (o[0].startswith("{") or o[1].startswith("{")):
            return self.pack(o, kind(ty)[1])
        if name == "cvta":
            get, put = self.value(o[1]), self.write(o[0], "b64")
            return lambda m, t: put(t, get(t))
        if name == "cvt":
            return self.convert(parts, o)
        if name == "setp":
            if len(parts) != 3 and parts[2:-1] != ["ftz"]:
                raise Unknown(word)
            form = kind(ty)[0]
            test = compare({"lo": "lt", "ls": "le", "hi": "gt", "hs": "ge"}.get(parts[1], parts[1]), form == "f")
            a, b, put = self.typed(o[1], ty), self.typed(o[2], ty), self.write(o[0], "pred")
            return lambda m, t: put(t, int(test(a(t), b(t))))
        if name == "selp":
            a, b, p, put = self.value(o[1], 64), self.value(o[2], 64), self.value(o[3]), self.write(o[0], "b" + ty[1:])
            return lambda m, t: put(t, a(t) if p(t) else b(t))
        form, bits = kind(ty)
        if form == "f" and name in ("add", "sub", "mul", "div", "fma", "mad", "neg", "abs", "min", "max", "rcp", "sqrt", "copysign"):
            return self.float_operation(name, parts, o, ty, bits)
        return self.int_operation(name, parts, o, ty, form, bits)

    def call(self, o: list[str]):
        """A call, `(retval0), name, (param0, ...)`, of a function that does not meet others."""
        names = [word for operand in o for word in re.findall(r"\w+", operand)]
        if names[0] != "retval0":
            raise Unknown("call of " + " ".join(o))
        callee = Kernel(self.text, names[1], ".func")

        def run(m, t):
            block = bytearray(callee.param_bytes)
            for (at, size), name in zip(callee.sizes, names[2:], strict=True):
                block[at:at + size] = t.handed[name].ljust(size, b"\0")[:size]
            inner = Thread(t.special, callee.local, bytes(block))
            while 0 <= inner.pc < len(callee.code):
                following = callee.code[inner.pc](m, inner)
                if following is MEET:
                    raise Unknown("a function whose threads meet")
                inner.pc = inner.pc + 1 if following is None else following
                inner.steps += 1
                if inner.steps > m.limit:
                    raise Unknown("too many steps")
            t.handed["retval0"] = inner.handed["func_retval0"]
        return run

    def hand(self, name: str, parts: list[str], o: list[str], slot: str, offset: int):
        """An access to what goes into a call or comes out of one."""
        size = kind(parts[-1])[1] // 8
        what = o[0] if name == "ld" else o[1]
        registers = [r.strip() for r in what.strip("{}").split(",")]
        if name == "ld":
            puts = [self.write(r, f"b{8 * size}") for r in registers]

            def load(m, t):
                # Prints give nothing.
                data = t.handed.get(slot, bytearray()).ljust(offset + size * len(puts), b"\0")
                for n, put in enumerate(puts):
                    put(t, int.from_bytes(data[offset + n * size:offset + (n + 1) * size], "little"))
            return load
        gets = [self.value(r, 8 * size) for r in registers]

        def store(m, t):
            data = t.handed.setdefault(slot, bytearray())
            if len(data) < offset + size * len(gets):
                data.extend(bytes(offset + size * len(gets) - len(data)))
            for n, get in enumerate(gets):
                data[offset + n * size:offset + (n + 1) * size] = (get(t) & mask(8 * size)).to_bytes(size, "little")
        return store

    def float_operation(self, name, parts, o, ty, bits):
        if set(parts[1:-1]) - {"rn"}:
            raise Unknown(".".join(parts))
        if name in ("neg", "abs", "copysign"):
            sign, put = 1 << (bits - 1), self.write(o[0], f"b{bits}")
            a = self.value(o[1], bits)
            if name == "neg":
                return lambda m, t: put(t, a(t) ^ sign)
            if name == "abs":
                return lambda m, t: put(t, a(t) & ~sign)
            b = self.value(o[2], bits)
            return lambda m, t: put(t, b(t) & ~sign | a(t) & sign)
        put = self.write(o[0], ty)
        of = [self.typed(operand, ty) for operand in o[1:]]
        if name in ("fma", "mad"):
            a, b, c = of
            raw = self.write(o[0], f"b{bits}")
            return lambda m, t: raw(t, fused(a(t), b(t), c(t), bits))
        if name == "rcp":
            return lambda m, t: put(t, divide(1.0, of[0](t)))
        if name == "sqrt":
            return lambda m, t: put(t, root(of[0](t)))
        compute = {"add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": product, "div": divide, "min": least,
                   "max": greatest}[name]
        a, b = of
        return lambda m, t: put(t, compute(a(t), b(t)))

    def int_operation(self, name, parts, o, ty, form, bits):
        extra = set(parts[1:-1])
        if name == "mul" and "wide" in extra or name == "mad" and "wide" in extra:
            put = self.write(o[0], f"b{2 * bits}")
            of = [self.typed(operand, ty) for operand in o[1:3]]
            if name == "mul":
                return lambda m, t: put(t, of[0](t) * of[1](t))
            c = self.value(o[3], 2 * bits)
            return lambda m, t: put(t, of[0](t) * of[1](t) + c(t))
        if name == "mul" and "hi" in extra:
            put, a, b = self.write(o[0], ty), self.typed(o[1], ty), self.typed(o[2], ty)
            return lambda m, t: put(t, a(t) * b(t) >> bits)
        if extra - {"lo"}:
            raise Unknown(".".join(parts))
        put = self.write(o[0], ty)
        if ty == "pred":
            of = [self.value(operand, 1) for operand in o[1:]]
        else:
            of = [self.typed(operand, ty if name not in ("shl", "shr") or n == 0 else "u32") for n, operand in enumerate(o[1:])]

        def quotient(a, b):
            if b == 0:
                return -1
            q = abs(a) // abs(b)
            return q if (a < 0) == (b < 0) else -q

        def field(a, start, length):
            start, length = start & 255, length & 255
            if form == "u" or length == 0:
                return (a & mask(bits)) >> start & mask(length)
            whole = (a & mask(bits)) >> start & mask(length)
            top = min(start + length - 1, bits - 1)
            return whole - (1 << length) if (a & mask(bits)) >> top & 1 else whole

        if name == "bfe":
            return lambda m, t: put(t, field(*(f(t) for f in of)))
        table = {
            "add": lambda a, b: a + b, "sub": lambda a, b: a - b, "mul": product, "mad": lambda a, b, c: a * b + c,
            "div": quotient, "rem": lambda a, b: a - b * quotient(a, b) if b else a, "neg": lambda a: -a, "abs": abs, "min": min,
            "max": max, "and": lambda a, b: a & b, "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b, "not": lambda a: ~a,
            "shl": lambda a, b: a << b if b < bits else 0, "shr": lambda a, b: a >> min(b, bits), "mov": lambda a: a,
            "popc": lambda a: bin(a & mask(bits)).count("1"), "clz": lambda a: bits - (a & mask(bits)).bit_length(),
        }
        if name not in table:
            raise Unknown(".".join(parts))
        compute = table[name]
        if len(of) == 1:
            a = of[0]
            return lambda m, t: put(t, compute(a(t)))
        if len(of) == 2:
            a, b = of
            return lambda m, t: put(t, compute(a(t), b(t)))
        return lambda m, t: put(t, compute(*(f(t) for f in of)))

    def pack(self, o, bits):
        if o[0].startswith("{"):
            outs = [x.strip() for x in o[0][1:-1].split(",")]
            each = bits // len(outs)
            get = self.value(o[1], bits)
            puts = [self.write(register, f"b{each}") for register in outs]

            def run(m, t):
                whole = get(t)
                for n, put in enumerate(puts):
                    put(t, whole >> n * each)
            return run
        gets = [self.value(x, 64) for x in o[1][1:-1].split(",")]
        each = bits // len(gets)
        put = self.write(o[0], f"b{bits}")
        return lambda m, t: put(t, sum((get(t) & mask(each)) << n * each for n, get in enumerate(gets)))

    def convert(self, parts, o):
        to, of = parts[-2], parts[-1]
        how = set(parts[1:-2])
        (to_form, to_bits), (form, bits) = kind(to), kind(of)
        get, put = self.typed(o[1], of), self.write(o[0], to)
        if to_form != "f" and form != "f":
            if how:
                raise Unknown(".".join(parts))
            return lambda m, t: put(t, get(t))
        if to_form == "f" and form == "f":
            rounding = next((r for r in ("rni", "rzi", "rmi", "rpi") if r in how), None)
            if how - {"rn", "rni", "rzi", "rmi", "rpi"}:
                raise Unknown(".".join(parts))
            if rounding is None:
                return lambda m, t: put(t, get(t))
            return lambda m, t: put(t, whole(get(t), rounding))
        if to_form == "f":
            if how != {"rn"}:
                raise Unknown(".".join(parts))
            raw = self.write(o[0], f"b{to_bits}")
            return lambda m, t: raw(t, rounded(fractions.Fraction(get(t)), to_bits) if get(t) else 0)
        rounding = next((r for r in ("rni", "rzi", "rmi", "rpi") if r in how), None)
        if rounding is None or how - {rounding}:
            raise Unknown(".".join(parts))
        low, high = (-(1 << to_bits - 1), mask(to_bits - 1)) if to_form == "s" else (0, mask(to_bits))

        def saturated(x):
            if x != x:
                return 0 if to_bits <= 32 else 1 << 63
            if math.isinf(x):
                return high if x > 0 else low
            return min(max(int(whole(x, rounding)), low), high)
        return lambda m, t: put(t, saturated(get(t)))

    def access(self, name, parts, o):
        count = 4 if "v4" in parts else 2 if "v2" in parts else 1
        ty = parts[-1]
        form, bits = kind(ty)
        size = bits // 8
        space = next((s for s in ("global", "local", "param", "const", "shared") if s in parts), None)
        if space in ("const", "shared"):
            raise Unknown(".".join(parts))
        where, what = (o[1], o[0]) if name == "ld" else (o[0], o[1])
        at = self.address(where)
        registers = [r.strip() for r in what.strip("{}").split(",")] if count > 1 else [what]
        if name == "ld":
            puts = [self.write(r, ty if form != "f" else f"b{bits}") for r in registers]

            def run(m, t):
                data = m.read(t, at(t), size * count)
                for n, put in enumerate(puts):
                    put(t, int.from_bytes(data[n * size:(n + 1) * size], "little"))
            return run
        gets = [self.value(r, 64) for r in registers]

        def run(m, t):
            m.store(t, at(t), b"".join((get(t) & mask(bits)).to_bytes(size, "little") for get in gets))
        return run

    def atomic(self, parts, o):
        ty = parts[-1]
        form, bits = kind(ty)
        op = next(p for p in parts if p in ("add", "min", "max", "exch", "cas", "and", "or", "xor"))
        o = o if parts[0] == "atom" else ["_", *o]
        at, put = self.address(o[1]), self.write(o[0], f"b{bits}")
        of = [self.value(x, bits) for x in o[2:]]
        number = (lambda v: to_float(v, bits)) if form == "f" else (lambda v: signed(v, bits)) if form == "s" else (lambda v: v & mask(bits))
        compute = {"add": lambda a, b: a + b, "min": min, "max": max, "exch": lambda a, b: b, "and": lambda a, b: a & b,
                   "or": lambda a, b: a | b, "xor": lambda a, b: a ^ b}.get(op)

        def run(m, t):
            address = at(t)
            old = int.from_bytes(m.read(t, address, bits // 8), "little")
            if op == "cas":
                new = of[1](t) & mask(bits) if old == of[0](t) & mask(bits) else old
            else:
                new = compute(number(old), number(of[0](t)))
                new = from_float(new, bits) if form == "f" else new & mask(bits)
            m.store(t, address, new.to_bytes(bits // 8, "little"))
            put(t, old)
        return run


def whole(x: float, rounding: str) -> float:
    if not math.isfinite(x):
        return x
    found = {"rni": round, "rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil}[rounding](x)
    return math.copysign(float(found), x)


class Machine:
    """Runs a kernel on a grid of `blocks` blocks of `threads` threads; `params` are the bytes of its parameters."""

    def __init__(self, kernel: Kernel, memory: Memory, params: bytes, blocks: int, threads: int, rng: random.Random, limit: int = 200_000):
        self.kernel, self.memory, self.rng, self.limit = kernel, memory, rng, limit
        self.met = 0
        for block in range(blocks):
            for first in range(0, threads, LANES):
                self.warp([Thread({"tid.x": n, "ntid.x": threads, "ctaid.x": block, "nctaid.x": blocks, "laneid": n - first}, kernel.local, params)
                           for n in range(first, min(first + LANES, threads))])

    def read(self, t: Thread, address: int, size: int) -> bytes:
        if address >= PARAM:
            at = address - PARAM
            if at % size or at + size > len(t.params):
                raise Fault(f"bad access to parameters at {at}")
            return t.params[at:at + size]
        if address >= LOCAL:
            at = address - LOCAL
            if at % size or at + size > len(t.local):
                raise Fault(f"bad access to local memory at {at}")
            return bytes(t.local[at:at + size])
        return self.memory.read(address, size)

    def store(self, t: Thread, address: int, data: bytes) -> None:
        if address >= LOCAL:
            at = address - LOCAL
            if at % len(data) or at + len(data) > len(t.local):
                raise Fault(f"bad access to local memory at {at}")
            t.local[at:at + len(data)] = data
            return
        at = self.memory.at(address, len(data))
        self.memory.bytes[at:at + len(data)] = data

    def warp(self, threads: list[Thread]) -> None:
        """Runs threads until all have left."""
        code, lines = self.kernel.code, self.kernel.lines
        end = len(code)
        waiting: list[Thread] = []
        running = threads[:]
        while True:
            self.rng.shuffle(running)
            for t in running:
                pc = t.pc
                while 0 <= pc < end:
                    following = code[pc](self, t)
                    if following is None:
                        pc += 1
                    elif following is MEET:
                        waiting.append(t)
                        break
                    else:
                        pc = following
                    t.steps += 1
                    if t.steps > self.limit:
                        raise Unknown("too many steps")
                t.pc = pc
            if not waiting:
                return
            running = self.meet(waiting, lines)
            waiting = [t for t in waiting if t not in running]

    def meet(self, waiting: list[Thread], lines: list[str]) -> list[Thread]:
        """Lets some threads pass the instruction at which they meet."""
        places = {}
        for t in waiting:
            places.setdefault(t.pc, []).append(t)
        shuffles = [pc for pc in places if "shfl" in lines[pc]]
        for pc in shuffles:
            group = {t.special["laneid"]: t for t in places[pc]}
            match = re.search(r"shfl\.sync\.down\.b32\s+(%\w+), (%\w+), (\d+), 31, (-1|%\w+)$", lines[pc])
            if not match:
                raise Unknown(lines[pc])
            members = mask(LANES) if match[4] == "-1" else places[pc][0].regs[match[4]]
            if sum(1 << lane for lane in group) != members:
                continue
            old = {lane: t.regs[match[2]] for lane, t in group.items()}
            for lane, t in group.items():
                source = lane + int(match[3])
                t.regs[match[1]] = old[source] if source < LANES else old[lane]
                t.pc += 1
            return places[pc]
        asking = [pc for pc in places if pc not in shuffles]
        if not asking:
            raise Fault("a shuffle waits for threads that do not come")
        pc = self.rng.choice(asking)
        group = places[pc]
        # Most often all, sometimes some of them.
        if self.rng.random() < 0.3:
            group = [t for t in group if self.rng.random() < 0.7] or group[:1]
        register = re.search(r"activemask\.b32\s+(%\w+)", lines[pc])[1]
        active = sum(1 << t.special["laneid"] for t in group)
        self.met += active == mask(LANES)
        for t in group:
            t.regs[register] = active
            t.pc += 1
        return group
