//! How many registers does ptxas give a thread, where it is there to be asked?

use std::ffi::OsString;
use std::io::Write as _;
use std::process::{Command, Stdio};

/// Its release, as in `V13.0.88`; None: it is not there.
pub fn release() -> Option<String> {
    let output = Command::new(program()).arg("--version").stdin(Stdio::null()).output().ok()?;
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.split([' ', ',', '\n']).find(|word| word.starts_with('V') && word.contains('.')).map(str::to_string)
}

/// PTX of a later architecture than the one that is asked for says that it is for this one.
fn for_arch(text: &str, arch: &str) -> String {
    let number = |name: &str| -> Option<u32> { name.strip_prefix("sm_")?.parse().ok() };
    let target = |line: &str| line.trim().strip_prefix(".target ").map(|rest| rest.trim().to_string());
    let one = |line: &str| match target(line).as_deref().and_then(number).zip(number(arch)) {
        Some((made, asked)) if made > asked => format!(".target {arch}\n"),
        _ => format!("{line}\n"),
    };
    text.lines().map(one).collect()
}

fn program() -> OsString {
    std::env::var_os("KC_PTXAS").unwrap_or_else(|| "ptxas".into())
}

/// The registers of an entry; None: ptxas is not there, or does not take the text.
pub fn registers(text: &str, entry: &str, arch: &str) -> Option<u32> {
    let text = for_arch(text, arch);
    // It reads the text from a file, and gives what it makes to one.
    let mut file = tempfile::Builder::new().suffix(".ptx").tempfile().ok()?;
    file.write_all(text.as_bytes()).ok()?;
    let made = tempfile::NamedTempFile::new().ok()?;
    let mut command = Command::new(program());
    command.args(["--verbose", "--gpu-name", arch, "--output-file"]).arg(made.path()).arg(file.path());
    let output = command.stdin(Stdio::null()).output().ok().filter(|output| output.status.success())?;
    told(&String::from_utf8_lossy(&output.stderr), entry)
}

/// `Used 26 registers`, after the name of the entry.
fn told(text: &str, entry: &str) -> Option<u32> {
    let (_, after) = text.split_once(&format!("Compiling entry function '{entry}'"))?;
    let (_, after) = after.split_once("Used ")?;
    after.split_once(" registers")?.0.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn registers_of_the_entry_that_is_meant() {
        let said = "ptxas info    : Compiling entry function 'a' for 'sm_90'\nptxas info    : Function properties for a\n\
                    ptxas info    : Used 26 registers, used 0 barriers\nptxas info    : Compiling entry function 'ab' for 'sm_90'\n\
                    ptxas info    : Used 8 registers\n";
        assert_eq!((told(said, "a"), told(said, "ab"), told(said, "b")), (Some(26), Some(8), None));
        assert_eq!(for_arch(".version 7.8\n.target sm_90\n", "sm_80"), ".version 7.8\n.target sm_80\n");
        assert_eq!(for_arch(".target sm_80\n", "sm_90"), ".target sm_80\n");
    }
}
