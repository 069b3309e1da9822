//! How are arrays and results read, written and shown?

pub mod mesh_file;
pub mod npy;
pub mod npz;
pub mod output;
pub mod picture;
pub mod show;
pub mod volume_file;
pub mod whole;
