//! How does the user learn what is wrong? As a diagnostic with the lines of the client's source
//! when a launch or a call shows it, once for each place, and as a line of JSON for programs
//! (`KC_SIM_LOG`); the count at the end.

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fs::File;
use std::io::Write;
use std::path::Path;

use kc::diag::render::{Format, Style, render};
use kc::diag::{Code, Diagnostic};
use kc::profile::{Limits, Profile, Registers};
use kc::run::allowed::is_allowed;
use kc::run::devices::sim::arrays::Places;
use kc::run::devices::sim::words::{line_span, on_gpu, told};
use kc::sim::code::Inst;
use kc::sim::findings::Finding;
use kc::sim::heap::{Block, Fault, Heap, Kind, Line, Origin, Zone};
use kc::sim::{Form, Measured, What};
use kc::source::{FileId, SourceFile, SourceMap, Span};
use serde_json::{Value, json};

use crate::driver::{Driver, say};
use crate::launch::Launch;
use crate::order::{Unordered, Work};
use crate::settings::Settings;

/// What was found so far.
pub struct Findings {
    limits: &'static Limits,
    log: Option<File>,
    /// At how many places each code was found.
    found: BTreeMap<Code, u64>,
    told: HashSet<String>,
    launches: u64,
}

impl Findings {
    pub fn new(settings: &Settings) -> Findings {
        let open = |path: &Path| {
            let file = File::options().create(true).append(true).open(path);
            file.inspect_err(|error| say(&format!("{}: {error}", path.display()))).ok()
        };
        Findings {
            limits: settings.limits,
            log: settings.log.as_deref().and_then(open),
            found: BTreeMap::new(),
            told: HashSet::new(),
            launches: 0,
        }
    }

    fn log(&mut self, event: &Value) {
        if let Some(file) = &mut self.log {
            // Without room there is no log; the words on the error stream stay.
            let _ = file.write_all(format!("{event}\n").as_bytes());
        }
    }

    /// Notes what a launch cost.
    pub fn counted(&mut self, launch: &Launch, measured: Measured) {
        let measured = Measured { text: Some(launch.written.clone()), ..measured };
        let registers = launch.written.live.map_or(Registers::Unknown, Registers::of);
        let file = source_of(launch).unwrap_or_else(|| launch.module.clone());
        let mut event = Profile::of(measured, self.limits, registers).json(&file, self.limits.arch, &[], None);
        event["event"] = json!("launch");
        event["call"] = json!(launch.origin.number);
        self.log(&event);
    }

    /// Tells a finding, if this one was not told yet.
    fn tell(&mut self, diagnostic: &Diagnostic, sources: &SourceMap, kernel: Option<&Launch>, times: u64) {
        let place = diagnostic.labels.first().map(|label| {
            let file = sources.file(label.span.file);
            (file.path.display().to_string(), file.line_column(label.span.start).line)
        });
        let entry = kernel.map_or("", |launch| launch.code.entry.as_str());
        self.log(&json!({
            "event": "finding",
            "code": diagnostic.code.name(),
            "message": diagnostic.message,
            "file": place.as_ref().map(|place| &place.0),
            "line": place.as_ref().map(|place| place.1),
            "kernel": kernel.map(|launch| &launch.code.entry),
            "times": times,
        }));
        let spans: Vec<_> = diagnostic.labels.iter().map(|label| (label.span.start, label.span.end)).collect();
        let key = match &place {
            Some(place) => format!("{} {entry} {place:?} {spans:?}", diagnostic.code.name()),
            None => format!("{} {}", diagnostic.code.name(), diagnostic.message),
        };
        if self.told.insert(key) {
            *self.found.entry(diagnostic.code).or_default() += 1;
            let text = render(diagnostic, sources, Format::Full, Style::PLAIN);
            // A closed stream is not worth a word.
            let _ = std::io::stderr().write_all(text.as_bytes());
        }
    }

    /// What is said at the end, if there is anything.
    /// `left`: what the program did not give back.
    pub fn summary(&mut self, left: &Value) {
        let all: u64 = self.found.values().sum();
        self.log(&json!({ "event": "end", "launches": self.launches, "findings": all, "left": left }));
        if all > 0 {
            let each: Vec<String> =
                self.found.iter().map(|(code, count)| format!("{count} {} ({})", code.slug(), code.name())).collect();
            let launches =
                if self.launches == 1 { "1 launch".to_string() } else { format!("{} launches", self.launches) };
            say(&format!("{}; {launches} on the simulated GPU. `kc explain CODE` tells more", each.join(", ")));
        }
    }
}

