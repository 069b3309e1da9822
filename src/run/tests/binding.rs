//! Good launches: every argument at its place in the argument struct, every array back as it came.

use serde_json::json;

use super::*;
use crate::abi::descriptor;

fn descriptor_at(arguments: &Arguments, at: usize) -> (u64, u64, [i32; 4], [i32; 4], i32) {
    let word = |offset: u32, k: usize| {
        i32::from_le_bytes(block(arguments, at + offset as usize + 4 * k, 4).try_into().unwrap())
    };
    let pointer = |offset: u32| u64::from_le_bytes(block(arguments, at + offset as usize, 8).try_into().unwrap());
    (
        pointer(descriptor::DATA),
        pointer(descriptor::GRAD),
        [0, 1, 2, 3].map(|k| word(descriptor::SHAPE, k)),
        [0, 1, 2, 3].map(|k| word(descriptor::STRIDES, k)),
        word(descriptor::NDIM, 0),
    )
}

#[test]
fn everything_at_its_place() {
    let case = Case::new(&good_launch(), &good_arrays());
    let arguments = case.bind().unwrap();
    let (_, structs) = fixture();
    for (name, _, _, data) in good_arrays() {
        let (key, suffix) = name.strip_prefix("parts").map_or((name, ""), |suffix| ("parts", suffix));
        assert_eq!(contents(&arguments, &structs, key, suffix), data, "{name}");
    }
    // x at 0, m at 56, s at 112 (dt, table at 120), parts at 176, v at 232, n at 244, flag at 248.
    assert_eq!(descriptor_at(&arguments, 0).2, [4, 0, 0, 0]);
    assert_eq!(descriptor_at(&arguments, 0).3, [4, 0, 0, 0]);
    let m = descriptor_at(&arguments, 56);
    assert_eq!((m.1, m.2, m.3, m.4), (0, [2, 3, 0, 0], [48, 16, 0, 0], 2));
    assert_eq!(block(&arguments, 112, 4), 0.5f32.to_le_bytes());
    assert_eq!(descriptor_at(&arguments, 120).2, [3, 0, 0, 0]);
    let parts = descriptor_at(&arguments, 176);
    assert_eq!((parts.2, parts.3), ([2, 0, 0, 0], [24, 0, 0, 0]));
    // SAFETY: the second element lies inside the array, which `arguments` owns.
    let id = unsafe { std::ptr::with_exposed_provenance::<i64>(parts.0 as usize + 24 + 16).read() };
    assert_eq!(id, 99);
    let v = block(&arguments, 232, 12);
    assert_eq!(v[..4], 1f32.to_le_bytes());
    assert!(f32::from_le_bytes(v[4..8].try_into().unwrap()).is_nan());
    assert_eq!(v[8..], f32::NEG_INFINITY.to_le_bytes());
    assert_eq!(block(&arguments, 244, 5), [0xf9, 0xff, 0xff, 0xff, 1]);
}

#[test]
fn strides_aliases_nulls_and_gradients() {
    let mut launch = good_launch();
    // Column-major m, with a gap between columns; x shared by the table of s is another type, so
    // alias m's own kind.
    launch["args"][1]["strides"] = json!([16, 64]);
    launch["args"][0]["grad"] = json!("x.grad");
    launch["args"][2]["fields"][1] = json!({"name": "table", "kind": "array", "ndim": 1, "null": true,
        "dtype": {"class": "scalar", "scalar": "int32", "shape": []}});
    let mut arrays = good_arrays();
    arrays.push(("x.grad", "<f4", vec![4], vec![9; 16]));
    let arguments = Case::new(&launch, &arrays).bind().unwrap();
    let (_, structs) = fixture();
    assert_eq!(contents(&arguments, &structs, "m", ""), arrays[1].3);
    let m = descriptor_at(&arguments, 56);
    assert_eq!(m.3, [16, 64, 0, 0]);
    // SAFETY: element (1, 2), component 1 lies inside the array.
    let value = unsafe { std::ptr::with_exposed_provenance::<f64>(m.0 as usize + 16 + 2 * 64 + 8).read() };
    assert_eq!(value, 11.0);
    assert_eq!(descriptor_at(&arguments, 120), (0, 0, [0; 4], [0; 4], 0));
    let x = &arguments.arrays[0];
    assert_ne!(descriptor_at(&arguments, 0).1, 0);
    let leaf = crate::run::args::elements::leaves(F32, &structs).unwrap().remove(0);
    assert_eq!(arguments.gather_grad(x, &leaf), Some(vec![9; 16]));
}

