//! `kc profile`: are its figures those of the addresses, at the lines of the source?

use std::path::Path;
use std::process::Command;

use serde_json::{Value, json};

/// Each thread of a 64 x 64 launch moves one element; the last coordinate is the lane.
const SOURCE: &str = "import warp as wp\n
@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 2.0 * x[i, j]

@wp.kernel
def columns(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    value = x[i, j]
    y[j, i] = value

@wp.kernel
def total(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    if j % 4 == 0:
        s = x[i, j]
        for k in range(200):
            s = s * 0.5 + 1.0
        y[i, j] = s

@wp.kernel
def elements(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float), m: wp.array(dtype=wp.mat33), s: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    m[i] = wp.identity(n=3, dtype=float) * float(i)
    wp.atomic_add(s, i, wp.vec3(float(i), 1.0, 2.0))
";

const SECTORS: &str = "memory_l2_theoretical_sectors_global";
const PER_STORE: &str = "l1tex__average_t_sectors_per_request_pipe_lsu_mem_global_op_st.ratio";

fn array(name: &str) -> Value {
    let dtype = json!({"class": "scalar", "scalar": "float32", "shape": []});
    json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 2, "shape": [64, 64], "fill": "random:1"})
}

fn kc(folder: &Path, args: &[&str]) -> (String, Option<i32>) {
    let output = Command::new(env!("CARGO_BIN_EXE_kc")).args(args).current_dir(folder).output().expect("kc runs");
    let text = String::from_utf8_lossy(&output.stdout).into_owned() + &String::from_utf8_lossy(&output.stderr);
    (text, output.status.code())
}

/// Profiles a kernel of the source.
fn profile(kernel: &str, flags: &[&str]) -> (String, Option<i32>) {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let launch = json!({"format": 1, "id": kernel, "source": "k.py", "kernel": kernel, "dim": [64, 64], "block_dim": 128,
                        "args": [array("x"), array("y")]});
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    kc(folder.path(), &[&["profile", "case.json"], flags].concat())
}

/// The only kernel of a profile in JSON.
fn measured(kernel: &str, flags: &[&str]) -> Value {
    let (text, status) = profile(kernel, &[&["--json"], flags].concat());
    assert_eq!(status, Some(0), "{text}");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let kernels = all["kernels"].as_array().expect("kernels");
    assert_eq!(kernels.len(), 1);
    kernels[0].clone()
}

#[test]
fn neighbours_take_what_they_need_and_columns_eight_times_it() {
    // 128 warps load and store 32 floats each: 4 sectors, where lanes are neighbours, and 32 where
    // they are rows apart.
    let rows = measured("rows", &[]);
    assert_eq!(rows["metrics"][SECTORS], json!({"value": 128 * 8, "kind": "exact"}));
    assert_eq!(rows["metrics"][PER_STORE]["value"], 4);
    assert_eq!(rows["advice"], json!([]));
    assert_eq!((&rows["grid"], &rows["block"]), (&json!([32, 1, 1]), &json!([128, 1, 1])));
    assert_eq!(rows["occupancy"]["warps_per_sm"], 64);
    let columns = measured("columns", &[]);
    assert_eq!(columns["metrics"][SECTORS]["value"], 128 * (4 + 32));
    assert_eq!(columns["metrics"][PER_STORE]["value"], 32);
    assert_eq!(columns["metrics"]["dram__bytes_write.sum"], json!({"value": 64 * 64 * 4, "kind": "bound"}));
    // The load is in line 11, the store in line 12.
    let line = |number: u32| {
        let lines = columns["lines"].as_array().expect("lines");
        lines.iter().find(|line| line["line"] == number).expect("the line ran")["metrics"][SECTORS]["value"].clone()
    };
    assert_eq!((line(11), line(12)), (json!(128 * 4), json!(128 * 32)));
    let advice = columns["advice"].as_array().expect("advice");
    assert_eq!(advice.len(), 1, "{advice:?}");
    assert_eq!((&advice[0]["line"], &advice[0]["metric"]), (&json!(12), &json!(PER_STORE)));
    assert!(advice[0]["message"].as_str().expect("words").contains("32.0 sectors per request, ideal 4.0"));
}