/// The code of a client's line; None: its file cannot be read.
fn add(sources: &mut SourceMap, line: &Line) -> Option<Span> {
    let known = sources.files().find(|(_, file)| file.path == Path::new(&line.file)).map(|(id, _)| id);
    let file = match known {
        Some(file) => file,
        None => sources.add(SourceFile::new(&line.file, std::fs::read_to_string(&line.file).ok()?)),
    };
    let range = sources.file(file).line_range(line.line);
    let text = sources.text(Span::new(file, range.start, range.end));
    let indent = (text.len() - text.trim_start().len()) as u32;
    Some(Span::new(file, range.start + indent, range.start + (text.trim_end().len() as u32).max(indent)))
}

/// The blocks of memory, as findings name them.
struct Blocks<'a> {
    heap: &'a Heap,
    device: usize,
}

/// `call 12`, or `call 12, sums.py:20` where the client's line is known.
fn call(origin: &Origin) -> String {
    let file = |line: &Line| Path::new(&line.file).file_name().map(|name| name.to_string_lossy().into_owned());
    match origin.line.as_deref().and_then(|line| Some((file(line)?, line.line))) {
        Some((file, line)) => format!("call {}, {file}:{line}", origin.number),
        None => format!("call {}", origin.number),
    }
}

/// `the 400 bytes that cuMemAlloc_v2 gave (call 12)`.
fn named(block: &Block) -> String {
    let Block { bytes, given, .. } = block;
    match block.kind {
        Kind::Variable | Kind::Constant | Kind::ManagedVariable => {
            format!("the {bytes} bytes of the variable `{}`", given.name)
        }
        Kind::Arena => "the memory that kernels allocate from".to_string(),
        _ => format!("the {bytes} bytes that `{}` gave ({})", given.name, call(given)),
    }
}

impl Places for Blocks<'_> {
    fn element(&self, address: u64) -> Option<String> {
        let block = self.heap.find(address, 1).ok()?;
        Some(format!("byte {} of {}", address - block.start, named(block)))
    }

    fn beside(&self, address: u64) -> Option<String> {
        let block = self.heap.nearest(address).filter(|_| self.heap.reaches(address))?;
        if let Zone::Device(owner) = block.zone
            && owner != self.device
            && block.freed.is_none()
            && address < block.end()
        {
            return Some(format!(
                "{} are of device {owner}, whose memory was not made accessible to device {}",
                named(block),
                self.device
            ));
        }
        let what = named(block);
        Some(match address.checked_sub(block.end()) {
            Some(0) => format!("right after the end of {what}"),
            Some(after) => format!("{after} bytes after the end of {what}"),
            None if address < block.start => format!("{} bytes before {what}", block.start - address),
            None => format!("across the end of {what}"),
        })
    }
}

/// The source that most of a kernel comes from.
fn source_of(launch: &Launch) -> Option<String> {
    let file = launch.code.insts.iter().find_map(|inst| inst.source).map(|source| source.file)?;
    launch.code.files.iter().find(|(number, _)| *number == file).map(|(_, name)| name.clone())
}

/// The places of a launch's instructions, in its source or else in its PTX.
struct Shown<'a> {
    launch: &'a Launch,
    files: HashMap<u32, Option<FileId>>,
    ptx: Option<FileId>,
}

impl Shown<'_> {
    fn file(&mut self, number: u32, sources: &mut SourceMap) -> Option<FileId> {
        let files = &self.launch.code.files;
        *self.files.entry(number).or_insert_with(|| {
            let path = &files.iter().find(|(known, _)| *known == number)?.1;
            let text = std::fs::read_to_string(path).ok()?;
            Some(sources.add(SourceFile::new(path, text)))
        })
    }

    /// The statement of an instruction: its line from the column that is known on.
    fn span(&mut self, inst: &Inst, sources: &mut SourceMap) -> Span {
        if let Some(source) = inst.source.filter(|source| source.line > 0)
            && let Some(file) = self.file(source.file, sources)
        {
            let range = sources.file(file).line_range(source.line);
            let text = sources.text(Span::new(file, range.start, range.end));
            let code = text.split(" #").next().unwrap_or(text);
            let indent = text.len() - text.trim_start().len();
            let from = (source.column.saturating_sub(1) as usize).max(indent);
            let from = if text.is_char_boundary(from) && from < code.trim_end().len() { from } else { indent };
            return Span::new(file, range.start + from as u32, range.start + code.trim_end().len().max(from) as u32);
        }
        let Launch { written, module, .. } = self.launch;
        let file = *self.ptx.get_or_insert_with(|| sources.add(SourceFile::new(module, written.ptx.to_string())));
        line_span(file, &written.ptx, inst.at)
    }
}

