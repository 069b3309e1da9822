//! Runs the prose tests: every Markdown file below `tests/lang/`, and the page of every diagnostic
//! code.
//!
//! A section (heading) of a Markdown file is a test when it has a fenced `python` block. The block
//! is checked as a file, and it must give exactly the findings that its comments state, each on its
//! line:
//!
//! ```python
//! y = x + 1    # error: [E0301] "part of the message"
//! z = w        # error: [E0201]  # warning: [W0202]
//! ```
//!
//! A block fenced as `python NAME.py` is another file beside it, from which it may import; one
//! fenced as `c NAME.h` is a header of a package.
//!
//! A block without such comments must be clean. Several `python` blocks of one section are one
//! file. A block fenced as `diagnostic` holds the findings as `kc check` prints them;
//! `KC_BLESS=1 cargo test --test lang` rewrites these blocks. One fenced as `fixed` holds the
//! program after `kc fix`. Every safe fix of every example is applied, and must repair.
//!
//! In the page of a code of the families 01 to 07, 12 and 13, the first `python` block must give
//! that code, and the later ones be clean; so must the first if the text before it says that it
//! passes (two codes take too long an example to show). A code of another family has a run in
//! `tests/codes.rs`.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::Arc;

use kc::diag::render::{Format, Style, render_all};
use kc::diag::{Applicability, Code, Diagnostic, Level};
use kc::driver::{Compilation, Compiler, Gradients, Request, fix, guard};
use kc::source::FileSystem;
use libtest_mimic::{Arguments, Failed, Trial};

fn main() -> ExitCode {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut trials = Vec::new();
    for path in markdown(&root.join("tests/lang")) {
        let text = std::fs::read_to_string(&path).expect("a readable test");
        let name = path.strip_prefix(root.join("tests/lang")).unwrap_or(&path).display().to_string();
        let mut sections = 0;
        for section in sections_of(&text) {
            if section.blocks.iter().all(|block| block.language != "python") {
                continue;
            }
            sections += 1;
            let title = format!("{name}: {}", section.title);
            trials.push(match bless() {
                false => Trial::test(title, move || run_section(&section).map_err(Failed::from)),
                true => Trial::test(title, || Ok(())),
            });
        }
        assert!(sections > 0, "{name} has no test");
        if bless() {
            rewrite(&path, &text);
        }
    }
    // What goes wrong behind the checker (families 08 and up) does not show in a check.
    for &code in Code::ALL.iter().filter(|code| runs_in_page(**code)) {
        trials.push(Trial::test(format!("page of {}", code.name()), move || run_page(code).map_err(Failed::from)));
    }
    trials.push(Trial::test("every safe fix has an example", || every_safe_fix_is_shown().map_err(Failed::from)));
    trials.push(Trial::test("people: each slip has one finding", || slips_have_one_finding().map_err(Failed::from)));
    libtest_mimic::run(&Arguments::from_args(), trials).exit_code()
}

/// The text of every file below a folder that `wanted` takes.
fn texts(folder: &Path, wanted: &dyn Fn(&Path) -> bool) -> Vec<(PathBuf, String)> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("a readable folder") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(texts(&path, wanted));
        } else if wanted(&path) {
            let text = std::fs::read_to_string(&path).expect("a readable text");
            found.push((path, text));
        }
    }
    found
}

/// How a safe fix is made.
const SAFE: &str = "Applicability::Machine";

/// A function that makes a finding, or that adds to one and has no code.
struct Message {
    code: Option<String>,
    text: String,
}

/// The functions of the modules of messages in folders, by how they are called:
/// `messages::names::undefined(`.
fn messages(sources: &[(PathBuf, String)]) -> Vec<(String, Message)> {
    let mut found = Vec::new();
    for (path, text) in sources.iter().filter(|(path, _)| path.parent().is_some_and(|of| of.ends_with("messages"))) {
        let module = path.file_stem().unwrap_or_default().to_string_lossy();
        for function in text.split("\npub(in crate::check) fn ").skip(1) {
            let name = function.split('(').next().unwrap_or_default();
            let code = function.split_once("Code::").and_then(|(_, code)| code.get(..5)).map(String::from);
            found.push((format!("messages::{module}::{name}("), Message { code, text: function.to_string() }));
        }
    }
    assert!(found.len() > 300, "{} functions of messages", found.len());
    found
}

