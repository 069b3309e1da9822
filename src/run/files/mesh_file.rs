//! How is a file of triangles read? OBJ, PLY and STL give the same two arrays: `points`, of three
//! float32 each, and `indices`, three int32 for each triangle.
//!
//! Faces of more than three corners become fans. STL has no shared corners; those of the same bits
//! are one point.

use std::fs::File;
use std::io::BufReader;
use std::path::Path;

use ply_rs_bw::parser::Parser;
use ply_rs_bw::ply::{DefaultElement, Property};

use super::npy::{Array, Header, Kind};
use super::npz;
use crate::diag::Code;
use crate::run::{Result, fail};

/// What such a file holds.
#[derive(Debug, PartialEq)]
pub struct MeshFile {
    points: Vec<[f32; 3]>,
    /// Three for each triangle.
    indices: Vec<i32>,
}

/// The names of the arrays in a file of triangles.
pub const ENTRIES: [&str; 2] = ["points", "indices"];

/// The ends of the names of such files.
pub const EXTENSIONS: [&str; 3] = ["obj", "ply", "stl"];

/// Whether a file holds triangles, by its name.
pub fn is_mesh(path: &Path) -> bool {
    extension(path).is_some()
}

fn extension(path: &Path) -> Option<&'static str> {
    let extension = path.extension()?;
    EXTENSIONS.into_iter().find(|known| extension.eq_ignore_ascii_case(known))
}

/// Why a file is none; completes "bunny.obj ...".
type Read = std::result::Result<MeshFile, String>;

impl MeshFile {
    /// Reads a file whole.
    ///
    /// # Errors
    /// It can't be opened or holds no such triangles (`E1007`).
    pub fn open(path: &Path) -> Result<MeshFile> {
        let bad = |why: String| fail(Code::E1007, format!("{} {why}", path.display()));
        let file = npz::open_at_once(path).map_err(|error| bad(format!("cannot be opened: {error}")))?;
        if !file.metadata().is_ok_and(|data| data.is_file()) {
            return Err(bad("is not a regular file".to_string()));
        }
        let read = match extension(path) {
            Some("obj") => obj(file),
            Some("ply") => ply(file),
            _ => stl(file),
        };
        read.and_then(MeshFile::checked).map_err(bad)
    }

    /// One of its two arrays. `check` sees the header first.
    pub fn read(&self, path: &Path, name: &str, check: impl FnOnce(&Header) -> Result<()>) -> Result<Array> {
        let (kind, shape) = match name {
            "points" => (Kind::Float, vec![self.points.len() as u64, 3]),
            "indices" => (Kind::Int, vec![self.indices.len() as u64]),
            _ => {
                let message = format!("{} has no entry `{name}`; it has `points` and `indices`", path.display());
                return Err(fail(Code::E1008, message));
            }
        };
        let header = Header { kind, item: 4, big_endian: false, fortran_order: false, shape };
        check(&header)?;
        let bytes = match kind {
            Kind::Float => self.points.as_flattened().iter().flat_map(|x| x.to_le_bytes()).collect(),
            _ => self.indices.iter().flat_map(|n| n.to_le_bytes()).collect(),
        };
        Ok(Array { header, bytes })
    }

    fn checked(self) -> Read {
        let count = self.points.len();
        match self.indices.iter().find(|&&n| usize::try_from(n).map_or(true, |n| n >= count)) {
            Some(n) => Err(format!("has a face with point {n}, and {count} points")),
            None => Ok(self),
        }
    }
}

fn obj(file: File) -> Read {
    let options =
        tobj::LoadOptions { triangulate: true, ignore_points: true, ignore_lines: true, ..Default::default() };
    // Colours are of no use here.
    let materials = |_: &Path| Ok(Default::default());
    let (models, _) = tobj::load_obj_buf(&mut BufReader::new(file), &options, materials)
        .map_err(|error| format!("is not a readable OBJ file: {error}"))?;
    let mut made = MeshFile { points: Vec::new(), indices: Vec::new() };
    for model in models {
        let first = made.points.len();
        made.points.extend(model.mesh.positions.as_chunks().0);
        for index in model.mesh.indices {
            made.indices.push(number(first + index as usize)?);
        }
    }
    Ok(made)
}

