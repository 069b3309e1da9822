//! By which moments are winding numbers found? Those of a triangle, and of what lies below a node.
//! Barill, Dickson, Schmidt, Levin, Jacobson: Fast Winding Numbers for Soups and Clouds, 2018.

use super::layout::SolidAngle;
use super::tree::bounds::Bounds;

/// [`SolidAngle`] with indices in place of names. With unit normals n, and positions p from the
/// centroid: `second[i][j]` = ∫ n_i p_j dA, and of `third` = ∫ n_i p_j p_k dA the sums that the
/// expansion needs.
#[derive(Clone, Copy)]
struct Moments {
    bounds: Bounds,
    area: f32,
    area_p: [f32; 3],
    centroid: [f32; 3],
    normal: [f32; 3],
    second: [[f32; 3]; 3],
    /// `cubes[i]` = third[i][i][i].
    cubes: [f32; 3],
    /// `mixed[i][j]` = 2 third[i][i][j] + third[j][i][i] for i ≠ j.
    mixed: [[f32; 3]; 3],
    /// third[0][1][2] over all six orders of the indices.
    permuted: f32,
}

const PAIRS: [[usize; 2]; 6] = [[0, 1], [0, 2], [1, 2], [1, 0], [2, 0], [2, 1]];

fn vector(component: impl FnMut(usize) -> f32) -> [f32; 3] {
    std::array::from_fn(component)
}

fn sub(a: [f32; 3], b: [f32; 3]) -> [f32; 3] {
    vector(|k| a[k] - b[k])
}

fn square(a: [f32; 3]) -> f32 {
    a[0] * a[0] + a[1] * a[1] + a[2] * a[2]
}

impl Moments {
    /// About its centroid a triangle has no second moments; the integral of p_j p_k is the area
    /// over 12, times the sum over the corners.
    fn of_triangle(corners: [[f32; 3]; 3]) -> Moments {
        let [a, b, c] = corners;
        let (u, v) = (sub(b, a), sub(c, a));
        let normal = vector(|k| {
            let (i, j) = ((k + 1) % 3, (k + 2) % 3);
            0.5 * (u[i] * v[j] - u[j] * v[i])
        });
        let centroid = vector(|k| (a[k] + b[k] + c[k]) / 3.0);
        let arms = corners.map(|corner| sub(corner, centroid));
        let integral = |j: usize, k: usize| arms.iter().map(|arm| arm[j] * arm[k]).sum::<f32>() / 12.0;
        let mut mixed = [[0.0; 3]; 3];
        for [i, j] in PAIRS {
            mixed[i][j] = 2.0 * normal[i] * integral(i, j) + normal[j] * integral(i, i);
        }
        let area = square(normal).sqrt();
        Moments {
            bounds: corners.iter().fold(Bounds::NOTHING, |all, &[x, y, z]| all.with([x, y, z, 0.0])),
            area,
            area_p: vector(|k| centroid[k] * area),
            centroid,
            normal,
            second: [[0.0; 3]; 3],
            cubes: vector(|i| normal[i] * integral(i, i)),
            mixed,
            permuted: 2.0 * (normal[0] * integral(1, 2) + normal[1] * integral(2, 0) + normal[2] * integral(0, 1)),
        }
    }

    /// Those of both, about their common centroid.
    fn union(&self, other: &Moments) -> Moments {
        let bounds = self.bounds.union(&other.bounds);
        let area = self.area + other.area;
        let area_p = vector(|k| self.area_p[k] + other.area_p[k]);
        let centroid = if area > 0.0 {
            vector(|k| area_p[k] / area)
        } else {
            vector(|k| 0.5 * (bounds.lower[k] + bounds.upper[k]))
        };
        let (a, b) = (self.about(centroid), other.about(centroid));
        Moments {
            bounds,
            area,
            area_p,
            centroid,
            normal: vector(|k| a.normal[k] + b.normal[k]),
            second: std::array::from_fn(|i| vector(|j| a.second[i][j] + b.second[i][j])),
            cubes: vector(|k| a.cubes[k] + b.cubes[k]),
            mixed: std::array::from_fn(|i| vector(|j| a.mixed[i][j] + b.mixed[i][j])),
            permuted: a.permuted + b.permuted,
        }
    }

