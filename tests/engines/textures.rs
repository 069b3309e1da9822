//! Are samples of textures what an image that goes on for ever gives? In float64: a texel is looked
//! up wherever it is asked for, and each corner of a cell counts by its own weight.

use std::fs;
use std::process::Command;

use serde_json::{Value, json};

use crate::{Outputs, QUERIES, Random, array, scenes, value};

/// A texture as the launch describes it.
struct Image {
    dims: usize,
    /// Width, height, depth.
    size: [usize; 3],
    channels: usize,
    scalar: &'static str,
    numbers: Vec<f64>,
    linear: bool,
    mixes_levels: bool,
    modes: [usize; 3],
    normalized: bool,
    levels: usize,
}

const SCALARS: [&str; 8] = ["uint8", "uint16", "uint32", "int8", "int16", "int32", "float16", "float32"];

impl Image {
    fn any(random: &mut Random) -> Image {
        let dims = 1 + random.below(3);
        let size = std::array::from_fn(|axis| if axis < dims { 1 + random.below(9) } else { 1 });
        let channels = [1, 2, 4][random.below(3)];
        let scalar = SCALARS[random.below(8)];
        let number = |random: &mut Random| match scalar {
            "uint8" => random.below(256) as f64,
            "uint16" | "uint32" => random.below(65536) as f64,
            "int8" => random.below(256) as f64 - 128.0,
            "int16" | "int32" => random.below(65536) as f64 - 32768.0,
            _ => random.below(129) as f64 / 16.0 - 4.0,
        };
        let count = size.iter().product::<usize>() * channels;
        let numbers = (0..count).map(|_| number(random)).collect();
        let counts = matches!(scalar, "uint32" | "int32");
        let most = size.iter().max().map_or(1, |most| most.ilog2() as usize + 1);
        Image {
            dims,
            size,
            channels,
            scalar,
            numbers,
            linear: !counts && random.below(3) > 0,
            mixes_levels: !counts && random.below(2) > 0,
            modes: std::array::from_fn(|_| random.below(4)),
            normalized: random.below(2) > 0,
            levels: 1 + random.below(most as u64),
        }
    }

    fn argument(&self) -> Value {
        let mut shape: Vec<usize> = self.size[..self.dims].iter().rev().copied().collect();
        if self.channels > 1 {
            shape.push(self.channels);
        }
        let fill = match self.scalar {
            "float16" | "float32" => json!(self.numbers),
            _ => json!(self.numbers.iter().map(|&x| x as i64).collect::<Vec<_>>()),
        };
        let dtype = json!({"class": "vec", "scalar": "int32", "shape": [self.dims]});
        let modes = json!(self.modes[..self.dims].to_vec());
        let modes = match self.dims {
            1 => value("address_mode", "int32", json!(self.modes[0])),
            _ => json!({"name": "address_mode", "kind": "value", "dtype": dtype, "value": modes}),
        };
        json!({"name": "t", "kind": "texture", "fields": [
            array("data", self.scalar, &shape, fill),
            value("filter_mode", "int32", json!(usize::from(self.linear))),
            value("mip_filter_mode", "int32", json!(usize::from(self.mixes_levels))),
            modes,
            value("normalized_coords", "bool", json!(self.normalized)),
            value("num_mip_levels", "int32", json!(self.levels)),
        ]})
    }

