//! How is a finding told? With the lines of the source that the instructions come from, the
//! elements of arrays, and the threads of the launch.

use super::arrays::{Arrays, Places};
use crate::abi::LaunchBounds;
use crate::diag::{Code, Diagnostic, counted};
use crate::ir::{FuncId, FunctionKind, Module};
use crate::ptx::{Place, Space};
use crate::run::devices::{Report, coordinates};
use crate::run::messages;
use crate::sim::code::Inst;
use crate::sim::findings::{Finding, Other, Thread, Touched, What};
use crate::sim::{self, Memory};
use crate::source::{FileId, Span};

/// What findings are about.
pub struct Shown<'a> {
    pub code: &'a sim::Code,
    pub arrays: &'a Arrays,
    pub source: Source<'a>,
    /// What instructions are counted of.
    pub text: Option<&'a sim::Text>,
}

/// What the PTX comes from.
pub enum Source<'a> {
    /// A kernel of kc's.
    Kernel {
        module: &'a Module,
        kernel: FuncId,
        launch: LaunchBounds,
        /// The threads of a block: each does the task of its number. None: a thread does several
        /// tasks.
        block_dim: Option<u32>,
    },
    /// A text of somebody's.
    Text { file: FileId, text: &'a str },
}

/// Adds a finding that is not there yet: forward and backward runs may share them, and so may
/// schedules.
pub fn note(report: &mut Report, found: Diagnostic) {
    let same = |known: &Diagnostic| known.code == found.code && known.labels.first().map(|l| l.span) == found.span();
    if !report.findings.iter().any(same) {
        report.findings.push(found);
    }
}

impl Shown<'_> {
    pub fn diagnostic(&self, finding: &Finding) -> Diagnostic {
        let told = told(finding, self.arrays, self.code, &|thread| self.source.thread(thread));
        let mut made = messages::simulated(told.code, told.message);
        let is_access = matches!(
            finding.what,
            What::Outside(_) | What::Misaligned(_) | What::ReadOnly(_) | What::Uninitialised(_) | What::Race(..)
        );
        let place = |pc: u32, is_access| self.source.span(self.code.insts.get(pc as usize)?, is_access);
        let own = place(finding.pc, is_access);
        if let Some(span) = own {
            made = made.label(span, told.label);
        }
        if let Some((pc, label)) = told.other
            && let Some(span) = place(pc, true).filter(|&span| own != Some(span))
        {
            made = made.label(span, label);
        }
        if let (Source::Text { .. }, Some(source)) = (&self.source, self.code.insts[finding.pc as usize].source) {
            let file = self.code.files.iter().find(|(number, _)| *number == source.file);
            made.notes.extend(file.map(|(_, name)| format!("from line {} of {name}", source.line)));
        }
        // Others do not write their kernels in Python.
        made.help = match self.source {
            Source::Text { .. } => told.help.map(|help| help.replace("`wp.atomic_add(...)`", "atomics")),
            Source::Kernel { .. } => told.help,
        };
        made.notes.extend(told.note);
        made
    }

    /// What two orders of the threads left differently.
    pub fn differs(&self, first: &Memory, other: &Memory) -> Option<Diagnostic> {
        let region = self
            .arrays
            .list
            .iter()
            .find(|r| first.contents(r.start, r.end - r.start) != other.contents(r.start, r.end - r.start))?;
        let (a, b) = (
            first.contents(region.start, region.end - region.start),
            other.contents(region.start, region.end - region.start),
        );
        let at = a.iter().zip(b).position(|(a, b)| a != b)? as u64;
        let element = self.arrays.element(region.start + at)?;
        let made = messages::order_shows(&element);
        Some(match self.source {
            Source::Kernel { module, kernel, .. } => made.label(module.functions[kernel].span, "in this kernel"),
            Source::Text { .. } => made,
        })
    }
}

