//! Every member of a launch file wrong once: a coded error that names what is wrong, never a panic.

use serde_json::{Value, json};

use super::*;
use crate::diag::Code;

/// A change that breaks a launch, the code it must give, and a word of the message.
type Bad = (&'static str, fn(&mut Value), Code, &'static str);

fn arg<'a>(launch: &'a mut Value, name: &str) -> &'a mut Value {
    let args = launch["args"].as_array_mut().unwrap();
    args.iter_mut().find(|a| a["name"] == name).unwrap()
}

fn remove(object: &mut Value, member: &str) {
    object.as_object_mut().unwrap().remove(member).unwrap();
}

const BAD: &[Bad] = &[
    // The file.
    ("format missing", |l| remove(l, "format"), Code::E1001, "format"),
    ("format 2", |l| l["format"] = json!(2), Code::E1002, "2"),
    ("format 1.5", |l| l["format"] = json!(1.5), Code::E1002, "1.5"),
    ("format text", |l| l["format"] = json!("1"), Code::E1002, "\"1\""),
    ("format null", |l| l["format"] = json!(null), Code::E1002, "null"),
    ("id with a slash", |l| l["id"] = json!("a/b"), Code::E1001, "a/b"),
    ("id with dots", |l| l["id"] = json!(".."), Code::E1001, ".."),
    ("id empty", |l| l["id"] = json!(""), Code::E1001, "empty"),
    ("id long", |l| l["id"] = json!("x".repeat(300)), Code::E1001, "200"),
    ("id with a control character", |l| l["id"] = json!("a\u{0}b"), Code::E1001, "id"),
    ("id a number", |l| l["id"] = json!(3), Code::E1001, "line"),
    ("source missing", |l| remove(l, "source"), Code::E1001, "source"),
    ("source empty", |l| l["source"] = json!(""), Code::E1001, "source"),
    ("source a list", |l| l["source"] = json!([]), Code::E1001, "line"),
    ("kernel a number", |l| l["kernel"] = json!(1), Code::E1001, "line"),
    ("direction unknown", |l| l["direction"] = json!("sideways"), Code::E1001, "sideways"),
    ("direction a bool", |l| l["direction"] = json!(true), Code::E1001, "line"),
    ("dim missing", |l| remove(l, "dim"), Code::E1001, "dim"),
    ("dim a number", |l| l["dim"] = json!(4), Code::E1001, "line"),
    ("dim negative", |l| l["dim"] = json!([-4]), Code::E1006, "dim[0] is -4"),
    ("dim a fraction", |l| l["dim"] = json!([1.5]), Code::E1006, "1.5"),
    ("dim too large", |l| l["dim"] = json!([2_147_483_648u64]), Code::E1006, "2147483648"),
    ("dim huge", |l| l["dim"] = json!([1e300]), Code::E1006, "dim[0]"),
    ("dim of five", |l| l["dim"] = json!([1, 1, 1, 1, 1]), Code::E1006, "5 dimensions"),
    ("dim a text", |l| l["dim"] = json!(["4"]), Code::E1001, "line"),
    ("block_dim zero", |l| l["block_dim"] = json!(0), Code::E1006, "block_dim"),
    ("block_dim large", |l| l["block_dim"] = json!(4096), Code::E1006, "block_dim"),
    ("args missing", |l| remove(l, "args"), Code::E1001, "args"),
    ("args an object", |l| l["args"] = json!({}), Code::E1001, "line"),
    ("structs a list", |l| l["structs"] = json!([]), Code::E1001, "line"),
    ("struct of another size", |l| l["structs"]["Part"]["size"] = json!(20), Code::E1005, "Part"),
    ("struct field elsewhere", |l| l["structs"]["Params"]["fields"][1]["offset"] = json!(4), Code::E1005, "Params"),
    ("struct field renamed", |l| l["structs"]["Params"]["fields"][0]["name"] = json!("h"), Code::E1005, "dt"),
    ("struct size negative", |l| l["structs"]["Part"]["size"] = json!(-1), Code::E1001, "line"),
    // The list of arguments.
    ("argument missing", |l| drop(l["args"].as_array_mut().unwrap().remove(0)), Code::E1004, "`x`"),
    (
        "argument twice",
        |l| {
            let a = l["args"][4].clone();
            l["args"].as_array_mut().unwrap().push(a)
        },
        Code::E1004,
        "`v` is given twice",
    ),
    (
        "argument unknown",
        |l| {
            let mut a = l["args"][5].clone();
            a["name"] = json!("q");
            l["args"].as_array_mut().unwrap().push(a)
        },
        Code::E1004,
        "`q`",
    ),
    ("argument a number", |l| l["args"][0] = json!(1), Code::E1001, "line"),
    ("name missing", |l| remove(arg(l, "x"), "name"), Code::E1001, "name"),
    ("fill unknown", |l| arg(l, "x")["fill"] = json!("noise"), Code::E1011, "args[0] (x).fill is \"noise\""),
    ("fill with a bad seed", |l| arg(l, "x")["fill"] = json!("random:x"), Code::E1011, "random:SEED"),
    ("fill with nothing", |l| arg(l, "x")["fill"] = json!([]), Code::E1011, "fill"),
    ("fill an object", |l| arg(l, "x")["grad_fill"] = json!({}), Code::E1011, "grad_fill"),
    (
        "fill beside an alias",
        |l| {
            arg(l, "x")["fill"] = json!(0);
            arg(l, "x")["alias_of"] = json!("v")
        },
        Code::E1001,
        "fill",
    ),
    ("kind missing", |l| remove(arg(l, "x"), "kind"), Code::E1001, "kind"),
    ("kind unknown", |l| arg(l, "x")["kind"] = json!("tensor"), Code::E1001, "tensor"),
    ("member unknown", |l| arg(l, "x")["shap"] = json!([4]), Code::E1001, "shap"),
    ("a value with a shape", |l| arg(l, "n")["shape"] = json!([1]), Code::E1001, "shape"),
    ("an array with a value", |l| arg(l, "x")["value"] = json!(1), Code::E1001, "value"),
    ("a struct with a dtype", |l| arg(l, "s")["dtype"] = json!({"class": "scalar"}), Code::E1001, "dtype"),
    // Kinds and types.
    (
        "value for an array",
        |l| *arg(l, "x") = json!({"name": "x", "kind": "value", "dtype": {"class": "scalar", "scalar": "float32", "shape": []}, "value": 1}),
        Code::E1005,
        "a value",
    ),
    ("array for a value", |l| *arg(l, "n") = array_entry("n", "scalar", "int32", &[], &[1]), Code::E1005, "an array"),
    ("array for a struct", |l| *arg(l, "s") = array_entry("s", "scalar", "int32", &[], &[1]), Code::E1005, "an array"),
    (
        "struct for a value",
        |l| *arg(l, "v") = json!({"name": "v", "kind": "struct", "fields": []}),
        Code::E1005,
        "a struct",
    ),
    ("dtype missing", |l| remove(arg(l, "x"), "dtype"), Code::E1001, "dtype"),
    ("dtype no type", |l| arg(l, "x")["dtype"] = json!("float99"), Code::E1001, "float99"),
    ("dtype of another type", |l| arg(l, "x")["dtype"] = json!("vec3"), Code::E1005, "vec3f"),
    ("dtype a number", |l| arg(l, "x")["dtype"] = json!(32), Code::E1001, "dtype 32"),
    ("data of numbers", |l| arg(l, "x")["data"] = json!([1.0, 2.0]), Code::E1001, "numbers go to `fill`"),
    ("dtype without a scalar", |l| remove(&mut arg(l, "x")["dtype"], "scalar"), Code::E1001, "scalar"),
    ("scalar unknown", |l| arg(l, "x")["dtype"]["scalar"] = json!("float99"), Code::E1001, "float99"),
    ("class unknown", |l| arg(l, "x")["dtype"]["class"] = json!("tensor"), Code::E1001, "tensor"),
    ("vec of no components", |l| arg(l, "m")["dtype"]["shape"] = json!([0]), Code::E1001, "[0]"),
    ("vec of negative size", |l| arg(l, "m")["dtype"]["shape"] = json!([-3]), Code::E1001, "[-3]"),
    ("vec of two extents", |l| arg(l, "m")["dtype"]["shape"] = json!([2, 2]), Code::E1001, "[2, 2]"),
    (
        "quat of three",
        |l| arg(l, "m")["dtype"] = json!({"class": "quat", "scalar": "float64", "shape": [3]}),
        Code::E1001,
        "[3]",
    ),
    ("struct dtype without a name", |l| arg(l, "parts")["dtype"] = json!({"class": "struct"}), Code::E1001, "name"),
    ("other scalar", |l| arg(l, "x")["dtype"]["scalar"] = json!("float64"), Code::E1005, "float64"),
    (
        "other class",
        |l| arg(l, "x")["dtype"] = json!({"class": "vec", "scalar": "float32", "shape": [3]}),
        Code::E1005,
        "vec3f",
    ),
    ("other value type", |l| arg(l, "n")["dtype"]["scalar"] = json!("int64"), Code::E1005, "int64"),
    ("struct for scalars", |l| arg(l, "x")["dtype"] = json!({"class": "struct", "name": "Part"}), Code::E1005, "Part"),
    ("ndim missing", |l| remove(arg(l, "x"), "ndim"), Code::E1001, "ndim"),
    ("ndim zero", |l| arg(l, "x")["ndim"] = json!(0), Code::E1006, "ndim"),
    ("ndim negative", |l| arg(l, "x")["ndim"] = json!(-1), Code::E1006, "ndim"),
    ("ndim of five", |l| arg(l, "x")["ndim"] = json!(5), Code::E1006, "ndim"),
    (
        "other rank",
        |l| {
            let x = arg(l, "x");
            x["ndim"] = json!(2);
            x["shape"] = json!([2, 2])
        },
        Code::E1005,
        "2 dimensions",
    ),
    ("ndim against shape", |l| arg(l, "x")["shape"] = json!([2, 2]), Code::E1005, "2 dimensions"),
    (
        "null of another rank",
        |l| *arg(l, "x") = json!({"name": "x", "kind": "array", "dtype": {"class": "scalar", "scalar": "float32", "shape": []}, "ndim": 3, "null": true}),
        Code::E1005,
        "3 dimensions",
    ),
    // Shapes, strides, memory.
    ("shape missing", |l| remove(arg(l, "x"), "shape"), Code::E1001, "shape"),
    ("shape negative", |l| arg(l, "x")["shape"] = json!([-1]), Code::E1006, "-1"),
    ("shape too large", |l| arg(l, "x")["shape"] = json!([4294967296u64]), Code::E1006, "4294967296"),
    ("shape of five", |l| arg(l, "x")["shape"] = json!([1, 1, 1, 1, 1]), Code::E1006, "5 dimensions"),
    ("shape huge", |l| arg(l, "m")["shape"] = json!([2147483647, 2147483647]), Code::E1009, "2147483647"),
    ("shape other than stored", |l| arg(l, "x")["shape"] = json!([5]), Code::E1009, "(4,)"),
    ("strides for another rank", |l| arg(l, "x")["strides"] = json!([4, 4]), Code::E1010, "2 strides"),
    ("stride unaligned", |l| arg(l, "x")["strides"] = json!([5]), Code::E1010, "5"),
    ("stride past 32 bits", |l| arg(l, "x")["strides"] = json!([4294967296u64]), Code::E1010, "4294967296"),
    ("stride a fraction", |l| arg(l, "x")["strides"] = json!([0.5]), Code::E1010, "0.5"),
    ("data missing", |l| remove(arg(l, "x"), "data"), Code::E1001, "data"),
    ("data not stored", |l| arg(l, "x")["data"] = json!("y"), Code::E1008, "`y`"),
    ("data a number", |l| arg(l, "x")["data"] = json!(1), Code::E1001, "args[0] (x).data is 1"),
    ("data outside of the archive", |l| arg(l, "x")["data"] = json!("../../zipslip"), Code::E1001, "a slash"),
    ("data with an escape", |l| arg(l, "x")["data"] = json!("x\u{1b}[2J"), Code::E1001, "a control character"),
    ("gradient outside", |l| arg(l, "x")["grad"] = json!("/abs/x"), Code::E1001, "a slash"),
    ("gradient not stored", |l| arg(l, "x")["grad"] = json!("x.grad"), Code::E1008, "x.grad"),
    ("alias of nothing", |l| arg(l, "x")["alias_of"] = json!("nothing"), Code::E1010, "nothing"),
    ("alias of a later array", |l| arg(l, "x")["alias_of"] = json!("parts"), Code::E1010, "parts"),
    ("alias of another type", |l| arg(l, "m")["alias_of"] = json!("x"), Code::E1010, "`x`"),
    ("array used twice", |l| arg(l, "parts")["data"] = json!("x"), Code::E1008, "x.pos"),
    ("null a number", |l| arg(l, "x")["null"] = json!(1), Code::E1001, "line"),
    // Values.
    ("value missing", |l| remove(arg(l, "n"), "value"), Code::E1001, "value"),
    ("value null", |l| arg(l, "n")["value"] = json!(null), Code::E1001, "missing"),
    ("value a text", |l| arg(l, "n")["value"] = json!("seven"), Code::E1011, "seven"),
    ("value an object", |l| arg(l, "n")["value"] = json!({"a": 1}), Code::E1011, "value"),
    ("value past int32", |l| arg(l, "n")["value"] = json!(2147483648u64), Code::E1011, "2147483648"),
    ("value a fraction", |l| arg(l, "n")["value"] = json!(0.5), Code::E1011, "0.5"),
    ("value nan for an int", |l| arg(l, "n")["value"] = json!("nan"), Code::E1011, "NaN"),
    ("value 2 for a bool", |l| arg(l, "flag")["value"] = json!(2), Code::E1011, "bool"),
    ("list for a scalar", |l| arg(l, "n")["value"] = json!([1]), Code::E1011, "one number"),
    ("scalar for a vector", |l| arg(l, "v")["value"] = json!(1), Code::E1011, "3 numbers"),
    ("two for a vec3", |l| arg(l, "v")["value"] = json!([1, 2]), Code::E1011, "3 numbers"),
    ("nested list", |l| arg(l, "v")["value"] = json!([[1, 2, 3]]), Code::E1011, "flat list"),
    // Structs.
    ("fields missing", |l| remove(arg(l, "s"), "fields"), Code::E1001, "fields"),
    ("a field missing", |l| drop(arg(l, "s")["fields"].as_array_mut().unwrap().remove(0)), Code::E1004, "`s.dt`"),
    ("a field unknown", |l| arg(l, "s")["fields"][0]["name"] = json!("h"), Code::E1004, "`s.h`"),
    (
        "a field of another type",
        |l| arg(l, "s")["fields"][1]["dtype"]["scalar"] = json!("float32"),
        Code::E1005,
        "s.table",
    ),
];