/// A kernel as its source calls it: the names in what C++ compilers and numba make of them (Itanium
/// C++ ABI, "Mangling").
fn written(entry: &str) -> String {
    let Some(mut rest) = entry.strip_prefix("_Z") else { return entry.to_string() };
    rest = rest.strip_prefix('N').unwrap_or(rest);
    let mut names = Vec::new();
    loop {
        let digits = rest.find(|c: char| !c.is_ascii_digit()).unwrap_or(rest.len());
        let Some(name) = rest[..digits].parse().ok().and_then(|length: usize| rest.get(digits..digits + length)) else {
            break;
        };
        names.push(name);
        rest = &rest[digits + name.len()..];
    }
    if names.is_empty() { entry.to_string() } else { names.join("::") }
}

/// `4 x 2 blocks`
fn extents(form: [u32; 3], what: &str) -> String {
    match form {
        [1, 1, 1] => format!("1 {what}"),
        [x, 1, 1] => format!("{x} {what}s"),
        [x, y, 1] => format!("{x} x {y} {what}s"),
        [x, y, z] => format!("{x} x {y} x {z} {what}s"),
    }
}

impl Driver {
    /// Tells what a launch did wrong.
    pub fn found(&mut self, device: usize, launch: &Launch, findings: &[Finding]) {
        self.findings.launches += 1;
        let Driver { findings: all, heap, .. } = self;
        let mut sources = SourceMap::default();
        let mut shown = Shown { launch, files: HashMap::new(), ptx: None };
        for finding in findings.iter().filter(|finding| finding.what != What::Visit) {
            let diagnostic = diagnostic(finding, &mut shown, &mut sources, &Blocks { heap, device });
            if !is_allowed(&sources, None, &diagnostic) {
                all.tell(&diagnostic, &sources, Some(launch), finding.times);
            }
        }
    }

    /// Tells what a call did wrong, at the client's line where it is known.
    fn tell_of_call(&mut self, diagnostic: Diagnostic) {
        let mut sources = SourceMap::default();
        let span = self.call.line.as_deref().and_then(|line| add(&mut sources, line));
        let diagnostic = match span {
            Some(span) => diagnostic.label(span, "called here"),
            None => diagnostic,
        };
        self.findings.tell(&diagnostic, &sources, None, 1);
    }

    /// Tells of a copy or a fill that uses memory it may not.
    pub fn bad_access(&mut self, address: u64, bytes: u64, writes: bool, fault: &Fault) {
        let origin = self.origin();
        let does = if writes { "writes" } else { "reads" };
        let what = format!("`{}` ({}) {does} {bytes} bytes", origin.name, call(&origin));
        let made = match fault {
            Fault::Freed(block) => freed(format!("{what} of memory that was given back"), address, block),
            Fault::Beyond(block) | Fault::Inside(block) => Diagnostic::new(
                Code::E1101,
                format!("{what} from byte {} of {} on: beyond their end", address - block.start, named(block)),
            ),
            Fault::Beside(block) => {
                Diagnostic::new(Code::E1101, format!("{what} at {address:#x}, which lies beside {}", named(block)))
            }
            Fault::Nobodys => {
                Diagnostic::new(Code::E1101, format!("{what} at {address:#x}, which is no memory of a device"))
            }
        };
        self.tell_of_call(made);
    }

    /// Tells of memory that is given back and is not there to be given back.
    pub fn bad_free(&mut self, address: u64, fault: &Fault) {
        let origin = self.origin();
        let what = format!("`{}` ({})", origin.name, call(&origin));
        let made = match fault {
            Fault::Freed(block) => {
                let message = format!("{what} gives back {} a second time", named(block));
                first_free(Diagnostic::new(Code::E1124, message), block)
            }
            Fault::Inside(block) | Fault::Beyond(block) => Diagnostic::new(
                Code::E1124,
                format!(
                    "{what} gives back an address inside of {}: {} bytes after their start",
                    named(block),
                    address - block.start
                ),
            ),
            Fault::Beside(_) | Fault::Nobodys => {
                Diagnostic::new(Code::E1124, format!("{what} gives back {address:#x}, which no call gave"))
            }
        };
        self.tell_of_call(made);
    }