/// A launch that says nothing of blocks is counted in those that a GPU runs it in.
#[test]
fn blocks_are_the_usual_ones() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let launch = json!({"format": 1, "id": "rows", "source": "k.py", "kernel": "rows", "dim": [64, 64],
                        "args": [array("x"), array("y")]});
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    let (said, status) = kc(folder.path(), &["profile", "case.json"]);
    assert!(status == Some(0) && said.contains("grid 16 x 1 x 1, block 256 x 1 x 1"), "{said}");
}

#[test]
fn threads_store_elements_by_rows() {
    let dtype = |class: &str, shape: Value| json!({"class": class, "scalar": "float32", "shape": shape});
    let elements = |name: &str, dtype: Value| json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 1, "shape": [256], "fill": 0});
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let arguments =
        [array("x"), array("y"), elements("m", dtype("mat", json!([3, 3]))), elements("s", dtype("vec", json!([3])))];
    let launch = json!({"format": 1, "id": "k", "source": "k.py", "kernel": "elements", "dim": [256], "block_dim": 128, "args": arguments});
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    let (text, status) = kc(folder.path(), &["profile", "case.json", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let kernel = &all["kernels"][0];
    // 32 floats side by side are 4 sectors; elements of 36 bytes apart, each store would reach 32.
    assert_eq!(kernel["metrics"][PER_STORE]["value"], 4);
    // 8 warps, 9 stores and 3 additions each.
    assert_eq!(kernel["metrics"][SECTORS]["value"], 8 * (9 + 3) * 4);
}

/// Products of tiles are counted as a GPU computes them: by its instructions for matrices.
#[test]
fn products_are_counted_as_they_run_on_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let source = "import warp as wp\n\n
@wp.kernel
def product(a: wp.array2d(dtype=wp.float16), b: wp.array2d(dtype=wp.float16), c: wp.array2d(dtype=wp.float16)):
    i, j = wp.tid()
    x = wp.tile_load(a, shape=(32, 32), offset=(i * 32, 0))
    y = wp.tile_load(b, shape=(32, 32), offset=(0, j * 32))
    wp.tile_store(c, wp.tile_matmul(x, y), offset=(i * 32, j * 32))
";
    std::fs::write(folder.path().join("k.py"), source).expect("a source");
    let dtype = json!({"class": "scalar", "scalar": "float16", "shape": []});
    let matrix = |name: &str| json!({"name": name, "kind": "array", "dtype": dtype, "ndim": 2, "shape": [64, 32], "fill": "random:1"});
    let launch = json!({"format": 1, "id": "product", "source": "k.py", "kernel": "product", "dim": [2, 2, 128], "block_dim": 128,
                        "args": [matrix("a"), matrix("b"), matrix("c")]});
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    let ptx = |flags: &[&str]| {
        let (text, status) = kc(folder.path(), &[&["profile", "case.json", "--html", "page.html"], flags].concat());
        assert_eq!(status, Some(0), "{text}");
        std::fs::read_to_string(folder.path().join("page.html")).expect("the report")
    };
    assert!(ptx(&[]).contains("mma.sync"));
    assert!(!ptx(&["--tensor-cores", "off"]).contains("mma.sync"));
}

