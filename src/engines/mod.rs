//! What do ids of meshes, trees, hash grids, volumes and textures point to, and who builds it?
//!
//! - [`layout`]: what do the bytes look like that an id points to?
//! - [`memory`]: whose memory is it, and how does it become a slice?
//! - [`error`]: what can be wrong with the data?
//! - [`tree`]: how is a bounding volume hierarchy built and refitted?
//! - [`bvh`]: what does the id of a BVH point to?
//! - [`mesh`]: what does the id of a mesh point to?
//! - [`solid_angle`]: by which moments are winding numbers found?
//! - [`hash_grid`]: what does the id of a hash grid point to?
//! - [`volume`]: what does the id of a volume point to?
//! - [`texture`]: what does the handle of a texture point to?
//! - [`device`]: what has to be copied for a launch on other memory?
//! - [`registry`]: which engine does an id or an address belong to?

pub mod bvh;
pub mod device;
pub mod error;
pub mod hash_grid;
pub mod layout;
pub mod memory;
pub mod mesh;
pub mod registry;
pub mod solid_angle;
pub mod texture;
pub mod tree;
pub mod volume;

pub use bvh::Bvh;
pub use device::{Engine, Kind, Piece};
pub use error::EngineError;
pub use hash_grid::HashGrid;
pub use layout::Constructor;
pub use memory::Source;
pub use mesh::Mesh;
pub use texture::Texture;
pub use volume::Volume;
