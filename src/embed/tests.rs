use super::*;
use crate::{Compiler, kernel_struct};

/// The kernel `name` of `source`, which begins with the usual import.
fn kernel(source: &str, name: &str) -> Kernel {
    let module = Compiler::new().compile_text("test.py", format!("import warp as wp\n\n{source}"));
    module.expect("a program without errors").kernel(name).expect("a kernel")
}

const COPY: &str = "
@wp.kernel
def copy(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i]
";

const SQUARE: &str = "
@wp.kernel
def square(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = x[i] * x[i]
";

#[test]
fn compiled_things_go_between_threads() {
    fn is<T: Send + Sync>() {}
    is::<Compiler>();
    is::<Module>();
    is::<Kernel>();
    is::<Error>();
    fn moves<T: Send>() {}
    moves::<Arg<'static>>();
}

#[test]
fn every_type_is_what_it_is_in_the_kernel() {
    kernel_struct! {
        #[derive(PartialEq, Debug)]
        struct Part {
            flag: bool,
            at: [f64; 3],
            count: i16,
        }
    }
    let source = "
@wp.struct
class Part:
    flag: bool
    at: wp.vec3d
    count: wp.int16

@wp.kernel
def all(s: wp.array(dtype=wp.float64), v: wp.vec2, m: wp.mat(shape=(2, 3), dtype=float), q: wp.quat, t: wp.transform,
        h: wp.float16, b: bool, u: wp.uint64, part: Part, parts: wp.array(dtype=Part), halves: wp.array(dtype=wp.float16)):
    s[0] = wp.float64(v[1])
    s[1] = wp.float64(m[1, 2])
    s[2] = wp.float64(q[3])
    s[3] = wp.float64(wp.transform_get_rotation(t)[3])
    s[4] = wp.float64(h)
    if b:
        s[5] = wp.float64(u)
    s[6] = part.at[2]
    s[7] = wp.float64(part.count)
    parts[1].flag = part.flag
    parts[1].at = part.at
    parts[1].count = part.count
    halves[1] = h
";
    let part = Part { flag: true, at: [1.0, 2.0, 3.0], count: -7 };
    let mut parts = [Part { flag: false, at: [0.0; 3], count: 0 }; 2];
    let mut halves = [half::f16::ZERO; 2];
    for device in ["host", "interp"] {
        let mut s = [0.0f64; 8];
        let mut args = [
            Arg::write(&mut s),
            Arg::value([0.5f32, 1.5]),
            Arg::value([[1.0f32, 2.0, 3.0], [4.0, 5.0, 6.0]]),
            Arg::value([0.0f32, 0.0, 0.0, 1.0]),
            Arg::value([0.0f32, 0.0, 0.0, 0.0, 0.0, 0.0, 0.25]),
            Arg::value(half::f16::from_f32(2.5)),
            Arg::value(true),
            Arg::value(1u64 << 40),
            Arg::value(part),
            Arg::write(&mut parts),
            Arg::write(&mut halves),
        ];
        let all = kernel(source, "all").on(device).expect("a device");
        all.launch(1, &mut args).expect("a launch");
        drop(args);
        assert_eq!(s, [1.5, 6.0, 1.0, 0.25, 2.5, (1u64 << 40) as f64, 3.0, -7.0], "{device}");
        assert_eq!(parts[1], part);
        assert_eq!(halves[1].to_f32(), 2.5);
    }
}

#[test]
fn arrays_of_several_dimensions_and_parts_of_them() {
    let source = "
@wp.kernel
def twice(x: wp.array2d(dtype=float), y: wp.array2d(dtype=float)):
    i, j = wp.tid()
    y[i, j] = 2.0 * x[i, j]
";
    let twice = kernel(source, "twice");
    let x: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let mut y = vec![0.0f32; 12];
    twice.launch([3, 4], &mut [Arg::read(&x).shape([3, 4]), Arg::write(&mut y).shape([3, 4])]).expect("a launch");
    assert_eq!(y[11], 22.0);
    // The transpose of the left two columns.
    let mut z = vec![0.0f32; 6];
    let mut args = [Arg::read(&x).shape([2, 3]).strides([1, 4]), Arg::write(&mut z).shape([2, 3])];
    twice.launch([2, 3], &mut args).expect("a launch");
    drop(args);
    assert_eq!(z, [0.0, 8.0, 16.0, 2.0, 10.0, 18.0]);
}

#[test]
fn structs_with_arrays_go_by_their_fields() {
    let source = "
@wp.struct
class Bodies:
    mass: wp.array(dtype=float)
    speed: wp.array(dtype=float)
    drag: float

@wp.kernel
def slow(b: Bodies):
    i = wp.tid()
    b.speed[i] = b.speed[i] - b.drag / b.mass[i]
";
    let slow = kernel(source, "slow");
    let (mass, mut speed) = ([1.0f32, 2.0], [4.0f32, 4.0]);
    fn fields<'a>(mass: Arg<'a>, speed: Arg<'a>) -> Arg<'a> {
        Arg::fields([("drag", Arg::value(2.0f32)), ("mass", mass), ("speed", speed)])
    }
    slow.launch(2, &mut [fields(Arg::read(&mass), Arg::write(&mut speed))]).expect("a launch");
    assert_eq!(speed, [2.0, 3.0]);
    let error = slow.launch(2, &mut [fields(Arg::read(&mass), Arg::read(&speed))]).expect_err("it is written");
    assert_eq!(
        error.message(),
        "argument `b.speed` of kernel `slow`: the kernel writes to it, and it is given with `Arg::read`; use `Arg::write`"
    );
    let error = slow.launch(2, &mut [Arg::fields([("mass", Arg::read(&mass))])]).expect_err("too few fields");
    assert_eq!(error.code(), "E1004");
    let mut gradient = [0.0f32; 2];
    let mut seed = [1.0f32; 2];
    let mut args = [fields(Arg::read(&mass).grad(&mut gradient), Arg::write(&mut speed).grad(&mut seed))];
    slow.gradient(2, &mut args).expect("a gradient");
    drop(args);
    assert_eq!(gradient, [2.0, 0.5]);
    assert_eq!(seed, [1.0, 1.0], "a speed depends on what it was before");
}

#[test]
fn what_does_not_fit_is_an_error_that_names_it() {
    let copy = kernel(COPY, "copy");
    let x = [1.0f32; 4];
    let mut y = [0.0f32; 4];
    let mut wide = [0.0f64; 4];
    let cases: Vec<(Error, &str, &str)> = vec![
        (copy.launch(4, &mut [Arg::read(&x)]).unwrap_err(), "E1004", "takes 2 arguments (`x`, `y`), and 1 are given"),
        (
            copy.launch(4, &mut [Arg::read(&x), Arg::write(&mut wide)]).unwrap_err(),
            "E1005",
            "argument `y` of kernel `copy`: expected `array(dtype=float32)`, a slice of `f32`, found a slice of `f64`",
        ),
        (copy.launch(4, &mut [Arg::value(1.0f32), Arg::write(&mut y)]).unwrap_err(), "E1005", "found a value `f32`"),
        (copy.launch(4, &mut [Arg::read(&x), Arg::read(&[0.0f32; 4])]).unwrap_err(), "E1010", "use `Arg::write`"),
        (
            copy.launch(4, &mut [Arg::read(&x).shape([2, 2]), Arg::write(&mut y)]).unwrap_err(),
            "E1005",
            "found 2 extents",
        ),
        (
            copy.launch(4, &mut [Arg::read(&x).shape(5), Arg::write(&mut y)]).unwrap_err(),
            "E1009",
            "shape [5] takes 5 elements, and the slice has 4",
        ),
        (
            copy.launch(2, &mut [Arg::read(&x).shape(3).strides(2), Arg::write(&mut y)]).unwrap_err(),
            "E1009",
            "shape [3] with strides [2] takes 5 elements, and the slice has 4",
        ),
        (
            copy.launch(2, &mut [Arg::read(&x).strides([2, 1]), Arg::write(&mut y)]).unwrap_err(),
            "E1009",
            "2 strides for 1 extent",
        ),
        (
            copy.launch(4, &mut [Arg::value(1.0f32).shape(4), Arg::write(&mut y)]).unwrap_err(),
            "E1005",
            "found `.shape(...)` of what is no slice",
        ),
        (
            copy.launch(4, &mut [Arg::read(&x).grad(&mut wide), Arg::write(&mut y)]).unwrap_err(),
            "E1005",
            "its gradient is a slice of `f64`, and not of `f32`",
        ),
        (
            copy.launch(4, &mut [Arg::read(&x).grad(&mut [0.0f32; 3]), Arg::write(&mut y)]).unwrap_err(),
            "E1009",
            "its gradient has 3 elements, and the array has 4",
        ),
        (copy.launch(1 << 31, &mut [Arg::read(&x), Arg::write(&mut y)]).unwrap_err(), "E1006", "a launch has 1 to 4"),
        (copy.launch([0; 0], &mut [Arg::read(&x), Arg::write(&mut y)]).unwrap_err(), "E1006", "a launch has 1 to 4"),
        (copy.launch([1; 5], &mut [Arg::read(&x), Arg::write(&mut y)]).unwrap_err(), "E1006", "a launch has 1 to 4"),
        (
            copy.on("abacus").unwrap_err(),
            "E1104",
            "there is no device `abacus`; kc knows `host`, `interp`, `cuda` and `sim`",
        ),
        (kernel_error("nothing"), "E0905", "has no kernel `nothing`"),
        (copy.launch(5, &mut [Arg::read(&x), Arg::write(&mut y)]).unwrap_err(), "E1101", "index 4 is out of bounds"),
        (copy.launch(1, &mut [Arg::null(), Arg::write(&mut y)]).unwrap_err(), "E1101", "which has extent 0"),
    ];
    for (error, code, words) in cases {
        assert_eq!(error.code(), code, "{error}");
        assert!(error.message().contains(words), "{error}");
        assert!(error.json().contains(code));
    }
}

fn kernel_error(name: &str) -> Error {
    let module = Compiler::new().compile_text("test.py", format!("import warp as wp\n{COPY}")).expect("no errors");
    module.kernel(name).expect_err("no such kernel")
}

#[test]
fn errors_of_the_source_show_its_lines() {
    let text = "import warp as wp\n\n@wp.kernel\ndef bad(x: wp.array(dtype=float)):\n    x[0] = y\n";
    let error = Compiler::new().compile_text("folder/bad.py", text).expect_err("an unknown name");
    assert_eq!(error.code(), "E0201");
    let at = error.location().expect("a place");
    assert_eq!((at.path, at.line, at.column), (std::path::Path::new("folder/bad.py"), 5, 12));
    assert!(error.to_string().contains("x[0] = y"), "{error}");
    let error = Compiler::new().compile("no/such/file.py").expect_err("no file");
    assert_eq!(error.code(), "E0901");
    let module = Compiler::new().compile_text("empty.py", "x = 1\n").expect("no error");
    assert_eq!(module.kernels().count(), 0);
    assert_eq!(module.kernel("x").expect_err("no kernel").code(), "E0908");
    assert_eq!(module.cuda().expect_err("no kernel").code(), "E0908");
}

#[test]
fn gradients_are_added_to_and_devices_agree() {
    let (x, mut y) = ([1.0f32, 2.0, 3.0], [0.0f32; 3]);
    for device in ["host", "interp"] {
        let square = kernel(SQUARE, "square").on(device).expect("a device");
        let (mut x_grad, mut y_grad) = ([10.0f32; 3], [1.0f32, 0.5, 0.0]);
        let mut args = [Arg::read(&x).grad(&mut x_grad), Arg::write(&mut y).grad(&mut y_grad)];
        square.gradient(3, &mut args).expect("a gradient");
        drop(args);
        assert_eq!(x_grad, [12.0, 12.0, 10.0], "{device}");
        assert_eq!(y_grad, [0.0; 3], "{device}");
        assert_eq!(y, [1.0, 4.0, 9.0]);
    }
}

#[test]
fn values_have_gradients_where_they_are_asked_for() {
    kernel_struct! {
        #[derive(PartialEq, Debug)]
        struct Spring {
            count: i32,
            k: f64,
            at: [f32; 3],
        }
    }
    let source = "
@wp.struct
class Spring:
    count: int
    k: wp.float64
    at: wp.vec3

@wp.kernel
def pull(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float, p: Spring, h: wp.float16):
    i = wp.tid()
    y[i] = x[i] * s * s + float(p.k) * p.at[1] * x[i] + float(h)

@wp.kernel
def bits(x: wp.array(dtype=float), y: wp.array(dtype=float), s: float):
    i = wp.tid()
    y[i] = x[i] * wp.cast(wp.cast(s, wp.int32) + 1, wp.float32)
";
    let n = 5000;
    let (x, mut y) = (vec![0.5f32; n], vec![0.0f32; n]);
    let (spring, half) = (Spring { count: 3, k: 2.0, at: [1.0, 4.0, 8.0] }, half::f16::from_f32);
    for device in ["host", "interp"] {
        let pull = kernel(source, "pull").on(device).expect("a device");
        let mut seed = vec![1.0f32; n];
        let (mut ds, mut dh) = ([1.0f32], [half(0.0)]);
        let mut dp = [Spring { count: 7, k: 0.0, at: [0.0; 3] }];
        let mut args = [
            Arg::read(&x),
            Arg::write(&mut y).grad(&mut seed),
            Arg::value(3.0f32).grad(&mut ds),
            Arg::value(spring).grad(&mut dp),
            Arg::value(half(1.0)).grad(&mut dh),
        ];
        pull.gradient(n, &mut args).expect("a gradient");
        drop(args);
        assert_eq!(ds, [1.0 + 15000.0], "added to: the sum of 2 s x");
        assert_eq!(dp, [Spring { count: 7, k: 10000.0, at: [0.0, 5000.0, 0.0] }], "{device}");
        assert_eq!(dh, [half(5000.0)], "summed in more than 11 bits");
        // By fields, and without those that nobody asks for.
        let (mut seed, mut dk) = (vec![1.0f32; n], [0.0f64]);
        let fields =
            [("count", Arg::value(3)), ("k", Arg::value(2.0f64).grad(&mut dk)), ("at", Arg::value([1.0f32, 4.0, 8.0]))];
        let mut args = [
            Arg::read(&x),
            Arg::write(&mut y).grad(&mut seed),
            Arg::value(3.0f32),
            Arg::fields(fields),
            Arg::value(half(1.0)),
        ];
        pull.gradient(n, &mut args).expect("a gradient");
        drop(args);
        assert_eq!(dk, [10000.0]);
    }
    let bits = kernel(source, "bits");
    let mut ds = [0.0f32];
    let mut args = [Arg::read(&x), Arg::write(&mut y), Arg::value(3.0f32).grad(&mut ds)];
    let error = bits.gradient(n, &mut args).expect_err("no gradient passes through bits");
    drop(args);
    assert_eq!(error.code(), "E1103");
    assert!(error.to_string().contains("`s`") && error.to_string().contains("E0605"), "{error}");
    let (mut two, mut wide) = ([0.0f32; 2], [0.0f64]);
    let error = bits.launch(n, &mut [Arg::read(&x), Arg::write(&mut y), Arg::value(3.0f32).grad(&mut two)]);
    assert_eq!(error.expect_err("two").code(), "E1009");
    let error = bits.launch(n, &mut [Arg::read(&x), Arg::write(&mut y), Arg::value(3.0f32).grad(&mut wide)]);
    assert_eq!(error.expect_err("another type").code(), "E1005");
}

#[test]
fn a_gradient_that_would_be_wrong_is_refused() {
    let square = kernel(SQUARE, "square");
    let mut y = [0.0f32; 6];
    let error =
        square.gradient([3, 2], &mut [Arg::read(&[1.0f32; 6]), Arg::write(&mut y)]).expect_err("each thread twice");
    assert_eq!(error.code(), "E1103");
    let off = kernel(&SQUARE.replace("@wp.kernel", "@wp.kernel(enable_backward=False)"), "square");
    let error = off.gradient(3, &mut [Arg::read(&[1.0f32; 6]), Arg::write(&mut y)]).expect_err("no backward entry");
    assert_eq!(error.code(), "E1103");
    let meet = kernel(&SQUARE.replace("y[i]", "y[i // 2]"), "square");
    let error = meet.gradient(3, &mut [Arg::read(&[1.0f32; 6]), Arg::write(&mut y)]).expect_err("threads meet");
    assert_eq!(error.code(), "E1108");
}

#[test]
fn what_should_be_known_of_a_gradient_is_told_once() {
    let source = "
@wp.kernel
def snapped(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    y[i] = float(int(x[i])) + wp.length(wp.vec3(x[i]))
";
    let snapped = kernel(source, "snapped");
    let (x, mut y) = ([1.5f32, 0.0], [0.0f32; 2]);
    let mut codes = || {
        let (mut x_grad, mut y_grad) = ([0.0f32; 2], [1.0f32; 2]);
        let mut args = [Arg::read(&x).grad(&mut x_grad), Arg::write(&mut y).grad(&mut y_grad)];
        let outcome = snapped.gradient(2, &mut args).expect("a gradient");
        assert!(outcome.warnings.iter().all(|one| one.text.contains("y[i] = float(int(x[i]))")));
        outcome.warnings.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    assert_eq!(codes(), ["W0604", "W1120"]);
    assert_eq!(codes(), [] as [&str; 0]);
}

#[test]
fn a_truth_value_is_printed_as_its_word() {
    let source = "
@wp.kernel
def talk(n: int):
    i = wp.tid()
    print(\"100%\", i > 0, i, n == 2)
    wp.printf(\"%d\\n\", n == 2)
";
    for device in ["host", "interp", "sim"] {
        let talk = kernel(source, "talk").on(device).expect("a device");
        let printed = talk.launch(2, &mut [Arg::value(2)]).expect("a launch").printed;
        let expected = ["100% False 0 True\n", "100% True 1 True\n"];
        assert!(
            expected.iter().all(|line| printed.contains(line)) && printed.matches("1\n").count() == 2,
            "{device}: {printed}"
        );
    }
    let text =
        Compiler::new().compile_text("t.py", format!("import warp as wp\n{source}")).and_then(|module| module.cuda());
    let text = text.expect("CUDA text");
    assert!(text.contains(r#"printf("100%% %s %d %s\n", i > 0 ? "True" : "False", i, "#), "{text}");
}

#[test]
fn what_a_kernel_prints_comes_back() {
    let source = "
@wp.kernel
def talk(n: int):
    i = wp.tid()
    print(i)
    assert i < n
";
    let talk = kernel(source, "talk");
    assert_eq!(talk.launch(2, &mut [Arg::value(2)]).expect("a launch").printed, "0\n1\n");
    let error = talk.launch(3, &mut [Arg::value(2)]).expect_err("an assertion");
    assert_eq!((error.code(), error.printed()), ("E1102", "0\n1\n2\n"));
}

#[test]
fn many_threads_launch_one_kernel() {
    let sum = kernel(
        "
@wp.kernel
def sum(x: wp.array(dtype=wp.int64), total: wp.array(dtype=wp.int64)):
    i = wp.tid()
    wp.atomic_add(total, 0, x[i])
",
        "sum",
    );
    std::thread::scope(|scope| {
        for n in [1usize, 100, 100_000] {
            let sum = &sum;
            scope.spawn(move || {
                let x: Vec<i64> = (0..n as i64).collect();
                for threads in [0, 1, 3, 0] {
                    let mut total = [0i64];
                    sum.threads(threads).launch(n, &mut [Arg::read(&x), Arg::write(&mut total)]).expect("a launch");
                    assert_eq!(total[0], (n as i64 - 1) * n as i64 / 2);
                }
            });
        }
    });
}

#[test]
fn texts_for_other_compilers() {
    let module = Compiler::new().compile_text("square.py", format!("import warp as wp\n{SQUARE}")).expect("no errors");
    assert_eq!(module.kernels().collect::<Vec<_>>(), ["square"]);
    assert!(module.ptx("sm_90").expect("PTX").contains(".visible .entry square_cuda_kernel_backward"));
    assert!(module.cuda().expect("CUDA").contains("square_cuda_kernel_backward"));
    assert!(module.header().expect("a header").contains("square_cpu_kernel_forward"));
    assert!(module.ir().expect("IR").contains("kernel @square"));
    let error = module.ptx("sm_1").expect_err("no such architecture");
    assert!(error.code() == "E1012" && error.message().contains("sm_90"), "{error}");
}

#[test]
fn without_the_feature_the_gpu_is_an_error() {
    if cfg!(feature = "cuda") {
        return;
    }
    let cuda = kernel(SQUARE, "square").on("cuda").expect("a device of that name");
    let mut y = [0.0f32];
    let error = cuda.launch(1, &mut [Arg::read(&[1.0f32]), Arg::write(&mut y)]).expect_err("it is left out");
    assert_eq!(error.code(), "E1104");
    assert!(error.message().contains("feature `cuda`"), "{error}");
}

#[test]
fn kernels_of_texts_that_are_given() {
    use super::Given;
    let given = |name: &str, text: &str| Given {
        path: format!("/nowhere/{name}.py").into(),
        shown: format!("<{name}>").into(),
        text: text.to_string(),
    };
    let text = "import kc\nfrom lib import twice\n@kc.kernel\ndef use(x: kc.array(dtype=kc.types.vector(2, float))):\n    \
                x[kc.tid()] = twice(x[kc.tid()])\n";
    let compile = |lib: &str| {
        let files = vec![given("lib", lib)];
        Compiler::new().compile_given(
            std::path::Path::new("/nowhere/main.py"),
            text.to_string(),
            files,
            Vec::new(),
            false,
        )
    };
    let lib = "import kc.warp as wp\n@wp.func\ndef twice(x: wp.vec2):\n    return x * 2.0\n";
    let mut x = [[1.0f32, 2.0]];
    let kernel = compile(lib).expect("good texts").kernel("use").expect("the kernel");
    kernel.launch(1, &mut [Arg::write(&mut x)]).expect("it runs");
    assert_eq!(x, [[2.0, 4.0]]);
    let error = compile(&lib.replace("2.0", "missing")).expect_err("an error in the library").to_string();
    assert!(error.contains("<lib>:4") && !error.contains("nowhere/lib"), "{error}");
}

const ROWS: &str = "
@wp.kernel
def rows(x: wp.array2d(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    t = wp.tile_load(x[i], shape=4)
    y[i] += wp.tile_sum(t * t)[0]

@wp.kernel
def by_thread(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i, lane = wp.tid()
    y[i] = wp.tile_sum(wp.tile_load(x, shape=4))[0]

@wp.kernel
def center(x: wp.array(dtype=float), y: wp.array(dtype=float)):
    i = wp.tid()
    v = x[i] * x[i]
    y[i] = v - wp.tile_sum(wp.tile(v))[0]
";

#[test]
fn a_kernel_with_tiles_runs_once_for_each_block() {
    let k = kernel(ROWS, "rows");
    let x: Vec<f32> = (0..12).map(|n| n as f32).collect();
    let sums = [14.0, 126.0, 366.0];
    for device in ["host", "interp", "sim"] {
        let k = k.on(device).expect("a device");
        for (k, dim) in [(k.clone(), Dim::from(3)), (k.block_dim(32), [3, 32].into()), (k.block_dim(7), [3, 7].into())]
        {
            let mut y = [0.0f32; 3];
            let args = &mut [Arg::read(&x).shape([3, 4]), Arg::write(&mut y)];
            k.launch(dim.clone(), args).unwrap_or_else(|error| panic!("{device} {dim:?}: {error}"));
            assert_eq!(y, sums, "{device} {dim:?}");
        }
    }
    let (mut y, mut up, mut down) = ([0.0f32; 3], [0.0f32; 12], [1.0f32; 3]);
    let args = &mut [Arg::read(&x).shape([3, 4]).grad(&mut up), Arg::write(&mut y).grad(&mut down)];
    k.block_dim(64).gradient([3, 64], args).expect("a gradient");
    let twice: Vec<f32> = x.iter().map(|x| 2.0 * x).collect();
    assert_eq!((y, &up[..]), (sums, &twice[..]));
}

/// The kernel is compiled for the blocks of each launch.
#[test]
fn threads_of_a_block_have_values_of_their_own() {
    let (center, x) = (kernel(ROWS, "center"), [1.0f32, 2.0, 3.0, 4.0]);
    for (threads, sums) in [(1, [1.0f32, 4.0, 9.0, 16.0]), (2, [5.0, 5.0, 25.0, 25.0]), (4, [30.0; 4])] {
        let (mut y, mut up, mut down) = ([0.0f32; 4], [0.0f32; 4], [1.0f32; 4]);
        let args = &mut [Arg::read(&x).grad(&mut up), Arg::write(&mut y).grad(&mut down)];
        center.block_dim(threads).gradient(4, args).expect("a gradient");
        assert_eq!(y, [0, 1, 2, 3].map(|n| x[n] * x[n] - sums[n]), "{threads}");
        assert_eq!(up, x.map(|x| 2.0 * x * (1.0 - threads as f32)), "{threads}");
        for device in ["host", "interp", "sim"] {
            let (k, before) = (center.on(device).expect("a device").block_dim(threads), std::mem::take(&mut y));
            k.launch(4, &mut [Arg::read(&x), Arg::write(&mut y)]).expect("a launch");
            assert_eq!(y, before, "{device} {threads}");
        }
    }
    let mut y = [0.0f32; 3];
    let by_thread = kernel(ROWS, "by_thread").block_dim(32);
    by_thread.launch([3, 32], &mut [Arg::read(&x), Arg::write(&mut y)]).expect("a launch");
    assert_eq!(y, [10.0; 3]);
}

/// The sums of a block that is not full are of its threads.
#[test]
fn the_last_block_may_have_fewer_threads() {
    let center = kernel(ROWS, "center");
    let x: [f32; 12] = std::array::from_fn(|n| n as f32);
    for (block, count) in [(5, 12), (5, 11), (5, 4), (5, 10), (5, 1)] {
        let mut y = [0.0f32; 12];
        center.block_dim(block).launch(count, &mut [Arg::read(&x), Arg::write(&mut y)]).expect("a launch");
        let squares: Vec<f32> = x[..count].iter().map(|x| x * x).collect();
        let wanted: Vec<f32> =
            squares.chunks(block as usize).flat_map(|part| part.iter().map(|v| v - part.iter().sum::<f32>())).collect();
        assert_eq!(y[..count], wanted, "{block} {count}");
    }
}

#[test]
fn blocks_that_do_not_fit_are_refused() {
    let rows = kernel(ROWS, "rows");
    let (x, mut y) = ([1.0f32; 12], [0.0f32; 3]);
    let cases: [(Kernel, Dim, &str, &str); 4] = [
        (rows.block_dim(32), [3, 33].into(), "E1006", "no multiple of block_dim, which is 32"),
        (rows.block_dim(32), 96.into(), "E0321", "gets what differs between the threads"),
        (rows.block_dim(0), 3.into(), "E1006", "1 to 1024 threads, and not 0"),
        (rows.block_dim(1025), 3.into(), "E1006", "1 to 1024 threads, and not 1025"),
    ];
    for (kernel, dim, code, said) in cases {
        let x = if kernel.name() == "rows" { Arg::read(&x).shape([3, 4]) } else { Arg::read(&x) };
        let error = kernel.launch(dim, &mut [x, Arg::write(&mut y)]).expect_err(said);
        assert!(error.code() == code && error.to_string().contains(said), "{error}");
    }
    assert_eq!(y, [0.0; 3]);
    // Blocks are no matter of what has no tiles.
    let copy = kernel(COPY, "copy");
    let mut z = [0.0f32; 12];
    copy.block_dim(32).launch(12, &mut [Arg::read(&x), Arg::write(&mut z)]).expect("a launch");
    assert_eq!(z, x);
}

/// Each factor is 0 at 0, and so is the adjoint of the other one: the product is `x`, and its
/// gradient 1.
const AT_REST: &str = "
@wp.kernel
def at_rest(x: wp.array(dtype=wp.vec3), m: wp.array(dtype=float), y: wp.array(dtype=wp.vec3)):
    i = wp.tid()
    y[i] = wp.normalize(x[i]) * (wp.length(x[i]) + m[i])
";

#[test]
fn a_gradient_that_a_convention_decides_is_told_with_the_run() {
    let codes = |kernel: &Kernel, x: [f32; 3], count: usize| {
        let (x, m, mut y) = (vec![x; count], vec![0.0f32; count], vec![[0.0f32; 3]; count]);
        let (mut x_grad, mut y_grad) = (vec![[0.0f32; 3]; count], vec![[1.0f32; 3]; count]);
        let mut args = [Arg::read(&x).grad(&mut x_grad), Arg::read(&m), Arg::write(&mut y).grad(&mut y_grad)];
        let outcome = kernel.gradient(count, &mut args).expect("a gradient");
        let expected = if x[0] == [0.0; 3] { 0.0 } else { 1.0 };
        assert!(x_grad.iter().all(|one| (one[0] - expected).abs() < 1e-6), "the run's own gradient stays: {x_grad:?}");
        assert!(y_grad.iter().all(|one| *one == [0.0; 3]), "what the kernel overwrites has no gradient");
        outcome.warnings.iter().map(|one| one.code).collect::<Vec<_>>()
    };
    let small = kernel(AT_REST, "at_rest");
    assert_eq!(codes(&small, [3.0, 0.0, 0.0], 4), [] as [&str; 0]);
    assert_eq!(codes(&small, [0.0; 3], 4), ["W1120"]);
    assert_eq!(codes(&small, [0.0; 3], 4), [] as [&str; 0], "once");
    // Of large arrays a copy is made for the first run, and for the next one behind a visit.
    let large = kernel(AT_REST, "at_rest");
    assert_eq!(codes(&large, [2.0, 0.0, 0.0], 10_000), [] as [&str; 0]);
    assert_eq!(codes(&large, [0.0; 3], 10_000), [] as [&str; 0]);
    assert_eq!(codes(&large, [0.0; 3], 10_000), ["W1120"]);
}

#[test]
fn each_compiler_keeps_code_in_its_own_folder() {
    let folders = [(); 2].map(|()| tempfile::tempdir().expect("a folder"));
    for folder in &folders {
        let compiler = Compiler::new().keep_objects_in(folder.path());
        let text = format!("import warp as wp\n\n{COPY}");
        let copy = compiler.compile_text("copy.py", text).expect("no errors").kernel("copy").expect("a kernel");
        let (x, mut y) = ([1.0f32, 2.0, 3.0], [0.0f32; 3]);
        copy.launch(3, &mut [Arg::read(&x), Arg::write(&mut y)]).expect("a launch");
        assert_eq!(y, x);
        let kept = std::fs::read_dir(folder.path()).expect("it is there").count();
        assert_eq!(kept, 1, "the code of one kernel");
    }
}