    /// About another point: in the integrals p becomes p + d.
    fn about(&self, point: [f32; 3]) -> Moments {
        let (d, n, s) = (sub(self.centroid, point), self.normal, self.second);
        let mut moved = *self;
        moved.centroid = point;
        moved.second = std::array::from_fn(|i| vector(|j| s[i][j] + n[i] * d[j]));
        moved.cubes = vector(|i| self.cubes[i] + 2.0 * d[i] * s[i][i] + n[i] * d[i] * d[i]);
        for [i, j] in PAIRS {
            let twice = d[j] * s[i][i] + d[i] * (s[i][j] + s[j][i]) + n[i] * d[i] * d[j];
            moved.mixed[i][j] += 2.0 * twice + n[j] * d[i] * d[i];
        }
        let around = |i: usize, j: usize, k: usize| d[k] * (s[i][j] + s[j][i]) + n[k] * d[i] * d[j];
        moved.permuted += 2.0 * (around(0, 1, 2) + around(1, 2, 0) + around(2, 0, 1));
        moved
    }

    fn pack(&self) -> SolidAngle {
        let (s, m) = (self.second, self.mixed);
        let farthest =
            vector(|k| (self.centroid[k] - self.bounds.lower[k]).max(self.bounds.upper[k] - self.centroid[k]));
        SolidAngle {
            average_p: self.centroid,
            normal: self.normal,
            n_ij_diag: vector(|k| s[k][k]),
            n_ijk_diag: self.cubes,
            sum_permute_n_xyz: self.permuted,
            two_n_xxy_n_yxx: m[0][1],
            two_n_xxz_n_zxx: m[0][2],
            two_n_yyz_n_zyy: m[1][2],
            two_n_yyx_n_xyy: m[1][0],
            two_n_zzx_n_xzz: m[2][0],
            two_n_zzy_n_yzz: m[2][1],
            n_xy: s[0][1],
            n_yx: s[1][0],
            n_yz: s[1][2],
            n_zy: s[2][1],
            n_zx: s[2][0],
            n_xz: s[0][2],
            lower: self.bounds.lower(),
            upper: self.bounds.upper(),
            area_p: self.area_p,
            area: self.area,
            max_p_dist_sq: square(farthest),
        }
    }

    fn unpack(p: &SolidAngle) -> Moments {
        Moments {
            bounds: Bounds::new(p.lower, p.upper),
            area: p.area,
            area_p: p.area_p,
            centroid: p.average_p,
            normal: p.normal,
            second: [
                [p.n_ij_diag[0], p.n_xy, p.n_xz],
                [p.n_yx, p.n_ij_diag[1], p.n_yz],
                [p.n_zx, p.n_zy, p.n_ij_diag[2]],
            ],
            cubes: p.n_ijk_diag,
            mixed: [
                [0.0, p.two_n_xxy_n_yxx, p.two_n_xxz_n_zxx],
                [p.two_n_yyx_n_xyy, 0.0, p.two_n_yyz_n_zyy],
                [p.two_n_zzx_n_xzz, p.two_n_zzy_n_yzz, 0.0],
            ],
            permuted: p.sum_permute_n_xyz,
        }
    }
}

/// The moments of triangles; all zero of none.
pub fn of_triangles(triangles: impl Iterator<Item = [[f32; 3]; 3]>) -> SolidAngle {
    triangles
        .map(Moments::of_triangle)
        .reduce(|all, one| all.union(&one))
        .map_or(SolidAngle::default(), |all| all.pack())
}

/// The moments of two nodes together.
pub fn union(left: &SolidAngle, right: &SolidAngle) -> SolidAngle {
    Moments::unpack(left).union(&Moments::unpack(right)).pack()
}