impl Source<'_> {
    /// `(3, 4)`, as the kernel knows the thread.
    fn thread(&self, thread: Thread) -> String {
        let &Source::Kernel { module, kernel, launch, block_dim: Some(block_dim) } = self else {
            return on_gpu(thread);
        };
        let rank = match module.functions[kernel].kind {
            FunctionKind::Kernel { rank } => rank.into(),
            FunctionKind::Device => 1,
        };
        let linear = u64::from(thread.block[0]) * u64::from(block_dim) + u64::from(thread.thread[0]);
        let at: Vec<String> = coordinates(&launch, rank, linear).iter().map(u64::to_string).collect();
        format!("({})", at.join(", "))
    }

    /// The place in the source of an instruction: the access or the operation there, if it is
    /// known.
    pub fn span(&self, inst: &Inst, is_access: bool) -> Option<Span> {
        let (module, file) = match *self {
            Source::Text { file, text } => return Some(line_span(file, text, inst.at)),
            Source::Kernel { module, kernel, .. } => (module, module.functions[kernel].span.file),
        };
        let start = inst.source?.line - 1;
        let mut found: Option<(bool, Span)> = None;
        let insts = module.functions.values().flat_map(|function| function.insts.values());
        for inst in insts.filter(|inst| inst.span.file == file && inst.span.start == start) {
            let fits = inst.op.access().is_some() == is_access;
            // The shortest one that fits is the thing itself, not the statement around it.
            let better = found.is_none_or(|(f, span)| fits && !f || fits == f && inst.span.len() < span.len());
            if better {
                found = Some((fits, inst.span));
            }
        }
        found.map(|(_, span)| span).or(Some(Span::new(file, start, start + 1)))
    }
}

/// What is at a place of a text, to the end of the statement.
pub fn line_span(file: FileId, text: &str, at: Place) -> Span {
    let mut start = 0;
    for _ in 1..at.line {
        start += text[start..].find('\n').map_or(0, |end| end + 1);
    }
    start = (start + at.column.saturating_sub(1) as usize).min(text.len());
    let rest = text.get(start..).unwrap_or_default();
    let end = rest.find([';', '\n']).unwrap_or(rest.len()).max(1).min(rest.len());
    Span::new(file, start as u32, (start + end) as u32)
}

/// `thread (3, 0, 0) of block (1, 0, 0)`, with as many numbers as there are.
pub fn on_gpu(thread: Thread) -> String {
    let short = |[x, y, z]: [u32; 3]| match (y, z) {
        (0, 0) => format!("{x}"),
        (_, 0) => format!("({x}, {y})"),
        _ => format!("({x}, {y}, {z})"),
    };
    format!("{} of block {}", short(thread.thread), short(thread.block))
}

/// The words for a finding.
pub struct Told {
    pub code: Code,
    pub message: String,
    pub label: String,
    /// The other instruction, and what it does.
    pub other: Option<(u32, String)>,
    pub help: Option<String>,
    pub note: Option<String>,
}

