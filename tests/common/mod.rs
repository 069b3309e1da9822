//! The CUDA tools that the tests check emitted code with: ptxas and NVRTC, from the wheels
//! `nvidia-cuda-nvcc` and `nvidia-cuda-nvrtc`. They are found through the environment variables
//! `KC_PTXAS` and `KC_NVRTC` or in the private environment `.env-test/` that `make test` creates. A
//! missing tool fails the test.

#![allow(dead_code, reason = "every test binary uses its own part of these helpers")]

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::ptr::null_mut;
use std::sync::OnceLock;

use libloading::{Library, Symbol};

/// The architectures that every emitted kernel is checked for.
pub const ARCHITECTURES: [&str; 5] = ["sm_75", "sm_80", "sm_90", "sm_100", "sm_120"];

/// Assembles PTX with ptxas; the error holds what ptxas said.
pub fn assemble_ptx(ptx: &str, arch: &str) -> Result<(), String> {
    let mut child = Command::new(tool("KC_PTXAS", "bin/ptxas"))
        .args(["--gpu-name", arch, "--output-file", "/dev/null", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .map_err(|error| format!("ptxas does not start: {error}"))?;
    let mut stdin = child.stdin.take().expect("stdin is piped");
    // ptxas reads all of its input before it says anything, so this cannot block on a full pipe. A
    // broken pipe means that ptxas gave up, which its output explains.
    let written = stdin.write_all(ptx.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().map_err(|error| format!("ptxas: {error}"))?;
    if output.status.success() && written.is_ok() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// The registers of a thread that ptxas gives each entry.
pub fn registers(ptx: &str, arch: &str) -> Vec<(String, u32)> {
    registers_of(ptx, arch, Path::new("/dev/null"))
}

/// The same; the machine code is written to a file.
pub fn registers_of(ptx: &str, arch: &str, cubin: &Path) -> Vec<(String, u32)> {
    let mut file = tempfile::Builder::new().suffix(".ptx").tempfile().expect("a file");
    file.write_all(ptx.as_bytes()).expect("a file takes text");
    let mut command = Command::new(tool("KC_PTXAS", "bin/ptxas"));
    command.args(["--verbose", "--gpu-name", arch, "--output-file"]).arg(cubin).arg(file.path());
    let said = String::from_utf8_lossy(&command.output().expect("ptxas starts").stderr).into_owned();
    let one = |text: &str| {
        let name = text.split('\'').next()?.to_string();
        let number = text.split_once("Used ")?.1.split_once(" registers")?.0;
        Some((name, number.parse().ok()?))
    };
    said.split("Compiling entry function '").skip(1).filter_map(one).collect()
}

/// Fails the test, with the text, unless ptxas accepts `ptx` for `arch`.
#[track_caller]
pub fn assert_ptx(ptx: &str, arch: &str) {
    if let Err(log) = assemble_ptx(ptx, arch) {
        panic!("ptxas refuses this for {arch}:\n{log}\n{}", numbered(ptx));
    }
}

/// Compiles CUDA C++ to PTX with NVRTC, without any include path; the error holds the compiler's
/// log.
pub fn compile_cuda(text: &str, arch: &str) -> Result<String, String> {
    static NVRTC: OnceLock<Nvrtc> = OnceLock::new();
    let nvrtc = NVRTC.get_or_init(|| Nvrtc::open(&tool("KC_NVRTC", "lib/libnvrtc.so.13")));
    nvrtc.compile(text, &[&format!("--gpu-architecture={arch}")])
}

/// Fails the test, with the text, unless NVRTC accepts `text` for `arch`; gives the PTX.
#[track_caller]
pub fn assert_cuda(text: &str, arch: &str) -> String {
    compile_cuda(text, arch).unwrap_or_else(|log| panic!("NVRTC refuses this for {arch}:\n{log}\n{}", numbered(text)))
}

/// Builds a program of CUDA C++ with nvcc, host part and all, in `folder`. The device part stays
/// PTX: the assembler and the front end of the wheels need not be of one version.
pub fn build_cuda(text: &str, arch: &str, folder: &Path) -> Result<(), String> {
    let source = folder.join("nvcc.cu");
    std::fs::write(&source, text).map_err(|error| error.to_string())?;
    let output = Command::new(tool("KC_NVCC", "bin/nvcc"))
        .args(["-gencode", &format!("arch={arch},code={arch}"), "-std=c++17"])
        .arg("-I")
        .arg(tool("KC_CUDA_INCLUDE", "include"))
        .arg("-L")
        .arg(tool("KC_CUDA_LIB", "lib"))
        .arg("-o")
        .arg(folder.join("nvcc.out"))
        .arg(&source)
        .output()
        .map_err(|error| format!("nvcc does not start: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    Err(format!("{}{}", String::from_utf8_lossy(&output.stdout), String::from_utf8_lossy(&output.stderr)))
}

/// Where CUDA's headers are.
pub fn cuda_include() -> PathBuf {
    tool("KC_CUDA_INCLUDE", "include")
}

fn numbered(text: &str) -> String {
    text.lines().enumerate().map(|(n, line)| format!("{:4} {line}\n", n + 1)).collect()
}

/// A file of the CUDA wheels, `path` below their common root.
fn tool(variable: &str, path: &str) -> PathBuf {
    if let Some(found) = std::env::var_os(variable) {
        return found.into();
    }
    let environment = Path::new(env!("CARGO_MANIFEST_DIR")).join(".env-test/lib");
    let pythons = std::fs::read_dir(&environment).into_iter().flatten().flatten();
    let found = pythons.map(|p| p.path().join("site-packages/nvidia/cu13").join(path)).find(|p| p.exists());
    found.unwrap_or_else(|| panic!("{path} not found: set {variable}, or run `make test`, which creates .env-test/"))
}

/// The few functions of NVRTC's C interface that a compilation needs.
struct Nvrtc {
    library: Library,
    /// NVRTC opens this library by its bare name: that finds it only when it is loaded already.
    _builtins: Library,
}

type Program = *mut c_void;
type Query<T> = unsafe extern "C" fn(Program, *mut T) -> c_int;

impl Nvrtc {
    fn open(path: &Path) -> Nvrtc {
        let builtins = path.with_file_name("libnvrtc-builtins.so.13.0");
        let open = |path: &Path| {
            // Loading a library runs its initialisers; these are NVIDIA's and have none that matter
            // here.
            unsafe { Library::new(path) }.unwrap_or_else(|error| panic!("{}: {error}", path.display()))
        };
        Nvrtc { _builtins: open(&builtins), library: open(path) }
    }

    fn compile(&self, text: &str, options: &[&str]) -> Result<String, String> {
        let text = CString::new(text).map_err(|error| error.to_string())?;
        let options: Vec<CString> = options.iter().map(|o| CString::new(*o).expect("options hold no NUL")).collect();
        let pointers: Vec<*const c_char> = options.iter().map(|o| o.as_ptr()).collect();
        // The signatures are those of nvrtc.h; every pointer outlives the call it is passed to.
        unsafe {
            type Create = unsafe extern "C" fn(
                *mut Program,
                *const c_char,
                *const c_char,
                c_int,
                *const *const c_char,
                *const *const c_char,
            ) -> c_int;
            let create: Symbol<Create> = self.get(b"nvrtcCreateProgram\0");
            let compile: Symbol<unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int> =
                self.get(b"nvrtcCompileProgram\0");
            let destroy: Symbol<unsafe extern "C" fn(*mut Program) -> c_int> = self.get(b"nvrtcDestroyProgram\0");
            let mut program = null_mut();
            let name = c"kernels.cu";
            let status = create(&mut program, text.as_ptr(), name.as_ptr(), 0, null_mut(), null_mut());
            if status != 0 {
                return Err(format!("nvrtcCreateProgram: error {status}"));
            }
            let status = compile(program, pointers.len() as c_int, pointers.as_ptr());
            let result = if status == 0 {
                Ok(self.text(program, b"nvrtcGetPTXSize\0", b"nvrtcGetPTX\0"))
            } else {
                Err(self.text(program, b"nvrtcGetProgramLogSize\0", b"nvrtcGetProgramLog\0"))
            };
            destroy(&mut program);
            result
        }
    }

    /// What a pair of NVRTC functions says: the size of a text, and the text.
    unsafe fn text(&self, program: Program, size: &[u8], get: &[u8]) -> String {
        unsafe {
            let size: Symbol<Query<usize>> = self.get(size);
            let get: Symbol<Query<u8>> = self.get(get);
            let mut length = 0;
            size(program, &mut length);
            let mut bytes = vec![0u8; length.max(1)];
            get(program, bytes.as_mut_ptr());
            CStr::from_bytes_until_nul(&bytes).map_or(String::new(), |text| text.to_string_lossy().into_owned())
        }
    }

    unsafe fn get<T>(&self, name: &[u8]) -> Symbol<'_, T> {
        unsafe { self.library.get(name) }.expect("NVRTC exports its documented functions")
    }
}
