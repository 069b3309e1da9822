//! How does an array argument get its memory and its contents?

use super::super::launch::{ArrayArgument, DType, Direction, Fill, Literal, Number, Source, Stored};
use super::super::{Result, fail};
use super::convert::{self, has_numbers};
use super::elements;
use super::elements::{Leaf, dense_strides, for_each_element};
use super::fill::FillValues;
use super::memory::Buffer;
use super::{Binder, BoundArray, BufferOffset, Described, Grad, same_type, show_dtype};
use crate::diag::{Code, counted};
use crate::run::files::mesh_file::{self, MeshFile};
use crate::run::files::npy;
use crate::run::files::npy::{Array, Header};
use crate::run::files::npz;
use crate::run::files::npz::Npz;
use crate::run::files::picture;
use crate::types::{ArrayType, Layout, Type};

impl<'a> Binder<'a> {
    /// Packs an array argument at `offset` of the argument struct.
    pub(super) fn array(&mut self, path: &str, given: &'a ArrayArgument, ty: ArrayType, offset: u32) -> Result<()> {
        let at = format!("argument `{path}`");
        let shown = Type::Array(ty).display(self.structs);
        if let Some(dtype) = &given.dtype {
            if !same_type(dtype, ty.element.into()) {
                let message = format!("{at}: expected `{shown}`, found an array of {}", show_dtype(dtype));
                return Err(self.fail(Code::E1005, message));
            }
            if let (DType::Struct(name), Type::Struct(id)) = (dtype, ty.element.into()) {
                self.struct_layout(path, name, id)?;
            }
        }
        for (what, n) in [("ndim", given.ndim), ("shape", given.shape.as_ref().map(|s| s.len() as u32))] {
            if let Some(n) = n.filter(|&n| n != u32::from(ty.ndim)) {
                let message =
                    format!("{at}: expected `{shown}` with {}, found {what} of {}", dims(ty.ndim.into()), dims(n));
                return Err(self.fail(Code::E1005, message));
            }
        }
        let Some(data) = &given.data else {
            // A null array: a descriptor of zeros, as the block holds already.
            return Ok(());
        };
        let element = Layout::of_element(ty.element, self.structs);
        let Some(leaves) = elements::leaves(ty.element.into(), self.structs) else {
            return Err(self.fail(Code::E1005, format!("{at}: arrays of structs that hold arrays cannot be passed")));
        };
        let mut shape = given.shape.clone();
        let contents = self.read(&at, data, ty, &leaves, &mut shape, given.convert)?;
        let Some(shape) = shape else {
            return Err(self.fail(Code::E1006, format!("{at}: the shape is not known")));
        };
        let strides = self.strides(&at, &shape, given.strides.as_deref(), element)?;
        let place = self.place(&at, data, ty, &shape, &strides, element)?;
        self.scatter(place, &shape, &strides, &leaves, contents, &at, &data.source)?;
        let grad = match self.gradient(given, data, ty) {
            None => None,
            Some(stored) => {
                let at = format!("gradient of argument `{path}`");
                let contents = self.read(&at, &stored, ty, &leaves, &mut Some(shape.clone()), given.convert)?;
                let place = self.place(&at, &stored, ty, &shape, &strides, element)?;
                self.scatter(place, &shape, &strides, &leaves, contents, &at, &stored.source)?;
                Some(Grad { key: stored.key, place, external: given.grad_external })
            }
        };
        let own = grad.as_ref().filter(|g| !g.external).map(|g| g.place);
        self.describe(offset, place, own, &shape, &strides);
        let (key, retain_grad) = (data.key.clone(), given.retain_grad);
        self.out.arrays.push(BoundArray { key, ty, shape, strides, offset, place, grad, retain_grad });
        Ok(())
    }

