//! Which built-ins does the compiler itself know, and which of Warp's are not here?

/// The names of the built-ins in [`super::builtin`], for look-up and suggestions.
pub const NAMES: &[&str] = &[
    "tid",
    "range",
    "len",
    "zeros",
    "static",
    "print",
    "printf",
    "type",
    "block_dim",
    "vector",
    "matrix",
    "quaternion",
    "transformation",
    "identity",
    "quat_identity",
    "transform_identity",
    "cast",
    "constant",
    "select",
    "view",
    "atomic_add",
    "atomic_sub",
    "atomic_min",
    "atomic_max",
    "atomic_and",
    "atomic_or",
    "atomic_xor",
    "atomic_exch",
    "atomic_cas",
    "grad",
];

/// Why a built-in of Warp is not here; None for names that Warp does not have either.
pub fn unsupported(name: &str) -> Option<&'static str> {
    const ENGINE: &[&str] = &["bvh_", "mesh_", "hash_grid_", "volume_", "texture_"];
    if name == "tile" || name == "untile" || name.starts_with("tile_") {
        return Some("tiles are not compiled yet");
    }
    if ENGINE.iter().any(|prefix| name.starts_with(prefix)) {
        return Some("it belongs to Warp's run-time engine (meshes, hash grids, volumes, textures)");
    }
    match name {
        "address_of" | "indexedarray" | "fabricarray" | "indexedfabricarray" | "Mesh" | "Volume" | "Bvh"
        | "HashGrid" | "Texture2D" | "Texture3D" => Some("not compiled yet"),
        _ => None,
    }
}