    /// Tells of two operations of streams that nothing orders.
    pub fn not_ordered(&mut self, work: &Work, found: &Unordered) {
        let Unordered { before, before_writes, writes, address } = found;
        let does = |writes: bool| if writes { "writes" } else { "reads" };
        let place = match self.heap.find(*address, 1) {
            Ok(block) => format!("byte {} of {}", address - block.start, named(block)),
            Err(_) => format!("{address:#x}"),
        };
        let message = format!(
            "`{}` ({}) {} {place}, which `{}` ({}) {} in another stream, and nothing orders them",
            written(&work.name),
            call(&work.call),
            does(*writes),
            written(&before.name),
            call(&before.call),
            does(*before_writes)
        );
        let mut made = Diagnostic::new(Code::E1126, message);
        let mut sources = SourceMap::default();
        let labels = [format!("{} here", does(*writes)), format!("{} here, in another stream", does(*before_writes))];
        for (one, label) in [&work.call, &before.call].into_iter().zip(labels) {
            made = match one.line.as_deref().and_then(|line| Some((line, add(&mut sources, line)?))) {
                Some((_, span)) if made.labels.iter().any(|label| label.span == span) => made,
                Some((_, span)) => made.label(span, label),
                None => made,
            };
        }
        made = made.help("record an event after the one and let the other's stream wait for it, or wait on the host");
        self.findings.tell(&made, &sources, None, 1);
    }

    /// Tells of memory that nobody gave back.
    pub fn leaks(&mut self, starts: &[u64]) {
        if !self.settings.leaks {
            return;
        }
        for &start in starts {
            let Ok(block) = self.heap.find(start, 1) else { continue };
            let made = Diagnostic::new(Code::E1125, format!("{} were never given back", named(block)));
            let mut sources = SourceMap::default();
            let made = match block.given.line.as_deref().and_then(|line| add(&mut sources, line)) {
                Some(span) => made.label(span, "given here"),
                None => made,
            };
            self.findings.tell(&made, &sources, None, 1);
        }
    }
}

fn freed(message: String, address: u64, block: &Block) -> Diagnostic {
    let message = format!("{message}: byte {} of {}", address.saturating_sub(block.start), named(block));
    first_free(Diagnostic::new(Code::E1123, message), block)
}

fn first_free(made: Diagnostic, block: &Block) -> Diagnostic {
    match &block.freed {
        Some(origin) => made.note(format!("`{}` ({}) gave them back", origin.name, call(origin))),
        None => made,
    }
}

fn diagnostic(finding: &Finding, shown: &mut Shown, sources: &mut SourceMap, blocks: &Blocks) -> Diagnostic {
    let code = &shown.launch.code;
    let told = told(finding, blocks, code, &on_gpu);
    let mut made = Diagnostic::new(told.code, told.message);
    if let What::Outside(touched) = &finding.what
        && let Err(Fault::Freed(block)) = blocks.heap.find(touched.address, touched.bytes.into())
    {
        let does = if touched.writes { "writes" } else { "reads" };
        let what = format!("thread {} {does} memory that was given back", on_gpu(finding.thread));
        made = freed(what, touched.address, &block);
    }
    let insts = &shown.launch.code.insts;
    let own = insts.get(finding.pc as usize).map(|inst| shown.span(inst, sources));
    if let Some(span) = own {
        made = made.label(span, told.label);
    }
    if let Some((pc, label)) = told.other
        && let Some(inst) = insts.get(pc as usize)
    {
        let span = shown.span(inst, sources);
        if own != Some(span) {
            made = made.label(span, label);
        }
    }
    let Form { grid, block, .. } = shown.launch.form;
    let (entry, origin) = (&shown.launch.code.entry, &shown.launch.origin);
    made.notes.extend(told.note);
    made.notes.push(format!(
        "in `{}`, launched with {} of {} ({})",
        written(entry),
        extents(grid, "block"),
        extents(block, "thread"),
        call(origin)
    ));
    let without_source = |inst: &Inst| inst.source.is_none_or(|source| source.line == 0);
    if insts.get(finding.pc as usize).is_some_and(without_source) {
        made.notes.push(
            "the PTX names no lines of the source; `-lineinfo` of nvcc and NVRTC, `lineinfo=True` of numba do"
                .to_string(),
        );
    }
    let help = told.help.filter(|_| made.code == told.code);
    made.help = help.map(|help| {
        let help = help.replace("`wp.atomic_add(...)`", "atomics").replace("`--steps`", "KC_SIM_STEPS");
        help.replace("`--no-check races`", "`KC_SIM_CHECKS` without `races`")
    });
    made
}
