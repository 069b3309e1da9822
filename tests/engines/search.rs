//! The search through everything, in float64.

use super::Random;

pub type V3 = [f32; 3];
type D3 = [f64; 3];

/// Triangles.
pub struct Scene {
    pub points: Vec<V3>,
    pub faces: Vec<[i32; 3]>,
    pub closed: bool,
}

fn wide(p: V3) -> D3 {
    p.map(f64::from)
}

fn sub(a: D3, b: D3) -> D3 {
    [a[0] - b[0], a[1] - b[1], a[2] - b[2]]
}

fn along(a: D3, t: f64, d: D3) -> D3 {
    [a[0] + t * d[0], a[1] + t * d[1], a[2] + t * d[2]]
}

fn dot(a: D3, b: D3) -> f64 {
    a[0] * b[0] + a[1] * b[1] + a[2] * b[2]
}

fn cross(a: D3, b: D3) -> D3 {
    [a[1] * b[2] - a[2] * b[1], a[2] * b[0] - a[0] * b[2], a[0] * b[1] - a[1] * b[0]]
}

fn norm(a: D3) -> f64 {
    dot(a, a).sqrt()
}

pub fn length(a: V3) -> f64 {
    norm(wide(a))
}

pub fn distance(a: V3, b: V3) -> f64 {
    norm(sub(wide(a), wide(b)))
}

/// The distance to the straight line from `a` to `b`.
fn to_segment(x: D3, a: D3, b: D3) -> f64 {
    let ab = sub(b, a);
    let t = if dot(ab, ab) > 0.0 { (dot(sub(x, a), ab) / dot(ab, ab)).clamp(0.0, 1.0) } else { 0.0 };
    norm(sub(along(a, t, ab), x))
}

/// The distance to a triangle: that to its plane where the foot is inside, else to an edge.
fn to_triangle(x: D3, [a, b, c]: [D3; 3]) -> f64 {
    let n = cross(sub(b, a), sub(c, a));
    let edges = to_segment(x, a, b).min(to_segment(x, b, c)).min(to_segment(x, c, a));
    let area = dot(n, n);
    if area == 0.0 {
        return edges;
    }
    let height = dot(sub(x, a), n) / area.sqrt();
    let foot = along(x, -height / area.sqrt(), n);
    let side = |p: D3, q: D3| dot(cross(sub(q, p), sub(foot, p)), n) >= 0.0;
    if side(a, b) && side(b, c) && side(c, a) { height.abs().min(edges) } else { edges }
}

impl Scene {
    /// A soup, a lattice with faces that lie on each other, or a closed surface.
    pub fn any(random: &mut Random) -> Scene {
        match random.below(3) {
            0 => Scene::soup(random),
            1 => Scene::lattice(random),
            _ => Scene::closed(random),
        }
    }

    fn soup(random: &mut Random) -> Scene {
        let points: Vec<V3> = (0..3 + random.below(120)).map(|_| random.vec()).collect();
        let count = 1 + random.below(150);
        let n = points.len() as u64;
        let faces = (0..count).map(|_| [0; 3].map(|_: i32| random.below(n) as i32)).collect();
        Scene { points, faces, closed: false }.without_slivers()
    }

    /// Triangles that are up to a thousand times as long as high, each with corners of its own.
    pub fn needles(random: &mut Random) -> Scene {
        let mut points = Vec::new();
        for _ in 0..100 {
            let (a, b, off, t) = (random.vec(), random.vec(), random.vec(), random.signed().abs());
            let height = 10.0f32.powf(-1.5 * (1.0 + random.signed().abs()));
            points.extend([a, b, std::array::from_fn(|k| a[k] + t * (b[k] - a[k]) + height * off[k])]);
        }
        let faces = (0..100).map(|face| [3 * face, 3 * face + 1, 3 * face + 2]).collect();
        Scene { points, faces, closed: false }
    }

    fn lattice(random: &mut Random) -> Scene {
        let n = 4;
        let points: Vec<V3> =
            (0..n * n * 2).map(|k| [(k % n) as f32, (k / n % n) as f32, (k / (n * n)) as f32]).collect();
        let mut faces = Vec::new();
        for layer in 0..2 {
            for y in 0..n - 1 {
                for x in 0..n - 1 {
                    let at = |dx: i32, dy: i32| layer * n * n + (y + dy) * n + x + dx;
                    faces.push([at(0, 0), at(1, 0), at(1, 1)]);
                    faces.push([at(0, 0), at(1, 1), at(0, 1)]);
                    // One more on the same place.
                    if random.below(3) == 0 {
                        faces.push([at(1, 0), at(1, 1), at(0, 0)]);
                    }
                }
            }
        }
        Scene { points, faces, closed: false }
    }