#[test]
fn each_has_its_code() {
    assert!(BAD.len() >= 100);
    for (name, spoil, code, word) in BAD {
        let mut launch = good_launch();
        spoil(&mut launch);
        let start = std::time::Instant::now();
        let error = Case::new(&launch, &good_arrays()).bind().err().unwrap_or_else(|| panic!("{name}: accepted"));
        assert_eq!(error.code, *code, "{name}: {}", error.message);
        assert!(error.message.contains(word), "{name}: {:?} does not say {word:?}", error.message);
        assert!(start.elapsed().as_secs() < 2, "{name} took {:?}", start.elapsed());
    }
}

#[test]
fn text_that_is_no_launch() {
    let deep = "[".repeat(100_000);
    let wide = format!("{{\"format\": 1, \"args\": [{}]}}", "0,".repeat(100_000));
    let whole = good_launch().to_string();
    for text in ["", "{", "[]", "null", "\u{feff}{}", "{\"format\": 1}", "\0\0\0", deep.as_str(), wide.as_str()] {
        let error = launch::parse(Path::new("case.json"), text.as_bytes()).unwrap_err();
        assert_eq!(error.code, Code::E1001, "{}", error.message);
    }
    assert_eq!(launch::parse(Path::new("c.json"), b"\xff\xfe{}").unwrap_err().code, Code::E1001);
    for n in 0..whole.len() {
        assert!(launch::parse(Path::new("case.json"), &whole.as_bytes()[..n]).is_err(), "the first {n} bytes");
    }
}

#[test]
fn files_that_cannot_be_read() {
    let folder = tempfile::tempdir().unwrap();
    for path in [folder.path().join("absent.json"), folder.path().to_path_buf(), PathBuf::from("/dev/zero")] {
        assert_eq!(launch::read(&path).unwrap_err().code, Code::E1001, "{}", path.display());
    }
}
