//! Where do variables lie? Each has its address before anything runs: no function calls itself, so
//! that the variables of all functions have places of their own.

use std::collections::HashMap;

use super::control::function_address;
use crate::ptx::{Error, Init, Linkage, Module, Result, Space, Variable};
use crate::sim::code::Placed;
use crate::sim::windows;

/// A block's static shared memory, and a thread's local memory, can be no larger.
const MOST_SHARED: u64 = 256 << 10;
const MOST_LOCAL: u64 = 512 << 10;
const MOST_GLOBAL: u64 = 1 << 32;

#[derive(Default)]
pub struct Layout {
    /// For each variable of the module its address in its space; None: it belongs to a function
    /// that is not called.
    pub addresses: Vec<Option<u64>>,
    pub params: Vec<(u32, u32)>,
    pub param_bytes: u32,
    pub call_bytes: u32,
    pub local_bytes: u32,
    pub shared_bytes: u32,
    pub dynamic_shared: bool,
    pub globals: Vec<(Placed, Vec<u8>)>,
    pub variables: Vec<Placed>,
}

fn place(end: &mut u64, align: u32, bytes: u64) -> u64 {
    let start = end.next_multiple_of(u64::from(align.max(1)));
    *end = start + bytes;
    start
}

impl Layout {
    /// The variables of the module and of `functions`, of which the first is the kernel. Those that
    /// are loaded stay where they are.
    pub fn of(module: &Module, functions: &[usize], loaded: &Loaded) -> Result<Layout> {
        let mut this = Layout { addresses: vec![None; module.variables.len()], ..Layout::default() };
        let kernel = functions[0];
        let (mut params, mut shared, mut local, mut global) = (0, 0, 0, u64::from(RED_ZONE));
        for &param in &module.functions[kernel].params {
            let variable = &module.variables[param];
            let start = place(&mut params, variable.align, variable.bytes);
            this.addresses[param] = Some(windows::PARAM + start);
            this.params.push((start as u32, variable.bytes as u32));
        }
        let param_bytes = params.next_multiple_of(16);
        let mut call = param_bytes;
        for (n, variable) in module.variables.iter().enumerate() {
            if let Some(&Some(address)) = loaded.places.get(n) {
                this.addresses[n] = Some(address);
                continue;
            }
            if this.addresses[n].is_some() || variable.owner.is_some_and(|f| !functions.contains(&f)) {
                continue;
            }
            if is_declared_only(variable) {
                continue;
            }
            let address = match variable.space {
                Space::Param => windows::PARAM + place(&mut call, variable.align.max(8), variable.bytes),
                Space::Shared if variable.bytes > 0 => place(&mut shared, variable.align, variable.bytes),
                Space::Shared => {
                    this.dynamic_shared = true;
                    continue;
                }
                Space::Local => place(&mut local, variable.align.max(8), variable.bytes),
                Space::Global | Space::Const => {
                    windows::GLOBAL + place(&mut global, variable.align.max(16), variable.bytes + u64::from(RED_ZONE))
                }
                Space::Generic => continue,
            };
            this.addresses[n] = Some(address);
            if matches!(variable.space, Space::Shared | Space::Local) {
                this.variables.push(placed(variable, address));
            }
        }
        for (what, bytes, most) in
            [("shared", shared, MOST_SHARED), ("local", local, MOST_LOCAL), ("global", global, MOST_GLOBAL)]
        {
            if bytes > most {
                let message = format!("the kernel has {bytes} bytes of {what} variables; it can have {most}");
                return Err(Error::malformed(module.functions[kernel].at, message));
            }
        }
        for (n, variable) in module.variables.iter().enumerate().filter(|(_, variable)| is_declared_only(variable)) {
            if this.addresses[n].is_none() {
                this.addresses[n] = this.addresses[definition(module, variable)?];
            }
        }
        // What the launch adds to shared memory begins after all that has a size.
        let shared = shared.next_multiple_of(16);
        for (n, variable) in module.variables.iter().enumerate() {
            if variable.space == Space::Shared && variable.bytes == 0 {
                this.addresses[n] = Some(shared);
            }
        }
        this.param_bytes = param_bytes as u32;
        this.call_bytes = (call - param_bytes).next_multiple_of(16) as u32;
        this.local_bytes = local.next_multiple_of(16) as u32;
        this.shared_bytes = shared as u32;
        this.contents(module)?;
        Ok(this)
    }

    /// The first contents of global and constant variables.
    fn contents(&mut self, module: &Module) -> Result<()> {
        for (n, variable) in module.variables.iter().enumerate() {
            let Some(address) = self.addresses[n] else { continue };
            if !matches!(variable.space, Space::Global | Space::Const) || is_declared_only(variable) {
                continue;
            }
            let bytes = contents(module, variable, &self.addresses)?;
            self.globals.push((placed(variable, address), bytes));
        }
        Ok(())
    }
}