    /// A bumpy sphere of triangles whose normals point outwards.
    pub fn closed(random: &mut Random) -> Scene {
        let (rows, columns) = (4 + random.below(5) as i32, 5 + random.below(6) as i32);
        let mut points: Vec<V3> = vec![[0.0, 0.0, 1.0]];
        let bump: Vec<f32> = (0..3).map(|_| random.signed() * 0.2).collect();
        for row in 1..rows {
            for column in 0..columns {
                let polar = std::f32::consts::PI * row as f32 / rows as f32;
                let around = 2.0 * std::f32::consts::PI * column as f32 / columns as f32;
                let r =
                    1.0 + bump[0] * (2.0 * around).cos() * polar.sin() + bump[1] * (3.0 * polar).cos() * polar.sin();
                points.push([r * polar.sin() * around.cos(), r * polar.sin() * around.sin(), r * polar.cos()]);
            }
        }
        points.push([0.0, 0.0, -1.0]);
        let at = |row: i32, column: i32| 1 + (row - 1) * columns + column.rem_euclid(columns);
        let last = points.len() as i32 - 1;
        let mut faces = Vec::new();
        for column in 0..columns {
            faces.push([0, at(1, column), at(1, column + 1)]);
            faces.push([last, at(rows - 1, column + 1), at(rows - 1, column)]);
            for row in 1..rows - 1 {
                faces.push([at(row, column), at(row + 1, column), at(row + 1, column + 1)]);
                faces.push([at(row, column), at(row + 1, column + 1), at(row, column + 1)]);
            }
        }
        Scene { points, faces, closed: true }
    }

    fn without_slivers(mut self) -> Scene {
        let points = self.points.clone();
        self.faces.retain(|face| {
            let [a, b, c] = face.map(|k| wide(points[k as usize]));
            norm(cross(sub(b, a), sub(c, a))) > 1e-3
        });
        if self.faces.is_empty() {
            self.points = vec![[0.0; 3], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]];
            self.faces = vec![[0, 1, 2]];
        }
        self
    }

    fn corners(&self, face: usize) -> [D3; 3] {
        self.faces[face].map(|k| wide(self.points[k as usize]))
    }

    /// A place near a face, on one, at a corner, or anywhere.
    pub fn query(&self, random: &mut Random) -> V3 {
        let [a, b, c] = self.faces[random.below(self.faces.len() as u64)].map(|k| self.points[k as usize]);
        let (u, v) = (random.signed().abs(), random.signed().abs());
        let (u, v) = if u + v > 1.0 { (1.0 - u, 1.0 - v) } else { (u, v) };
        let on: V3 = std::array::from_fn(|k| a[k] + u * (b[k] - a[k]) + v * (c[k] - a[k]));
        let off = random.vec();
        match random.below(6) {
            0 => on,
            1 => a,
            2 => std::array::from_fn(|k| 0.5 * (a[k] + b[k])),
            3 => std::array::from_fn(|k| on[k] + 0.01 * off[k]),
            4 => std::array::from_fn(|k| on[k] + off[k]),
            _ => off.map(|c| 20.0 * c),
        }
    }

    /// A direction to a face, to a corner, along an axis, or anywhere.
    pub fn direction(&self, from: V3, random: &mut Random) -> V3 {
        let to = self.query(random);
        let corner = self.points[random.below(self.points.len() as u64)];
        let toward = |p: V3| -> V3 { std::array::from_fn(|k| p[k] - from[k]) };
        let d = match random.below(5) {
            0 | 1 => toward(to),
            2 => toward(corner),
            3 => std::array::from_fn(|k| if k == random.0 as usize % 3 { 1.0 } else { 0.0 }),
            _ => random.vec(),
        };
        if d == [0.0; 3] { [1.0, 2.0, 3.0] } else { d }
    }

    /// The closest face and its distance.
    pub fn closest(&self, x: V3) -> (usize, f64) {
        let all = (0..self.faces.len()).map(|face| (face, to_triangle(wide(x), self.corners(face))));
        all.min_by(|a, b| a.1.total_cmp(&b.1)).expect("a face")
    }

    /// Whether the sum of the angles of all faces is that of a point inside.
    pub fn winds_around(&self, x: V3) -> bool {
        let angle = |face: usize| {
            let [a, b, c] = self.corners(face).map(|p| sub(p, wide(x)));
            let above = dot(a, cross(b, c));
            let below = norm(a) * norm(b) * norm(c) + dot(a, b) * norm(c) + dot(b, c) * norm(a) + dot(c, a) * norm(b);
            2.0 * above.atan2(below)
        };
        let sum: f64 = (0..self.faces.len()).map(angle).sum();
        assert!(self.closed);
        sum.abs() > 2.0 * std::f64::consts::PI
    }

    /// Where a ray meets faces, nearest first, and whether from the front. None: it comes so near
    /// to an edge, a plane or its own start that rounding decides.
    pub fn hits(&self, from: V3, d: V3) -> Option<Vec<(f64, bool)>> {
        let (o, d) = (wide(from), wide(d));
        let mut hits = Vec::new();
        for face in 0..self.faces.len() {
            let [a, b, c] = self.corners(face);
            let n = cross(sub(b, a), sub(c, a));
            let slope = dot(n, d);
            let scale = norm(n) * norm(d);
            let height = dot(sub(a, o), n);
            if slope.abs() < 1e-5 * scale {
                // Beside the plane it misses; near it, who knows.
                if height.abs() < 1e-3 * norm(n) * (1.0 + norm(o)) {
                    return None;
                }
                continue;
            }
            let t = height / slope;
            let p = along(o, t, d);
            // Distances of the place from the three edges, above 0 inside.
            let inside = [(a, b), (b, c), (c, a)]
                .map(|(p0, p1)| dot(cross(sub(p1, p0), sub(p, p0)), n) / (norm(n) * norm(sub(p1, p0))));
            let least = inside.into_iter().fold(f64::INFINITY, f64::min);
            let slack = 2e-5 * (1.0 + norm(p) + norm(o)) * (scale / slope.abs()).min(100.0);
            if least.abs() < slack || (least > 0.0 && (t * norm(d)).abs() < slack) {
                return None;
            }
            if least > 0.0 && t > 0.0 {
                hits.push((t, slope < 0.0));
            }
        }
        hits.sort_by(|a, b| a.0.total_cmp(&b.0));
        Some(hits)
    }
}

