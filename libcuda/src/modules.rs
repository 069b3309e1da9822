//! What is in the code that clients load? PTX, by itself or inside of other images; its variables
//! get their places in the memory of the device when it is loaded, its kernels are decoded when
//! they are asked for.

use std::collections::HashMap;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::Arc;

use kc::profile::Registers;
use kc::ptx;
use kc::sim::heap::{Kind, Origin, Zone};
use kc::sim::{self, Code, Loaded, Text as Written};

use crate::driver::Driver;
use crate::images;
use crate::linking::linked;
use crate::pointers::{In, Out, Text, bytes_at};
use crate::status::{Fail, Result, Status};

/// A module or a library.
#[derive(Debug)]
pub struct Module {
    pub context: u64,
    pub text: Arc<str>,
    /// How messages call the text.
    pub name: String,
    pub loaded: Loaded,
    version: (u32, u32),
    entries: Vec<String>,
    functions: HashMap<String, u64>,
}

/// A kernel of a module: what clients call a function or a kernel.
#[derive(Debug)]
pub struct Function {
    pub module: u64,
    pub name: Box<std::ffi::CStr>,
    pub code: Arc<Code>,
    pub written: Written,
    pub version: (u32, u32),
    /// Dynamic shared memory that launches may ask for, and what part of it is preferred.
    pub most_dynamic: u32,
    pub carveout: c_int,
    /// Clusters may be larger than every GPU allows.
    pub large_clusters: bool,
}

/// A linker at work.
#[derive(Debug, Default)]
pub struct Link {
    texts: Vec<String>,
    result: Option<Box<[u8]>>,
}

/// `CUjit_option`: where errors are to be written, and in how many bytes.
const ERROR_LOG: c_int = 5;
const ERROR_LOG_BYTES: c_int = 6;

/// Options of a compilation.
#[derive(Clone, Copy)]
pub struct Options {
    pub count: c_uint,
    pub keys: In<c_int>,
    pub values: In<usize>,
}

impl Options {
    fn value(&self, wanted: c_int) -> Option<usize> {
        let at = (0..self.count as usize).find(|&n| self.keys.at_if_given(n) == Some(wanted))?;
        self.values.at_if_given(at)
    }

    /// Writes what is wrong where the client asked for it.
    fn log(&self, fail: Fail) -> Fail {
        if let (Some(log), Some(bytes), Some(why)) = (self.value(ERROR_LOG), self.value(ERROR_LOG_BYTES), &fail.why) {
            // No room, no text.
            let _ = Out::<c_char>::at(log).set_text(why, bytes);
        }
        fail
    }
}

impl Driver {
    /// Loads a text into the memory of a device.
    fn load(&mut self, text: String) -> Result<u64> {
        let device = self.working()?;
        let context = self.current()?.0;
        let text: Arc<str> = images::with_lines_of_callers(images::with_own_lines(images::with_runtime(text))).into();
        let parsed = ptx::parse(&text).map_err(|error| refused(&error, &text))?;
        let own = self.settings.limits.arch;
        if images::number(parsed.target) > images::number(own) {
            let why = format!(
                "the PTX is for {}, and the simulated GPU is an {own}; `kc gpu --arch {0}` simulates another",
                parsed.target
            );
            return Err(Status::NoBinaryForGpu.because(why));
        }
        let heap = &mut self.heap;
        let mut given = Vec::new();
        let mut give = |wanted: sim::Wanted| {
            let (zone, kind) = match wanted {
                _ if wanted.is_managed => (Zone::Host, Kind::ManagedVariable),
                _ if wanted.read_only => (Zone::Device(device), Kind::Constant),
                _ => (Zone::Device(device), Kind::Variable),
            };
            let origin = Origin { name: wanted.name.to_string(), number: 0, line: None };
            let start = heap.give(zone, kind, wanted.bytes, wanted.align.into(), origin);
            start.inspect(|&start| given.push(start)).map_err(|_| "there is no memory for the variable".to_string())
        };
        let placed = sim::load(&parsed, &mut give);
        let (loaded, contents) = match placed {
            Ok(placed) => placed,
            Err(error) => {
                given.into_iter().for_each(|start| drop(self.heap.take(start, self.origin())));
                return Err(refused(&error, &text));
            }
        };
        for (placed, bytes) in loaded.variables.iter().zip(&contents) {
            let at: *mut u8 = std::ptr::with_exposed_provenance_mut(placed.address as usize);
            // SAFETY: the block was just given, with so many bytes.
            unsafe { at.copy_from_nonoverlapping(bytes.as_ptr(), bytes.len()) };
        }
        let entries = parsed.entries().map(|f| f.name.to_string()).collect();
        let version = parsed.version;
        let number = self.origin().number;
        Ok(self.modules.add(Module {
            context,
            name: format!("module-{number}.ptx"),
            loaded,
            version,
            entries,
            functions: HashMap::new(),
            text: text.clone(),
        }))
    }

