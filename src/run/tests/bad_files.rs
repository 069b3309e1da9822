//! Array files that are missing, cut, or damaged: a coded error or the right data, never a panic or
//! a large allocation.

use super::*;
use crate::diag::Code;

fn read_back(case: &Case, npz: &[u8]) -> Result<Arguments> {
    std::fs::write(case.path("inputs.npz"), npz).unwrap();
    case.bind()
}

#[test]
fn an_archive_cut_anywhere() {
    let case = Case::new(&good_launch(), &good_arrays());
    let whole = npz_bytes(&good_arrays());
    for n in 0..whole.len() {
        let error = read_back(&case, &whole[..n]).err().unwrap_or_else(|| panic!("the first {n} bytes passed"));
        assert_eq!(error.code, Code::E1007, "{n} bytes: {}", error.message);
        assert!(error.message.contains("inputs.npz"), "{}", error.message);
    }
}

#[test]
fn an_archive_with_one_byte_changed() {
    let case = Case::new(&good_launch(), &good_arrays());
    let whole = npz_bytes(&good_arrays());
    let (_, structs) = fixture();
    for n in 0..whole.len() {
        for flip in [0xff, 0x01] {
            let mut bytes = whole.clone();
            bytes[n] ^= flip;
            // A change can be harmless (a date, a comment length); then the data must be the data.
            if let Ok(arguments) = read_back(&case, &bytes) {
                for (name, _, _, data) in good_arrays() {
                    let (key, suffix) = name.strip_prefix("parts").map_or((name, ""), |suffix| ("parts", suffix));
                    assert_eq!(contents(&arguments, &structs, key, suffix), data, "byte {n} ^ {flip:#x}, {name}");
                }
            }
        }
    }
}

#[test]
fn entries_that_lie() {
    let case = Case::new(&good_launch(), &good_arrays());
    let with = |x: (&'static str, Vec<u64>, Vec<u8>)| {
        let mut arrays = good_arrays();
        arrays[0] = ("x", x.0, x.1, x.2);
        npz_bytes(&arrays)
    };
    for (what, x, code) in [
        ("too little data", ("<f4", vec![4], vec![0; 12]), Code::E1007),
        ("too much data", ("<f4", vec![4], vec![0; 20]), Code::E1007),
        ("doubles", ("<f8", vec![4], vec![0; 32]), Code::E1009),
        ("integers", ("<i4", vec![4], vec![0; 16]), Code::E1009),
        ("complex", ("<c8", vec![4], vec![0; 32]), Code::E1007),
        ("objects", ("|O", vec![4], vec![0; 32]), Code::E1007),
        ("a scalar", ("<f4", vec![], vec![0; 4]), Code::E1009),
        ("two dimensions", ("<f4", vec![2, 2], vec![0; 16]), Code::E1009),
        ("a huge shape", ("<f4", vec![u64::MAX], vec![0; 16]), Code::E1009),
    ] {
        let error = read_back(&case, &with(x)).err().unwrap_or_else(|| panic!("{what} passed"));
        assert_eq!(error.code, code, "{what}: {}", error.message);
        assert!(error.message.contains("`x`"), "{what}: {}", error.message);
    }
    let text = read_back(&case, b"this is no archive").err().unwrap();
    assert_eq!(text.code, Code::E1007);
    let empty = read_back(&case, &npz_bytes(&[])).err().unwrap();
    assert_eq!(empty.code, Code::E1008);
    std::fs::remove_file(case.path("inputs.npz")).unwrap();
    assert_eq!(case.bind().err().unwrap().code, Code::E1007);
}

#[test]
fn a_bomb_is_refused_before_it_unfolds() {
    // 64 MiB of zeros in 64 KiB: an honest archive, whose header then asks for far more.
    let mut zip = zip::ZipWriter::new(std::io::Cursor::new(Vec::new()));
    zip.start_file("x.npy", zip::write::SimpleFileOptions::default()).unwrap();
    let mut npy = npy_bytes("<f4", &[1 << 40], &[]);
    npy.resize(64 << 20, 0);
    std::io::Write::write_all(&mut zip, &npy).unwrap();
    let bytes = zip.finish().unwrap().into_inner();
    let start = std::time::Instant::now();
    let mut launch = good_launch();
    launch["args"][0]["shape"] = serde_json::json!([2147483647]);
    let case = Case::new(&launch, &good_arrays());
    assert!(read_back(&case, &bytes).is_err());
    assert!(start.elapsed().as_secs() < 2);
}

#[test]
fn single_files_cut_anywhere() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("x.npy");
    let whole = npy_bytes("<f4", &[2, 2], &[7; 16]);
    for n in 0..whole.len() {
        std::fs::write(&path, &whole[..n]).unwrap();
        let error = crate::run::files::npz::read_npy(&path, |_| Ok(())).unwrap_err();
        assert_eq!(error.code, Code::E1007, "{n} bytes: {}", error.message);
    }
    for path in [folder.path(), Path::new("/dev/zero"), &folder.path().join("absent.npy")] {
        assert_eq!(crate::run::files::npz::read_npy(path, |_| Ok(())).unwrap_err().code, Code::E1007);
        assert_eq!(crate::run::files::npz::Npz::open(path, None).err().unwrap().code, Code::E1007);
    }
}
