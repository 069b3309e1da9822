//! Are the ids of a launch those of the engines that its kernel asks, and are these up to date?
//!
//! A launch that writes what a mesh, a BVH or a hash grid was built of is noted
//! ([`registry::note_write`]). A later launch that searches it before a `refit` or `build` gets a
//! finding. Both cost a launch nothing while no engine lives.

use std::ffi::c_void;
use std::sync::atomic::{AtomicBool, Ordering::Relaxed};

use super::engine_ids::{EngineCall, engine_ids};
use super::{Result, messages};
use crate::abi::{argument_layout, descriptor};
use crate::analysis::written::{Origin, written};
use crate::diag::Diagnostic;
use crate::engines::Kind;
use crate::engines::layout::MeshHeader;
use crate::engines::registry::{self, State, Writer};
use crate::ir::{FuncId, Module};
use crate::source::{SourceMap, Span};
use crate::types::{Layout, StructTable, Type};

/// What a kernel does with engines and with what they are built of.
pub struct EngineChecks {
    kernel: String,
    /// Ids: where in the struct of arguments, and what is asked of each.
    asked: Vec<Asked>,
    /// Arrays that it writes.
    written: Vec<Written>,
    /// Some ids are no arguments.
    elsewhere: bool,
    /// A stale engine was found: once is enough.
    told: AtomicBool,
}

struct Asked {
    offset: u32,
    /// The parameter, with the fields that lead to the id.
    name: String,
    calls: Vec<EngineCall>,
}

struct Written {
    /// Of the descriptor.
    offset: u32,
    ndim: u8,
    /// Where it is first written.
    span: Span,
}

impl EngineChecks {
    pub fn of(module: &Module, kernel: FuncId) -> EngineChecks {
        let (function, structs) = (&module.functions[kernel], &module.structs);
        let params: Vec<Type> = function.params().iter().map(|&param| function.ty(param)).collect();
        let (offsets, _) = argument_layout(&params, structs);
        let place = |origin: &Origin| place_of(origin, &params, &offsets, structs);
        let name = |(n, fields): &Origin| {
            let param = function.params().get(*n as usize)?;
            let mut name = function.values[*param].name.clone()?;
            let mut ty = function.ty(*param);
            for &field in fields {
                let Type::Struct(id) = ty else { return None };
                let field = structs[id].fields.get(field as usize)?;
                name = format!("{name}.{}", field.name);
                ty = field.ty;
            }
            Some(name)
        };
        let ids = engine_ids(module, kernel);
        let asked = ids.of_params.into_iter().filter_map(|(origin, calls)| {
            let (offset, _) = place(&origin)?;
            Some(Asked { offset, name: name(&origin).unwrap_or_default(), calls })
        });
        let written = written(module, kernel).arrays.into_iter().filter_map(|(origin, span)| match place(&origin)? {
            (offset, Type::Array(array)) => Some(Written { offset, ndim: array.ndim, span }),
            _ => None,
        });
        EngineChecks {
            kernel: function.source_name.clone(),
            asked: asked.collect(),
            written: written.collect(),
            elsewhere: ids.elsewhere,
            told: AtomicBool::new(false),
        }
    }

    /// Before a launch: whether its ids are of engines that the kernel asks.
    ///
    /// # Errors
    /// An id is of no engine, or of one of another kind (`E1127`).
    ///
    /// # Safety
    /// `args` points to the argument struct of the kernel.
    pub unsafe fn check_ids(&self, args: *const c_void) -> Result<()> {
        for asked in &self.asked {
            // SAFETY: the caller's promise.
            let id = unsafe { id_at(args, asked.offset) };
            let Some(call) = asked.calls.first() else { continue };
            match registry::state_of(id) {
                State::Freed { kind, .. } if !registry::has_foreign() => {
                    let what = format!("the id of {} that is gone", kind.name());
                    return Err(messages::no_engine(&asked.name, call, &what));
                }
                // A kernel may ask engines of several kinds, by a flag that it is given too.
                State::Live { kind, .. } if asked.calls.iter().all(|call| call.kind != kind) => {
                    return Err(messages::no_engine(&asked.name, call, &format!("the id of {}", kind.name())));
                }
                State::Live { .. } => {}
                // A kernel may take 0 for none.
                State::Unknown if id == 0 => {
                    if let Some(call) = asked.calls.iter().find(|call| call.always) {
                        return Err(messages::no_engine(&asked.name, call, "0, the id of none"));
                    }
                }
                State::Unknown | State::Freed { .. } if registry::has_foreign() => {}
                State::Unknown | State::Freed { .. } => {
                    return Err(messages::no_engine(&asked.name, call, &format!("{id}, the id of none")));
                }
            }
        }
        Ok(())
    }

