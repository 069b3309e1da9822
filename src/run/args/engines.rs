//! How does a launch get a mesh, a tree of boxes, a hash grid, a volume or a texture? It is built
//! of arrays that are bound like those of arguments; the kernel receives its id, or a struct with
//! its handle.

use half::f16;

use super::volumes::BoundVolume;
use super::{ARRAY_DESCRIPTOR_SIZE, Arguments, Binder};
use crate::abi::ArrayDescriptor;
use crate::diag::Code;
use crate::engines::bvh::BvhInput;
use crate::engines::error::TextureError;
use crate::engines::hash_grid::{Points, Real};
use crate::engines::mesh::MeshInput;
use crate::engines::texture::form::{Address, Filter, Form, Numbers};
use crate::engines::{Bvh, Constructor, Engine, EngineError, HashGrid, Kind, Mesh, Source, Texture, memory::Plain};
use crate::run::files::volume_file;
use crate::run::launch::{Argument, ArgumentKind, DType, Literal, Number, VolumeFile};
use crate::run::{Result, list};
use crate::types::{ArrayType, Element, Scalar, StructId};

/// An engine, and what it is built of once more when its arrays have changed.
pub enum BoundEngine {
    Mesh(Box<Mesh>),
    Bvh(Box<Bvh>),
    Grid { grid: HashGrid, points: GridPoints, width: f64, groups: Option<Source<i32>> },
    Texture(Box<Texture>),
    Volume(Box<BoundVolume>),
}

/// Points of a hash grid.
pub enum GridPoints {
    F16(Source<[f16; 3]>),
    F32(Source<[f32; 3]>),
    F64(Source<[f64; 3]>),
}

impl GridPoints {
    fn range(&self) -> (u64, u64) {
        match self {
            GridPoints::F16(points) => points.range(),
            GridPoints::F32(points) => points.range(),
            GridPoints::F64(points) => points.range(),
        }
    }

    fn slice(&self) -> Points<'_> {
        match self {
            GridPoints::F16(points) => Points::F16(points.as_slice()),
            GridPoints::F32(points) => Points::F32(points.as_slice()),
            GridPoints::F64(points) => Points::F64(points.as_slice()),
        }
    }
}

impl BoundEngine {
    fn id(&self) -> u64 {
        match self {
            BoundEngine::Mesh(mesh) => mesh.id(),
            BoundEngine::Bvh(bvh) => bvh.id(),
            BoundEngine::Grid { grid, .. } => grid.id(),
            BoundEngine::Texture(texture) => texture.id(),
            BoundEngine::Volume(volume) => volume.id(),
        }
    }

    /// Follows its arrays. Where they are no engine any more, it stays as it was.
    fn refit(&mut self) {
        let _ = match self {
            BoundEngine::Mesh(mesh) => mesh.refit(),
            BoundEngine::Bvh(bvh) => bvh.refit(),
            BoundEngine::Grid { grid, points, width, groups } => {
                let built = grid.build(points.slice(), *width, groups.as_ref().map(Source::as_slice));
                built.inspect(|()| grid.follow(points.range()))
            }
            // Its texels are read in place, or are a copy.
            BoundEngine::Texture(_) => Ok(()),
            BoundEngine::Volume(volume) => {
                volume.refill();
                Ok(())
            }
        };
    }
}

impl Arguments {
    /// Lets the engines follow arrays that were written.
    pub(super) fn refit(&mut self) {
        self.engines.iter_mut().for_each(BoundEngine::refit);
    }
}

/// How many arrays the engines among these arguments have.
pub(super) fn arrays(args: &[Argument]) -> u64 {
    let of = |argument: &Argument| match &argument.kind {
        ArgumentKind::Engine { fields, .. } => fields.len() as u64,
        ArgumentKind::Struct { fields, .. } => arrays(fields),
        ArgumentKind::Value { .. } | ArgumentKind::Array(_) => 0,
    };
    args.iter().map(of).sum()
}

/// The fields that an engine has, and those of them that it must have.
fn fields_of(kind: Kind) -> (&'static [&'static str], usize) {
    match kind {
        Kind::Mesh => {
            (&["points", "indices", "velocities", "groups", "support_winding_number", "leaf_size", "constructor"], 2)
        }
        Kind::Bvh => (&["lowers", "uppers", "groups", "leaf_size", "constructor"], 2),
        Kind::HashGrid => (&["points", "dim", "width", "groups"], 3),
        Kind::Texture => {
            (&["data", "filter_mode", "mip_filter_mode", "address_mode", "normalized_coords", "num_mip_levels"], 1)
        }
        Kind::Volume => (&["data", "bg_value", "min_world", "voxel_size"], 1),
    }
}