/// Says what a finding is; `name` gives the words for a thread.
pub fn told(finding: &Finding, arrays: &dyn Places, code: &sim::Code, name: &dyn Fn(Thread) -> String) -> Told {
    let thread = format!("thread {}", name(finding.thread));
    let place = |t: &Touched| place(t, arrays, code);
    let does = |t: &Touched| if t.writes { "writes" } else { "reads" };
    let done = |writes: bool| if writes { "written" } else { "read" };
    let plain = |code, message: String, label: &str| Told {
        code,
        message,
        label: label.to_string(),
        other: None,
        help: None,
        note: None,
    };
    let times = (finding.times > 1).then(|| format!("{} times in this launch", finding.times));
    let mut told = match &finding.what {
        What::Outside(t) => {
            let mut told = plain(
                Code::E1101,
                format!("{thread} {} {} bytes outside of every array{}", does(t), t.bytes, beside(t, arrays, code)),
                &format!("{} here", done(t.writes)),
            );
            told.help = Some("compare the index with the array's shape before this access".to_string());
            told
        }
        What::ReadOnly(t) => {
            plain(Code::E1101, format!("{thread} writes {}, which can only be read", place(t)), "written here")
        }
        What::Misaligned(t) => plain(
            Code::E1111,
            format!(
                "{thread} {} {} bytes at {}, an address that is no multiple of {}",
                does(t),
                t.bytes,
                place(t),
                t.bytes
            ),
            &format!("{} here", done(t.writes)),
        ),
        What::Uninitialised(t) => {
            plain(Code::E1112, format!("{thread} reads {}, which no thread has written", place(t)), "read here")
        }
        What::Race(t, other) => race(t, other, (&thread, finding.thread.block), &place(t), name),
        What::DivergentBarrier(lanes) => {
            let mut told = plain(
                Code::E1114,
                format!(
                    "{} of the threads of a warp wait at a barrier that the others do not reach, {thread} among them",
                    lanes.count_ones()
                ),
                "not all threads of the block come here",
            );
            told.help = Some("move the barrier out of the branch or the loop that the threads part in".to_string());
            told
        }
        What::EndlessBarrier { waiting, expected } => plain(
            Code::E1114,
            format!("{waiting} threads wait for ever at a barrier for {expected}, {thread} among them"),
            "not all threads of the block come here",
        ),
        What::BadBarrier(number) => plain(
            Code::E1114,
            format!("{thread} is at a barrier with {number} as its number or its count of threads"),
            "a block has barriers 0 to 15, and they wait for whole warps of 32 threads",
        ),
        What::MissingLanes { missing, left } => {
            let why = if *left { "they have left the kernel" } else { "they are elsewhere" };
            let mut told = plain(
                Code::E1115,
                format!("{thread} exchanges values with lanes {} of its warp, and {why}", lane_list(*missing)),
                "all lanes that the mask names have to come here",
            );
            told.help = Some(
                "give a mask of the lanes that are here (`__activemask()`, or the condition's ballot)".to_string(),
            );
            told
        }
        What::Unnamed(lane) => plain(
            Code::E1115,
            format!("{thread} takes part in an exchange whose mask does not name its lane, {lane}"),
            "the mask lacks this lane",
        ),
        What::Cluster(why) => plain(Code::E1114, format!("in {thread}: {why}"), "here"),
        What::Ended(t, rank) => {
            let mut told = plain(
                Code::E1101,
                format!("{thread} {} shared memory of block {rank} of its cluster, which has ended", does(t)),
                &format!("{} here", done(t.writes)),
            );
            told.help = Some("let all blocks wait for each other (`barrier.cluster`) before they end".to_string());
            told
        }
        What::NotBegun(t, rank) => {
            let mut told = plain(
                Code::E1113,
                format!("{thread} {} shared memory of block {rank} of its cluster, which may not have begun", does(t)),
                &format!("{} here", done(t.writes)),
            );
            told.help =
                Some("let all blocks wait for each other (`barrier.cluster`) before they use this memory".to_string());
            told
        }
        What::Mbarrier(why) => plain(Code::E1114, format!("in {thread}: {why}"), "here"),
        What::BadBulk(why) => plain(Code::E1111, format!("in {thread}: {why}"), "copied here"),
        What::BadImage(why) => plain(Code::E1101, format!("in {thread}: {why}"), "here"),
        What::NoFunction(address) => {
            let message =
                format!("{thread} calls the address {address:#x}, where no function begins that takes these arguments");
            plain(Code::E1101, message, "called here")
        }
        What::NotAllocated(address) => {
            let message = format!("{thread} gives back the address {address:#x}, where no kernel has memory");
            plain(Code::E1124, message, "given back here")
        }
        What::Unknown(what) => plain(Code::E0831, format!("the simulator does not know {what}"), "here"),
        What::Assert(text) => {
            let text = if text.is_empty() { String::new() } else { format!(": {text}") };
            plain(Code::E1102, format!("assertion failed in {thread}{text}"), "does not hold")
        }
        What::Degenerate(why) => {
            plain(Code::W1120, crate::run::devices::near_degenerate(&thread, why), "a gradient passes here")
        }
        What::Visit => plain(Code::W1120, crate::run::devices::near_degenerate(&thread, ""), "a gradient passes here"),
        What::NoComponent { name, index, count } => {
            let whole = if name.is_empty() { "a value".to_string() } else { format!("`{name}`") };
            let message = format!(
                "{thread} takes component {index} of {whole}, which has {}",
                counted(*count as usize, "component")
            );
            plain(Code::E1101, message, "no such component")
        }
        What::NoElement { name, dim, index, extent } => {
            let array = if name.is_empty() { "the array".to_string() } else { format!("`{name}`") };
            let message = format!(
                "index {index} is out of bounds for dimension {dim} of {array}, which has extent {extent}, in {thread}"
            );
            plain(Code::E1101, message, &format!("index {index}, extent {extent}"))
        }
        What::Trap => plain(Code::E1117, format!("{thread} stops the kernel"), "here"),
        What::Endless => {
            let mut told = plain(
                Code::E1116,
                format!("{thread} has run too many instructions: the launch does not seem to end"),
                "it was here when it was stopped",
            );
            told.help = Some("a larger `--steps` lets it run on".to_string());
            told
        }
        What::RacesEnd(many) => {
            let mut told = plain(
                Code::W1122,
                format!(
                    "races are looked for no further: the launch has more than {many} intervals between synchronisations"
                ),
                "the first access that is not followed",
            );
            told.help =
                Some("a smaller launch is followed to its end; `--no-check races` asks for none of it".to_string());
            told
        }
    };
    told.note = told.note.or(times);
    told
}