#[test]
fn a_report_is_one_file_with_the_source() {
    let folder = tempfile::tempdir().expect("a folder");
    let page = folder.path().join("report.html");
    let (text, status) = profile("columns", &["--html", page.to_str().expect("UTF-8")]);
    assert_eq!(status, Some(0), "{text}");
    let page = std::fs::read_to_string(page).expect("the report");
    // The advice leads to its line, which is there with its sectors.
    assert!(page.contains("<a href=\"#e0l12\">line 12</a>"), "{page}");
    assert!(page.contains("<tr id=\"e0l12\"") && page.contains("<td>4096</td>") && page.contains("y[j, i] = value"));
    // The PTX is beside it, and each leads to the other.
    assert!(page.contains("st.global.b32") && page.contains("<a href=\"#e0l12\">12</a>"), "{page}");
    let (_, row) = page.split_once("<tr id=\"e0l12\"").expect("the line");
    let (_, target) = row.split_once("href=\"#").expect("a link");
    let (target, _) = target.split_once('"').expect("a link");
    assert!(target.starts_with("e0p") && page.contains(&format!("<tr id=\"{target}\"")), "{target}");
    // Wide sources scroll in their place.
    assert!(page.contains("<div class=\"scroll\"><table class=\"source\">"), "{page}");
    assert!(!page.contains("src=") && !page.contains("http"), "nothing is loaded");
    let (text, status) = profile("rows", &["--html", "/dev/null/report.html"]);
    assert!(status == Some(1) && text.contains("error[E09"), "{text}");
}

/// Each line of the PTX with what it costs; together they are the whole.
#[test]
fn lines_of_ptx_are_counted() {
    let columns = measured("columns", &[]);
    let lines = columns["ptx"].as_array().expect("lines of PTX");
    let count = |line: &Value| line["metrics"][SECTORS]["value"].as_u64().unwrap_or(0);
    let of = |start: &str| {
        let found: Vec<&Value> =
            lines.iter().filter(|line| line["text"].as_str().expect("text").starts_with(start)).collect();
        assert_eq!(found.len(), 1, "{start}: {lines:?}");
        (count(found[0]), found[0]["source_line"].clone())
    };
    assert_eq!((of("ld.global"), of("st.global")), ((128 * 4, json!(11)), (128 * 32, json!(12))));
    let executed =
        |line: &Value| line["metrics"]["smsp__inst_executed.sum"]["value"].as_u64().expect("each of them ran");
    assert_eq!(lines.iter().map(executed).sum::<u64>(), executed(&columns));
}

/// Registers are those of ptxas where it is found, and a range elsewhere; the occupancy is that of
/// either.
#[test]
fn registers_are_asked_for() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let launch =
        json!({"format": 1, "source": "k.py", "kernel": "rows", "dim": [64, 64], "args": [array("x"), array("y")]});
    std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
    let ptxas = folder.path().join("ptxas");
    let occupancy = |flags: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        command.args(["profile", "case.json", "--json"]).args(flags).current_dir(folder.path());
        let output = command.env("KC_PTXAS", &ptxas).output().expect("kc runs");
        let all: Value = serde_json::from_slice(&output.stdout).expect("JSON");
        all["kernels"][0]["occupancy"].clone()
    };
    let range = occupancy(&[]);
    let registers = &range["registers"];
    assert_eq!((&registers["kind"], &registers["from"]), (&json!("estimate"), &json!("liveness")));
    assert!(
        registers["at_least"].as_u64() >= Some(8) && registers["at_most"].as_u64() > registers["at_least"].as_u64()
    );
    assert!(range["warps_per_sm_at_least"].as_u64() <= range["warps_per_sm"].as_u64());
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt as _;
        // One that says so of every text.
        let script = "#!/bin/sh\necho \"ptxas info    : Compiling entry function 'rows_cuda_kernel_forward' for '$3'\" >&2\n\
                      echo 'ptxas info    : Used 128 registers' >&2\n";
        std::fs::write(&ptxas, script).expect("a script");
        std::fs::set_permissions(&ptxas, std::fs::Permissions::from_mode(0o755)).expect("it may run");
        let told = occupancy(&["--arch", "sm_89"]);
        let expected = json!({"at_least": 128, "at_most": 128, "kind": "exact", "from": "ptxas"});
        assert_eq!((&told["registers"], &told["limiter"]), (&expected, &json!("registers")), "{told}");
        std::fs::write(&ptxas, "#!/bin/sh\nexit 1\n").expect("a script");
        assert_eq!(occupancy(&[])["registers"]["from"], "liveness");
    }
}

