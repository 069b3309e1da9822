//! What do people call things? Names per domain and kind.

use super::tree::Kind;

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Domain {
    Generic,
    Physics,
    Ml,
    Graphics,
    Geometry,
    Sparse,
    Signal,
}

impl Domain {
    pub const ALL: [Domain; 7] = [
        Domain::Generic,
        Domain::Physics,
        Domain::Ml,
        Domain::Graphics,
        Domain::Geometry,
        Domain::Sparse,
        Domain::Signal,
    ];

    pub fn name(self) -> &'static str {
        match self {
            Domain::Generic => "generic",
            Domain::Physics => "physics",
            Domain::Ml => "ml",
            Domain::Graphics => "graphics",
            Domain::Geometry => "geometry",
            Domain::Sparse => "sparse",
            Domain::Signal => "signal",
        }
    }
}

/// Names of local values.
pub fn locals(domain: Domain, kind: Kind) -> &'static [&'static str] {
    match (kind, domain) {
        (Kind::Float, Domain::Physics) => &[
            "force",
            "work",
            "energy",
            "torque",
            "flux",
            "momentum",
            "stretch",
            "load",
            "residual_force",
            "power",
            "shear",
        ],
        (Kind::Float, Domain::Ml) => &[
            "logit",
            "score",
            "bias_term",
            "grad",
            "update",
            "error",
            "margin",
            "delta",
            "activation",
            "signal",
            "hidden",
        ],
        (Kind::Float, Domain::Graphics) => &[
            "shade",
            "depth",
            "intensity",
            "radiance",
            "height",
            "density",
            "exposure",
            "brightness",
            "dist",
            "contrast",
        ],
        (Kind::Float, Domain::Geometry) => {
            &["height", "offset", "signed_dist", "projection", "det", "curvature", "slope", "elevation", "gap", "lever"]
        }
        (Kind::Float, Domain::Sparse) => &[
            "value",
            "entry",
            "residual",
            "product",
            "diagonal",
            "correction",
            "row_sum",
            "pivot",
            "update",
            "offdiag",
        ],
        (Kind::Float, Domain::Signal) => {
            &["sample", "tone", "phase", "mix", "response", "envelope", "level", "baseline", "carrier", "drift"]
        }
        (Kind::Float, Domain::Generic) => &[
            "value", "result", "total", "diff", "scaled", "combined", "shifted", "term", "blend", "base", "y", "z", "w",
        ],
        (Kind::Positive, _) => &[
            "scale",
            "norm",
            "radius",
            "width",
            "sigma",
            "denom",
            "span",
            "mag",
            "extent",
            "weight_sum",
            "gain",
            "reach",
        ],
        (Kind::Unit, _) => &[
            "alpha",
            "weight",
            "t",
            "fraction",
            "mask",
            "blend_factor",
            "ratio",
            "prob",
            "coverage",
            "fade",
            "opacity",
        ],
        (Kind::Signed, _) => {
            &["wave", "cos_t", "direction", "swing", "tilt", "phase_term", "balance", "skewness", "ripple", "sway"]
        }
        (Kind::Int, _) => {
            &["level", "bin", "code", "parity", "slot", "rank", "cell", "stride", "flag", "digit", "group"]
        }
        (Kind::Vec(2), _) => &["uv", "p2", "offset2", "texel", "shift", "tangent2", "flow", "planar", "screen"],
        (Kind::Vec(3), Domain::Physics) => &[
            "force_vec",
            "accel",
            "impulse",
            "v_rel",
            "net_force",
            "momentum_vec",
            "arm",
            "field",
            "lift",
            "displacement",
        ],
        (Kind::Vec(3), Domain::Graphics) => {
            &["color", "tint", "hit_point", "origin", "albedo", "glow", "emission", "surface", "eye", "sample_point"]
        }
        (Kind::Vec(3), _) => &[
            "point",
            "delta_vec",
            "moved",
            "offset_vec",
            "center",
            "edge",
            "translated",
            "target",
            "shift_vec",
            "p_local",
        ],
        (Kind::Direction, _) => &["normal", "axis", "dir", "ray", "heading", "up", "unit_n", "look"],
        (Kind::Vec(_), _) => &["rgba", "homog", "quad", "coeffs", "plane", "features", "lanes", "packed"],
        (Kind::Mat(2), _) => &["rot2", "jac2", "metric2", "shear2", "cov2", "a2", "block"],
        (Kind::Mat(3), _) => {
            &["jacobian", "tensor", "frame", "strain_rate", "basis", "metric", "rot", "hessian", "dyad"]
        }
        (Kind::Mat(_), _) => &["view", "proj", "model", "mvp", "affine", "m_world"],
        (Kind::Quat, _) => &["rotation", "orient", "turn", "attitude", "q_rel", "spin", "q_mid"],
        (Kind::Transform, _) => &["pose", "body_frame", "world_xform", "local_xform", "joint"],
        (Kind::Spatial, _) => &["twist", "wrench", "body_vel", "spatial_force", "screw"],
        (Kind::State, _) => &["rng", "state"],
        (Kind::Bool, _) => &["inside", "active", "is_near", "keep", "valid", "above"],
    }
}

