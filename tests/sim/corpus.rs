//! Does the simulator take the PTX that others' compilers write? What NVRTC makes of kernels of
//! people (`tests/hand_written`), and of one kernel for each subject that people's kernels use
//! (`features.cu`): each text that ptxas takes is read, and each entry is understood.

use std::path::Path;

use crate::common;

/// The entries of CUDA text that are not understood.
fn unknown(name: &str, text: &str, arch: &str) -> Vec<String> {
    let ptx = common::assert_cuda(text, arch);
    common::assert_ptx(&ptx, arch);
    unknown_ptx(&format!("{name}, {arch}"), &ptx)
}

fn unknown_ptx(name: &str, ptx: &str) -> Vec<String> {
    let parsed = match kc::ptx::parse(ptx) {
        Ok(parsed) => parsed,
        Err(error) => return vec![format!("{name}, {}: {}", error.at, error.message)],
    };
    let entries: Vec<&str> = parsed.functions.iter().filter(|f| f.is_entry).map(|f| f.name).collect();
    assert!(!entries.is_empty(), "{name}");
    let refused = entries.iter().filter_map(|entry| kc::sim::decode(&parsed, entry).err().map(|error| (entry, error)));
    refused.map(|(entry, error)| format!("{name}, {entry}, {}: {}", error.at, error.message)).collect()
}

/// PTX files of anybody: `KC_PTX_FOLDER=DIR cargo test --test sim folder -- --ignored --nocapture`.
#[test]
#[ignore = "looks at a folder that KC_PTX_FOLDER names"]
fn ptx_of_a_folder_is_understood() {
    let folder = std::env::var_os("KC_PTX_FOLDER").expect("KC_PTX_FOLDER names a folder");
    let (mut refused, mut files, mut bytes) = (Vec::new(), 0, 0);
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|e| e == "ptx") {
            let text = std::fs::read_to_string(&path).expect("a text");
            refused.extend(unknown_ptx(&path.file_name().unwrap_or_default().to_string_lossy(), &text));
            (files, bytes) = (files + 1, bytes + text.len());
        }
    }
    println!("{files} files of {bytes} bytes, {} entries refused", refused.len());
    assert!(files > 0 && refused.is_empty(), "{refused:#?}");
}

#[test]
fn ptx_of_others_is_understood() {
    let mut refused = Vec::new();
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/hand_written");
    let mut files = 0;
    for entry in std::fs::read_dir(folder).expect("the folder") {
        let path = entry.expect("a file").path();
        if path.extension().is_some_and(|e| e == "cu") {
            let text = std::fs::read_to_string(&path).expect("a text");
            refused.extend(unknown(&path.file_name().unwrap_or_default().to_string_lossy(), &text, "sm_90"));
            files += 1;
        }
    }
    assert!(files >= 15, "{files}");
    for arch in ["sm_75", "sm_90", "sm_120"] {
        refused.extend(unknown("features.cu", include_str!("features.cu"), arch));
    }
    assert!(refused.is_empty(), "{refused:#?}");
}
