//! What machine code does NVIDIA's assembler make of a kernel? `ptxas` and `nvdisasm` are asked,
//! where they are there.

use std::ffi::{OsStr, OsString};
use std::io::{ErrorKind, Write as _};
use std::path::Path;
use std::process::{Command, Stdio};

use super::panes::Pane;
use super::wish::Wish;
use crate::driver::{self, Artefact, Compiler, Options};
use crate::source::lined::Lined;

const LANGUAGE: &str = "machine";

/// The machine code of the forward entry.
pub fn machine(path: &Path, wish: &Wish, compiler: &Compiler) -> Pane {
    let Some(kernel) = wish.kernel.as_deref() else { return Pane::none(LANGUAGE, "the file has no kernel") };
    let request = wish.request(kernel, false);
    let mut made = compiler.load_among(path, wish.source.clone(), wish.files(path), &request);
    let options = Options { lineinfo: true, ..wish.options() };
    let Some(ptx) = made.emit(Artefact::Ptx(wish.arch()), &options) else {
        return Pane::none(LANGUAGE, format!("`{kernel}` has no PTX"));
    };
    let lined = assemble(&ptx, &wish.arch).and_then(|listing| read(&listing));
    lined.map_or_else(|why| Pane::none(LANGUAGE, why), |lined| Pane::of(LANGUAGE, lined))
}

/// The listing of what `ptxas` makes of PTX.
fn assemble(ptx: &[u8], arch: &str) -> Result<String, String> {
    let room = |fault: std::io::Error| format!("there is no room for temporary files: {fault}");
    let mut text = tempfile::Builder::new().suffix(".ptx").tempfile().map_err(room)?;
    text.write_all(ptx).map_err(room)?;
    let code = tempfile::Builder::new().suffix(".cubin").tempfile().map_err(room)?;
    let assembler = std::env::var_os("KC_PTXAS").unwrap_or_else(|| "ptxas".into());
    let options = ["--generate-line-info", "--gpu-name", arch, "--output-file"].map(OsStr::new);
    run(&assembler, options.into_iter().chain([code.path().as_os_str(), text.path().as_os_str()]))?;
    let beside = Path::new(&assembler).with_file_name("nvdisasm");
    let lister = std::env::var_os("KC_NVDISASM").or_else(|| beside.is_file().then(|| beside.into()));
    let lister: OsString = lister.unwrap_or_else(|| "nvdisasm".into());
    run(&lister, ["--print-line-info", "--print-code"].map(OsStr::new).into_iter().chain([code.path().as_os_str()]))
}

/// What a program prints.
fn run<'a>(program: &OsStr, arguments: impl Iterator<Item = &'a OsStr>) -> Result<String, String> {
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    driver::ends_with_this(&mut command);
    let shown = program.display();
    let output = command.output().map_err(|fault| match fault.kind() {
        ErrorKind::NotFound => format!(
            "machine code needs NVIDIA's `ptxas` and `nvdisasm`, and `{shown}` is not there: put them on the search path, \
             or name them by KC_PTXAS and KC_NVDISASM"
        ),
        _ => format!("`{shown}` does not start: {fault}"),
    })?;
    match output.status.success() {
        true => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        false => Err(format!("`{shown}` fails: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

/// A listing of `nvdisasm`, less the comments about lines, which say where instructions come from.
fn read(listing: &str) -> Result<Lined, String> {
    let (mut lined, mut from) = (Lined::default(), None);
    for line in listing.lines() {
        if let Some(place) = line.trim().strip_prefix("//## File ") {
            // The first of several is the innermost.
            let number = place.rsplit_once("\", line ").map(|(_, rest)| rest);
            let digits = number.and_then(|rest| rest.split(|c: char| !c.is_ascii_digit()).next());
            from = digits.and_then(|digits| digits.parse::<u32>().ok()).filter(|&line| line > 0);
            continue;
        }
        if line.trim_start().starts_with(".section") {
            from = None;
        }
        let is_code = line.trim_start().starts_with("/*") && line.contains(';');
        lined.text.push_str(line);
        lined.text.push('\n');
        lined.lines.push(from.filter(|_| is_code).into_iter().collect());
    }
    match lined.text.trim().is_empty() {
        true => Err("`nvdisasm` prints no code".to_string()),
        false => Ok(lined),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn listings_say_where_code_comes_from() {
        let listing = "\t.section\t.text.k\n\t//## File \"/tmp/a, line 3.py\", line 7\n        /*0000*/  LDC R1, c[0x0][0x28] ;\n\
                       \t//## File \"a.py\", line 9\n.L_x_0:\n        /*0010*/  EXIT ;\n";
        let lined = read(listing).expect("a listing");
        assert_eq!(lined.lines, [vec![], vec![7], vec![], vec![9]]);
        assert!(!lined.text.contains("//##") && lined.text.lines().count() == 4);
        assert!(read("\n").is_err());
    }

    #[test]
    fn a_missing_assembler_is_named() {
        let why = run(OsStr::new("/nowhere/ptxas"), std::iter::empty()).expect_err("there is none");
        assert!(why.contains("`/nowhere/ptxas` is not there"), "{why}");
    }
}