const fn vec3(scalar: Scalar) -> Element {
    Element::Vec(3, scalar)
}

impl<'a> Binder<'a> {
    /// Builds the engine that `fields` describe, and writes its id at `offset` of the argument
    /// struct.
    pub(super) fn engine(&mut self, path: &str, kind: Kind, fields: &'a [Argument], offset: u32) -> Result<()> {
        self.engine_fields(path, kind, fields)?;
        let made = match kind {
            Kind::Mesh => self.mesh(path, fields)?,
            Kind::Bvh => self.bvh(path, fields)?,
            Kind::Volume => self.volume(path, fields)?.map(|volume| BoundEngine::Volume(Box::new(volume))),
            _ => self.grid(path, fields)?,
        };
        let made = made.map_err(|error| self.not_built(path, kind, &error))?;
        super::put(self.out.block.bytes_mut(), offset, &made.id().to_le_bytes());
        self.out.engines.push(made);
        Ok(())
    }

    /// Builds the texture that `fields` describe, and writes it at `offset` as a struct of
    /// the kernel language.
    pub(super) fn texture(&mut self, path: &str, id: StructId, fields: &'a [Argument], offset: u32) -> Result<()> {
        let name = &self.structs[id].name;
        let Some(dims) = (1..=3).find(|dims| *name == format!("Texture{dims}D")) else {
            return Err(self.fail(Code::E1005, format!("argument `{path}`: expected `{name}`, found a texture")));
        };
        self.engine_fields(path, Kind::Texture, fields)?;
        let made = self.texture_of(path, dims, fields)?;
        let texture = made.map_err(|error| self.not_built(path, Kind::Texture, &error))?;
        super::put(self.out.block.bytes_mut(), offset, &texture.form().argument(texture.id()));
        self.out.engines.push(BoundEngine::Texture(Box::new(texture)));
        Ok(())
    }

    /// Reads the volume in a file, and writes its id at `offset` of the argument struct.
    pub(super) fn volume_of_file(&mut self, path: &str, file: &VolumeFile, offset: u32) -> Result<()> {
        let read = volume_file::read(&file.path, file.grid.as_deref(), self.launch.max_expanded)?;
        let made = BoundVolume::of_file(read).map_err(|error| self.not_built(path, Kind::Volume, &error))?;
        super::put(self.out.block.bytes_mut(), offset, &made.id().to_le_bytes());
        self.out.engines.push(BoundEngine::Volume(Box::new(made)));
        Ok(())
    }

    fn not_built(&self, path: &str, kind: Kind, error: &EngineError) -> crate::run::Fail {
        self.fail(Code::E1011, format!("argument `{path}`, {}, cannot be built: {error}", kind.name()))
    }

    /// Refuses fields that the kind has not, and misses those that it must have.
    fn engine_fields(&self, path: &str, kind: Kind, fields: &[Argument]) -> Result<()> {
        let (known, needed) = fields_of(kind);
        let what = format!("argument `{path}`, {},", kind.name());
        for field in fields {
            if !known.contains(&field.name.as_str()) {
                let names: Vec<String> = known.iter().map(|name| name.to_string()).collect();
                let message = format!("{what} has no field `{}`; its fields are {}", field.name, list(&names));
                return Err(self.fail(Code::E1004, message));
            }
        }
        for name in &known[..needed] {
            if !fields.iter().any(|field| field.name == *name) {
                return Err(self.fail(Code::E1004, format!("{what} lacks the field `{name}`")));
            }
        }
        Ok(())
    }

