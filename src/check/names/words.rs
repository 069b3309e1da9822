//! Which names of Warp are not here, and why?

/// Why a built-in of Warp is not here; None for names that Warp does not have either.
pub fn unsupported(name: &str) -> Option<&'static str> {
    const ENGINE: &[&str] = &["bvh_", "mesh_", "hash_grid_", "volume_", "texture_"];
    if name == "tile" || name == "untile" || name.starts_with("tile_") {
        return Some("this operation on tiles is not compiled yet");
    }
    if ENGINE.iter().any(|prefix| name.starts_with(prefix)) {
        return Some("it belongs to Warp's run-time engine (meshes, hash grids, volumes, textures)");
    }
    match name {
        "dense_gemm_batched" | "dense_chol_batched" | "dense_solve_batched" => {
            Some("Warp declares it, but has no code for it either")
        }
        "address_of" | "fabricarray" | "fabricarrayarray" | "indexedfabricarray" | "Mesh" | "Volume" | "Bvh"
        | "HashGrid" | "Texture2D" | "Texture3D" => Some("not compiled yet"),
        _ => None,
    }
}