    /// All levels: their sizes and numbers.
    fn pyramid(&self) -> Vec<([usize; 3], Vec<f64>)> {
        let mut levels = vec![(self.size, self.numbers.clone())];
        while levels.len() < self.levels {
            let (size, above) = &levels[levels.len() - 1];
            let half = size.map(|n| (n / 2).max(1));
            let mut below = Vec::new();
            for at in places(half) {
                for channel in 0..self.channels {
                    // The mean of two along each axis that shrinks, x first.
                    let pair: [Vec<usize>; 3] = std::array::from_fn(|axis| match size[axis] == half[axis] {
                        true => vec![at[axis]],
                        false => vec![2 * at[axis], 2 * at[axis] + 1],
                    });
                    let number = |x: usize, y: usize, z: usize| {
                        above[((z * size[1] + y) * size[0] + x) * self.channels + channel]
                    };
                    let mean = |list: Vec<f64>| list.iter().sum::<f64>() / list.len() as f64;
                    let exact = mean(
                        pair[2]
                            .iter()
                            .map(|&z| {
                                mean(
                                    pair[1]
                                        .iter()
                                        .map(|&y| mean(pair[0].iter().map(|&x| number(x, y, z)).collect()))
                                        .collect(),
                                )
                            })
                            .collect(),
                    );
                    below.push(match self.scalar {
                        "float32" => f64::from(exact as f32),
                        "float16" => half::f16::from_f64(exact).to_f64(),
                        _ => exact.round_ties_even(),
                    });
                }
            }
            levels.push((half, below));
        }
        levels
    }

    /// What a number is worth.
    fn worth(&self, number: f64) -> f64 {
        match self.scalar {
            "uint8" => number / 255.0,
            "uint16" => number / 65535.0,
            "int8" => (number / 127.0).max(-1.0),
            "int16" => (number / 32767.0).max(-1.0),
            _ => number,
        }
    }

    /// A texel of the plane that goes on for ever.
    fn texel(&self, (size, numbers): &([usize; 3], Vec<f64>), at: [i64; 3]) -> [f64; 4] {
        let mut place = [0; 3];
        for axis in 0..self.dims {
            let n = size[axis] as i64;
            place[axis] = match self.modes[axis] {
                0 => at[axis].rem_euclid(n),
                1 => at[axis].clamp(0, n - 1),
                2 => {
                    let turn = at[axis].rem_euclid(2 * n);
                    turn.min(2 * n - 1 - turn)
                }
                _ if at[axis] < 0 || at[axis] >= n => return [0.0; 4],
                _ => at[axis],
            } as usize;
        }
        let first = ((place[2] * size[1] + place[1]) * size[0] + place[0]) * self.channels;
        std::array::from_fn(|k| if k < self.channels { self.worth(numbers[first + k]) } else { 0.0 })
    }

    /// A sample of a level; None: rounding decides which texel it is.
    fn at_level(&self, level: &([usize; 3], Vec<f64>), x: [f64; 3]) -> Option<[f64; 4]> {
        let at: [f64; 3] = std::array::from_fn(|axis| {
            let base = if self.normalized { 1.0 } else { self.size[axis] as f64 };
            x[axis] * level.0[axis] as f64 / base
        });
        if !self.linear {
            let unsure = (0..self.dims).any(|axis| (at[axis] - at[axis].round()).abs() < 1e-5);
            return (!unsure).then(|| self.texel(level, at.map(|c| c.floor() as i64)));
        }
        let mut sum = [0.0; 4];
        for corner in 0..1 << self.dims {
            let (mut weight, mut place) = (1.0, [0; 3]);
            for axis in 0..self.dims {
                let t = at[axis] - 0.5;
                let step = corner >> axis & 1;
                weight *= if step == 1 { t - t.floor() } else { 1.0 - (t - t.floor()) };
                place[axis] = t.floor() as i64 + step;
            }
            let texel = self.texel(level, place);
            (0..4).for_each(|k| sum[k] += weight * texel[k]);
        }
        Some(sum)
    }

    fn sample(&self, pyramid: &[([usize; 3], Vec<f64>)], x: [f64; 3], lod: f64) -> Option<[f64; 4]> {
        let lod = lod.clamp(0.0, pyramid.len() as f64 - 1.0);
        if !self.mixes_levels {
            let unsure = (lod.fract() - 0.5).abs() < 1e-5;
            return if unsure { None } else { self.at_level(&pyramid[(lod + 0.5).floor() as usize], x) };
        }
        let first = lod.floor() as usize;
        let a = self.at_level(&pyramid[first], x)?;
        let b = self.at_level(&pyramid[(first + 1).min(pyramid.len() - 1)], x)?;
        Some(std::array::from_fn(|k| a[k] + (b[k] - a[k]) * lod.fract()))
    }
}

