//! Launch files, archives, pictures and volumes with random faults: each run ends by itself, with a
//! result or a coded finding, and never by a signal or a panic.
//!
//! `KC_TESTS=all cargo test --test hostile_files` runs 5,000 files.

#[path = "common/sample.rs"]
mod sample;

use kc::engines::Volume;
use kc::engines::volume::file::Codec;
use kc::engines::volume::transform::Transform;
use kc::engines::volume::value::Dense;
use std::path::Path;
use std::process::Command;
use std::time::{Duration, Instant};

const KERNEL: &str = "import warp as wp

@wp.kernel
def scale(x: wp.array(dtype=float), p: wp.array2d(dtype=wp.uint8), k: float, out: wp.array(dtype=float)):
    i = wp.tid()
    out[i] = x[i] * k + float(p[i % 4, 0])
";

const LAUNCH: &str = r#"{
  "format": 1, "id": "scale", "source": "../k.py", "kernel": "scale", "dim": [64],
  "args": [
    {"name": "x", "kind": "array", "dtype": "float32", "ndim": 1, "shape": [64], "data": "x"},
    {"name": "p", "kind": "array", "dtype": "uint8", "ndim": 2, "shape": [4, 4], "fill": "range"},
    {"name": "k", "kind": "value", "dtype": "float32", "value": 2.5},
    {"name": "out", "kind": "array", "dtype": "float32", "ndim": 1, "shape": [64], "fill": 0}
  ]
}
"#;

const VOLUME: &str = "import warp as wp

@wp.kernel
def smoke(v: wp.uint64, out: wp.array(dtype=float)):
    i = wp.tid()
    place = wp.vec3(float(i) * 0.5, 2.5, 3.25)
    wp.volume_store_f(v, i, 0, 0, 2.0)
    out[i] = wp.volume_sample_f(v, wp.volume_world_to_index(v, place), wp.Volume.LINEAR)
";

/// A run that takes a volume of a file.
const OF_VOLUME: [&str; 7] = ["v.py", "--dim", "64", "--arg", "out=zeros:64", "--arg", "v=volume:v.nvdb"];

/// A run that takes the picture `p.png` of a folder.
const BY_FLAGS: [&str; 12] = [
    "k.py",
    "--dim",
    "64",
    "--arg",
    "x=range:64",
    "--arg",
    "k=2.5",
    "--arg",
    "out=zeros:64",
    "--out-dir",
    "out",
    "--arg",
];

const FILES: usize = 5_000;

/// xorshift64*: the same faults each time.
struct Draw(u64);

impl Draw {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 >> 12;
        self.0 ^= self.0 << 25;
        self.0 ^= self.0 >> 27;
        self.0.wrapping_mul(0x2545_f491_4f6c_dd1d)
    }

    fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }
}

/// Numbers that sizes, offsets and extents are replaced by.
const NUMBERS: [u64; 8] = [0, 1, 0xff, 0xffff, 0x7fff_ffff, 0xffff_ffff, u64::MAX, 1 << 40];

const TEXTS: [&str; 14] = [
    "-1",
    "1e999",
    "null",
    "[]",
    "{}",
    "\"\"",
    "18446744073709551616",
    "[64, 2147483647]",
    "\"../x.npz\"",
    "\"/dev/zero\"",
    "true",
    "\"\\u0000\"",
    "[[[[[[[[0]]]]]]]]",
    "NaN",
];

fn mutate(bytes: &mut Vec<u8>, is_text: bool, draw: &mut Draw) {
    for _ in 0..1 + draw.below(4) {
        let at = draw.below(bytes.len());
        match draw.below(6) {
            0 => bytes.truncate(at),
            1 if !bytes.is_empty() => bytes[at] ^= 1 << draw.below(8),
            2 => {
                let part = bytes[at..(at + draw.below(40)).min(bytes.len())].to_vec();
                let to = draw.below(bytes.len());
                bytes.splice(to..to, part);
            }
            3 => drop(bytes.drain(at..(at + draw.below(20)).min(bytes.len()))),
            4 if is_text => {
                // A value of the text.
                let value = |b: &u8| b.is_ascii_digit() || *b == b'"' || *b == b'[';
                let from = at + bytes[at..].iter().position(value).unwrap_or(0);
                let text = TEXTS[draw.below(TEXTS.len())].bytes();
                bytes.splice(from..(from + 1).min(bytes.len()), text);
            }
            _ => {
                let number = NUMBERS[draw.below(NUMBERS.len())].to_le_bytes();
                let width = [1, 2, 4, 8][draw.below(4)].min(bytes.len() - at);
                bytes[at..at + width].copy_from_slice(&number[..width]);
            }
        }
    }
}