#[test]
fn roofs_are_drawn() {
    let folder = tempfile::tempdir().expect("a folder");
    let file = |name: &str| folder.path().join(name).to_str().expect("UTF-8").to_string();
    for name in ["roof.svg", "roof.png"] {
        let (text, status) = profile("total", &["--roofline", &file(name), "--arch", "sm_80"]);
        assert_eq!(status, Some(0), "{text}");
        assert!(text.contains("roofline of A100 SXM 40 GB: limited by "), "{text}");
    }
    let svg = std::fs::read_to_string(file("roof.svg")).expect("a picture");
    assert!(svg.starts_with("<svg") && svg.contains("DRAM 1.55 TB/s") | svg.contains("DRAM 1.56 TB/s"), "{svg}");
    assert!(svg.contains("1 total_cuda_kernel_forward: at most") && svg.contains("<circle"), "{svg}");
    let png = png::Decoder::new(std::io::BufReader::new(std::fs::File::open(file("roof.png")).expect("a picture")));
    let reader = png.read_info().expect("PNG");
    assert_eq!(reader.info().width, 1520);
    let (text, status) = profile("total", &["--roofline", "roof.jpeg"]);
    assert!(status == Some(2) && text.contains(".svg or .png"), "{text}");
    let (text, status) = profile("total", &["--roofline", "/dev/null/roof.svg"]);
    assert!(status == Some(1) && text.contains("error[E09"), "{text}");
    let roof = measured("rows", &[])["roofline"].clone();
    assert_eq!((&roof["gpu"], &roof["limiter"]), (&json!("H100 SXM"), &json!("instructions")));
    // A product for each element, which is read and written.
    assert_eq!((&roof["flops"], &roof["dram_bytes"]), (&json!(4096.0), &json!(32768.0)));
}

#[test]
fn lanes_that_wait_are_told_of() {
    let (text, status) = profile("total", &[]);
    assert_eq!(status, Some(0), "{text}");
    assert!(text.contains("8.0 of 32 lanes are active"), "{text}");
    assert!(text.contains("s = s * 0.5 + 1.0"), "{text}");
}

#[test]
fn registers_limit_occupancy() {
    let found = measured("rows", &["--arch", "sm_89", "--registers", "128"]);
    let registers = json!({"at_least": 128, "at_most": 128, "kind": "exact", "from": "given"});
    let words = "128 registers, 16 of 48 warps at 128 threads on sm_89, 0 bytes shared";
    let expected = json!({"words": words, "blocks_per_sm": 4, "warps_per_sm": 16, "limiter": "registers", "registers_up_to": 128,
                          "registers": registers, "warps_per_sm_at_least": 16});
    assert_eq!((&found["arch"], &found["occupancy"]), (&json!("sm_89"), &expected));
}

#[test]
fn counts_stand_beside_those_of_a_gpu() {
    let folder = tempfile::tempdir().expect("a folder");
    let export = folder.path().join("ncu.csv");
    let path = export.to_str().expect("UTF-8");
    let write = |kernel: &str| {
        let text = format!(
            "==PROF== Disconnected\n\"ID\",\"Kernel Name\",\"Metric Name\",\"Metric Unit\",\"Metric Value\"\n\
             \"0\",\"{kernel}(launch_bounds_t)\",\"{PER_STORE}\",\"\",\"16,00\"\n\
             \"0\",\"{kernel}(launch_bounds_t)\",\"{SECTORS}\",\"sector\",\"4.608\"\n"
        );
        std::fs::write(&export, text).expect("an export");
    };
    write("columns_cuda_kernel_forward");
    let compared = measured("columns", &["--compare", path])["compared"].clone();
    let expected = json!({"simulated": 32.0, "measured": 16.0, "percent": 100.0, "kind": "exact"});
    assert_eq!((&compared[PER_STORE], &compared[SECTORS]["percent"]), (&expected, &json!(0.0)));
    let (text, status) = profile("columns", &["--compare", path]);
    assert!(status == Some(0) && text.contains("+100.0 %"), "{text}");
    write("another");
    let (text, status) = profile("columns", &["--compare", path]);
    assert!(
        status == Some(1) && text.contains("error[E1121]") && text.contains("columns_cuda_kernel_forward"),
        "{text}"
    );
    let (text, status) = profile("columns", &["--compare", "absent.csv"]);
    assert!(status == Some(1) && text.contains("error[E1121]"), "{text}");
}