/// Whether a variable in the memory of a device is defined elsewhere.
fn is_declared_only(variable: &Variable) -> bool {
    variable.linkage == Linkage::External && matches!(variable.space, Space::Global | Space::Const)
}

/// The variable of a module that defines what another one declares.
fn definition(module: &Module, declared: &Variable) -> Result<usize> {
    let defines = |v: &Variable| v.name == declared.name && v.owner.is_none() && !is_declared_only(v);
    module.variables.iter().position(defines).ok_or_else(|| {
        let message = format!("`{}` is declared here and defined in another text; link the two", declared.name);
        Error::malformed(declared.at, message)
    })
}

fn placed(variable: &Variable, address: u64) -> Placed {
    Placed { name: variable.name.to_string(), space: variable.space, address, bytes: variable.bytes }
}

/// The first contents of a variable.
fn contents(module: &Module, variable: &Variable, addresses: &[Option<u64>]) -> Result<Vec<u8>> {
    let mut bytes = vec![0; variable.bytes as usize];
    for &(offset, ref init) in &variable.init {
        let (value, size) = match init {
            &Init::Bits(bits, size) => (bits, size as usize),
            Init::Function(name) => {
                let address = function_address(module, name).map_err(|what| Error::unknown(variable.at, what))?;
                (address, 8)
            }
            &Init::Address { variable, offset, generic } => {
                let of = &module.variables[variable];
                let address =
                    addresses[variable].ok_or_else(|| Error::malformed(of.at, "the address of what has no place"))?;
                let window = if generic { windows::base(of.space) } else { 0 };
                (address.wrapping_add(window).wrapping_add(offset as u64), 8)
            }
        };
        let at = offset as usize;
        if let Some(place) = bytes.get_mut(at..at + size) {
            place.copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    Ok(bytes)
}

/// The global and constant variables of a module in the memory of a device: all its kernels share
/// them.
#[derive(Clone, Debug, Default)]
pub struct Loaded {
    /// By the numbers of the variables; None: it lies elsewhere.
    places: Vec<Option<u64>>,
    pub variables: Vec<Placed>,
}

/// What a variable needs.
#[derive(Clone, Copy, Debug)]
pub struct Wanted<'a> {
    pub name: &'a str,
    pub bytes: u64,
    pub align: u32,
    pub read_only: bool,
    /// Host and devices share it.
    pub is_managed: bool,
}

/// Gives the variables of a module places in memory: `give` gives an address. The first contents
/// come back beside the places.
pub fn load(
    module: &Module,
    give: &mut dyn FnMut(Wanted) -> std::result::Result<u64, String>,
) -> Result<(Loaded, Vec<Vec<u8>>)> {
    let mut loaded = Loaded { places: vec![None; module.variables.len()], variables: Vec::new() };
    let mut known: HashMap<&str, u64> = HashMap::new();
    let in_memory = |variable: &&Variable| matches!(variable.space, Space::Global | Space::Const);
    for (n, variable) in module.variables.iter().enumerate().filter(|(_, variable)| in_memory(variable)) {
        // What is declared here and defined elsewhere in the text is one variable.
        let shared = variable.owner.is_none();
        if let Some(&address) = known.get(variable.name).filter(|_| shared) {
            loaded.places[n] = Some(address);
            continue;
        }
        if is_declared_only(variable) {
            definition(module, variable)?;
        }
        let same = |other: &&Variable| in_memory(other) && other.name == variable.name && other.owner.is_none();
        let all = || module.variables.iter().filter(same).filter(|_| shared).chain([variable]);
        let bytes = all().map(|other| other.bytes).max().unwrap_or(0).max(1);
        let align = all().map(|other| other.align).max().unwrap_or(1).max(16);
        let (read_only, is_managed) = (variable.space == Space::Const, all().any(|other| other.is_managed));
        let address = give(Wanted { name: variable.name, bytes, align, read_only, is_managed })
            .map_err(|message| Error::malformed(variable.at, message))?;
        loaded.variables.push(Placed { bytes, ..placed(variable, address) });
        loaded.places[n] = Some(address);
        if shared {
            known.insert(variable.name, address);
        }
    }
    let mut first = Vec::with_capacity(loaded.variables.len());
    for placed in &loaded.variables {
        let of = |(n, variable): &(usize, &Variable)| {
            loaded.places[*n] == Some(placed.address) && variable.bytes == placed.bytes
        };
        let defined: Vec<_> = module.variables.iter().enumerate().filter(of).collect();
        // Of several texts of one variable that with first contents counts.
        let variable = defined.iter().find(|(_, v)| !v.init.is_empty()).or(defined.first());
        first.push(match variable {
            Some((_, variable)) => contents(module, variable, &loaded.places)?,
            None => vec![0; placed.bytes as usize],
        });
    }
    Ok((loaded, first))
}

/// Bytes around every piece of memory that belong to nobody.
pub const RED_ZONE: u32 = 256;
