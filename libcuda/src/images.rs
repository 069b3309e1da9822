//! Where is the PTX in what clients load? It is the image itself, or lies in one beside machine
//! code; machine code alone does not run here.

use std::collections::{HashMap, HashSet};

use crate::pointers::{In, bytes_at};
use crate::status::{Result, Status};

const ELF: &[u8] = b"\x7fELF";
/// How fat binaries begin: a number, a version, the bytes of this head, and those that follow.
const FAT: u32 = 0xba55_ed50;
const HEAD: usize = 16;

const ONLY_MACHINE_CODE: &str = "the image has machine code (SASS) and no PTX, which is what the simulator runs: let the compiler give PTX \
    (nvcc -gencode arch=compute_90,code=compute_90; Triton and numba: run the program by `kc gpu`, which asks them for it)";

/// The PTX of an image of which only the address is known.
pub fn text(image: In<u8>) -> Result<String> {
    let mut first = [0; 4];
    for (n, byte) in first.iter_mut().enumerate() {
        *byte = image.at(n)?;
        if *byte == 0 {
            break;
        }
    }
    if first == ELF {
        return Err(Status::NoBinaryForGpu.because(ONLY_MACHINE_CODE));
    }
    let count = match u32::from_le_bytes(first) {
        FAT => {
            let mut size = [0; 8];
            for (n, byte) in size.iter_mut().enumerate() {
                *byte = image.at(8 + n)?;
            }
            HEAD.saturating_add(u64::from_le_bytes(size) as usize)
        }
        _ => {
            let mut end = 0;
            while image.at(end)? != 0 {
                end += 1;
            }
            end
        }
    };
    // SAFETY: so many bytes the image says that it has.
    of_bytes(unsafe { bytes_at(image.address(), count) })
}

/// The PTX of an image.
pub fn of_bytes(image: &[u8]) -> Result<String> {
    const BEGINS: &[u8] = b".version";
    if image.starts_with(ELF) || image.starts_with(b"!<arch>") {
        return Err(Status::NoBinaryForGpu.because(ONLY_MACHINE_CODE));
    }
    let is_fat = image.starts_with(&FAT.to_le_bytes());
    let start = image.windows(BEGINS.len()).position(|window| window == BEGINS);
    let Some(start) = start else {
        return Err(match is_fat {
            true => Status::NoBinaryForGpu
                .because(format!("{ONLY_MACHINE_CODE}; PTX that is compressed is not read: nvcc --no-compress")),
            false => Status::InvalidImage.because("the image is no PTX: there is no `.version` in it"),
        });
    };
    // Of a text comments stand before it, which count as lines.
    let start = if is_fat { start } else { 0 };
    let end = image[start..].iter().position(|&byte| byte == 0).map_or(image.len(), |end| start + end);
    String::from_utf8(image[start..end].to_vec()).map_err(|_| Status::InvalidPtx.because("the PTX is no UTF-8"))
}

/// `sm_90a` is 90.
pub fn number(arch: &str) -> u32 {
    arch.chars().filter(char::is_ascii_digit).collect::<String>().parse().unwrap_or(0)
}

/// Barriers of a whole grid, as CUDA's device runtime has them: blocks add one each, the first one
/// what is missing to the top bit, and all wait until it turns.
const GRID_BARRIER: &str = "
.global .align 4 .u32 kc_grid_arrived;
.visible .func (.param .b64 kc_handle) cudaCGGetIntrinsicHandle(.param .b32 kc_scope)
{
.reg .b64 %rd<2>;
mov.u64 %rd1, 1;
st.param.b64 [kc_handle], %rd1;
ret;
}
.visible .func (.param .b32 kc_status) cudaCGSynchronize(.param .b64 kc_group, .param .b32 kc_flags)
{
.reg .pred %p<4>;
.reg .b32 %r<20>;
barrier.sync 0;
mov.u32 %r1, %tid.x;
mov.u32 %r2, %tid.y;
mov.u32 %r3, %tid.z;
or.b32 %r4, %r1, %r2;
or.b32 %r4, %r4, %r3;
setp.ne.u32 %p1, %r4, 0;
@%p1 bra KC_DONE;
mov.u32 %r5, %ctaid.x;
mov.u32 %r6, %ctaid.y;
mov.u32 %r7, %ctaid.z;
or.b32 %r8, %r5, %r6;
or.b32 %r8, %r8, %r7;
mov.u32 %r9, %nctaid.x;
mov.u32 %r10, %nctaid.y;
mov.u32 %r11, %nctaid.z;
mul.lo.u32 %r12, %r9, %r10;
mul.lo.u32 %r12, %r12, %r11;
sub.u32 %r13, 0x80000001, %r12;
setp.eq.u32 %p2, %r8, 0;
selp.b32 %r14, %r13, 1, %p2;
fence.acq_rel.gpu;
atom.global.add.u32 %r15, [kc_grid_arrived], %r14;
KC_WAIT:
ld.volatile.global.u32 %r16, [kc_grid_arrived];
xor.b32 %r17, %r16, %r15;
setp.ge.s32 %p3, %r17, 0;
@%p3 bra KC_WAIT;
fence.acq_rel.gpu;
KC_DONE:
barrier.sync 0;
mov.u32 %r18, 0;
st.param.b32 [kc_status], %r18;
ret;
}
";