fn stl(file: File) -> Read {
    let broken = |error: std::io::Error| format!("is not a readable STL file: {error}");
    let mut input = BufReader::new(file);
    let mesh = stl_io::create_stl_reader(&mut input).and_then(|mut triangles| triangles.as_indexed_triangles());
    let mesh = mesh.map_err(broken)?;
    let points = mesh.vertices.iter().map(|vertex| vertex.0).collect();
    let indices =
        mesh.faces.iter().flat_map(|face| face.vertices).map(number).collect::<std::result::Result<_, _>>()?;
    Ok(MeshFile { points, indices })
}

fn ply(file: File) -> Read {
    let parsed = Parser::<DefaultElement>::new().read_ply(&mut BufReader::new(file));
    let mut ply = parsed.map_err(|error| format!("is not a readable PLY file: {error}"))?;
    let vertices = ply.payload.swap_remove("vertex").ok_or("has no element `vertex`")?;
    let mut points = Vec::with_capacity(vertices.len());
    for vertex in &vertices {
        let coordinate = |axis: &str| vertex.get(axis).and_then(Property::to_f32_lossy);
        let (Some(x), Some(y), Some(z)) = (coordinate("x"), coordinate("y"), coordinate("z")) else {
            return Err("has a vertex without numbers `x`, `y`, `z`".to_string());
        };
        points.push([x, y, z]);
    }
    let mut indices = Vec::new();
    for face in ply.payload.swap_remove("face").unwrap_or_default() {
        let list = face.get("vertex_indices").or_else(|| face.get("vertex_index"));
        let corners = list.and_then(corners_of).ok_or("has a face without a list `vertex_indices` of integers")?;
        for pair in corners.get(1..).unwrap_or_default().windows(2) {
            indices.extend([corners[0], pair[0], pair[1]]);
        }
    }
    Ok(MeshFile { points, indices })
}

/// The numbers of the corners of a face; None: they are no integers of 32 bits.
fn corners_of(list: &Property) -> Option<Vec<i32>> {
    Some(match list {
        Property::ListChar(list) => list.iter().map(|&n| n.into()).collect(),
        Property::ListUChar(list) => list.iter().map(|&n| n.into()).collect(),
        Property::ListShort(list) => list.iter().map(|&n| n.into()).collect(),
        Property::ListUShort(list) => list.iter().map(|&n| n.into()).collect(),
        Property::ListInt(list) => list.clone(),
        Property::ListUInt(list) => list.iter().map(|&n| i32::try_from(n).ok()).collect::<Option<_>>()?,
        _ => return None,
    })
}

fn number(index: usize) -> std::result::Result<i32, String> {
    i32::try_from(index).map_err(|_| "has more points than int32 counts".to_string())
}

#[cfg(test)]
mod tests {
    use super::*;

    const POINTS: [[f32; 3]; 4] = [[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [1.0, 1.0, 0.0], [0.0, 1.0, 0.5]];

    fn read(name: &str, text: &[u8]) -> Result<MeshFile> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        MeshFile::open(&path)
    }

    /// A square of two triangles as a binary STL.
    fn binary_stl() -> Vec<u8> {
        let mut bytes = vec![0; 80];
        bytes.extend(2u32.to_le_bytes());
        for face in [[0, 1, 2], [0, 2, 3]] {
            bytes.extend([0; 12]);
            bytes.extend(face.iter().flat_map(|&n: &usize| POINTS[n]).flat_map(f32::to_le_bytes));
            bytes.extend([0; 2]);
        }
        bytes
    }

