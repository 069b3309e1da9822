//! `--arg`, `--dim` and friends: every form once, and what is no form.

use super::*;
use crate::diag::Code;
use crate::run::launch::flags;

fn from_flags(dim: &str, args: &[&str]) -> Result<Arguments> {
    let (kernel, structs) = fixture();
    let args: Vec<String> = args.iter().map(|a| a.to_string()).collect();
    let dim = flags::parse_dim("--dim", dim)?;
    let launch = flags::launch(Path::new("kernel.py"), &kernel, &structs, Some(&dim), &args)?;
    Arguments::bind(&launch, "command line", &kernel, &structs)
}

const GOOD: [&str; 8] = [
    "x=zeros:f32:4",
    "m=random:7:2x3",
    "s.dt=0.5",
    "s.table=range:int:3",
    "parts=ones:Part:2",
    "v=1,2.5,-inf",
    "n=-7",
    "flag=true",
];

fn with(text: &'static str) -> Vec<&'static str> {
    let name = |s: &'static str| s.split('=').next();
    GOOD.into_iter().map(|s| if name(s) == name(text) { text } else { s }).collect()
}

#[test]
fn every_form() {
    let (_, structs) = fixture();
    let arguments = from_flags("2x2", &GOOD).unwrap();
    assert_eq!(contents(&arguments, &structs, "x", ""), [0; 16]);
    assert_eq!(contents(&arguments, &structs, "s.table", ""), bytes(&[0, 1, 2], i32::to_le_bytes));
    assert_eq!(contents(&arguments, &structs, "parts", ".pos"), bytes(&[1.0; 6], f32::to_le_bytes));
    assert_eq!(contents(&arguments, &structs, "parts", ".id"), bytes(&[1, 1], i64::to_le_bytes));
    let random: Vec<f64> = contents(&arguments, &structs, "m", "")
        .chunks_exact(8)
        .map(|b| f64::from_le_bytes(b.try_into().unwrap()))
        .collect();
    assert_eq!(random.len(), 12);
    assert!(random.iter().all(|x| (0.0..1.0).contains(x)) && random.iter().any(|x| *x != random[0]), "{random:?}");
    for (text, expected) in [
        ("x=full:2.5:3", bytes(&[2.5; 3], f32::to_le_bytes)),
        ("x=full:nan:float32:1", bytes(&[f32::NAN], f32::to_le_bytes)),
        ("x=range:3", bytes(&[0.0, 1.0, 2.0], f32::to_le_bytes)),
    ] {
        let arguments = from_flags("4", &with(text)).unwrap();
        assert_eq!(contents(&arguments, &structs, "x", ""), expected, "{text}");
    }
    let arguments = from_flags("4", &with("m=full:1,2:vec2d:1x2")).unwrap();
    assert_eq!(contents(&arguments, &structs, "m", ""), bytes(&[1.0, 2.0, 1.0, 2.0], f64::to_le_bytes));
    assert!(from_flags("4", &with("x=null")).unwrap().arrays.iter().all(|a| a.key != "x"));
}

#[test]
fn files() {
    let (_, structs) = fixture();
    let case = Case::new(&good_launch(), &good_arrays());
    std::fs::write(case.path("x.npy"), npy_bytes(">f4", &[2], &[63, 128, 0, 0, 64, 0, 0, 0])).unwrap();
    let npy = format!("x=@{}", case.path("x.npy").display());
    let npz = format!("parts=@{}", case.path("inputs.npz").display());
    let named = format!("s.table=@{}:s.table", case.path("inputs.npz").display());
    let args = ["m=ones:2x2", "s.dt=1", "v=0,0,0", "n=1", "flag=false", &npy, &npz, &named];
    let arguments = from_flags("4", &args).unwrap();
    assert_eq!(contents(&arguments, &structs, "x", ""), bytes(&[1.0, 2.0], f32::to_le_bytes));
    assert_eq!(contents(&arguments, &structs, "parts", ".id"), bytes(&[-1, 99], i64::to_le_bytes));
    assert_eq!(contents(&arguments, &structs, "s.table", ""), bytes(&[10, 20, 30], i32::to_le_bytes));
    let absent = from_flags("4", &with("x=@absent.npy")).err().unwrap();
    assert_eq!(absent.code, Code::E1007);
}

#[test]
fn what_is_no_form() {
    for (text, code) in [
        ("x=4", Code::E1012),
        ("x=zeros", Code::E1012),
        ("x=zeros:", Code::E1012),
        ("x=zeros:4:5:6", Code::E1012),
        ("x=zeros:f33:4", Code::E1012),
        ("x=zeros:-4", Code::E1012),
        ("x=zeros:1x2x3x4x5", Code::E1012),
        ("x=zeros:99999999999999999999", Code::E1012),
        ("x=full:4", Code::E1012),
        ("x=full:a:4", Code::E1012),
        ("x=random:4", Code::E1012),
        ("x=random:-1:4", Code::E1012),
        ("x=@a.npz:", Code::E1012),
        ("x=zeros:f64:4", Code::E1005),
        ("x=zeros:Part:4", Code::E1005),
        ("parts=zeros:Params:4", Code::E1005),
        ("x=zeros:2x2", Code::E1005),
        ("x=full:1,2:4", Code::E1011),
        ("s.table=full:1e30:4", Code::E1011),
        ("s.table=full:0.5:4", Code::E1011),
        ("m=zeros:2000000000x1000000000", Code::E1006),
        ("v=1,2", Code::E1011),
        ("v=1", Code::E1011),
        ("v=1,a,3", Code::E1012),
        ("n=1.5", Code::E1011),
        ("n=one", Code::E1012),
        ("flag=2", Code::E1011),
    ] {
        let error = from_flags("4", &with(text)).err().unwrap_or_else(|| panic!("{text} passed"));
        assert_eq!(error.code, code, "{text}: {}", error.message);
    }
    let more = |text: &'static str| GOOD.into_iter().chain([text]).collect::<Vec<_>>();
    for (text, code) in [
        ("q=1", Code::E1004),
        ("s.q=1", Code::E1004),
        ("s=1", Code::E1004),
        ("n=1", Code::E1004),
        ("n", Code::E1012),
        ("=1", Code::E1012),
        ("n=", Code::E1012),
    ] {
        assert_eq!(from_flags("4", &more(text)).err().unwrap().code, code, "{text}");
    }
    for text in ["s.dt", "x", "n"] {
        let args: Vec<&str> = GOOD.into_iter().filter(|a| !a.starts_with(&format!("{text}="))).collect();
        let error = from_flags("4", &args).err().unwrap();
        assert_eq!(error.code, Code::E1004);
        assert!(error.message.contains(&format!("`{text}`")), "{}", error.message);
    }
    for dim in ["", "x", "4x", "-1", "1.5", "1x1x1x1x1", "2147483648", "4 5"] {
        assert_eq!(from_flags(dim, &GOOD).err().unwrap().code, Code::E1012, "{dim:?}");
    }
}