fn places([x, y, z]: [usize; 3]) -> impl Iterator<Item = [usize; 3]> {
    (0..z).flat_map(move |k| (0..y).flat_map(move |j| (0..x).map(move |i| [i, j, k])))
}

#[test]
fn samples_are_those_of_an_endless_image() {
    let (mut compared, mut asked) = (0, 0);
    for seed in scenes().flat_map(|seed| 3 * seed..3 * seed + 3) {
        let mut random = Random(seed ^ 0x7e97);
        let image = Image::any(&mut random);
        let x: Vec<[f32; 4]> = (0..QUERIES)
            .map(|_| {
                let at: [f32; 3] = std::array::from_fn(|axis| {
                    let unit = if image.normalized { 1.0 } else { image.size[axis] as f32 };
                    (0.5 + 2.5 * random.signed()) * unit
                });
                [at[0], at[1], at[2], 2.5 * random.signed() + 1.5]
            })
            .collect();
        let vec4 = |name: &str, fill: Value| {
            json!({"name": name, "kind": "array", "ndim": 1, "shape": [QUERIES], "fill": fill,
            "dtype": {"class": "vec", "scalar": "float32", "shape": [4]}})
        };
        let args = [image.argument(), vec4("x", json!(x.as_flattened())), vec4("out", json!(0))];
        let found = Outputs::of(&format!("sampled{}", image.dims), &args).floats("out");
        let pyramid = image.pyramid();
        let most = image.numbers.iter().map(|&number| image.worth(number).abs()).fold(0.0, f64::max);
        asked += x.len();
        for (found, x) in found.chunks_exact(4).zip(&x) {
            let at = [x[0], x[1], x[2]].map(f64::from);
            let Some(expected) = image.sample(&pyramid, at, f64::from(x[3])) else { continue };
            compared += 1;
            for (found, expected) in found.iter().zip(expected) {
                let wrong = (f64::from(*found) - expected).abs();
                assert!(wrong <= 2e-5 * most, "seed {seed}, at {x:?}: {found}, not {expected}");
            }
        }
    }
    assert!(compared > asked / 2, "{compared} of {asked}");
}

/// A kernel that samples a texture in six places, as gradients by differences do.
const SIX: &str = "\
import warp as wp

@wp.func
def height(t: wp.Texture3D, x: float, y: float, z: float) -> float:
    return wp.texture_sample(t, x, y, z, dtype=float)

@wp.kernel
def slopes(t: wp.Texture3D, p: wp.array(dtype=wp.vec3), out: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    x, y, z = p[i][0], p[i][1], p[i][2]
    dx = height(t, x + 0.1, y, z) - height(t, x - 0.1, y, z)
    dy = height(t, x, y + 0.1, z) - height(t, x, y - 0.1, z)
    dz = height(t, x, y, z + 0.1) - height(t, x, y, z - 0.1)
    out[i] = wp.vec3(dx, dy, dz)
";

/// Reverse code calls one adjoint of `texture_sample`, and has no copy of it for each sample.
#[test]
fn samples_keep_their_adjoint_function() {
    let file = std::env::temp_dir().join(format!("kc-slopes-{}.py", std::process::id()));
    fs::write(&file, SIX).expect("a temporary file");
    let made = Command::new(env!("CARGO_BIN_EXE_kc"))
        .args(["compile", "--emit", "ir", "-o", "-"])
        .arg(&file)
        .output()
        .expect("kc runs");
    fs::remove_file(&file).expect("it is there");
    let text = String::from_utf8(made.stdout).expect("text");
    assert!(made.status.success(), "{}", String::from_utf8_lossy(&made.stderr));
    let (_, backward) = text.split_once("kernel @slopes_backward").expect("a backward entry");
    assert!(backward.matches("call @adj_height").count() >= 6, "{backward}");
    assert!(!backward.contains("constant_array_at") && backward.lines().count() < 200, "{backward}");
}