/// A race is in the JSON with its line, and atomics under names of their own.
#[test]
fn findings_and_atomics_are_told() {
    let text = include_str!("sim/faults.ptx");
    let measured = |entry: &str| {
        let folder = tempfile::tempdir().expect("a folder");
        std::fs::write(folder.path().join("k.ptx"), text).expect("a text");
        let dtype = json!({"class": "scalar", "scalar": "int32", "shape": []});
        let out = json!({"name": "out", "kind": "pointer", "dtype": dtype, "shape": [64], "fill": 0});
        let launch = json!({"format": 1, "source": "k.ptx", "entry": entry, "grid": [1], "block": [64], "args": [out]});
        std::fs::write(folder.path().join("case.json"), launch.to_string()).expect("a launch");
        let mut command = Command::new(env!("CARGO_BIN_EXE_kc"));
        let output = command.args(["profile", "case.json", "--json"]).current_dir(folder.path()).output();
        let all: Value = serde_json::from_slice(&output.expect("kc runs").stdout).expect("JSON");
        all["kernels"][0].clone()
    };
    let race = measured("race");
    let findings = race["findings"].as_array().expect("findings");
    assert_eq!(findings.len(), 1, "{findings:?}");
    let line = findings[0]["line"].as_u64().expect("a line") as usize;
    assert_eq!((&findings[0]["code"], &findings[0]["file"]), (&json!("E1113"), &json!("k.ptx")));
    assert_eq!(text.lines().nth(line - 1).map(str::trim), Some("st.global.u32 [%rd1], %r1;"));
    // Two warps: each adds at one element, and then at its 32 neighbours, which lie in 4 sectors.
    let first = measured("first");
    let sum =
        |what: &str| first["metrics"][format!("l1tex__t_{what}_pipe_lsu_mem_global_op_atom.sum")]["value"].clone();
    assert_eq!((sum("requests"), sum("sectors"), &first["findings"]), (json!(4), json!(10), &json!([])));
}

#[test]
fn gates_end_with_a_code() {
    let gate = format!("{PER_STORE} > 8");
    assert_eq!(profile("rows", &["--fail-if", &gate]).1, Some(0));
    let (text, status) = profile("columns", &["--fail-if", &gate]);
    assert_eq!(status, Some(1), "{text}");
    assert!(text.contains("error[E1118]") && text.contains("is 32"), "{text}");
    let (text, status) = profile("rows", &["--fail-if", "no_such_metric > 8"]);
    assert!(status == Some(1) && text.contains("error[E1118]"), "{text}");
    assert_eq!(profile("rows", &["--fail-if", "8 < sectors >"]).1, Some(2));
    assert_eq!(profile("rows", &["--arch", "sm_1"]).1, Some(2));
}

