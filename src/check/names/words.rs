//! Which names of Warp are not here, and why?

/// Why a built-in of Warp is not here; None for names that Warp does not have either.
pub fn unsupported(name: &str) -> Option<&'static str> {
    if name == "tile" || name == "untile" || name.starts_with("tile_") {
        return Some("this operation on tiles is not compiled yet");
    }
    match name {
        "dense_gemm_batched" | "dense_chol_batched" | "dense_solve_batched" => {
            Some("Warp declares it, but has no code for it either")
        }
        "address_of" | "fabricarray" | "fabricarrayarray" | "indexedfabricarray" | "Bvh" | "HashGrid" => {
            Some("not compiled yet")
        }
        _ => None,
    }
}