#[test]
fn negative_strides_stay_inside_their_memory() {
    let mut launch = good_launch();
    launch["args"][0]["strides"] = json!([-8]);
    let arguments = Case::new(&launch, &good_arrays()).bind().unwrap();
    assert_eq!(contents(&arguments, &fixture().1, "x", ""), good_arrays()[0].3);
}

#[test]
fn aliases_share_memory() {
    let element = array(Element::Scalar(Scalar::BF16), 1);
    let kernel = kernel(&[("a", element), ("b", element)]);
    let mut b = array_entry("b", "scalar", "bfloat16", &[], &[2]);
    b["alias_of"] = json!("a");
    let launch = json!({"format": 1, "source": "kernel.py", "kernel": "k", "dim": [2],
        "args": [array_entry("a", "scalar", "bfloat16", &[], &[2]), b]});
    let case = Case::new(&launch, &[("a", "<u2", vec![2], vec![1, 2, 3, 4])]);
    let arguments = bind(&case.path("case.json"), &kernel, &StructTable::default()).unwrap();
    assert_eq!(descriptor_at(&arguments, 0).0, descriptor_at(&arguments, 56).0);
    assert_eq!(contents(&arguments, &StructTable::default(), "b", ""), [1, 2, 3, 4]);
}

#[test]
fn empty_arrays_are_null() {
    let kernel = kernel(&[("a", array(Element::Mat(2, 2, Scalar::F16), 2))]);
    let launch = json!({"format": 1, "source": "kernel.py", "dim": [0],
        "args": [array_entry("a", "mat", "float16", &[2, 2], &[3, 0])]});
    let case = Case::new(&launch, &[("a", "<f2", vec![3, 0, 2, 2], vec![])]);
    let arguments = bind(&case.path("case.json"), &kernel, &StructTable::default()).unwrap();
    let a = descriptor_at(&arguments, 0);
    assert_eq!((a.0, a.2), (0, [3, 0, 0, 0]));
    assert!(contents(&arguments, &StructTable::default(), "a", "").is_empty());
}

#[test]
fn results_read_back_as_inputs() {
    let case = Case::new(&good_launch(), &good_arrays());
    let arguments = case.bind().unwrap();
    let (_, structs) = fixture();
    crate::run::files::output::write_npz(&case.path(""), "inputs", &arguments, &structs).unwrap();
    let again = case.bind().unwrap();
    for (name, _, _, data) in good_arrays() {
        let (key, suffix) = name.strip_prefix("parts").map_or((name, ""), |suffix| ("parts", suffix));
        assert_eq!(contents(&again, &structs, key, suffix), data, "{name}");
    }
    crate::run::files::output::write_npy(&case.path(""), &arguments, &structs).unwrap();
    let x = crate::run::files::npz::read_npy(&case.path("parts.pos.npy"), |_| Ok(())).unwrap();
    assert_eq!((x.header.shape, x.bytes), (vec![2, 3], good_arrays()[3].3.clone()));
    let left: Vec<_> = std::fs::read_dir(case.path("")).unwrap().flatten().map(|e| e.file_name()).collect();
    assert!(left.iter().all(|name| !name.to_string_lossy().starts_with(".kc-")), "{left:?}");
}