    pub fn unload(&mut self, module: u64) -> Result {
        let module = self.modules.remove(module)?;
        for placed in &module.loaded.variables {
            let origin = self.origin();
            // The module owns its variables.
            let _ = self.heap.take(placed.address, origin);
        }
        for function in module.functions.values() {
            let _ = self.functions.remove(*function);
        }
        Ok(())
    }

    /// The kernel of this name.
    fn function(&mut self, handle: u64, name: &str) -> Result<u64> {
        let module = self.modules.get(handle)?;
        if let Some(&known) = module.functions.get(name) {
            return Ok(known);
        }
        let text = module.text.clone();
        if !module.entries.iter().any(|entry| entry == name) {
            // Clients look for what may be there.
            return Err(Status::NotFound.into());
        }
        let parsed = ptx::parse(&text).map_err(|error| refused(&error, &text))?;
        let code = sim::decode_loaded(&parsed, name, &module.loaded).map_err(|error| refused(&error, &text))?;
        let function = Function {
            module: handle,
            name: std::ffi::CString::new(name).unwrap_or_default().into_boxed_c_str(),
            written: Written::of(&text, &parsed, name),
            version: module.version,
            most_dynamic: (48u32 << 10).saturating_sub(code.shared_bytes),
            code: Arc::new(code),
            carveout: -1,
            large_clusters: false,
        };
        let made = self.functions.add(function);
        self.modules.get_mut(handle)?.functions.insert(name.to_string(), made);
        Ok(made)
    }

    fn variable(&self, module: u64, name: &str) -> Result<(u64, u64)> {
        let variables = &self.modules.get(module)?.loaded.variables;
        let found = variables.iter().find(|variable| variable.name == name);
        found.map(|variable| (variable.address, variable.bytes)).ok_or_else(|| Status::NotFound.into())
    }
}

/// The text is no PTX, or has what the simulator does not know.
pub fn refused(error: &ptx::Error, text: &str) -> Fail {
    let line = text.lines().nth((error.at.line as usize).saturating_sub(1)).unwrap_or_default().trim();
    let (code, what) = match error.unknown {
        true => ("E0831", format!("the simulator does not know {}", error.message)),
        false => ("E0830", error.message.clone()),
    };
    let status = if error.unknown { Status::UnsupportedPtx } else { Status::InvalidPtx };
    status.because(format!("{what} [{code}], in line {} of the PTX: {line}", error.at.line))
}

pub fn load_data(driver: &mut Driver, module: Out<u64>, image: In<u8>) -> Result {
    driver.working()?;
    let text = images::text(image)?;
    let made = driver.load(text)?;
    module.set(made)
}

pub fn load_data_with(
    driver: &mut Driver,
    module: Out<u64>,
    image: In<u8>,
    count: c_uint,
    keys: In<c_int>,
    values: In<usize>,
) -> Result {
    let options = Options { count, keys, values };
    load_data(driver, module, image).map_err(|fail| options.log(fail))
}

pub fn load_file(driver: &mut Driver, module: Out<u64>, path: Text) -> Result {
    driver.working()?;
    let bytes = read(path)?;
    let made = driver.load(images::of_bytes(&bytes)?)?;
    module.set(made)
}

fn read(path: Text) -> Result<Vec<u8>> {
    let path = path.str()?;
    std::fs::read(path).map_err(|error| Status::FileNotFound.because(format!("{path}: {error}")))
}

pub fn unload(driver: &mut Driver, module: u64) -> Result {
    driver.unload(module)
}

/// All is loaded at once.
pub fn loading_mode(_: &mut Driver, mode: Out<c_int>) -> Result {
    mode.set(1)
}

pub fn get_function(driver: &mut Driver, function: Out<u64>, module: u64, name: Text) -> Result {
    let found = driver.function(module, name.str()?)?;
    function.set(found)
}

pub fn function_count(driver: &mut Driver, count: Out<c_uint>, module: u64) -> Result {
    count.set(driver.modules.get(module)?.entries.len() as c_uint)
}

