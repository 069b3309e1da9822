//! Host code as assembly, for readers: which place of the source does each instruction come from?
//! The directives about places, and what only debuggers and unwinders read, become marks
//! ([`crate::source::lined`]).

use std::path::Path;

use super::builder::Context;
use super::debug_info::DebugTexts;
use super::host_module::{Extras, compile};
use super::options::{CodegenError, HostOptions};
use crate::ir::{FuncId, Module};
use crate::source::{FileId, SourceFile, SourceMap, Span, lined};

/// The assembly of the kernels' entries. `marks`: the texts, and the one whose places are marked.
pub fn emit_assembly(
    module: &Module,
    kernels: &[FuncId],
    options: &HostOptions,
    marks: Option<(&SourceMap, FileId)>,
) -> Result<String, CodegenError> {
    let context = Context::create();
    let folder = Path::new("");
    let debug = marks.map(|(sources, _)| DebugTexts { sources, folder });
    let extras = Extras { debug, ..Extras::default() };
    let compiled = compile(&context, module, kernels, options, extras)?;
    let text = String::from_utf8_lossy(&compiled.machine.emit(&compiled.ll, true)?).into_owned();
    Ok(match marks {
        Some((sources, file)) => marked(&text, file, sources.file(file)),
        None => text,
    })
}

/// Assembly with marks for its instructions in place of what is for debuggers.
fn marked(text: &str, id: FileId, file: &SourceFile) -> String {
    let name = file.path.display().to_string();
    let mut out = String::with_capacity(text.len());
    let (mut own, mut at, mut aside) = (Vec::new(), None, false);
    for line in text.lines() {
        let word = line.trim();
        if word.starts_with(".section") || word == ".text" {
            aside = word.contains(".debug_") || word.contains(".eh_frame");
        }
        if let Some(rest) = word.strip_prefix(".file\t") {
            // `.file 1 "FOLDER" "NAME"`, where LLVM takes the folder of a path by itself.
            let number = rest.split_whitespace().next().and_then(|number| number.parse::<u32>().ok());
            let path: Vec<&str> = rest.split('"').skip(1).step_by(2).collect();
            own.extend(number.filter(|_| path.join("/") == name));
        } else if let Some(rest) = word.strip_prefix(".loc\t") {
            let mut numbers = rest.split_whitespace().map_while(|number| number.parse::<u32>().ok());
            let place = numbers.next().zip(numbers.next());
            at = place.filter(|(file, line)| own.contains(file) && *line > 0).map(|(_, line)| line);
        } else if !aside && !is_for_debuggers(word) {
            if !line.starts_with(['\t', ' ', '.', '#']) {
                at = None;
            }
            let is_code = line.starts_with('\t') && !word.starts_with(['.', '#']);
            match at.filter(|_| is_code) {
                Some(number) => {
                    let start = file.line_range(number).start;
                    out.extend([&lined::begin(Span::new(id, start, start)), line, &lined::END.to_string(), "\n"]);
                }
                None => out.extend([line, "\n"]),
            }
        }
    }
    out
}

/// Directives, comments and labels that say nothing of what is computed.
fn is_for_debuggers(word: &str) -> bool {
    const STARTS: [&str; 8] =
        [".cfi_", "#DEBUG_", "//DEBUG_", ".Ltmp", ".Lfunc_begin", ".Lfunc_end", ".size\t", ".Lsec_end"];
    STARTS.iter().any(|start| word.starts_with(start))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::source::lined::Lined;

    #[test]
    fn instructions_keep_their_lines() {
        let file = SourceFile::new("lib/a.py", "one\ntwo\nthree\n".to_string());
        let text = "\t.text\n\t.file\t0 \"lib\" \"a.py\"\n\t.file\t1 \"lib\" \"b.py\"\nk:\n.Lfunc_begin0:\n\t.cfi_startproc\n\
                    \tpushq\t%rax\n\t.loc\t0 2 5 prologue_end # lib/a.py:2:5\n\taddl\t%eax, %ebx\n.Ltmp0:\n\t.loc\t1 3 1\n\tincl\t%eax\n\
                    \t.loc\t0 3 1\n.LBB0_1:\n\tretq\n\t.size\tk, .Lfunc_end0-k\n\t.section\t.debug_line,\"\",@progbits\n.Lline:\n";
        let lined = Lined::read(&marked(text, FileId::shared(0), &file), FileId::shared(0), &file);
        let rows: Vec<(&str, &[u32])> =
            lined.text.lines().map(str::trim).zip(lined.lines.iter().map(Vec::as_slice)).collect();
        assert_eq!(
            rows,
            [
                (".text", &[][..]),
                ("k:", &[]),
                ("pushq\t%rax", &[]),
                ("addl\t%eax, %ebx", &[2]),
                ("incl\t%eax", &[]),
                (".LBB0_1:", &[]),
                ("retq", &[3]),
            ]
        );
    }
}