/// An archive with the array `x`, compressed or not.
fn archive(path: &Path, method: zip::CompressionMethod) {
    let numbers: Vec<u8> = (0..64u8).flat_map(|n| f32::from(n).to_le_bytes()).collect();
    write_archive(path, method, &numbers);
}

/// A compressed archive with an array `x` of so many zeros.
fn zeros(path: &Path, count: usize) {
    write_archive(path, zip::CompressionMethod::Deflated, &vec![0; count * 4]);
}

fn write_archive(path: &Path, method: zip::CompressionMethod, numbers: &[u8]) {
    use std::io::Write as _;
    let mut zip = zip::ZipWriter::new(std::fs::File::create(path).expect("a file"));
    let options = zip::write::SimpleFileOptions::default().compression_method(method);
    zip.start_file("x.npy", options).expect("an entry");
    let head = format!("{{'descr': '<f4', 'fortran_order': False, 'shape': ({},), }}", numbers.len() / 4);
    let head = format!("{head:<117}\n");
    let mut npy = b"\x93NUMPY\x01\x00".to_vec();
    npy.extend((head.len() as u16).to_le_bytes());
    npy.extend(head.bytes());
    npy.extend(numbers);
    zip.write_all(&npy).expect("an entry");
    zip.finish().expect("an archive");
}

fn picture(path: &Path) {
    let file = std::fs::File::create(path).expect("a file");
    let mut encoder = png::Encoder::new(file, 4, 4);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.write_header().and_then(|mut writer| writer.write_image_data(&[7; 16])).expect("a picture");
}

/// A file with a volume, compressed or not.
fn volume(codec: Codec) -> Vec<u8> {
    let values: Vec<f32> = (0..12 * 9 * 5).map(|n| n as f32).collect();
    let unit = Transform::scale([1.0; 3], [0.0; 3]).expect("a transform");
    let made = Volume::from_dense(Dense::F32(&values, 0.0), [12, 9, 5], unit).expect("a volume");
    Volume::file_bytes(&[&made], codec).expect("a file")
}