#[test]
fn gradients_are_two_entries_and_errors_are_errors() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let with_gradient = |name: &str| {
        let mut array = array(name);
        array["grad_fill"] = json!("random:2");
        array
    };
    let launch = |source: &str| {
        json!({"format": 1, "id": "g", "source": source, "kernel": "rows", "direction": "gradient", "dim": [64, 64],
               "args": [with_gradient("x"), with_gradient("y")]})
    };
    std::fs::write(folder.path().join("case.json"), launch("k.py").to_string()).expect("a launch");
    let (text, status) = kc(folder.path(), &["profile", "case.json", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let entries: Vec<&str> = all["kernels"]
        .as_array()
        .expect("kernels")
        .iter()
        .map(|kernel| kernel["entry"].as_str().expect("a name"))
        .collect();
    assert_eq!(entries, ["rows_cuda_kernel_forward", "rows_cuda_kernel_backward"]);
    std::fs::write(folder.path().join("case.json"), launch("absent.py").to_string()).expect("a launch");
    let (text, status) = kc(folder.path(), &["profile", "case.json"]);
    assert!(status == Some(1) && text.contains("error[E0901]"), "{text}");
    assert_eq!(kc(folder.path(), &["profile", "absent.json"]).1, Some(1));
}

/// Kernels of a source file get the launches that `kc launch new` writes; accesses are reported by
/// their places.
#[test]
fn kernels_without_a_launch_file() {
    let folder = tempfile::tempdir().expect("a folder");
    std::fs::write(folder.path().join("k.py"), SOURCE).expect("a source");
    let (text, status) = kc(folder.path(), &["profile", "k.py", "-k", "columns", "--json"]);
    assert_eq!(status, Some(0), "{text}");
    let all: Value = serde_json::from_str(&text).expect("JSON");
    let accesses: Vec<_> = all["kernels"][0]["accesses"]
        .as_array()
        .expect("accesses")
        .iter()
        .map(|one| ["line", "column", "kind", "takes", "ideal", "wasteful"].map(|key| one[key].clone()))
        .collect();
    let row = |line: u32, column: u32, kind: &str, takes: f64, wasteful: bool| {
        [json!(line), json!(column), json!(kind), json!(takes), json!(4.0), json!(wasteful)]
    };
    assert_eq!(accesses, [row(11, 13, "load", 4.0, false), row(12, 5, "store", 32.0, true)]);
    let (text, status) = kc(folder.path(), &["profile", "k.py"]);
    assert!(status == Some(0) && text.matches("_cuda_kernel_forward").count() == 4, "{text}");
    let (text, status) = kc(folder.path(), &["profile", "k.py", "--no-run", "--block-dim", "1024", "--arch", "sm_86"]);
    assert!(status == Some(0) && text.matches("occupancy on sm_86: 32 of 48 warps").count() == 4, "{text}");
    // A kernel with tiles computes once for each block of its launch.
    let tiles = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):\n    i = wp.tid()\n    \
                 t = wp.tile_load(x[i], shape=64)\n    wp.tile_store(y, wp.tile_sum(t * t), offset=i)\n";
    std::fs::write(folder.path().join("t.py"), tiles).expect("a source");
    let (text, status) = kc(folder.path(), &["launch", "new", "t.py", "--dim", "8", "-o", "t.json"]);
    assert_eq!(status, Some(0), "{text}");
    let (text, status) = kc(folder.path(), &["profile", "t.json"]);
    assert!(status == Some(0) && text.contains("grid 8 x 1 x 1, block 256 x 1 x 1"), "{text}");
    let (text, status) = kc(folder.path(), &["verify", "t.json", "--devices", "host,interp,sim"]);
    assert!(status == Some(0) && text.contains(", sim"), "{text}");
    // What is in the way has a code.
    let missing = "import warp as wp\n\n\n@wp.kernel\ndef k(x: wp.array(dtype=float), n: wp.array(dtype=int)):\n    x[n[wp.tid()] - 5000000] = 1.0\n";
    std::fs::write(folder.path().join("m.py"), missing).expect("a source");
    std::fs::write(folder.path().join("b.py"), SOURCE.replace("value = x[i, j]", "value = z")).expect("a source");
    std::fs::write(folder.path().join("none.py"), "x = 1\n").expect("a source");
    for (args, code, status) in [
        (&["m.py"][..], "E1109", 1),
        (&["b.py"], "E0", 1),
        (&["b.py", "--no-run"], "E0", 1),
        (&["none.py"], "E0908", 1),
        (&["absent.py", "--no-run"], "E0901", 1),
        (&["k.py", "-k", "none"], "E0905", 1),
        (&["case.json", "--no-run"], "E1012", 2),
    ] {
        let (text, ended) = kc(folder.path(), &[&["profile"], args].concat());
        assert!(ended == Some(status) && text.contains(&format!("error[{code}")), "{args:?}: {text}");
    }
    let (text, _) = kc(folder.path(), &["profile", "b.py", "--no-run"]);
    assert_eq!(text.matches("occupancy on").count(), 3, "{text}");
}