    fn texture_of(
        &mut self,
        path: &str,
        dims: usize,
        fields: &'a [Argument],
    ) -> Result<std::result::Result<Texture, EngineError>> {
        let place = format!("{path}.data");
        let given = fields.iter().find(|field| field.name == "data").map(|field| &field.kind);
        let Some(ArgumentKind::Array(given)) = given else {
            return Err(self.fail(Code::E1005, format!("argument `{place}`: expected an array")));
        };
        let element = match &given.dtype {
            Some(DType::Plain(element)) => *element,
            _ => Element::Scalar(Scalar::F32),
        };
        let numbers = match element {
            Element::Scalar(scalar) => Numbers::ALL.into_iter().find(|numbers| numbers.name() == scalar.name()),
            _ => None,
        };
        let Some(numbers) = numbers else {
            let name = crate::types::Type::from(element).display(self.structs).to_string();
            return Ok(Err(TextureError::Numbers { name }.into()));
        };
        let ndim = given.ndim.map_or(dims, |ndim| ndim as usize);
        if ndim != dims && ndim != dims + 1 {
            return Ok(Err(TextureError::Dimensions { dims, ndim }.into()));
        }
        let at = self.next;
        self.next += ARRAY_DESCRIPTOR_SIZE;
        self.array(&place, given, ArrayType { element, ndim: ndim as u8 }, at)?;
        let described = descriptor_at(self.out.block.bytes(), at);
        let shape = described.shape[..ndim].iter().map(|&extent| i64::from(extent)).collect::<Vec<_>>();
        let extents: Vec<i64> = shape[..dims].iter().rev().copied().collect();
        let mut form = Form::new(&extents, shape.get(dims).copied().unwrap_or(1), numbers);
        let filters = [self.numbers(path, fields, "filter_mode")?, self.numbers(path, fields, "mip_filter_mode")?];
        let modes = self.numbers(path, fields, "address_mode")?;
        form.normalized = self.number(path, fields, "normalized_coords")?.unwrap_or(1.0) != 0.0;
        form.levels = self.number(path, fields, "num_mip_levels")?.map_or(1, |levels| levels as i64);
        let build = || {
            for (filter, given) in [&mut form.filter, &mut form.level_filter].into_iter().zip(filters) {
                if let Some(&number) = given.first() {
                    *filter = Filter::of_number(number as i64)?;
                }
            }
            for (axis, mode) in form.address[..dims].iter_mut().enumerate() {
                // One for all axes, or one for each.
                if let Some(&number) = modes.get(if modes.len() == 1 { 0 } else { axis }) {
                    *mode = Address::of_number(number as i64)?;
                }
            }
            // SAFETY: as for the arrays of other engines.
            unsafe { Texture::of_array(form, &described) }
        };
        Ok(build())
    }

    fn mesh(&mut self, path: &str, fields: &'a [Argument]) -> Result<std::result::Result<BoundEngine, EngineError>> {
        let points = self.source::<[f32; 3]>(path, fields, "points", vec3(Scalar::F32))?;
        let indices = self.source::<i32>(path, fields, "indices", Element::Scalar(Scalar::I32))?;
        let velocities = self.source::<[f32; 3]>(path, fields, "velocities", vec3(Scalar::F32))?;
        let groups = self.source::<i32>(path, fields, "groups", Element::Scalar(Scalar::I32))?;
        let winding = self.number(path, fields, "support_winding_number")?.unwrap_or(0.0) != 0.0;
        let (leaf_size, constructor) = self.tree(path, fields, 4)?;
        let build = || {
            let (Some(points), Some(indices)) = (points.transpose()?, indices.transpose()?) else {
                return Err(EngineError::Null { what: "points", count: 0 });
            };
            let input = MeshInput {
                velocities: velocities.transpose()?,
                groups: groups.transpose()?,
                support_winding_number: winding,
                leaf_size,
                constructor: constructor?,
                ..MeshInput::new(points, indices)
            };
            Ok(BoundEngine::Mesh(Box::new(Mesh::new(input)?)))
        };
        Ok(build())
    }

    fn bvh(&mut self, path: &str, fields: &'a [Argument]) -> Result<std::result::Result<BoundEngine, EngineError>> {
        let lowers = self.source::<[f32; 3]>(path, fields, "lowers", vec3(Scalar::F32))?;
        let uppers = self.source::<[f32; 3]>(path, fields, "uppers", vec3(Scalar::F32))?;
        let groups = self.source::<i32>(path, fields, "groups", Element::Scalar(Scalar::I32))?;
        let (leaf_size, constructor) = self.tree(path, fields, 1)?;
        let build = || {
            let (Some(lowers), Some(uppers)) = (lowers.transpose()?, uppers.transpose()?) else {
                return Err(EngineError::Null { what: "bounds", count: 0 });
            };
            let input = BvhInput {
                groups: groups.transpose()?,
                leaf_size,
                constructor: constructor?,
                ..BvhInput::new(lowers, uppers)
            };
            Ok(BoundEngine::Bvh(Box::new(Bvh::new(input)?)))
        };
        Ok(build())
    }