    /// Before a launch: the first search of an engine that is out of date, once.
    ///
    /// # Safety
    /// As for [`EngineChecks::check_ids`].
    pub unsafe fn stale(&self, args: *const c_void) -> Option<Diagnostic> {
        let found = self.asked.iter().find_map(|asked| {
            let call = asked.calls.iter().find(|call| call.searches())?;
            // SAFETY: the caller's promise.
            let writer = registry::writer_of(unsafe { id_at(args, asked.offset) })?;
            Some(messages::stale_engine(&asked.name, call, &writer))
        });
        found.filter(|_| !self.told.swap(true, Relaxed))
    }

    /// Whether what the kernel reads behind ids is none of the memory that it writes: start and
    /// bytes of each part.
    ///
    /// # Safety
    /// As for [`EngineChecks::check_ids`], after it.
    pub unsafe fn are_apart(&self, args: *const c_void, written: &[(u64, u64)]) -> bool {
        let meets = |&(start, bytes): &(u64, u64)| bytes > 0 && registry::overlaps(start, bytes);
        if written.iter().any(meets) {
            return false;
        }
        if !registry::has_foreign() {
            return true;
        }
        // Of engines that are not kc's, a mesh says where its corners and their velocities are;
        // what else is read of one nothing writes. A volume does not say it.
        let mut asked = self.asked.iter().filter(|asked| {
            // SAFETY: the caller's promise.
            let id = unsafe { id_at(args, asked.offset) };
            id != 0 && registry::kind_of(id).is_none()
        });
        !self.elsewhere
            && asked.all(|asked| {
                // SAFETY: the caller's promise.
                let id = unsafe { id_at(args, asked.offset) };
                let apart = |call: &EngineCall| match call.kind {
                    Kind::Bvh | Kind::HashGrid => true,
                    Kind::Volume | Kind::Texture => false,
                    // SAFETY: the kernel will read a mesh there.
                    Kind::Mesh => unsafe { MeshHeader::numbers_at(id) }.iter().all(|&(start, bytes)| {
                        written.iter().all(|&(at, len)| at + len <= start || start + bytes <= at)
                    }),
                };
                asked.calls.iter().all(apart)
            })
    }

    /// After a launch: engines are told what it wrote.
    ///
    /// # Safety
    /// As for [`EngineChecks::check_ids`].
    pub unsafe fn after(&self, args: *const c_void, sources: &SourceMap) {
        if self.written.is_empty() || !registry::has_live() {
            return;
        }
        for written in &self.written {
            // SAFETY: the caller's promise: a descriptor is there.
            let array = unsafe { args.cast::<u8>().add(written.offset as usize) };
            let word = |at: u32| {
                // SAFETY: inside of the descriptor.
                unsafe { array.add(at as usize).cast::<i32>().read_unaligned() }
            };
            // SAFETY: as above.
            let data = unsafe { array.add(descriptor::DATA as usize).cast::<u64>().read_unaligned() };
            let dims = 0..u32::from(written.ndim);
            let last = dims.map(|d| {
                let (extent, stride) = (word(descriptor::SHAPE + 4 * d), word(descriptor::STRIDES + 4 * d));
                (i64::from(extent) - 1) * i64::from(stride)
            });
            let last: i64 = last.sum();
            if data == 0 || last < 0 {
                continue;
            }
            let writer = || {
                let file = sources.file(written.span.file);
                let line = file.line_column(written.span.start).line;
                let path = file.path.file_name().unwrap_or_default().to_string_lossy();
                Writer { kernel: self.kernel.clone(), place: format!("{path}:{line}") }
            };
            registry::note_write(data, last as u64 + 1, &writer());
        }
    }
}

/// # Safety
/// A uint64 is there.
unsafe fn id_at(args: *const c_void, offset: u32) -> u64 {
    // SAFETY: the caller's promise.
    unsafe { args.cast::<u8>().add(offset as usize).cast::<u64>().read_unaligned() }
}

/// Where a part of a parameter is in the struct of arguments, and its type.
fn place_of((n, fields): &Origin, params: &[Type], offsets: &[u32], structs: &StructTable) -> Option<(u32, Type)> {
    let (mut ty, mut offset) = (*params.get(*n as usize)?, *offsets.get(*n as usize)?);
    for &field in fields {
        let Type::Struct(id) = ty else { return None };
        offset += Layout::step_offset(ty, field, structs);
        ty = structs[id].fields.get(field as usize)?.ty;
    }
    Some((offset, ty))
}