pub fn functions(driver: &mut Driver, functions: Out<u64>, count: c_uint, module: u64) -> Result {
    let entries = driver.modules.get(module)?.entries.clone();
    for (n, entry) in entries.iter().take(count as usize).enumerate() {
        functions.set_at(n, driver.function(module, entry)?)?;
    }
    Ok(())
}

pub fn get_global(driver: &mut Driver, address: Out<u64>, bytes: Out<usize>, module: u64, name: Text) -> Result {
    get_global_at(driver, address, bytes, module, name.str()?)
}

fn get_global_at(driver: &Driver, address: Out<u64>, bytes: Out<usize>, module: u64, name: &str) -> Result {
    let (start, size) = driver.variable(module, name)?;
    address.set_if_wanted(start);
    bytes.set_if_wanted(size as usize);
    Ok(())
}

/// A variable that host and devices share.
pub fn get_managed(driver: &mut Driver, address: Out<u64>, bytes: Out<usize>, library: u64, name: Text) -> Result {
    let name = name.str()?;
    let (start, _) = driver.variable(library, name)?;
    match driver.heap.find(start, 1) {
        Ok(block) if block.kind == Kind::ManagedVariable => get_global_at(driver, address, bytes, library, name),
        _ => Err(Status::NotFound.because(format!("`{name}` is no managed variable; `cuLibraryGetGlobal` finds it"))),
    }
}

pub fn library_load(
    driver: &mut Driver,
    library: Out<u64>,
    image: In<u8>,
    keys: In<c_int>,
    values: In<usize>,
    count: c_uint,
    _: In<c_int>,
    _: In<usize>,
    _: c_uint,
) -> Result {
    load_data_with(driver, library, image, count, keys, values)
}

pub fn library_load_file(
    driver: &mut Driver,
    library: Out<u64>,
    path: Text,
    _: In<c_int>,
    _: In<usize>,
    _: c_uint,
    _: In<c_int>,
    _: In<usize>,
    _: c_uint,
) -> Result {
    load_file(driver, library, path)
}

/// A library is its module.
pub fn library_module(driver: &mut Driver, module: Out<u64>, library: u64) -> Result {
    driver.modules.get(library)?;
    module.set(library)
}

pub fn function_of_kernel(driver: &mut Driver, function: Out<u64>, kernel: u64) -> Result {
    driver.functions.get(kernel)?;
    function.set(kernel)
}

pub fn module_of(driver: &mut Driver, module: Out<u64>, function: u64) -> Result {
    module.set(driver.functions.get(function)?.module)
}

pub fn name_of(driver: &mut Driver, name: Out<*const c_char>, function: u64) -> Result {
    name.set(driver.functions.get(function)?.name.as_ptr())
}

pub fn parameter_info(driver: &mut Driver, function: u64, n: usize, offset: Out<usize>, size: Out<usize>) -> Result {
    let params = &driver.functions.get(function)?.code.params;
    let &(at, bytes) = params.get(n).ok_or(Status::InvalidValue)?;
    offset.set(at as usize)?;
    size.set_if_wanted(bytes as usize);
    Ok(())
}

pub fn parameter_count(driver: &mut Driver, function: u64, count: Out<usize>) -> Result {
    count.set(driver.functions.get(function)?.code.params.len())
}

impl Function {
    /// The middle of what it most likely is: the assembler decides, and is not asked.
    pub fn registers(&self) -> u32 {
        let range = self.written.live.and_then(|live| Registers::of(live).range());
        range.map_or(32, |(least, most)| (least + most) / 2)
    }
}

pub fn attribute(driver: &mut Driver, value: Out<c_int>, attribute: c_int, function: u64) -> Result {
    let capability = driver.capability();
    let function = driver.functions.get(function)?;
    let code = &function.code;
    // Of the module: which of them a kernel needs, the assembler knows.
    let variables = &driver.modules.get(function.module)?.loaded.variables;
    let constants: u64 = variables.iter().filter(|v| v.space == ptx::Space::Const).map(|v| v.bytes).sum();
    value.set(match attribute {
        0 => code.required_threads.or(code.max_threads).map_or(1024, |most| most.min(1024) as c_int),
        1 => code.shared_bytes as c_int,
        2 => constants as c_int,
        3 => code.local_bytes as c_int,
        4 => function.registers() as c_int,
        5 => (function.version.0 * 10 + function.version.1) as c_int,
        6 => capability.0 * 10 + capability.1,
        7 => 0,
        8 => function.most_dynamic as c_int,
        9 => function.carveout,
        10 => code.cluster.is_some().into(),
        11..=13 => code.cluster.map_or(0, |extents| extents[attribute as usize - 11] as c_int),
        14 => function.large_clusters.into(),
        15 => 0,
        _ => return Err(Status::InvalidValue.into()),
    })
}