/// How many bytes compressed files may hold.
#[derive(Clone, Copy, Debug)]
enum Expanded {
    Default,
    Flag(&'static str),
    Variable(&'static str),
}

/// Runs kc in a folder: its exit code and what it says on standard error.
fn kc(folder: &Path, args: &[&str], expanded: Expanded) -> (Option<i32>, String) {
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.args(["run", "-q", "--color", "never", "--timeout", "20"]).args(args).current_dir(folder);
    match expanded {
        Expanded::Default => {}
        Expanded::Flag(size) => _ = kc.args(["--max-expanded", size]),
        Expanded::Variable(bytes) => _ = kc.env("KC_MAX_EXPANDED", bytes),
    }
    let output = kc.output().expect("kc starts");
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

#[test]
fn faulty_files_end_with_a_finding() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    let at = |name: &str| folder.path().join(name);
    std::fs::write(at("k.py"), KERNEL).expect("a file");
    std::fs::create_dir(at("l")).expect("a folder");
    archive(&at("stored.npz"), zip::CompressionMethod::Stored);
    archive(&at("deflated.npz"), zip::CompressionMethod::Deflated);
    std::fs::write(at("v.py"), VOLUME).expect("a file");
    picture(&at("p.png"));
    let volumes = [volume(Codec::None), volume(Codec::Zip)];
    let read = |name: &str| std::fs::read(at(name)).expect("a file");
    let (launch, archives, picture) = (LAUNCH.as_bytes(), [read("stored.npz"), read("deflated.npz")], read("p.png"));
    let mut draw = Draw(20_261_129);
    let (mut refused, mut ran) = (0, 0);
    let files = if sample::whole() { FILES } else { FILES / 40 };
    for n in 0..files {
        let [mut text, mut data, mut pixels] = [launch.to_vec(), archives[draw.below(2)].clone(), picture.clone()];
        let mut voxels = volumes[draw.below(2)].clone();
        let which = n % 4;
        mutate([&mut text, &mut data, &mut pixels, &mut voxels][which], which == 0, &mut draw);
        let files = [("l/l.json", &text), ("l/inputs.npz", &data), ("p.png", &pixels), ("v.nvdb", &voxels)];
        for (name, bytes) in files {
            std::fs::write(at(name), bytes).expect("a file");
        }
        let began = Instant::now();
        let (code, said) = match which {
            2 => kc(folder.path(), &[&BY_FLAGS[..], &["p=@p.png"]].concat(), Expanded::Default),
            3 => kc(folder.path(), &OF_VOLUME, Expanded::Default),
            _ => kc(folder.path(), &["l/l.json"], Expanded::Default),
        };
        let shown = || format!("file {n}, {code:?}: {said}\n{}", String::from_utf8_lossy(&text));
        assert!(matches!(code, Some(0..=2)), "{}", shown());
        assert!(!said.contains("panicked") && !said.contains("E0999"), "{}", shown());
        assert!(began.elapsed() < Duration::from_secs(30), "{}", shown());
        if code == Some(0) {
            ran += 1;
        } else {
            assert!(said.contains("error"), "{}", shown());
            refused += 1;
        }
    }
    // Some faults change nothing that matters, and most do.
    assert!(refused > files / 4 && ran > files / 50, "{refused} of {files} were refused, and {ran} ran");
}

/// A black picture, whose file is small.
fn black(path: &Path, side: u32) {
    let mut encoder = png::Encoder::new(std::fs::File::create(path).expect("a file"), side, side);
    encoder.set_color(png::ColorType::Grayscale);
    encoder.set_compression(png::Compression::Fast);
    let mut writer = encoder.write_header().expect("a picture");
    let mut stream = writer.stream_writer().expect("a picture");
    let row = vec![0u8; side as usize];
    for _ in 0..side {
        std::io::Write::write_all(&mut stream, &row).expect("a row");
    }
    stream.finish().and_then(|()| writer.finish()).expect("a picture");
}

#[test]
fn small_files_that_hold_much_are_refused() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNEL).expect("a file");
    use Expanded::{Default, Flag, Variable};
    let cases = [
        (20_000, Default, true),
        (1500, Default, false),
        (1500, Variable("1000000"), true),
        (1500, Variable("2250000"), false),
        (1500, Flag("2M"), true),
        (1500, Flag("2250000"), false),
        (1500, Flag("1G"), false),
    ];
    for (side, given, refused) in cases {
        black(&folder.path().join("p.png"), side);
        let (code, said) = kc(folder.path(), &[&BY_FLAGS[..], &["p=@p.png"]].concat(), given);
        let all = side * side;
        let told = said.contains("error[E1007]")
            && said.contains(&format!("`kc run --max-expanded {all}` or KC_MAX_EXPANDED={all} reads it"));
        assert_eq!((code, told), (Some(i32::from(refused)), refused), "{given:?}: {said}");
    }
    for size in ["", "M", "1.5G", "-1", "+1", "1MM", "99999999999999G"] {
        let (code, said) = kc(folder.path(), &["k.py", &format!("--max-expanded={size}")], Default);
        assert!(code == Some(2) && said.contains("expected bytes, such as 4000000, 64M or 2G"), "{size}: {said}");
    }
}

#[test]
fn a_launch_file_obeys_the_limit() {
    let folder = tempfile::tempdir().expect("a temporary folder");
    std::fs::write(folder.path().join("k.py"), KERNEL).expect("a file");
    std::fs::create_dir(folder.path().join("l")).expect("a folder");
    std::fs::write(folder.path().join("l/l.json"), LAUNCH.replace("[64]", "[1000000]")).expect("a file");
    zeros(&folder.path().join("l/inputs.npz"), 1_000_000);
    for (given, refused) in [(Expanded::Default, false), (Expanded::Flag("1M"), true), (Expanded::Flag("4M"), false)] {
        let (code, said) = kc(folder.path(), &["l/l.json"], given);
        assert_eq!(code, Some(i32::from(refused)), "{given:?}: {said}");
        assert_eq!(said.contains("holds 4000128 bytes in a file of"), refused, "{given:?}: {said}");
    }
}