fn race(
    t: &Touched,
    other: &Other,
    (thread, block): (&str, [u32; 3]),
    place: &str,
    name: &dyn Fn(Thread) -> String,
) -> Told {
    let them = other.thread.map_or("other threads".to_string(), |other| format!("thread {}", name(other)));
    let message = match (t.writes, other.writes) {
        (true, true) => format!("{thread} and {them} both write {place}, and nothing orders them"),
        (true, false) => format!("{thread} writes {place}, which {them} read, and nothing orders them"),
        _ => format!("{thread} reads {place}, which {them} wrote, and nothing orders them"),
    };
    let label = |writes: bool, who: &str| format!("{} here by {who}", if writes { "written" } else { "read" });
    let help = match t.space {
        Space::Shared if other.thread.is_some_and(|other| other.block != block) => {
            "a barrier of the cluster (`barrier.cluster`) between the two accesses orders them"
        }
        Space::Shared => "a barrier of the block between the two accesses orders them",
        _ if t.writes && other.writes => {
            "let each thread write elements of its own, or add up with `wp.atomic_add(...)`"
        }
        _ => "`wp.atomic_add(...)` and the like update in one step; or do the two in two launches",
    };
    Told {
        code: Code::E1113,
        message,
        label: label(t.writes, thread),
        other: Some((other.pc, label(other.writes, &them))),
        help: Some(help.to_string()),
        note: None,
    }
}

/// `3, 7 and 9`; `4 to 31`.
fn lane_list(mask: u32) -> String {
    let lanes: Vec<u32> = (0..32).filter(|lane| mask >> lane & 1 == 1).collect();
    match (lanes.first(), lanes.last()) {
        (Some(first), Some(last)) if lanes.len() > 2 && (last - first) as usize == lanes.len() - 1 => {
            format!("{first} to {last}")
        }
        _ => lanes.iter().map(u32::to_string).collect::<Vec<_>>().join(", "),
    }
}

/// The element or the variable at an address.
fn place(t: &Touched, arrays: &dyn Places, code: &sim::Code) -> String {
    if let Some(element) = arrays.element(t.address).filter(|_| is_global(t.space)) {
        return element;
    }
    let (rank, address) = in_block(t);
    let named = code.variables.iter().chain(code.globals.iter().map(|(placed, _)| placed)).find(|v| {
        (v.space == t.space || is_global(v.space) && is_global(t.space))
            && (v.address..v.address + v.bytes).contains(&address)
    });
    let found = match named {
        Some(variable) => format!("byte {} of `{}`", address - variable.address, variable.name),
        None => format!("{} memory at {address:#x}", t.space.name()),
    };
    match rank {
        Some(rank) => format!("{found} in block {rank} of the cluster"),
        None => found,
    }
}

/// The rank of another block of the cluster that an address of shared memory leads to, and the
/// address there.
fn in_block(t: &Touched) -> (Option<u64>, u64) {
    match t.space {
        Space::Shared => sim::in_block(t.address),
        _ => (None, t.address),
    }
}

fn is_global(space: Space) -> bool {
    matches!(space, Space::Global | Space::Const | Space::Generic)
}

/// Where an address lies that nothing has.
fn beside(t: &Touched, arrays: &dyn Places, code: &sim::Code) -> String {
    let near = match t.space {
        Space::Shared => {
            let (bytes, (rank, address)) = (code.shared_bytes, in_block(t));
            let whose = rank.map_or(String::new(), |rank| format!(" of block {rank} of the cluster"));
            Some(format!("shared memory has {bytes} bytes, and this is byte {address}{whose}"))
        }
        Space::Local => Some(format!("local memory has {} bytes, and this is byte {}", code.local_bytes, t.address)),
        Space::Param => Some("beyond the parameters".to_string()),
        _ if t.address < 4096 => Some("the address of an array that is not set".to_string()),
        _ => arrays.beside(t.address),
    };
    near.map_or(format!(", at {:#x}", t.address), |near| format!(": {near}"))
}