pub fn attribute_on(driver: &mut Driver, value: Out<c_int>, what: c_int, kernel: u64, device: c_int) -> Result {
    driver.device(device)?;
    attribute(driver, value, what, kernel)
}

pub fn set_attribute(driver: &mut Driver, function: u64, attribute: c_int, value: c_int) -> Result {
    let most = driver.settings.limits.shared_per_block;
    let function = driver.functions.get_mut(function)?;
    match attribute {
        8 => {
            let room = most.saturating_sub(function.code.shared_bytes);
            let asked = u32::try_from(value).ok().filter(|&asked| asked <= room);
            function.most_dynamic = asked.ok_or_else(|| {
                Status::InvalidValue.because(format!("{value} bytes of dynamic shared memory; a block can have {room}"))
            })?;
            Ok(())
        }
        9 if (-1..=100).contains(&value) => {
            function.carveout = value;
            Ok(())
        }
        14 => {
            function.large_clusters = value != 0;
            Ok(())
        }
        15 => Ok(()),
        _ => Err(Status::InvalidValue.into()),
    }
}

pub fn set_attribute_on(driver: &mut Driver, attribute: c_int, value: c_int, kernel: u64, device: c_int) -> Result {
    driver.device(device)?;
    set_attribute(driver, kernel, attribute, value)
}

/// Caches are not simulated.
pub fn set_cache(driver: &mut Driver, function: u64, _: c_int) -> Result {
    driver.functions.get(function).map(drop)
}

pub fn set_cache_on(driver: &mut Driver, kernel: u64, _: c_int, device: c_int) -> Result {
    driver.device(device)?;
    driver.functions.get(kernel).map(drop)
}

pub fn is_loaded(driver: &mut Driver, state: Out<c_int>, function: u64) -> Result {
    driver.functions.get(function)?;
    state.set(1)
}

pub fn make_loaded(driver: &mut Driver, function: u64) -> Result {
    driver.functions.get(function).map(drop)
}

pub fn link_create(driver: &mut Driver, _: c_uint, _: In<c_int>, _: In<usize>, link: Out<u64>) -> Result {
    driver.working()?;
    let made = driver.links.add(Link::default());
    link.set(made)
}

/// `CUjitInputType`
const PTX: c_int = 1;

pub fn link_add(
    driver: &mut Driver,
    link: u64,
    kind: c_int,
    data: In<u8>,
    size: usize,
    _: Text,
    count: c_uint,
    keys: In<c_int>,
    values: In<usize>,
) -> Result {
    let options = Options { count, keys, values };
    driver.links.get(link)?;
    if !data.is_given() {
        return Err(Status::InvalidValue.because("there is no data to link"));
    }
    // SAFETY: the client gives `size` bytes for the call.
    let bytes = unsafe { bytes_at(data.address(), size) };
    if images::is_runtime(bytes) {
        return Ok(());
    }
    let text = images::of_bytes(bytes).map_err(|fail| options.log(fail))?;
    if kind == PTX {
        ptx::parse(&images::with_runtime(text.clone())).map_err(|error| options.log(refused(&error, &text)))?;
    }
    driver.links.get_mut(link)?.texts.push(text);
    Ok(())
}

pub fn link_add_file(
    driver: &mut Driver,
    link: u64,
    _: c_int,
    path: Text,
    _: c_uint,
    _: In<c_int>,
    _: In<usize>,
) -> Result {
    driver.links.get(link)?;
    let bytes = read(path)?;
    if images::is_runtime(&bytes) {
        return Ok(());
    }
    let text = images::of_bytes(&bytes)?;
    driver.links.get_mut(link)?.texts.push(text);
    Ok(())
}

pub fn link_complete(driver: &mut Driver, link: u64, image: Out<u64>, size: Out<usize>) -> Result {
    let link = driver.links.get_mut(link)?;
    if link.texts.is_empty() {
        return Err(Status::InvalidValue.because("nothing was given to link"));
    }
    let mut bytes = linked(&link.texts)?.into_bytes();
    bytes.push(0);
    let bytes = link.result.insert(bytes.into_boxed_slice());
    image.set(bytes.as_ptr().expose_provenance() as u64)?;
    size.set_if_wanted(bytes.len());
    Ok(())
}

pub fn link_destroy(driver: &mut Driver, link: u64) -> Result {
    driver.links.remove(link).map(drop)
}