/// Names of arrays that a kernel reads.
pub fn inputs(domain: Domain, kind: Kind) -> &'static [&'static str] {
    match (kind, domain) {
        (Kind::Float, Domain::Physics) => {
            &["mass", "charge", "temperature", "pressure", "density", "height", "voltage", "u", "phi"]
        }
        (Kind::Float, Domain::Ml) => {
            &["weights", "inputs", "logits", "gradients", "targets", "bias", "activations", "embedding"]
        }
        (Kind::Float, Domain::Graphics) => {
            &["depth", "alpha", "luminance", "heightmap", "coverage", "shadow", "roughness"]
        }
        (Kind::Float, Domain::Geometry) => &["distances", "angles", "lengths", "heights", "curvature", "scalars"],
        (Kind::Float, Domain::Sparse) => &["values", "x", "b", "diag", "rhs", "residual", "entries"],
        (Kind::Float, Domain::Signal) => &["signal", "samples", "envelope", "noise_in", "spectrum", "taps", "audio"],
        (Kind::Float, Domain::Generic) => &["a", "b", "x", "data", "src", "values", "input", "field", "coeff"],
        (Kind::Positive, _) => &["radii", "sigma", "inv_mass", "scales", "widths", "stiffness", "rates", "areas"],
        (Kind::Unit, _) => &["weights01", "mask", "opacity", "probs", "fractions", "blend"],
        (Kind::Signed, _) => &["cosines", "signs", "ndc", "offsets", "correlations"],
        (Kind::Int, _) => &["labels", "counts", "levels", "codes", "ids", "keys", "tags", "flags"],
        (Kind::Vec(2), _) => &["uvs", "points2d", "flow", "texcoords", "grid_pos", "velocity2"],
        (Kind::Vec(3), Domain::Physics) => &["positions", "velocities", "forces", "x", "v", "momenta", "particles"],
        (Kind::Vec(3), Domain::Graphics) => &["colors", "origins", "pixels", "albedo", "light_pos", "vertices"],
        (Kind::Vec(3), _) => &["points", "vertices", "centers", "offsets3", "anchors", "samples3", "verts"],
        (Kind::Direction, _) => &["normals", "directions", "axes", "rays", "tangents"],
        (Kind::Vec(_), _) => &["rgba", "planes", "quads", "features4", "texels"],
        (Kind::Mat(2), _) => &["metrics", "blocks2", "rotations2", "jacobians2"],
        (Kind::Mat(3), _) => &["rotations", "deformation", "inertia", "tensors", "frames", "blocks"],
        (Kind::Mat(_), _) => &["transforms4", "views", "matrices", "cameras"],
        (Kind::Quat, _) => &["orientations", "rotations_q", "attitudes", "quats"],
        (Kind::Transform, _) => &["poses", "body_q", "frames_t", "xforms"],
        (Kind::Spatial, _) => &["twists", "body_qd", "wrenches"],
        (Kind::State, _) | (Kind::Bool, _) => &["states"],
    }
}