    /// Where the gradient of an array comes from. A gradient run has one for every array of floats:
    /// zero where none is given.
    fn gradient(&mut self, given: &ArrayArgument, data: &Stored, ty: ArrayType) -> Option<Stored> {
        let whole = self.launch.direction == Direction::Gradient;
        let zeros = Source::Fill(Fill::Value(Literal::One(Number::Int(0))));
        match &given.grad {
            Some(Stored { key, source: Source::Entry }) if whole && !self.stored(key) => {
                Some(Stored { key: key.clone(), source: zeros })
            }
            Some(stored) => Some(stored.clone()),
            None if whole && Type::from(ty.element).holds_floats(self.structs) => {
                let source = match &data.source {
                    Source::Alias(target) => {
                        Source::Alias(self.out.arrays.iter().find(|a| a.key == *target)?.grad.as_ref()?.key.clone())
                    }
                    _ => zeros,
                };
                Some(Stored { key: format!("{}.grad", data.key), source })
            }
            None => None,
        }
    }

    /// Does the launch's archive have this array, or a leaf of it?
    fn stored(&mut self, key: &str) -> bool {
        let path = self.launch.inputs.clone();
        let leaf = format!("{key}.");
        // An archive that cannot be read is reported by what reads it.
        self.archive(&path).map_or(true, |npz| npz.names().iter().any(|n| n == key || n.starts_with(&leaf)))
    }

    /// Reads the leaves of an array from its file; none for other sources. Fixes the shape where it
    /// is not given.
    fn read(
        &mut self,
        at: &str,
        stored: &Stored,
        ty: ArrayType,
        leaves: &[Leaf],
        shape: &mut Option<Vec<u32>>,
        convert: bool,
    ) -> Result<Vec<Array>> {
        let (path, entry) = match &stored.source {
            Source::Alias(_) | Source::Fill(_) => return Ok(Vec::new()),
            Source::Entry => (self.launch.inputs.clone(), Some(stored.key.clone())),
            Source::File { path, entry } => (path.clone(), entry.clone()),
        };
        let origin = self.origin;
        let is_picture = entry.is_none() && picture::is_picture(&path);
        let mut arrays = Vec::with_capacity(leaves.len());
        for leaf in leaves {
            let name = match &entry {
                Some(entry) => format!("entry `{entry}{}` of {}", leaf.suffix, path.display()),
                None => path.display().to_string(),
            };
            // The samples of a picture are parts of the brightest one where floats are wanted.
            let brightness = is_picture && leaf.scalar.is_float();
            let check = |header: &Header| {
                let mismatch = |what: String| Err(fail(Code::E1009, format!("{origin}: {at}: {name} {what}")));
                let converts = has_numbers(header);
                let fits = header.holds(leaf.scalar) || brightness || convert && converts;
                if !fits {
                    return mismatch(format!(
                        "has type {}, expected {} for {}",
                        header.type_name(),
                        &npy::descr(leaf.scalar)[1..],
                        leaf.scalar.name()
                    ))
                    .map_err(|mut error| {
                        let help = "`--convert`, in a launch file `\"convert\": true`, converts the numbers";
                        error.help = converts.then(|| help.to_string());
                        error
                    });
                }
                if shape.is_none() {
                    let outer = header.shape.len().checked_sub(leaf.shape.len()).unwrap_or(usize::MAX);
                    let extents = header.shape.get(..outer).filter(|s| s.len() == usize::from(ty.ndim));
                    let extents = extents.and_then(|s| {
                        s.iter().map(|&n| u32::try_from(n).ok().filter(|&n| n <= i32::MAX as u32)).collect()
                    });
                    let Some(extents) = extents else {
                        let wanted = if leaf.shape.is_empty() {
                            dims(ty.ndim.into())
                        } else {
                            format!("{} and the components {}", dims(ty.ndim.into()), show_shape(&leaf.shape))
                        };
                        return mismatch(format!("has shape {}, expected {wanted}", show_shape(&header.shape)));
                    };
                    *shape = Some(extents);
                }
                let outer = shape.as_deref().unwrap_or_default().iter().map(|&n| u64::from(n));
                let expected: Vec<u64> = outer.chain(leaf.shape.iter().copied()).collect();
                if header.shape != expected {
                    return mismatch(format!(
                        "has shape {}, expected {}",
                        show_shape(&header.shape),
                        show_shape(&expected)
                    ));
                }
                Ok(())
            };
            let mut array = match &entry {
                Some(entry) if mesh_file::is_mesh(&path) => self.mesh_file(&path)?.read(&path, entry, check)?,
                None if mesh_file::is_mesh(&path) => {
                    let message = format!("{at}: {name} has two arrays; name one: `{name}:points` or `{name}:indices`");
                    return Err(self.fail(Code::E1008, message));
                }
                None if is_picture && leaf.suffix.is_empty() => {
                    picture::read(&path, ty.ndim == 1, self.launch.max_expanded, check)?
                }
                Some(entry) => self.archive(&path)?.read(&format!("{entry}{}", leaf.suffix), check)?,
                None if leaf.suffix.is_empty() => npz::read_npy(&path, check)?,
                None => {
                    let message = format!("{at}: an array of structs comes from a .npz with one entry per field");
                    return Err(self.fail(Code::E1009, message));
                }
            };
            if brightness || !array.header.holds(leaf.scalar) {
                let change = if brightness { convert::brightness } else { convert::convert };
                array =
                    change(array, leaf.scalar).map_err(|why| self.fail(Code::E1011, format!("{at}: {name} {why}")))?;
            }
            arrays.push(array);
        }
        Ok(arrays)
    }