/// Whether an archive is CUDA's device runtime: what it has is there without it ([`with_runtime`]).
pub fn is_runtime(image: &[u8]) -> bool {
    const NAME: &[u8] = b"cuda_device_runtime";
    image.starts_with(b"!<arch>") && image.windows(NAME.len()).any(|window| window == NAME)
}

/// The text with what it calls of CUDA's device runtime.
pub fn with_runtime(mut text: String) -> String {
    if text.contains("cudaCG") && !text.contains("kc_grid_arrived") {
        text.push_str(GRID_BARRIER);
    }
    text
}

/// LLVM counts the lines of inline assembly on from the statement that has it: only the first of
/// its places is one of the source.
pub fn with_own_lines(text: String) -> String {
    if !text.contains("begin inline asm") {
        return text;
    }
    let mut made = String::with_capacity(text.len() + 1024);
    // Within inline assembly, how many places it had.
    let mut places = None;
    for line in text.split_inclusive('\n') {
        if line.contains("// begin inline asm") {
            places = Some(0);
        } else if line.contains("// end inline asm") {
            places = None;
        }
        if let (Some(count), true) = (&mut places, line.trim_start().starts_with(".loc")) {
            *count += 1;
            if *count > 1 {
                made.push_str("//");
            }
        }
        made.push_str(line);
    }
    made
}

/// Headers whose functions are inlined into kernels of Python: of these the line of Python counts.
const HEADERS: &str = "/warp/native/";

/// Code that is inlined from system headers counts for the line that calls it.
pub fn with_lines_of_callers(text: String) -> String {
    if !text.contains(HEADERS) {
        return text;
    }
    let number = |word: Option<&str>| word.and_then(|word| word.trim_end_matches(',').parse::<u32>().ok());
    let file = |line: &str| {
        let rest = line.trim_start().strip_prefix(".file")?;
        rest.contains(HEADERS).then(|| number(rest.split_whitespace().next()))?
    };
    let headers: HashSet<u32> = text.lines().filter_map(file).collect();
    // Where what stands at a place was inlined, as the text said last.
    let mut callers: HashMap<[u32; 3], [u32; 3]> = HashMap::new();
    let mut made = String::with_capacity(text.len());
    for line in text.split_inclusive('\n') {
        let place = |words: &str| -> Option<[u32; 3]> {
            let mut words = words.split_whitespace();
            Some([number(words.next())?, number(words.next())?, number(words.next())?])
        };
        let own = line.trim_start().strip_prefix(".loc").and_then(place);
        let Some(own) = own.filter(|[file, ..]| headers.contains(file)) else {
            made.push_str(line);
            continue;
        };
        let caller = line.split("inlined_at").nth(1).and_then(place);
        match caller {
            Some(caller) => drop(callers.insert(own, caller)),
            None => drop(callers.remove(&own)),
        }
        let mut at = own;
        // A chain is no longer than it has links.
        for _ in 0..callers.len() {
            match callers.get(&at).filter(|_| headers.contains(&at[0])) {
                Some(&next) => at = next,
                None => break,
            }
        }
        let [file, row, column] = at;
        made.push_str(&format!("\t.loc\t{file} {row} {column}\n"));
    }
    made
}
