//! `benches/results/ptx.md` says how many registers and instructions the machine code of the
//! suite's kernels has: as many as ptxas makes of them now. `KC_BLESS=1` writes the columns anew.

mod common;

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Command;

const ARCH: &str = "sm_90";

/// The columns of the table that are kc's, and the promises of each.
const COLUMNS: [(&str, &[&str]); 3] = [
    ("kc, dense and covering", &["--layout", "contiguous", "--grid", "covering"]),
    ("kc, covering", &["--grid", "covering"]),
    ("kc", &[]),
];

/// `registers / instructions` by kernel and entry.
type Figures = BTreeMap<(String, String), String>;

fn number<const N: usize>(bytes: &[u8], at: usize) -> usize {
    let mut word = [0; 8];
    word[..N].copy_from_slice(&bytes[at..at + N]);
    u64::from_le_bytes(word) as usize
}

/// The instructions of each entry of a cubin (ELF): those of its section, without the branch to
/// itself at the end and what fills the rest.
fn instructions(cubin: &[u8]) -> BTreeMap<String, usize> {
    const NOP: usize = 0x918;
    let (table, size) = (number::<8>(cubin, 0x28), number::<2>(cubin, 0x3a));
    let (count, names) = (number::<2>(cubin, 0x3c), number::<2>(cubin, 0x3e));
    let section = |n: usize| {
        let at = table + n * size;
        [number::<4>(cubin, at), number::<8>(cubin, at + 24), number::<8>(cubin, at + 32)]
    };
    let strings = section(names)[1];
    let one = |n: usize| {
        let [name, start, size] = section(n);
        let text = &cubin[strings + name..];
        let name = String::from_utf8_lossy(&text[..text.iter().position(|b| *b == 0)?]).into_owned();
        // 16 bytes each; the low 12 bits say what it does.
        let code = (start..start + size).step_by(16).filter(|&at| number::<2>(cubin, at) & 0xfff != NOP);
        Some((name.strip_prefix(".text.")?.to_string(), code.count().saturating_sub(1)))
    };
    (0..count).filter_map(one).collect()
}

fn figures(promises: &[&str]) -> Figures {
    let folder = tempfile::tempdir().expect("a folder");
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/suite/kernels.py");
    let mut kc = Command::new(env!("CARGO_BIN_EXE_kc"));
    kc.arg("compile").arg(source).args(["--emit", "ptx", "--arch", ARCH, "-q", "-o"]).arg(folder.path()).args(promises);
    let output = kc.output().expect("kc starts");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let ptx = std::fs::read_to_string(folder.path().join("kernels.ptx")).expect("PTX");
    let cubin = folder.path().join("kernels.cubin");
    let registers = common::registers_of(&ptx, ARCH, &cubin);
    let sizes = instructions(&std::fs::read(&cubin).expect("a cubin"));
    let one = |(entry, registers): (String, u32)| {
        let (kernel, phase) = entry.split_once("_cuda_kernel_").expect("an entry of kc");
        let size = sizes.get(&entry).copied().unwrap_or_default();
        ((kernel.replace('_', " "), phase.to_string()), format!("{registers} / {size}"))
    };
    registers.into_iter().map(one).collect()
}

#[test]
fn the_table_of_machine_code_is_that_of_today() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("benches/results/ptx.md");
    let text = std::fs::read_to_string(&path).expect("the table");
    let found: Vec<Figures> = COLUMNS.iter().map(|(_, promises)| figures(promises)).collect();
    let (mut columns, mut now, mut rows) = (Vec::new(), String::new(), 0);
    for line in text.lines() {
        let mut cells: Vec<String> = line.split('|').map(|cell| cell.trim().to_string()).collect();
        let at = |name: &str| cells.iter().position(|cell| cell == name);
        if at("kernel").is_some() && at("entry").is_some() {
            columns = COLUMNS.iter().map(|(name, _)| at(name).expect("a column of kc's")).collect();
        } else if line.starts_with('|') && !columns.is_empty() && !line.starts_with("|---") {
            let key = (cells[1].clone(), cells[2].clone());
            for (&column, figures) in columns.iter().zip(&found) {
                cells[column].clone_from(figures.get(&key).unwrap_or_else(|| panic!("no entry {key:?}")));
            }
            rows += 1;
            let inner = &cells[1..cells.len() - 1];
            now += &format!("| {} |\n", inner.join(" | "));
            continue;
        } else if !line.starts_with('|') {
            columns.clear();
        }
        now += &format!("{line}\n");
    }
    assert!(rows >= 28, "{rows} entries in {}", path.display());
    let same = |text: &str| text.lines().map(|line| line.replace(' ', "")).collect::<Vec<_>>();
    if std::env::var_os("KC_BLESS").is_some() {
        std::fs::write(&path, now).expect("the table is written");
    } else {
        let differ: Vec<_> = same(&text).into_iter().zip(same(&now)).filter(|(old, new)| old != new).collect();
        assert!(
            differ.is_empty(),
            "{}: {differ:#?}; `KC_BLESS=1 cargo test --test ptx_table` writes it anew",
            path.display()
        );
    }
}