/// Whether a box touches the box from `x` of size `r`, the sphere, the ray, and whether the box
/// grown by `r / 2` is met by the first length of the ray. None: rounding decides.
pub fn box_kinds(low: V3, high: V3, x: V3, d: V3, r: f32) -> [Option<bool>; 4] {
    let touches = (0..3).all(|k| x[k] <= high[k] && x[k] + r >= low[k]);
    let gap = |k: usize| (f64::from(low[k]) - f64::from(x[k])).max(f64::from(x[k]) - f64::from(high[k])).max(0.0);
    let square: f64 = (0..3).map(|k| gap(k) * gap(k)).sum();
    let r = f64::from(r);
    let sphere = if (square - r * r).abs() < 1e-6 { None } else { Some(square <= r * r) };
    let interval = |grow: f64| {
        let (mut near, mut far) = (f64::NEG_INFINITY, f64::INFINITY);
        for k in 0..3 {
            let (a, b) = (f64::from(low[k]) - grow - f64::from(x[k]), f64::from(high[k]) + grow - f64::from(x[k]));
            let (a, b) = (a / f64::from(d[k]), b / f64::from(d[k]));
            (near, far) = (near.max(a.min(b)), far.min(a.max(b)));
        }
        (near, far)
    };
    let meets = |(near, far): (f64, f64), most: f64| {
        let close = |a: f64, b: f64| (a - b).abs() < 1e-4 * (1.0 + a.abs());
        let unsure = close(near, far) || close(far, 0.0) || close(near, most);
        (!unsure).then_some(far >= 0.0 && far >= near && near <= most)
    };
    [Some(touches), sphere, meets(interval(0.0), f64::INFINITY), meets(interval(0.5 * r), 1.0)]
}

/// Of which kinds of query rounding decides for no box.
pub fn sure(lowers: &[V3], uppers: &[V3], x: V3, d: V3, r: f32) -> [bool; 4] {
    let mut sure = [true; 4];
    for (&low, &high) in lowers.iter().zip(uppers) {
        for (sure, kind) in sure.iter_mut().zip(box_kinds(low, high, x, d, r)) {
            *sure &= kind.is_some();
        }
    }
    sure
}

/// The points in the cells around `x`, in the order of the cells (z, y, x) and of their numbers.
pub fn cell_order(points: &[V3], dims: [i32; 3], width: f32, x: V3, radius: f32) -> Vec<i32> {
    let inverse = 1.0 / width;
    let cell = |c: f32| (c * inverse).floor() as i64;
    let wrapped = |c: i64, k: usize| c.rem_euclid(i64::from(dims[k]));
    if points.is_empty() {
        return Vec::new();
    }
    let range = |k: usize| {
        let (first, last) = (cell(x[k] - radius), cell(x[k] + radius));
        first..=first.max(last.min(first + i64::from(dims[k]) - 1))
    };
    let mut order = Vec::new();
    for cz in range(2) {
        for cy in range(1) {
            for cx in range(0) {
                let here = [wrapped(cx, 0), wrapped(cy, 1), wrapped(cz, 2)];
                let inside = |p: &V3| (0..3).all(|k| wrapped(cell(p[k]), k) == here[k]);
                order.extend(points.iter().enumerate().filter(|(_, p)| inside(p)).map(|(n, _)| n as i32));
            }
        }
    }
    order
}