    fn grid(&mut self, path: &str, fields: &'a [Argument]) -> Result<std::result::Result<BoundEngine, EngineError>> {
        let given = fields.iter().find(|field| field.name == "points");
        let scalar = match given.map(|field| &field.kind) {
            Some(ArgumentKind::Array(array)) => match &array.dtype {
                Some(crate::run::launch::DType::Plain(Element::Vec(3, scalar))) => *scalar,
                _ => Scalar::F32,
            },
            _ => Scalar::F32,
        };
        let (real, points) = match scalar {
            Scalar::F16 => {
                (Real::F16, self.source(path, fields, "points", vec3(scalar))?.map(|made| made.map(GridPoints::F16)))
            }
            Scalar::F64 => {
                (Real::F64, self.source(path, fields, "points", vec3(scalar))?.map(|made| made.map(GridPoints::F64)))
            }
            _ => (
                Real::F32,
                self.source(path, fields, "points", vec3(Scalar::F32))?.map(|made| made.map(GridPoints::F32)),
            ),
        };
        let groups = self.source::<i32>(path, fields, "groups", Element::Scalar(Scalar::I32))?;
        let dim = self.numbers(path, fields, "dim")?;
        let width = self.number(path, fields, "width")?.unwrap_or(0.0);
        let build = || {
            let Some(points) = points.transpose()? else {
                return Err(EngineError::Null { what: "points", count: 0 });
            };
            let dims = std::array::from_fn(|k| dim.get(k).map_or(0, |&n| n as i32));
            let mut grid = HashGrid::new(dims, real)?;
            let groups = groups.transpose()?;
            grid.build(points.slice(), width, groups.as_ref().map(Source::as_slice))?;
            grid.follow(points.range());
            Ok(BoundEngine::Grid { grid, points, width, groups })
        };
        Ok(build())
    }

    /// The most items in a leaf, and how a tree is built: 0 by "sah", 1 by "median".
    fn tree(
        &mut self,
        path: &str,
        fields: &'a [Argument],
        leaf_size: i32,
    ) -> Result<(i32, std::result::Result<Constructor, EngineError>)> {
        let leaf_size = self.number(path, fields, "leaf_size")?.map_or(leaf_size, |n| n as i32);
        let constructor = match self.number(path, fields, "constructor")?.map(|n| n as i32) {
            None | Some(0) => Ok(Constructor::Sah),
            Some(1) => Ok(Constructor::Median),
            Some(other) => Err(EngineError::Constructor { name: other.to_string() }),
        };
        Ok((leaf_size, constructor))
    }

    /// Binds the array that a field is, if it is there.
    fn source<T: Plain>(
        &mut self,
        path: &str,
        fields: &'a [Argument],
        name: &'static str,
        element: Element,
    ) -> Result<Option<std::result::Result<Source<T>, EngineError>>> {
        let Some(field) = fields.iter().find(|field| field.name == name) else { return Ok(None) };
        let path = format!("{path}.{name}");
        let ArgumentKind::Array(given) = &field.kind else {
            return Err(self.fail(Code::E1005, format!("argument `{path}`: expected an array")));
        };
        if given.data.is_none() {
            return Err(self.fail(Code::E1005, format!("argument `{path}`: expected an array, found null")));
        }
        let at = self.next;
        self.next += ARRAY_DESCRIPTOR_SIZE;
        self.array(&path, given, ArrayType { element, ndim: 1 }, at)?;
        let described = descriptor_at(self.out.block.bytes(), at);
        // SAFETY: the buffer belongs to the arguments, as the engine does, and is written between
        // launches only, by `set_floats` and `restore`, which then refit.
        Ok(Some(unsafe { Source::external(&described, name) }))
    }

    pub(super) fn numbers(&self, path: &str, fields: &[Argument], name: &str) -> Result<Vec<f64>> {
        let Some(field) = fields.iter().find(|field| field.name == name) else { return Ok(Vec::new()) };
        let of = |number: &Number| match *number {
            Number::Bool(value) => f64::from(u8::from(value)),
            Number::Int(value) => value as f64,
            Number::Float(value) => value,
        };
        match &field.kind {
            ArgumentKind::Value { literal: Literal::One(one), .. } => Ok(vec![of(one)]),
            ArgumentKind::Value { literal: Literal::Many(many), .. } => Ok(many.iter().map(of).collect()),
            _ => Err(self.fail(Code::E1005, format!("argument `{path}.{name}`: expected a value"))),
        }
    }

    pub(super) fn number(&self, path: &str, fields: &[Argument], name: &str) -> Result<Option<f64>> {
        Ok(self.numbers(path, fields, name)?.first().copied())
    }
}

/// The descriptor at an offset of a block.
pub(super) fn descriptor_at(block: &[u8], at: u32) -> ArrayDescriptor {
    let bytes = &block[at as usize..(at + ARRAY_DESCRIPTOR_SIZE) as usize];
    let long = |k: usize| u64::from_le_bytes(std::array::from_fn(|n| bytes[k + n]));
    let short = |k: usize| i32::from_le_bytes(std::array::from_fn(|n| bytes[k + n]));
    ArrayDescriptor {
        data: long(0),
        grad: long(8),
        shape: std::array::from_fn(|n| short(16 + 4 * n)),
        strides: std::array::from_fn(|n| short(32 + 4 * n)),
        ndim: short(48),
        flags: 0,
    }
}