    fn mesh_file(&mut self, path: &std::path::Path) -> Result<&MeshFile> {
        match self.meshes.entry(path.to_path_buf()) {
            std::collections::hash_map::Entry::Occupied(e) => Ok(e.into_mut()),
            std::collections::hash_map::Entry::Vacant(e) => Ok(e.insert(MeshFile::open(path)?)),
        }
    }

    fn archive(&mut self, path: &std::path::Path) -> Result<&mut Npz> {
        let slot = if path == self.launch.inputs {
            &mut self.inputs
        } else {
            return match self.others.entry(path.to_path_buf()) {
                std::collections::hash_map::Entry::Occupied(e) => Ok(e.into_mut()),
                std::collections::hash_map::Entry::Vacant(e) => {
                    Ok(e.insert(Npz::open(path, self.launch.max_expanded)?))
                }
            };
        };
        if slot.is_none() {
            *slot = Some(Npz::open(path, self.launch.max_expanded)?);
        }
        slot.as_mut().ok_or_else(|| fail(Code::E0999, "an archive was closed too early"))
    }

    /// The strides in bytes, given or dense.
    fn strides(&self, at: &str, shape: &[u32], given: Option<&[i64]>, element: Layout) -> Result<Vec<i64>> {
        let Some(given) = given else {
            let dense = dense_strides(shape, element.size).filter(|s| s.iter().all(|&s| i32::try_from(s).is_ok()));
            return dense.ok_or_else(|| {
                let shape = show_shape(&shape.iter().map(|&n| n.into()).collect::<Vec<_>>());
                self.fail(Code::E1006, format!("{at}: shape {shape} needs strides above 2147483647 bytes"))
            });
        };
        if given.len() != shape.len() {
            let (n, wanted) = (given.len(), shape.len());
            return Err(self.fail(Code::E1010, format!("{at}: {} for {}", counted(n, "stride"), dims(wanted as u32))));
        }
        if let Some(bad) = given.iter().find(|&&s| s % i64::from(element.align) != 0 || i32::try_from(s).is_err()) {
            let message = format!(
                "{at}: stride {bad} is not a multiple of the element's alignment {} within 32 bits",
                element.align
            );
            return Err(self.fail(Code::E1010, message));
        }
        Ok(given.to_vec())
    }