    #[test]
    fn a_square_is_the_same_in_all_forms() {
        let wanted = MeshFile { points: POINTS.to_vec(), indices: vec![0, 1, 2, 0, 2, 3] };
        let obj =
            b"# a square\nmtllib none.mtl\nv 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 0.5\nvn 0 0 1\nf 1//1 2//1 3//1 4//1\n";
        assert_eq!(read("square.obj", obj).unwrap(), wanted);
        assert_eq!(
            read("square.OBJ", b"v 0 0 0\nv 1 0 0\nv 1 1 0\nv 0 1 .5\nf -4 -3 -2\nf -4 -2 -1\n").unwrap(),
            wanted
        );
        let head = "ply\nformat ascii 1.0\nelement vertex 4\nproperty double x\nproperty float y\nproperty float z\n";
        let ply = format!(
            "{head}element face 1\nproperty list uchar int vertex_indices\nend_header\n0 0 0\n1 0 0\n1 1 0\n0 1 0.5\n4 0 1 2 3\n"
        );
        assert_eq!(read("square.ply", ply.as_bytes()).unwrap(), wanted);
        assert_eq!(read("square.stl", &binary_stl()).unwrap(), wanted);
    }

    #[test]
    fn broken_files_say_what_is_wrong() {
        let head = "ply\nformat binary_little_endian 1.0\nelement vertex 4000000000\n";
        let claims = format!("{head}property float x\nproperty float y\nproperty float z\nend_header\n");
        let mut cut = binary_stl();
        cut.truncate(120);
        let no_integers = "ply\nformat ascii 1.0\nelement vertex 0\nproperty float x\nproperty float y\nproperty float z\n\
                           element face 1\nproperty list uchar float vertex_indices\nend_header\n3 0 0 0\n";
        let cases: [(&str, &[u8], &str); 7] = [
            ("far.obj", b"v 0 0 0\nv 1 0 0\nf 1 2 3\n", "far.obj is not a readable OBJ file"),
            ("word.obj", b"v 0 zero 0\n", "word.obj is not a readable OBJ file"),
            ("claims.ply", claims.as_bytes(), "claims.ply is not a readable PLY file"),
            ("cut.stl", &cut, "cut.stl is not a readable STL file"),
            ("other.ply", b"GIF89a", "other.ply is not a readable PLY file"),
            ("floats.ply", no_integers.as_bytes(), "floats.ply has a face without a list `vertex_indices` of integers"),
            ("bytes.stl", &[0xff; 400], "bytes.stl is not a readable STL file"),
        ];
        for (name, text, wanted) in cases {
            let error = read(name, text).unwrap_err();
            assert!(error.code == Code::E1007 && error.message.contains(wanted), "{name}: {}", error.message);
        }
    }

    #[test]
    fn mutated_files_never_panic() {
        let obj = b"v 0 0 0\nv 1 0 0\nv 1 1 0\nf 1 2 3\n".to_vec();
        let ply = b"ply\nformat ascii 1.0\nelement vertex 3\nproperty float x\nproperty float y\nproperty float z\nelement face 1\n\
                    property list uchar int vertex_index\nend_header\n0 0 0\n1 0 0\n0 1 0\n3 0 1 2\n"
            .to_vec();
        let mut state = 1u64;
        let mut random = |below: usize| {
            state = state.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (state >> 33) as usize % below
        };
        let (mut good, mut bad) = (0, 0);
        for (name, whole) in [("m.obj", obj), ("m.ply", ply), ("m.stl", binary_stl())] {
            for _ in 0..300 {
                let mut bytes = whole.clone();
                for _ in 0..1 + random(3) {
                    let at = random(bytes.len());
                    bytes[at] = b"\x00\xff0-9 .ef\n"[random(10)];
                }
                match read(name, &bytes) {
                    Ok(_) => good += 1,
                    Err(_) => bad += 1,
                }
            }
        }
        assert!(good > 100 && bad > 100, "{good} read, {bad} refused");
    }
}