/// Names of arrays that a kernel writes.
pub fn outputs(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Physics => &["forces_out", "new_state", "energy_out", "accel_out", "next_u", "stress_out", "out"],
        Domain::Ml => &["outputs", "predictions", "loss_out", "grad_out", "hidden_out", "updated", "out"],
        Domain::Graphics => &["image", "framebuffer", "shaded", "pixels_out", "target", "output", "canvas"],
        Domain::Geometry => &["result", "projected", "moved", "areas_out", "normals_out", "out", "features_out"],
        Domain::Sparse => &["y", "result", "out", "residual_out", "product", "row_out"],
        Domain::Signal => &["filtered", "output", "response", "spectrum_out", "y", "processed"],
        Domain::Generic => &["out", "result", "dst", "output", "c", "y", "results"],
    }
}

/// Names of scalar parameters.
pub fn scalars(domain: Domain, kind: Kind) -> &'static [&'static str] {
    match (kind, domain) {
        (Kind::Positive, Domain::Physics) => {
            &["dt", "mass0", "stiffness", "damping", "viscosity", "rest_length", "rho0", "dx"]
        }
        (Kind::Positive, Domain::Ml) => &["learning_rate", "temperature", "eps", "sigma", "decay_rate", "beta"],
        (Kind::Positive, Domain::Graphics) => &["exposure", "gamma", "focal", "falloff", "shininess", "aperture"],
        (Kind::Positive, _) => &["scale", "radius", "cutoff", "bandwidth", "spacing", "tol", "gain", "step_size"],
        (Kind::Unit, _) => &["alpha", "mix", "blend", "rate", "keep_prob", "momentum", "damping_ratio"],
        (Kind::Int, _) => &["seed", "offset", "width", "levels", "stride", "num_steps", "frame", "order"],
        (Kind::Vec(3), Domain::Physics) => &["gravity", "wind", "anchor", "field_dir"],
        (Kind::Vec(3), _) => &["origin", "center", "light", "shift3", "camera", "translation"],
        (Kind::Vec(2), _) => &["origin2", "cell_size", "shift2", "resolution"],
        (Kind::Quat, _) => &["rotation", "orientation0"],
        (Kind::Mat(3), _) => &["basis", "inertia0", "frame"],
        _ => &["bias", "shift", "offset_f", "slope", "threshold", "level", "factor", "coef"],
    }
}

/// Verbs that kernels and functions are named by.
pub fn verbs(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Physics => &["integrate", "advance", "apply", "accumulate", "relax", "solve", "collide", "update"],
        Domain::Ml => &["forward", "activate", "normalize", "score", "train", "reduce", "attend", "project"],
        Domain::Graphics => &["shade", "render", "trace", "composite", "blur", "sample", "tonemap", "light"],
        Domain::Geometry => &["transform", "project", "measure", "align", "intersect", "subdivide", "smooth", "rotate"],
        Domain::Sparse => &["multiply", "gather", "scatter", "assemble", "precondition", "sweep", "apply"],
        Domain::Signal => &["filter", "modulate", "window", "resample", "detect", "mix", "smooth", "analyze"],
        Domain::Generic => {
            &["compute", "map", "combine", "evaluate", "scale", "update", "process", "transform", "apply"]
        }
    }
}

/// What the verbs act on.
pub fn objects(domain: Domain) -> &'static [&'static str] {
    match domain {
        Domain::Physics => {
            &["particles", "springs", "bodies", "forces", "fields", "cloth", "fluid", "heat", "contacts", "waves"]
        }
        Domain::Ml => {
            &["layer", "logits", "features", "batch", "weights", "tokens", "embeddings", "residuals", "heads"]
        }
        Domain::Graphics => &["pixels", "rays", "image", "surface", "scene", "texture", "volume", "sky", "samples"],
        Domain::Geometry => {
            &["points", "triangles", "mesh", "frames", "edges", "planes", "curves", "boxes", "vertices"]
        }
        Domain::Sparse => &["rows", "matrix", "csr", "entries", "blocks", "residual", "graph", "neighbors"],
        Domain::Signal => &["signal", "samples", "spectrum", "channel", "tone", "envelope", "stream", "frame"],
        Domain::Generic => {
            &["values", "elements", "data", "field", "grid", "table", "array", "cells", "pairs", "items"]
        }
    }
}