/// The code that is named last in a text, or made last.
fn code_before(text: &str, messages: &[(String, Message)]) -> Option<String> {
    let named = text.rfind("Code::").and_then(|at| Some((at, text.get(at + 6..at + 11)?.to_string())));
    let made = messages.iter().filter_map(|(call, message)| Some((text.rfind(call)?, message.code.clone()?)));
    made.chain(named).max().map(|(_, code)| code)
}

/// Every code whose source makes a safe fix gives one in an example, where it is applied
/// ([`repairs`]).
fn every_safe_fix_is_shown() -> Result<(), String> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut shown = std::collections::BTreeSet::new();
    let mut look = |program: String| -> Result<(), String> {
        let (_, findings) = check(program, &Files::default(), false)?;
        let safe = |fix: &kc::diag::Fix| fix.applicability == Applicability::Machine;
        shown.extend(findings.iter().filter(|f| f.fix.as_ref().is_some_and(safe)).map(|finding| finding.code));
        Ok(())
    };
    for path in markdown(&root.join("tests/lang")) {
        let text = std::fs::read_to_string(&path).expect("a readable test");
        sections_of(&text).iter().map(Section::program).filter(|text| !text.is_empty()).try_for_each(&mut look)?;
    }
    for code in Code::ALL.iter().filter(|code| runs_in_page(**code)) {
        for section in sections_of(code.page()) {
            let blocks = section.blocks.into_iter().filter(|block| block.language == "python");
            blocks.map(|block| with_import(&block.text)).try_for_each(&mut look)?;
        }
    }
    let mut sources = Vec::new();
    for folder in ["src/syntax", "src/check", "src/autodiff"] {
        sources.extend(texts(&root.join(folder), &|path| path.extension().is_some_and(|e| e == "rs")));
    }
    let messages = messages(&sources);
    let safe = |message: &Message| message.code.is_none() && message.text.contains(SAFE);
    let mut faults = Vec::new();
    for (path, text) in &sources {
        let is_messages = path.parent().is_some_and(|folder| folder.ends_with("messages"));
        let own = text.match_indices(SAFE).map(|(at, _)| at);
        let called = messages.iter().filter(|(_, message)| safe(message));
        let called = called.flat_map(|(name, _)| text.match_indices(name).map(|(at, _)| at));
        for at in own.chain(called) {
            // The code that a safe fix belongs to is the one named last before it, or that of the
            // finding that is made there. Advice is for the findings of its callers.
            let Some(name) = code_before(&text[..at], &messages) else {
                if !is_messages {
                    faults.push(format!("{}: a safe fix of no finding", path.display()));
                }
                continue;
            };
            if !shown.iter().any(|code| code.name() == name) {
                faults.push(format!("{}: no example shows a safe fix of {name}", path.display()));
            }
        }
    }
    if shown.len() < 5 {
        faults.push(format!("only {shown:?} have safe fixes"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// In `tests/lang/people/` each program has one slip of a kind that people make: it gets one
/// finding, with a fix that leaves a program without errors or with advice, as the table of its
/// README says.
fn slips_have_one_finding() -> Result<(), String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/lang/people");
    let table = std::fs::read_to_string(folder.join("README.md")).expect("the table is there");
    let mut rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| [")).collect();
    let (mut faults, mut good) = (Vec::new(), 0);
    for path in markdown(&folder) {
        let text = std::fs::read_to_string(&path).expect("a readable test");
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        for section in sections_of(&text).into_iter().filter(|section| !section.program().is_empty()) {
            let title = section.title.rsplit(" / ").next().unwrap_or_default();
            let (_, mut findings) = check(section.program(), &Files::default(), false)?;
            findings.retain(|finding| finding.level > Level::Note);
            let [finding] = findings.as_slice() else {
                faults.push(format!("{file}, {title}: {} findings", findings.len()));
                continue;
            };
            let verdict = match &finding.fix {
                Some(_) => {
                    let (_, after) = check(fixed(&section.program(), true).text, &Files::default(), false)?;
                    let left = after.iter().filter(|finding| finding.level == Level::Error).count();
                    if left == 0 { "fix" } else { "fix, and more to do" }
                }
                None if finding.help.is_some() => "advice",
                None => "place",
            };
            good += usize::from(verdict == "fix" || verdict == "advice");
            let row = format!("| [{file}]({file}) | {title} | {} | {verdict} |", finding.code.name());
            match rows.iter().position(|known| *known == row) {
                Some(at) => drop(rows.remove(at)),
                None => faults.push(format!("README.md lacks\n{row}")),
            }
        }
    }
    faults.extend(rows.iter().map(|row| format!("README.md has a row without program: {row}")));
    if good < 110 {
        faults.push(format!("only {good} have a fix or advice"));
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

/// Whether the examples on a code's page are run.
fn runs_in_page(code: Code) -> bool {
    let family = &code.name()[1..3];
    family < "08" || family == "12" || family == "13" || code == Code::W0907
}

/// A program of a page; pages may leave the import away.
fn with_import(text: &str) -> String {
    let import = if text.contains("import warp") { "" } else { "import warp as wp\n" };
    format!("{import}{text}")
}

fn bless() -> bool {
    std::env::var_os("KC_BLESS").is_some_and(|value| value == "1")
}

fn markdown(folder: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    for entry in std::fs::read_dir(folder).expect("tests/lang is there") {
        let path = entry.expect("a readable folder").path();
        if path.is_dir() {
            found.extend(markdown(&path));
        } else if path.extension().is_some_and(|extension| extension == "md") && !path.ends_with("README.md") {
            found.push(path);
        }
    }
    found.sort();
    found
}

struct Section {
    title: String,
    blocks: Vec<Block>,
}

struct Block {
    language: String,
    text: String,
    /// Of the first line inside the fence, from 0.
    line: usize,
    /// The last line of text before the fence.
    lead: String,
}

fn sections_of(text: &str) -> Vec<Section> {
    let mut sections = vec![Section { title: String::new(), blocks: Vec::new() }];
    let mut titles: Vec<String> = Vec::new();
    let mut open: Option<Block> = None;
    let mut lead = String::new();
    for (number, line) in text.lines().enumerate() {
        match &mut open {
            Some(_) if line.trim_end() == "```" => {
                sections.last_mut().expect("never empty").blocks.extend(open.take());
            }
            Some(block) => {
                block.text.push_str(line);
                block.text.push('\n');
            }
            None => {
                if let Some(language) = line.strip_prefix("```") {
                    let language = language.trim().to_string();
                    let lead = std::mem::take(&mut lead);
                    open = Some(Block { language, text: String::new(), line: number + 1, lead });
                } else if line.starts_with('#') {
                    let level = line.chars().take_while(|c| *c == '#').count();
                    titles.truncate(level - 1);
                    titles.push(line.trim_start_matches('#').trim().to_string());
                    sections.push(Section { title: titles.join(" / "), blocks: Vec::new() });
                } else if !line.trim().is_empty() {
                    lead = line.to_string();
                }
            }
        }
    }
    sections
}

/// The other files of a section, in a folder of their own.
#[derive(Clone, Default, Debug)]
struct Files(HashMap<PathBuf, String>);

impl FileSystem for Files {
    fn read(&self, path: &Path) -> Option<Result<String, String>> {
        self.0.get(path).cloned().map(Ok)
    }

    fn absolute(&self, path: &Path) -> PathBuf {
        Path::new("/").join(path)
    }
}

impl Section {
    fn files(&self) -> Files {
        let named = |block: &Block| {
            let name = ["python ", "c "].iter().find_map(|word| block.language.strip_prefix(word))?;
            Some((Path::new("/").join(name), block.text.clone()))
        };
        Files(self.blocks.iter().filter_map(named).collect())
    }

    fn program(&self) -> String {
        let python = self.blocks.iter().filter(|block| block.language == "python");
        python.map(|block| block.text.as_str()).collect::<Vec<_>>().join("\n")
    }
}

/// A finding that a comment asks for.
#[derive(Debug)]
struct Expected {
    line: u32,
    level: String,
    code: String,
    part: String,
}

fn expectations(program: &str) -> Result<Vec<Expected>, String> {
    let mut found = Vec::new();
    for (number, line) in program.lines().enumerate() {
        for comment in line.split('#').skip(1) {
            let Some((level, rest)) = comment.trim().split_once(": [") else { continue };
            if !["error", "warning", "note"].contains(&level) {
                continue;
            }
            let fault = || format!("line {}: not `# {level}: [CODE] \"text\"`: {comment}", number + 1);
            let (code, part) = rest.split_once(']').ok_or_else(fault)?;
            let part = part.trim().trim_matches('"').to_string();
            let (level, code) = (level.to_string(), code.to_string());
            found.push(Expected { line: number as u32 + 1, level, code, part });
        }
    }
    Ok(found)
}

/// A comment at the end of a program asks for Warp's rule of literals.
fn is_strict(program: &str) -> bool {
    program.lines().any(|line| line == STRICT)
}

const STRICT: &str = "# strict";

/// Findings; those about gradients only where these are the subject, so that the other examples may
/// overwrite what they please.
fn check(program: String, files: &Files, gradients: bool) -> Result<(Compilation, Vec<Diagnostic>), String> {
    let gradients = Gradients { backward: gradients, ..Gradients::default() };
    let strict = is_strict(&program);
    let request = Request { gradients, strict, ..Request::default() };
    let files = Arc::new(files.clone());
    let mut compilation = guard(move || Compiler::new().check_among(Path::new("test.py"), program, files, &request))
        .map_err(|fault| format!("kc failed at {}: {}", fault.place, fault.message))?;
    let findings = std::mem::take(&mut compilation.diagnostics).into_sorted();
    Ok((compilation, findings))
}

/// Whether a program expects findings of the family 06.
fn is_about_gradients(program: &str) -> bool {
    program.contains("[E06") || program.contains("[W06")
}

fn rendered(program: String, files: &Files) -> Result<String, String> {
    let gradients = is_about_gradients(&program);
    let (compilation, findings) = check(program, files, gradients)?;
    Ok(render_all(&findings, &compilation.sources, Format::Full, Style::PLAIN, 0))
}

/// `1 dimensions`, if a text has such words.
fn wrong_plural(text: &str) -> Option<String> {
    let words: Vec<&str> = text.split(' ').map(|word| word.trim_matches([',', '.', ';', ':', ')', '('])).collect();
    let not_plural = ["is", "has", "as", "was", "axis", "always", "this", "stays"];
    let found =
        words.windows(2).find(|pair| pair[0] == "1" && pair[1].ends_with('s') && !not_plural.contains(&pair[1]));
    found.map(|pair| pair.join(" "))
}

fn run_section(section: &Section) -> Result<(), String> {
    let (program, files) = (section.program(), section.files());
    let mut expected = expectations(&program)?;
    let (compilation, findings) = check(program.clone(), &files, is_about_gradients(&program))?;
    let mut faults = Vec::new();
    // Sections about functions need no kernel.
    for finding in findings.iter().filter(|finding| finding.code != Code::W0907 || finding.span().is_some()) {
        let place = finding.span().map(|span| compilation.sources.file(span.file));
        let own = place.is_none_or(|file| file.path == Path::new("test.py"));
        let line = finding.span().map_or(0, |span| compilation.sources.file(span.file).line_column(span.start).line);
        let matching = expected.iter().position(|e| {
            own && e.line == line
                && e.code == finding.code.name()
                && e.level == finding.level.name()
                && finding.message.contains(&e.part)
        });
        let labels = finding.labels.iter().map(|label| &label.message);
        for text in [&finding.message].into_iter().chain(labels).chain(&finding.notes).chain(&finding.help) {
            faults.extend(wrong_plural(text).map(|words| format!("line {line}: `{words}` in \"{text}\"")));
        }
        match matching {
            Some(index) => drop(expected.remove(index)),
            None => faults.push(format!(
                "unexpected, line {line}: {}: [{}] \"{}\"",
                finding.level.name(),
                finding.code.name(),
                finding.message
            )),
        }
    }
    for e in expected {
        faults.push(format!("missing, line {}: {}: [{}] \"{}\"", e.line, e.level, e.code, e.part));
    }
    for block in section.blocks.iter().filter(|block| block.language == "diagnostic") {
        let text = rendered(program.clone(), &files)?;
        if text.trim() != block.text.trim() {
            faults.push(format!("the findings read differently (KC_BLESS=1 rewrites them):\n{text}"));
        }
    }
    for (language, command, maybe) in [("fixed", "kc fix", false), ("fixed-maybe", "kc fix --maybe", true)] {
        for block in section.blocks.iter().filter(|block| block.language == language) {
            let text = fixed(&program, maybe).text.replace(STRICT, "");
            if text.trim() != block.text.trim() {
                faults.push(format!("`{command}` gives another text:\n{text}"));
            }
        }
    }
    if files.0.is_empty()
        && let Err(fault) = repairs(&program)
    {
        faults.push(fault);
    }
    if faults.is_empty() { Ok(()) } else { Err(faults.join("\n")) }
}

fn fixed(program: &str, maybe: bool) -> fix::Fixed {
    let request = Request { strict: is_strict(program), ..Request::default() };
    fix::fix(Path::new("test.py"), program.to_string(), &request, maybe, |_, _| {})
}

/// Every safe fix repairs its finding: applied, the finding is gone and no error is new. One that a
/// person should look at leaves the text Python at least.
fn repairs(program: &str) -> Result<(), String> {
    let (before, findings) = check(program.to_string(), &Files::default(), false)?;
    for finding in &findings {
        let Some(repair) = &finding.fix else { continue };
        let (text, applied) = fix::apply(program, &[repair]);
        if applied.is_empty() {
            return Err(format!("[{}] the fix `{}` cannot be applied", finding.code.name(), repair.message));
        }
        let (_, after) = check(text.clone(), &Files::default(), false)?;
        let count = |list: &[Diagnostic], code: Code| list.iter().filter(|d| d.code == code).count();
        let errors = |list: &[Diagnostic]| list.iter().filter(|d| d.level == Level::Error).count();
        let syntax = |list: &[Diagnostic]| list.iter().filter(|d| d.code.is_syntax()).count();
        if syntax(&after) > syntax(&findings) {
            return Err(format!("[{}] the fix `{}` leaves no Python:\n{text}", finding.code.name(), repair.message));
        }
        if repair.applicability != Applicability::Machine {
            continue;
        }
        let gone = count(&after, finding.code) < count(&findings, finding.code);
        if !gone || errors(&after) > errors(&findings) {
            let left = render_all(&after, &before.sources, Format::Short, Style::PLAIN, 0);
            return Err(format!(
                "[{}] the fix `{}` does not repair:\n{text}\n{left}",
                finding.code.name(),
                repair.message
            ));
        }
    }
    // All together: what is left has no safe fix, and a second run changes nothing.
    let once = fixed(program, false);
    let twice = fixed(&once.text, false);
    if twice.text != once.text {
        return Err(format!("a second `kc fix` changes the text again:\n{}", twice.text));
    }
    Ok(())
}

/// Puts the findings as they are now into the `diagnostic` blocks of a file.
fn rewrite(path: &Path, text: &str) {
    let mut lines: Vec<String> = text.lines().map(String::from).collect();
    // From the end, so that earlier line numbers stay.
    for section in sections_of(text).iter().rev() {
        for block in section.blocks.iter().rev().filter(|block| block.language == "diagnostic") {
            let new = rendered(section.program(), &section.files()).expect("kc does not fail");
            lines.splice(block.line..block.line + block.text.lines().count(), new.trim_end().lines().map(String::from));
        }
    }
    let new = lines.join("\n") + "\n";
    if new != text {
        std::fs::write(path, new).expect("a writable test");
    }
}

fn run_page(code: Code) -> Result<(), String> {
    let sections = sections_of(code.page());
    let blocks = sections.iter().flat_map(|section| &section.blocks).filter(|block| block.language == "python");
    let (mut failing, mut passing) = (0, 0);
    for (number, block) in blocks.enumerate() {
        let program = with_import(&block.text);
        repairs(&program)?;
        let (compilation, mut findings) = check(program, &Files::default(), code.name()[1..].starts_with("06"))?;
        if number == 0 && !block.lead.contains("passes") {
            failing += 1;
            if !findings.iter().any(|finding| finding.code == code) {
                let text = render_all(&findings, &compilation.sources, Format::Short, Style::PLAIN, 0);
                return Err(format!("the first example does not give {}, but:\n{text}", code.name()));
            }
        } else {
            passing += 1;
            // What the second example shows is how to avoid this code; a hint about something else
            // is no fault.
            findings.retain(|finding| {
                finding.level == Level::Error || finding.code == code && finding.level != Level::Note
            });
            if !findings.is_empty() {
                let text = render_all(&findings, &compilation.sources, Format::Short, Style::PLAIN, 0);
                return Err(format!("example {} is not clean:\n{text}", number + 1));
            }
        }
    }
    // Two codes take too long an example to show; `syntax_robust.rs` has it.
    if passing == 0 || failing == 0 && !matches!(code, Code::E0115 | Code::E0119) {
        return Err(format!("{failing} examples that fail, {passing} that pass"));
    }
    Ok(())
}