    /// Finds or allocates the memory of an array.
    fn place(
        &mut self,
        at: &str,
        stored: &Stored,
        ty: ArrayType,
        shape: &[u32],
        strides: &[i64],
        element: Layout,
    ) -> Result<BufferOffset> {
        if let Source::Alias(target) = &stored.source {
            let Some((place, target_ty, target_shape, target_strides)) = self.placed.get(target) else {
                let message = format!("{at}: alias_of names `{target}`, which is no earlier array of this launch");
                return Err(self.fail(Code::E1010, message));
            };
            if (*target_ty, target_shape.as_slice(), target_strides.as_slice()) != (ty, shape, strides) {
                let message = format!("{at}: its type, shape or strides differ from those of `{target}`, its alias");
                return Err(self.fail(Code::E1010, message));
            }
            let place = *place;
            if stored.key != *target {
                self.placed.insert(stored.key.clone(), (place, ty, shape.to_vec(), strides.to_vec()));
            }
            return Ok(place);
        }
        if self.placed.contains_key(&stored.key) {
            let message =
                format!("{at}: the array `{}` belongs to an earlier argument; use alias_of to share it", stored.key);
            return Err(self.fail(Code::E1010, message));
        }
        // Extents and strides fit in 31 bits, so nothing here can overflow.
        let (mut low, mut high) = (0i128, i128::from(element.size));
        for (&n, &stride) in shape.iter().zip(strides) {
            let reach = i128::from(n.max(1) - 1) * i128::from(stride);
            if reach < 0 { low += reach } else { high += reach }
        }
        let bytes = if shape.contains(&0) { 0 } else { high - low };
        if bytes > i128::from(self.budget) {
            let message = format!("{at} needs {bytes} bytes of memory, and {} are free", self.budget);
            return Err(self.fail(Code::E1006, message));
        }
        self.budget -= bytes as u64;
        let buffer = Buffer::zeroed(bytes as u64, at)?;
        let place = BufferOffset { buffer: self.out.buffers.len(), origin: if bytes == 0 { 0 } else { (-low) as u64 } };
        self.out.buffers.push(buffer);
        self.placed.insert(stored.key.clone(), (place, ty, shape.to_vec(), strides.to_vec()));
        Ok(place)
    }

    /// Writes the contents into the array's memory.
    fn scatter(
        &mut self,
        place: BufferOffset,
        shape: &[u32],
        strides: &[i64],
        leaves: &[Leaf],
        contents: Vec<Array>,
        at: &str,
        source: &Source,
    ) -> Result<()> {
        let origin = place.origin as i64;
        if let Source::Fill(fill) = source {
            for leaf in leaves {
                let values =
                    FillValues::new(fill, leaf).map_err(|why| self.fail(Code::E1011, format!("{at}: {why}")))?;
                let memory = self.out.buffers[place.buffer].bytes_mut();
                let mut failed = None;
                let mut number = 0;
                for_each_element(shape, strides, |step| {
                    let start = (origin + step) as usize + leaf.offset as usize;
                    if let Err(why) = values.write(number, &mut memory[start..start + leaf.bytes()]) {
                        failed.get_or_insert(why);
                    }
                    number += 1;
                });
                if let Some(why) = failed {
                    return Err(self.fail(Code::E1011, format!("{at}: {why}")));
                }
            }
            return Ok(());
        }
        let memory = self.out.buffers[place.buffer].bytes_mut();
        for (leaf, array) in leaves.iter().zip(contents) {
            let size = leaf.bytes();
            if size == 0 {
                continue;
            }
            if array.bytes.len() == memory.len() && dense_strides(shape, size as u32).as_deref() == Some(strides) {
                memory.copy_from_slice(&array.bytes);
                continue;
            }
            let mut chunks = array.bytes.chunks_exact(size);
            for_each_element(shape, strides, |step| {
                let start = (origin + step) as usize + leaf.offset as usize;
                if let Some(chunk) = chunks.next() {
                    memory[start..start + size].copy_from_slice(chunk);
                }
            });
        }
        Ok(())
    }

    /// Writes an array descriptor at `offset` of the argument struct.
    fn describe(
        &mut self,
        offset: u32,
        data: BufferOffset,
        grad: Option<BufferOffset>,
        shape: &[u32],
        strides: &[i64],
    ) {
        let (data, grad) = (self.out.address(data), grad.map_or(0, |g| self.out.address(g)));
        let dims = shape.iter().zip(strides).map(|(&n, &stride)| (n, stride as i32)).collect();
        Described { data, grad, dims }.write(self.out.block.bytes_mut(), offset);
    }
}

fn dims(n: u32) -> String {
    counted(n as usize, "dimension")
}

fn show_shape(shape: &[u64]) -> String {
    let extents: Vec<String> = shape.iter().map(u64::to_string).collect();
    match extents.as_slice() {
        [one] => format!("({one},)"),
        many => format!("({})", many.join(", ")),
    }
}
