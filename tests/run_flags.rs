//! What `kc run` takes and gives besides launch files: arrays and pictures in files, gradients, all
//! that is missing at once; and the launch files that `kc launch new` writes.

use std::path::{Path, PathBuf};
use std::process::Command;

use kc::run::files::npy;
use serde_json::Value;
use tempfile::TempDir;

const KERNELS: &str = r#"
import warp as wp


@wp.struct
class Grid:
    scale: float
    mass: wp.array(dtype=float)


@wp.kernel
def scale(a: float, x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = a * x[i] * x[i]


@wp.kernel
def grey(image: wp.array2d(dtype=wp.vec3), out: wp.array2d(dtype=float)):
    i, j = wp.tid()
    c = image[i, j]
    out[i, j] = (c[0] + c[1] + c[2]) / 3.0


@wp.kernel
def invert(image: wp.array3d(dtype=wp.uint8), out: wp.array3d(dtype=wp.uint8)):
    i, j, k = wp.tid()
    out[i, j, k] = wp.uint8(255) - image[i, j, k]


@wp.kernel
def flat(image: wp.array(dtype=wp.vec4), out: wp.array(dtype=wp.vec4)):
    i = wp.tid()
    out[i] = image[i]


@wp.kernel
def sums(start: wp.array(dtype=int), value: wp.array(dtype=float), out: wp.array(dtype=float)):
    i = wp.tid()
    s = float(0.0)
    for j in range(start[i], start[i + 1]):
        s += value[j]
    out[i] = s


@wp.kernel
def weigh(grid: Grid, ids: wp.array(dtype=wp.int64), out: wp.array2d(dtype=wp.vec3)):
    i, j = wp.tid()
    out[i, j] = wp.vec3(1.0, 2.0, 3.0) * grid.scale * grid.mass[i] * float(ids[j])


@wp.kernel
def springs(x: wp.array(dtype=wp.vec3), ends: wp.array(dtype=int), f: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    a = ends[i * 2 + 0]
    b = ends[i * 2 + 1]
    wp.atomic_add(f, b, x[a] - x[b])


@wp.kernel
def both(a: Grid, b: Grid, mass: wp.array(dtype=float)):
    i = wp.tid()
    mass[i] = a.mass[i] + b.mass[i]


@wp.kernel
def after(x: wp.array(dtype=float)):
    i = wp.tid()
    x[i] = x[x.shape[0]]


@wp.kernel
def picky(n: int, x: wp.array(dtype=float)):
    i = wp.tid()
    assert n == 7
    x[i] = 1.0
"#;

struct Folder(TempDir);

impl Folder {
    fn new() -> Folder {
        let folder = Folder(tempfile::tempdir().expect("a temporary folder"));
        folder.write("k.py", KERNELS.as_bytes());
        folder
    }

    fn path(&self, name: &str) -> PathBuf {
        self.0.path().join(name)
    }

    fn write(&self, name: &str, bytes: &[u8]) {
        std::fs::create_dir_all(self.path(name).parent().expect("a folder")).expect("a folder");
        std::fs::write(self.path(name), bytes).expect("a file");
    }

    fn npy(&self, name: &str, descr: &str, shape: &[u64], bytes: &[u8]) {
        let mut out = Vec::new();
        npy::write(&mut out, descr, shape, bytes).expect("memory");
        self.write(name, &out);
    }

    fn png(&self, name: &str, size: (u32, u32), color: png::ColorType, depth: png::BitDepth, samples: &[u8]) {
        let mut out = Vec::new();
        let mut encoder = png::Encoder::new(&mut out, size.0, size.1);
        encoder.set_color(color);
        encoder.set_depth(depth);
        let mut writer = encoder.write_header().expect("memory");
        writer.write_image_data(samples).expect("samples");
        writer.finish().expect("memory");
        self.write(name, &out);
    }

    /// Exit code, standard output, standard error.
    fn kc(&self, line: &str) -> (Option<i32>, String, String) {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.args(line.split(' ')).current_dir(self.0.path()).output().expect("kc starts");
        let text = |bytes: Vec<u8>| String::from_utf8(bytes).expect("UTF-8");
        (output.status.code(), text(output.stdout), text(output.stderr))
    }

    #[track_caller]
    fn ok(&self, line: &str) -> String {
        let (code, out, err) = self.kc(line);
        assert_eq!(code, Some(0), "{line}\n{out}\n{err}");
        out
    }

    #[track_caller]
    fn fails(&self, line: &str, code: i32, words: &[&str]) -> String {
        let (found, out, err) = self.kc(line);
        assert_eq!(found, Some(code), "{line}\n{out}\n{err}");
        for word in words {
            assert!(err.contains(word), "{line}: {word} is missing in\n{err}");
        }
        err
    }

    /// Shape and bytes of the samples of a picture, or of a NumPy file.
    fn array(&self, name: &str) -> (Vec<u64>, Vec<u8>) {
        let array = kc::run::files::npz::read_npy(&self.path(name), |_| Ok(())).expect("an array");
        (array.header.shape, array.bytes)
    }

    fn floats(&self, name: &str) -> Vec<f32> {
        self.array(name).1.as_chunks().0.iter().map(|&bytes| f32::from_le_bytes(bytes)).collect()
    }
}

fn doubles(list: &[f64]) -> Vec<u8> {
    list.iter().flat_map(|x| x.to_le_bytes()).collect()
}

#[test]
fn numbers_of_another_type_are_converted_on_request() {
    let folder = Folder::new();
    folder.npy("x.npy", "<f8", &[3], &doubles(&[1.0, 2.0, 0.1]));
    let line = "run k.py -k scale --dim 3 --arg a=2 --arg y=zeros:3 --npy y=y.npy --arg x=@";
    folder.fails(&format!("{line}x.npy"), 1, &["E1009", "has type f8, expected f4", "--convert"]);
    assert!(folder.ok(&format!("{line}x.npy --convert")).contains("wrote y.npy"));
    assert_eq!(folder.floats("y.npy"), [2.0, 8.0, 2.0 * 0.1f32 * 0.1f32]);
    folder.npy("i.npy", "<i8", &[3], &[1i64, -2, 3].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
    folder.ok(&format!("{line}i.npy --convert"));
    assert_eq!(folder.floats("y.npy"), [2.0, 8.0, 18.0]);
    folder.npy("large.npy", "<f8", &[3], &doubles(&[1.0, 1e300, 0.0]));
    folder.fails(&format!("{line}large.npy --convert"), 1, &["E1011", "1e300", "float32"]);
    folder.npy("raw.npy", "|V2", &[3], &[0; 6]);
    folder.fails(&format!("{line}raw.npy --convert"), 1, &["E1009"]);
    // The shape counts as ever.
    folder.npy("flat.npy", "<f8", &[3, 1], &doubles(&[1.0; 3]));
    folder.fails(&format!("{line}flat.npy --convert"), 1, &["E1009", "shape"]);
    // Integers never lose anything.
    let sums = "run k.py -k sums --dim 2 --arg value=ones:9 --arg out=zeros:2 --convert --print out --arg start=@";
    folder.npy("s.npy", "<f8", &[3], &doubles(&[0.0, 4.0, 9.0]));
    assert!(folder.ok(&format!("{sums}s.npy")).contains("[1]           5.0"));
    folder.npy("s.npy", "<f8", &[3], &doubles(&[0.0, 4.5, 9.0]));
    folder.fails(&format!("{sums}s.npy"), 1, &["E1011", "4.5 is not a whole number"]);
}

#[test]
fn launch_files_name_files_too() {
    let folder = Folder::new();
    folder.npy("data/x.npy", "<f8", &[2], &doubles(&[3.0, 4.0]));
    let float = r#"{"class": "scalar", "scalar": "float32", "shape": []}"#;
    let write = |x: &str| {
        let text = format!(
            r#"{{"format": 1, "id": "f", "source": "../k.py", "kernel": "scale", "dim": [2], "args": [
            {{"name": "a", "kind": "value", "dtype": {float}, "value": 1}},
            {{"name": "x", "kind": "array", "dtype": {float}, "ndim": 1, {x}}},
            {{"name": "y", "kind": "array", "dtype": {float}, "ndim": 1, "shape": [2], "fill": 0}}]}}"#
        );
        folder.write("data/f.json", text.as_bytes());
    };
    write(r#""file": "x.npy", "convert": true"#);
    assert!(folder.ok("run data/f.json --print y").contains("16.0"));
    write(r#""file": "x.npy""#);
    folder.fails("run data/f.json", 1, &["E1009", "\"convert\": true"]);
    assert!(folder.ok("run data/f.json --convert --print y --npy y=z.npy").contains("16.0"));
    assert_eq!(folder.floats("z.npy"), [9.0, 16.0]);
    for (x, code) in [
        (r#""file": "x.npy", "fill": 0"#, "E1001"),
        (r#""file": "", "shape": [2]"#, "E1001"),
        (r#""file": "x.npz""#, "E1001"),
        (r#""file": "absent.npy""#, "E1007"),
        (r#""file": "x.npy", "convert": true, "shape": [3]"#, "E1009"),
        (r#""data": "x""#, "E1001"),
    ] {
        write(x);
        folder.fails("run data/f.json", 1, &[code]);
    }
}

#[test]
fn pictures_come_in_and_go_out() {
    use png::{BitDepth, ColorType};
    let folder = Folder::new();
    let colors = [255, 0, 0, 0, 255, 0, 0, 0, 255, 51, 102, 153, 255, 255, 255, 0, 0, 0];
    folder.png("c.png", (3, 2), ColorType::Rgb, BitDepth::Eight, &colors);
    folder.ok(
        "run k.py -k grey --dim 2x3 --arg image=@c.png --arg out=zeros:2x3 --npy out=grey.npy --png image=again.png",
    );
    let third = 1.0f32 / 3.0;
    let grey = folder.floats("grey.npy");
    for (found, expected) in grey.iter().zip([third, third, third, 0.4, 1.0, 0.0]) {
        assert!((found - expected).abs() < 1e-6, "{grey:?}");
    }
    let samples = |name: &str| {
        let file = std::io::BufReader::new(std::fs::File::open(folder.path(name)).expect("a picture"));
        let mut reader = png::Decoder::new(file).read_info().expect("a PNG");
        let mut bytes = vec![0; reader.output_buffer_size().expect("small")];
        let info = reader.next_frame(&mut bytes).expect("samples");
        (info.width, info.height, info.color_type, bytes)
    };
    assert_eq!(samples("again.png"), (3, 2, ColorType::Rgb, colors.to_vec()), "the bytes it was read from");
    // Bytes stay bytes, with the channels as a dimension.
    folder.ok("run k.py -k invert --dim 2x3x3 --arg image=@c.png --arg out=zeros:2x3x3 --png out=neg.png");
    assert_eq!(samples("neg.png").3, colors.map(|byte| 255 - byte));
    // A list of pixels, with alpha, of 16 bits.
    let deep: Vec<u8> = [0u16, 65_535, 32_768, 65_535].iter().flat_map(|sample| sample.to_be_bytes()).collect();
    folder.png("deep.png", (1, 1), ColorType::Rgba, BitDepth::Sixteen, &deep);
    folder.ok(
        "run k.py -k flat --dim 1 --arg image=@deep.png --arg out=zeros:1 --npy out=deep.npy --png out:1x1=one.png",
    );
    assert_eq!(folder.array("deep.npy").0, [1, 4]);
    assert_eq!(folder.floats("deep.npy"), [0.0, 1.0, 32_768.0 / 65_535.0, 1.0]);
    assert_eq!(samples("one.png"), (1, 1, ColorType::Rgba, vec![0, 255, 128, 255]));
    // What is no such picture.
    folder.png("g.png", (3, 2), ColorType::Grayscale, BitDepth::Eight, &[0; 6]);
    folder.write("bad.png", b"\x89PNG\r\n\x1a\nnothing");
    let whole = std::fs::read(folder.path("c.png")).expect("bytes");
    folder.write("cut.png", &whole[..whole.len() - 20]);
    let mut claims = whole.clone();
    claims[16..24].copy_from_slice(&[0x7f, 0xff, 0xff, 0xff, 0x7f, 0xff, 0xff, 0xff]);
    folder.write("claims.png", &claims);
    for (file, code) in
        [("g.png", "E1009"), ("bad.png", "E1007"), ("cut.png", "E1007"), ("claims.png", "E10"), ("absent.png", "E1007")]
    {
        folder.fails(&format!("run k.py -k grey --dim 2x3 --arg image=@{file} --arg out=zeros:2x3"), 1, &[code]);
    }
    folder.fails("run k.py -k invert --dim 1x1x4 --arg image=@deep.png --arg out=zeros:1x1x4", 1, &["E1009", "u2"]);
    folder.fails(
        "run k.py -k weigh --dim 1x1 --arg grid.scale=1 --arg grid.mass=ones:1 --arg ids=@c.png --arg out=zeros:1x1",
        1,
        &["E1009"],
    );
}

#[test]
fn arrays_are_lists_of_numbers() {
    let folder = Folder::new();
    let source = "import warp as wp\n\n\n@wp.kernel\ndef weigh(x: wp.array2d(dtype=float), v: wp.array(dtype=wp.vec2), n: wp.array(dtype=int), y: wp.array(dtype=float)):\n    i, j = wp.tid()\n    wp.atomic_add(y, n[i], x[i, j] * v[i][j])\n";
    folder.write("w.py", source.as_bytes());
    let line = "run w.py --dim 2x2 --arg n=1,0";
    for (x, v) in [("[[1,2],[3,4]]", "[[5,6],[7,8]]"), ("[[1,2.0],[3,4e0],]", "5,6,7,8")] {
        folder.ok(&format!("{line} --arg x={x} --arg v={v} --arg y=0,0 --npy y=y.npy"));
        assert_eq!(folder.floats("y.npy"), [53.0, 17.0], "{x} {v}");
    }
    folder.ok(&format!("{line} --arg x=[[1,2],[3,4]] --arg v=5,6,7,8 --arg y=0,0 --arg y.grad=2,3 --npy x.grad=g.npy"));
    assert_eq!(folder.floats("g.npy"), [15.0, 18.0, 14.0, 16.0]);
    for x in ["[[1,2],[3]]", "1,2,3,4", "[[1,2],[3,4]", "[[1,2],[3,a]]", "1"] {
        folder.fails(&format!("{line} --arg x={x} --arg v=5,6,7,8 --arg y=0,0"), 2, &["E1012", "--arg x="]);
    }
}

#[test]
fn gradients_by_flags() {
    let folder = Folder::new();
    let line = "run k.py -k scale --dim 3 --arg a=2 --arg x=range:3 --arg y=zeros:3";
    // Of the sum of what is written: 2 a x, and the sum of x squared for a.
    let out = folder.ok(&format!("{line} --gradient --print x.grad --print a.grad --npy x.grad=g.npy"));
    assert!(out.contains("scale: ok") && out.contains("gradient of the sum of y"), "{out}");
    assert!(out.contains("x.grad: float32 (3)") && out.contains("a.grad: float64 ()\n  5.0\n"), "{out}");
    assert_eq!(folder.floats("g.npy"), [0.0, 4.0, 8.0]);
    // Of what is asked for.
    folder.npy("seed.npy", "<f4", &[3], &[0.0f32, 1.0, -1.0].iter().flat_map(|x| x.to_le_bytes()).collect::<Vec<u8>>());
    for (seed, expected) in [
        ("full:0.5", [0.0, 2.0, 4.0]),
        ("ones:3", [0.0, 4.0, 8.0]),
        ("range", [0.0, 4.0, 16.0]),
        ("@seed.npy", [0.0, 4.0, -8.0]),
    ] {
        let out = folder.ok(&format!("{line} --arg y.grad={seed} --npy x.grad=g.npy"));
        assert!(!out.contains("of the sum"), "{out}");
        assert_eq!(folder.floats("g.npy"), expected, "{seed}");
    }
    folder.fails(&format!("{line} --arg y.grad=ones:4"), 1, &["E1009", "[4]", "[3]"]);
    folder.fails(&format!("{line} --arg y.grad=many"), 2, &["E1012"]);
    folder.fails(&format!("{line} --arg a.grad=1"), 1, &["E1004", "a.grad"]);
    folder.fails(&format!("{line} --print x.grad"), 2, &["E1012", "`--gradient` computes gradients"]);
    folder.fails(&format!("{line} --gradient --print z.grad"), 2, &["E1012", "x, x.grad, y, y.grad"]);
    // A launch file is run with its gradient, too.
    folder.ok("launch new k.py -k scale --dim 4 -o l.json");
    let out = folder.ok("run l.json --gradient --print x.grad --timeout 60");
    assert!(out.contains("gradient of the sum of y") && out.contains("x.grad"), "{out}");
}

#[test]
fn all_that_is_missing_is_said_at_once() {
    let folder = Folder::new();
    let said = folder.fails("run k.py -k scale", 2, &["E1012", "what is missing: --dim", "`a`, `x` and `y`"]);
    // The command line that it proposes works.
    let proposed = |said: &str| {
        // Long lines are broken for the terminal.
        let said = said.split_whitespace().collect::<Vec<_>>().join(" ");
        let line = said.split("for example: `kc ").nth(1).and_then(|rest| rest.split('`').next());
        line.expect("an example").to_string()
    };
    folder.ok(&proposed(&said));
    let said = folder.fails(
        "run k.py -k weigh --dim 2x2 --arg ids=ones:2",
        1,
        &["E1004", "`grid.scale`, `grid.mass` and `out`"],
    );
    assert!(said.contains("`grid.mass`: `array(dtype=float32)`") || said.contains("`grid.mass`: `array"), "{said}");
    // All of them have the sizes of the example, but what was given.
    folder.fails(&proposed(&said).replace("--dim 2x2", "--dim 3x3"), 1, &["E1101", "`ids`"]);
    folder.fails("run k.py -k scale --arg a=1 --arg x=ones:1 --arg y=ones:1", 2, &["E1012", "--dim is missing"]);
    folder.fails("run k.py -k scale --dim 1 --arg a=1 --arg x=ones:1", 1, &["E1004", "argument `y`"]);
    // In a launch file as well.
    folder.write("l.json", br#"{"format": 1, "source": "k.py", "kernel": "scale", "dim": [1], "args": []}"#);
    folder.fails("run l.json", 1, &["E1004", "arguments of kernel `scale` are missing: `a`, `x` and `y`"]);
}

#[test]
fn new_launch_files_run() {
    let folder = Folder::new();
    for kernel in ["scale", "grey", "invert", "flat", "sums", "weigh", "springs", "both"] {
        let (code, out, err) = folder.kc(&format!("launch new k.py -k {kernel}"));
        assert_eq!((code, out.as_str()), (Some(0), ""), "{err}");
        assert_eq!(err, format!("wrote {kernel}.json; `kc run {kernel}.json` runs it\n"));
        let text = std::fs::read_to_string(folder.path(&format!("{kernel}.json"))).expect("a file");
        let launch: Value = serde_json::from_str(&text).expect("JSON");
        assert_eq!((&launch["kernel"], &launch["source"]), (&kernel.into(), &"k.py".into()));
        assert!(folder.ok(&format!("run {kernel}.json")).contains(&format!("{kernel}: ok")));
    }
    // An index one beyond the threads: the array grew.
    let text = std::fs::read_to_string(folder.path("sums.json")).expect("a file");
    assert!(text.contains("\"shape\":[1025]") || text.contains("\"shape\": [1025]"), "{text}");
    // Two for each thread: it grew twofold.
    let text = std::fs::read_to_string(folder.path("springs.json")).expect("a file");
    assert!(text.contains("\"shape\":[2048]"), "{text}");
    // Fields of one name, of two structs, are stored under the names of both.
    assert!(folder.ok("run both.json --print a.mass --print b.mass").contains("b.mass"));
    // Sizes as asked, elsewhere, and printed.
    folder.ok("launch new k.py -k weigh --dim 5x3 -o runs/deep/w.json");
    let launch: Value =
        serde_json::from_slice(&std::fs::read(folder.path("runs/deep/w.json")).expect("a file")).expect("JSON");
    assert_eq!((&launch["source"], &launch["dim"]), (&"../../k.py".into(), &serde_json::json!([5, 3])));
    folder.ok("run runs/deep/w.json");
    assert!(folder.ok("launch new k.py -k scale -o -").starts_with("{\n  \"format\": 1,\n"));
    // One that cannot run with what is made up says so, and is written.
    let (code, _, err) = folder.kc("launch new k.py -k picky");
    assert!(code == Some(0) && err.starts_with("wrote picky.json; it does not run as it is: "), "{err}");
    let (code, _, err) = folder.kc("launch new k.py -k after");
    assert!(code == Some(0) && err.contains("out of bounds for dimension 0 of `x`"), "{err}");
    assert!(!err.contains("runs it"), "{err}");
    folder.fails("run picky.json", 1, &["E1102"]);
    folder.fails("launch new k.py -k scale", 2, &["E1012", "scale.json", "--force"]);
    folder.ok("launch new k.py -k scale --force");
    folder.fails("launch new k.py", 1, &["E1003"]);
    folder.fails("launch new k.py -k none", 1, &["E0905"]);
    folder.fails("launch new k.py -k scale --dim 0y -o x.json", 2, &["E1012"]);
    folder.fails("launch new absent.py", 1, &["E0901"]);
    folder.fails("launch new k.py -k scale -o k.py/x.json", 1, &["E0904"]);
    assert!(!Path::new(&folder.path("x.json")).exists());
}

/// What threads of a block have each for themselves runs in whole blocks of any size.
#[test]
fn kernels_of_lanes_run_in_whole_blocks() {
    let folder = TempDir::new().expect("a folder");
    let file = folder.path().join("k.py");
    let text = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                x[i] = wp.untile(wp.tile(x[i]) + wp.tile(1.0))\n";
    std::fs::write(&file, text).expect("written");
    let run = |block: &str| {
        let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
        kc.arg("run").arg(&file).args(["--dim", "8x4", "--block-dim", block, "--arg", "x=zeros:8", "--print", "x"]);
        let output = kc.output().expect("kc runs");
        (output.status.code(), String::from_utf8_lossy(&[output.stdout, output.stderr].concat()).into_owned())
    };
    let (code, text) = run("4");
    assert!(code == Some(0) && text.contains("min 1.000000, max 1.000000"), "{text}");
    // In smaller blocks several have one number, each after the other.
    let (code, text) = run("1");
    assert!(code == Some(1) && text.contains("E1108"), "{text}");
    let (code, text) = run("3");
    assert!(code == Some(1) && text.contains("E1006") && text.contains("whole blocks"), "{text}");
}

/// What is at an output's place stays what it is: a link, a pipe, rights.
#[cfg(unix)]
#[test]
fn results_go_where_links_lead_and_into_pipes() {
    use std::os::unix::fs::{FileTypeExt, PermissionsExt, symlink};
    let folder = Folder::new();
    let link = |to: &str, name: &str| symlink(to, folder.path(name)).expect("a link");
    let is_link = |name: &str| std::fs::symlink_metadata(folder.path(name)).expect("a link").is_symlink();
    folder.write("deep/y.npy", b"old");
    std::fs::set_permissions(folder.path("deep/y.npy"), std::fs::Permissions::from_mode(0o600)).expect("rights");
    link("deep/y.npy", "y.npy");
    let run = "run k.py -k scale --dim 3 --arg a=2 --arg x=ones:3 --arg y=zeros:3 --npy";
    folder.ok(&format!("{run} y=y.npy"));
    assert!(is_link("y.npy"));
    assert_eq!(folder.floats("deep/y.npy"), [2.0; 3]);
    let mode = std::fs::metadata(folder.path("deep/y.npy")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o600);
    assert!(Command::new("mkfifo").arg(folder.path("pipe")).status().expect("mkfifo runs").success());
    let reader = std::thread::spawn({
        let pipe = folder.path("pipe");
        move || std::fs::read(pipe).expect("a pipe")
    });
    folder.ok(&format!("{run} y=pipe"));
    assert_eq!(reader.join().expect("a reader"), std::fs::read(folder.path("deep/y.npy")).expect("a file"));
    assert!(std::fs::symlink_metadata(folder.path("pipe")).expect("a pipe").file_type().is_fifo());
    // Sources that `kc fix` repairs.
    folder.write(
        "deep/k.py",
        b"import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float)):\n    x[wp.tid()] = wp.sqr(1.0)\n",
    );
    std::fs::set_permissions(folder.path("deep/k.py"), std::fs::Permissions::from_mode(0o755)).expect("rights");
    link("deep/k.py", "l.py");
    folder.ok("fix --maybe l.py");
    assert!(is_link("l.py"));
    assert!(std::fs::read_to_string(folder.path("deep/k.py")).expect("a file").contains("wp.sqrt(1.0)"));
    let mode = std::fs::metadata(folder.path("deep/k.py")).expect("a file").permissions().mode();
    assert_eq!(mode & 0o7777, 0o755);
}

/// A message of `assert` is said as it is written: nothing in it is computed.
#[test]
fn messages_of_assert_are_said_as_written() {
    let folder = Folder::new();
    let messages = [
        (r#"f"n is {n}""#, "(0): n is {n} ("),
        (r#"F'n is {missing[1]:>{n}}'"#, "(0): n is {missing[1]:>{n}} ("),
        (r#""n is %d" % n"#, r#"(0): "n is %d" % n ("#),
        (r#"f"n" "is""#, r#"(0): f"n" "is" ("#),
        (r#""n " "is""#, "(0): n is ("),
    ];
    for (message, said) in messages {
        let text = format!(
            "import warp as wp\n\n\n@wp.kernel\ndef k(n: int, x: wp.array(dtype=float)):\n    x[wp.tid()] = 1.0\n    assert n == 7, {message}\n"
        );
        folder.write("m.py", text.as_bytes());
        for device in ["host", "interp", "sim"] {
            folder.fails(
                &format!("run m.py -k k --dim 1 --arg n=1 --arg x=zeros:1 --device {device}"),
                1,
                &["E1102", said],
            );
        }
    }
}

const BITS: &str = "
import warp as wp


@wp.kernel
def logs(x: wp.array(dtype=float), y: wp.array(dtype=float), z: wp.array(dtype=float)):
    i = wp.tid()
    w = wp.zeros(shape=4, dtype=float)
    a = x[i]
    z[i] = a * w[i % 4] + w[1]
    y[i] = wp.sin(y[i]) * a
    y[i] = wp.sin(y[i])


@wp.kernel
def twice(t: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    a = wp.atomic_max(t, i // 3, i + 1000)
    b = wp.atomic_max(t, i, 100 + 30 * i)
    y[i] = a * 10000 + b


@wp.kernel
def often(c: wp.array(dtype=int), y: wp.array(dtype=int)):
    i = wp.tid()
    for k in range(3):
        y[i] = y[i] * 7 + wp.atomic_add(c, 0, 1)
";

/// With a gradient or without, a kernel leaves the same bits: `-1.5 * 0.0 + 0.0` is no negative
/// zero.
#[test]
fn a_gradient_leaves_the_zeros_of_the_kernel() {
    let folder = Folder::new();
    folder.write("b.py", BITS.as_bytes());
    for (device, flag) in [("interp", ""), ("interp", " --gradient"), ("host", ""), ("host", " --gradient")] {
        let line = "run b.py -k logs --dim 2 --arg x=full:-1.5:2 --arg y=ones:2 --arg z=ones:2 --npy z=z.npy";
        folder.ok(&format!("{line} --device {device}{flag}"));
        let bits: Vec<u32> = folder.floats("z.npy").into_iter().map(f32::to_bits).collect();
        assert_eq!(bits, [0, 0], "{device}{flag}");
    }
}

/// On one core threads come to several atomic updates of an array in their order, as the
/// interpreter's do.
#[test]
fn atomic_updates_that_meet_are_in_the_order_of_threads() {
    let folder = Folder::new();
    folder.write("b.py", BITS.as_bytes());
    for line in ["-k twice --arg t=full:3:100", "-k often --arg c=zeros:1"] {
        let left = |device: &str| {
            folder.ok(&format!("run b.py {line} --dim 100 --arg y=zeros:100 --npy y=y.npy --device {device}"));
            folder.array("y.npy").1
        };
        assert_eq!(left("host --threads 1"), left("interp"), "{line}");
    }
}
