//! What has to be copied for a launch on other memory, a GPU's or the simulator's? The header, and
//! the arrays that it points to. Who copies allocates both, and writes the new addresses into a
//! copy of the header.

use super::memory::Source;

/// What an id points to.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Debug)]
pub enum Kind {
    Mesh,
    Bvh,
    HashGrid,
    Volume,
    Texture,
}

impl Kind {
    pub const ALL: [Kind; 5] = [Kind::Mesh, Kind::Bvh, Kind::HashGrid, Kind::Volume, Kind::Texture];

    /// As launch files call it.
    pub fn word(self) -> &'static str {
        match self {
            Kind::Mesh => "mesh",
            Kind::Bvh => "bvh",
            Kind::HashGrid => "hash_grid",
            Kind::Volume => "volume",
            Kind::Texture => "texture",
        }
    }

    /// As in Python, with its article.
    pub fn name(self) -> &'static str {
        match self {
            Kind::Mesh => "a mesh",
            Kind::Bvh => "a BVH",
            Kind::HashGrid => "a hash grid",
            Kind::Volume => "a volume",
            Kind::Texture => "a texture",
        }
    }
}

/// An array that a header points to. The same bytes can be named by several slots.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub struct Piece<'a> {
    /// Offset of the pointer in the header.
    pub slot: u32,
    pub bytes: &'a [u8],
    /// Kernels may write it: gradients.
    pub writable: bool,
}

/// An object whose id kernels read.
pub trait Engine {
    /// The address of the header. It stays for the life of the object.
    fn id(&self) -> u64;

    fn kind(&self) -> Kind;

    /// The struct that the id points to. Of a volume, the whole buffer, which kernels may write.
    fn header(&self) -> &[u8];

    /// Arrays that are empty are left out: their slots hold 0.
    fn pieces(&self) -> Vec<Piece<'_>>;
}

/// Collects pieces.
#[derive(Default)]
pub struct Pieces<'a>(Vec<Piece<'a>>);

impl<'a> Pieces<'a> {
    /// An array that kernels read.
    pub fn read(&mut self, slot: usize, bytes: &'a [u8]) {
        self.push(slot, bytes, false);
    }

    /// An array behind a descriptor at `offset` in the header, and its gradient.
    pub fn array<T: super::memory::Plain>(&mut self, offset: usize, array: &'a Source<T>) {
        self.read(offset + super::layout::ARRAY_DATA as usize, array.bytes());
        self.gradient(offset + super::layout::ARRAY_GRAD as usize, array);
    }

    /// The gradient of an array, if it has one.
    pub fn gradient<T: super::memory::Plain>(&mut self, slot: usize, array: &'a Source<T>) {
        if let Some(gradient) = array.gradient_bytes() {
            self.push(slot, gradient, true);
        }
    }

    fn push(&mut self, slot: usize, bytes: &'a [u8], writable: bool) {
        if !bytes.is_empty() {
            self.0.push(Piece { slot: slot as u32, bytes, writable });
        }
    }

    pub fn finish(self) -> Vec<Piece<'a>> {
        self.0
    }
}

/// The header as it reads on memory where each piece lies at the address that `place` names.
pub fn relocated(engine: &dyn Engine, mut place: impl FnMut(&Piece) -> u64) -> Vec<u8> {
    let mut header = engine.header().to_vec();
    for piece in engine.pieces() {
        let slot = piece.slot as usize;
        if let Some(bytes) = header.get_mut(slot..slot + 8) {
            bytes.copy_from_slice(&place(&piece).to_le_bytes());
        }
    }
    header
}
