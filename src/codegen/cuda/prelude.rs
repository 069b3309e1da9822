//! What is above the kernels: only the types and helper functions that they use, in an order that
//! compiles.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use super::helpers::{self, Helper};
use super::print::{self, WIDTH};
use super::products::Products;
use super::types::{component, has_named_components, identifier, scalar_name, type_name};
use crate::ids::IdSet;
use crate::ir::{BinaryOp, ConstantId, Product};
use crate::types::{Element, Scalar, StructTable, Type};

/// The parts of the `arrayN` templates; a module gets those it uses.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Debug)]
pub enum ArrayMember {
    /// `x(i, j)`, or `x[i]` for rank 1: an element.
    Element,
    /// `x.at(i, j)`: the same with negative indices counted from the end.
    ElementAt,
    /// `x[i]` for rank 2 and up: the sub-array at `i`.
    Row,
    /// `x.at(i)` for rank 2 and up.
    RowAt,
    /// `x.fix(d, i)`: the sub-array at `i` of dimension `d`.
    Fix,
    /// `x.slice(d, start, stop, step)`
    Slice,
    /// `if (x)`: it is not null.
    IsSet,
    /// `x.gradient()`: the array of adjoints behind `grad`.
    Gradient,
    /// `array1<T>::at_address(data, grad, n)`: the array at an address.
    AtAddress,
}

#[derive(Clone, Default)]
struct StructText {
    fields: Arc<str>,
    members: BTreeSet<Arc<str>>,
}

impl StructText {
    fn add(&mut self, other: &StructText) {
        for member in &other.members {
            if !self.members.contains(member) {
                self.members.insert(member.clone());
            }
        }
    }

    fn of(fields: String) -> StructText {
        StructText { fields: fields.into(), members: BTreeSet::new() }
    }
}

/// A function or template.
#[derive(Clone)]
struct Declared {
    signature: Arc<str>,
    text: Arc<str>,
}

/// What kernels take that find their arrays by descriptors.
const LAUNCH: &str = "\
struct launch_bounds {
    unsigned int shape[4];
    unsigned long long size;  // number of threads
};
";

/// How the threads of a grid take the tasks of a launch.
const TURNS: &str = "
// A grid of any size runs a launch: its threads take the tasks in turns.
static __device__ size_t first_task() { return blockIdx.x * (size_t)blockDim.x + threadIdx.x; }
static __device__ size_t task_step() { return (size_t)blockDim.x * gridDim.x; }
";

const TEMPLATE: &str = "template <typename B> ";

/// Collects declarations while functions are printed; each is added once.
pub struct Prelude {
    /// Whether the compiler may fuse products of floats with sums.
    pub fmad: bool,
    /// Whether all kernels of the text take the hardware's approximations, as operators on vectors
    /// and such then do, which functions share.
    pub all_fast: bool,
    /// Whether the function that is being printed does.
    pub fast: bool,
    scalars: BTreeSet<Scalar>,
    launch: bool,
    turns: bool,
    output: bool,
    infinity: bool,
    not_a_number: bool,
    helpers: BTreeSet<Helper>,
    products: Products,
    arrays: BTreeMap<u8, BTreeSet<ArrayMember>>,
    /// Vectors, quaternions, matrices and transforms.
    composites: BTreeMap<Type, StructText>,
    /// The user's structs, by their number in the module.
    structs: BTreeMap<u32, StructText>,
    /// The source's constants: their declarations.
    constants: BTreeMap<ConstantId, Arc<str>>,
    /// Operators and functions on `float16`, `bfloat16` and composites, in the order they were
    /// needed.
    functions: Vec<Declared>,
    /// Theirs, and those of functions whose bodies are being made.
    signatures: IdSet<Arc<str>>,
    /// The binary operations that were asked for here: their functions are among these.
    binary: IdSet<(BinaryOp, Type, Type)>,
}

impl Prelude {
    /// Nothing yet.
    pub fn new(fmad: bool, all_fast: bool) -> Prelude {
        Prelude {
            fmad,
            all_fast,
            fast: all_fast,
            scalars: BTreeSet::new(),
            launch: false,
            turns: false,
            output: false,
            infinity: false,
            not_a_number: false,
            helpers: BTreeSet::new(),
            products: Products::default(),
            arrays: BTreeMap::new(),
            composites: BTreeMap::new(),
            structs: BTreeMap::new(),
            constants: BTreeMap::new(),
            functions: Vec::new(),
            signatures: IdSet::default(),
            binary: IdSet::default(),
        }
    }

    /// Whether a binary operation on these types was not asked for yet; from now on it was.
    pub fn first_time(&mut self, op: BinaryOp, a: Type, b: Type) -> bool {
        self.binary.insert((op, a, b))
    }

    /// Declares `printf` and `assert`, which NVRTC has built in.
    pub fn output(&mut self) {
        self.output = true;
    }

    /// Declares what a launch is, for kernels that take it as one parameter.
    pub fn launch(&mut self) {
        self.launch = true;
    }

    /// Declares which tasks of a launch a thread takes, for kernels whose threads have tasks of
    /// their own.
    pub fn turns(&mut self) {
        self.turns = true;
    }

    pub fn infinity(&mut self) {
        self.infinity = true;
    }

    pub fn not_a_number(&mut self) {
        self.not_a_number = true;
    }

    /// Declares a number type where C++ has no name for it.
    pub fn scalar(&mut self, scalar: Scalar) {
        self.scalars.insert(scalar);
    }

    /// Declares a constant of the source.
    pub fn constant(&mut self, id: ConstantId, text: String) {
        self.constants.entry(id).or_insert_with(|| text.into());
    }

    pub fn helper(&mut self, helper: Helper) -> &'static str {
        for &needed in helper.needs() {
            self.helper(needed);
        }
        self.helpers.insert(helper);
        helper.name()
    }

    /// Declares a product by the instructions for matrices; gives its name.
    pub fn product(&mut self, product: &Product) -> String {
        self.products.name(product)
    }

    /// Declares a type and all that it is made of.
    pub fn ty(&mut self, ty: Type, structs: &StructTable) {
        match ty {
            Type::Scalar(s) => self.scalar(s),
            Type::Local(local) => self.ty(local.element.into(), structs),
            Type::Array(array) => {
                self.arrays.entry(array.ndim).or_default();
                self.ty(array.element.into(), structs);
            }
            Type::Struct(id) => {
                if self.structs.contains_key(&id.0) {
                    return;
                }
                let mut fields = String::new();
                for field in &structs[id].fields {
                    self.ty(field.ty, structs);
                    let _ = writeln!(fields, "    {} {};", type_name(field.ty, structs), identifier(&field.name));
                }
                self.structs.insert(id.0, StructText::of(fields));
            }
            Type::Vec(..) | Type::Quat(_) | Type::Mat(..) | Type::Transform(_) => {
                if self.composites.contains_key(&ty) {
                    return;
                }
                let fields = self.composite_fields(ty, structs);
                self.composites.insert(ty, StructText::of(fields));
            }
        }
    }

    fn composite_fields(&mut self, ty: Type, structs: &StructTable) -> String {
        match ty {
            Type::Mat(r, c, s) => {
                let row = Type::Vec(c, s);
                self.ty(row, structs);
                format!("    {} row[{r}];\n", type_name(row, structs))
            }
            Type::Transform(s) => {
                let (p, q) = (Type::Vec(3, s), Type::Quat(s));
                self.ty(p, structs);
                self.ty(q, structs);
                format!("    {} p;\n    {} q;\n", type_name(p, structs), type_name(q, structs))
            }
            _ => {
                let s = ty.scalar_part().unwrap_or(Scalar::F32);
                self.scalar(s);
                let n = ty.scalar_count().unwrap_or(1);
                if has_named_components(ty) {
                    let names: Vec<&str> = (0..n).map(component).collect();
                    format!("    {} {};\n", scalar_name(s), names.join(", "))
                } else {
                    format!("    {} c[{n}];\n", scalar_name(s))
                }
            }
        }
    }

    /// Adds a member function to the struct of a composite type, which [`Prelude::ty`] has
    /// declared.
    pub fn member(&mut self, ty: Type, text: String) {
        let declared = self.composites.get_mut(&ty);
        debug_assert!(declared.is_some(), "a member of a type that is not declared: {text}");
        if let Some(declared) = declared {
            declared.members.insert(text.into());
        }
    }

    pub fn array_member(&mut self, element: Element, rank: u8, member: ArrayMember, structs: &StructTable) {
        self.ty(Type::from(element), structs);
        if matches!(member, ArrayMember::ElementAt | ArrayMember::RowAt | ArrayMember::Fix) {
            self.helper(Helper::Wrap);
        }
        if matches!(member, ArrayMember::Row | ArrayMember::RowAt | ArrayMember::Fix) {
            self.arrays.entry(rank - 1).or_default();
        }
        self.arrays.entry(rank).or_default().insert(member);
    }

    /// Adds a function (or a template that starts with [`TEMPLATE`]) the first time its signature
    /// is asked for; `body` gives `{ ... }` and may ask for others, which then stand before it.
    pub fn function(&mut self, signature: String, body: impl FnOnce(&mut Prelude) -> String) {
        if self.signatures.contains(signature.as_str()) {
            return;
        }
        let signature: Arc<str> = signature.into();
        self.signatures.insert(signature.clone());
        let own = std::mem::replace(&mut self.fast, self.all_fast);
        let body = body(self);
        self.fast = own;
        let (template, rest) = match signature.strip_prefix(TEMPLATE) {
            Some(rest) => (TEMPLATE, rest),
            None => ("", &*signature),
        };
        let one_line = format!("{template}static __device__ {rest} {body}\n");
        let statement = body.strip_prefix("{ ").and_then(|b| b.strip_suffix(" }"));
        let text = match statement {
            Some(statement) if one_line.len() > WIDTH => {
                let mut text = format!("{template}static __device__ {rest} {{\n");
                print::line(&mut text, 1, statement);
                text + "}\n"
            }
            _ => one_line,
        };
        self.functions.push(Declared { signature, text: text.into() });
    }

    /// Adds what another prelude declares, in its order: as if what asked it had asked this one. (A
    /// function is after those that its body asks for in both, so that leaving out what is there
    /// already changes no order.)
    pub fn add(&mut self, other: &Prelude) {
        self.scalars.extend(&other.scalars);
        self.output |= other.output;
        self.launch |= other.launch;
        self.turns |= other.turns;
        self.infinity |= other.infinity;
        self.not_a_number |= other.not_a_number;
        self.helpers.extend(&other.helpers);
        self.products.add(&other.products);
        for (&rank, members) in &other.arrays {
            self.arrays.entry(rank).or_default().extend(members);
        }
        for (&ty, text) in &other.composites {
            match self.composites.get_mut(&ty) {
                Some(known) => known.add(text),
                None => _ = self.composites.insert(ty, text.clone()),
            }
        }
        for (&id, text) in &other.structs {
            self.structs.entry(id).or_insert_with(|| text.clone());
        }
        for (&id, text) in &other.constants {
            self.constants.entry(id).or_insert_with(|| text.clone());
        }
        for function in &other.functions {
            if self.signatures.insert(function.signature.clone()) {
                self.functions.push(function.clone());
            }
        }
    }

    /// Bytes of text in it, roughly.
    pub fn size(&self) -> usize {
        let types = self.composites.values().chain(self.structs.values());
        let in_types = types.map(|ty| ty.fields.len() + ty.members.iter().map(|m| m.len()).sum::<usize>());
        let functions = self.functions.iter().map(|f| f.signature.len() + f.text.len());
        in_types.chain(functions).chain(self.constants.values().map(|text| text.len())).sum()
    }

    /// Appends the whole prelude.
    pub fn write(&self, out: &mut String, structs: &StructTable) {
        if self.output {
            out.push_str("#ifndef __CUDACC_RTC__\n#include <assert.h>\n#include <stdio.h>\n#endif\n\n");
        }
        self.typedefs(out);
        let mut parts = String::new();
        let all = &mut *out;
        let out = &mut parts;
        if self.launch {
            out.push_str(LAUNCH);
        }
        if self.turns {
            out.push_str(TURNS);
        }
        for scalar in [Scalar::F16, Scalar::BF16] {
            if self.scalars.contains(&scalar) {
                let _ = write!(out, "\n{}", helpers::half_struct(scalar));
            }
        }
        for helper in &self.helpers {
            let _ = write!(out, "\n{}", helper.text());
        }
        if !self.products.is_empty() {
            self.products.write(out);
        }
        if !self.arrays.is_empty() {
            out.push_str("\n// Strides are in bytes.\n");
        }
        for (n, (&rank, members)) in self.arrays.iter().enumerate() {
            if n > 0 {
                out.push('\n');
            }
            out.push_str(&array_struct(rank, members));
        }
        // Vectors before the matrices and transforms made of them: the order of `Type`.
        for (&ty, text) in &self.composites {
            let _ = write!(out, "\n{}", struct_text(&type_name(ty, structs), text));
        }
        for (&id, text) in &self.structs {
            let name = type_name(Type::Struct(crate::types::StructId(id)), structs);
            let _ = write!(out, "\n{}", struct_text(&name, text));
        }
        if !self.constants.is_empty() {
            out.push('\n');
        }
        self.constants.values().for_each(|text| out.push_str(text));
        for function in &self.functions {
            let _ = write!(out, "\n{}", function.text);
        }
        // Where plain kernels start, nothing may stand above them.
        all.push_str(parts.trim_start_matches('\n'));
    }

    fn typedefs(&self, out: &mut String) {
        let names = [
            (Scalar::I8, "signed char"),
            (Scalar::U8, "unsigned char"),
            (Scalar::I16, "short"),
            (Scalar::U16, "unsigned short"),
            (Scalar::U32, "unsigned int"),
            (Scalar::I64, "long long"),
            (Scalar::U64, "unsigned long long"),
        ];
        let start = out.len();
        for (scalar, c_name) in names {
            if self.scalars.contains(&scalar) {
                let _ = writeln!(out, "typedef {c_name} {};", scalar_name(scalar));
            }
        }
        if self.infinity || self.not_a_number {
            out.push_str("#ifndef INFINITY  // NVRTC has no math.h\n");
            if self.infinity {
                out.push_str("#define INFINITY __int_as_float(0x7f800000)\n");
            }
            if self.not_a_number {
                out.push_str("#define NAN __int_as_float(0x7fc00000)\n");
            }
            out.push_str("#endif\n");
        }
        if out.len() > start {
            out.push('\n');
        }
    }
}

fn struct_text(name: &str, text: &StructText) -> String {
    if text.members.is_empty() && text.fields.lines().count() == 1 {
        return format!("struct {name} {{ {} }};\n", text.fields.trim());
    }
    let mut out = format!("struct {name} {{\n{}", text.fields);
    for member in &text.members {
        let _ = writeln!(out, "    __device__ {member}");
    }
    out.push_str("};\n");
    out
}

fn array_struct(rank: u8, members: &BTreeSet<ArrayMember>) -> String {
    const INDEX: [&str; 4] = ["i", "j", "k", "l"];
    let index = &INDEX[..usize::from(rank).min(4)];
    let params: Vec<String> = index.iter().map(|i| format!("int {i}")).collect();
    let mut out = format!(
        "template <typename T> struct array{rank} {{\n    T *data, *grad;\n    int shape[4], strides[4];\n    int ndim, flags;\n"
    );
    for member in members {
        let text = match member {
            ArrayMember::Element => {
                let terms: Vec<String> =
                    index.iter().enumerate().map(|(d, i)| format!("(long long){i} * strides[{d}]")).collect();
                let operator = if rank == 1 { "operator[]" } else { "operator()" };
                format!(
                    "    __device__ T &{operator}({}) const {{\n        return *(T *)((char *)data + {});\n    }}\n",
                    params.join(", "),
                    terms.join(" + ")
                )
            }
            ArrayMember::ElementAt => {
                let wrapped: Vec<String> =
                    index.iter().enumerate().map(|(d, i)| format!("wrap({i}, shape[{d}])")).collect();
                let (open, close) = if rank == 1 { ("[", "]") } else { ("(", ")") };
                format!(
                    "    // Negative indices count from the end.\n    __device__ T &at({}) const {{\n        return (*this){open}{}{close};\n    }}\n",
                    params.join(", "),
                    wrapped.join(", ")
                )
            }
            ArrayMember::Row => row_text(rank),
            ArrayMember::RowAt => {
                format!(
                    "    __device__ array{}<T> at(int i) const {{ return (*this)[wrap(i, shape[0])]; }}\n",
                    rank - 1
                )
            }
            ArrayMember::Fix => fix_text(rank),
            ArrayMember::Slice => "    // Elements start, start + step, ... below stop of dimension d.\n    \
                 __device__ auto slice(int d, int start, int stop, int step) const {\n        \
                 auto part = *this;\n        \
                 long long offset = (long long)start * strides[d];\n        \
                 part.data = (T *)((char *)data + offset);\n        \
                 part.grad = grad ? (T *)((char *)grad + offset) : nullptr;\n        \
                 int count = (stop - start + step + (step > 0 ? -1 : 1)) / step;\n        \
                 part.shape[d] = count > 0 ? count : 0;\n        \
                 part.strides[d] = strides[d] * step;\n        \
                 return part;\n    }\n"
                .to_string(),
            ArrayMember::IsSet => "    __device__ explicit operator bool() const { return data; }\n".to_string(),
            ArrayMember::Gradient => "    // The array of adjoints; null if there is none.\n    \
                 __device__ auto gradient() const {\n        \
                 auto g = *this;\n        \
                 g.data = grad;\n        \
                 g.grad = nullptr;\n        \
                 return g;\n    }\n"
                .to_string(),
            ArrayMember::AtAddress => at_address_text(rank, index),
        };
        out.push_str(&text);
    }
    out.push_str("};\n");
    out
}

fn at_address_text(rank: u8, index: &[&str]) -> String {
    let params: Vec<String> = index.iter().map(|i| format!(", int {i}")).collect();
    let mut out = String::from("    // The elements that lie one after another from `data` on, and their adjoints.\n");
    let _ = writeln!(
        out,
        "    static __device__ array{rank} at_address(unsigned long long data, unsigned long long grad{}) {{",
        params.concat()
    );
    let _ = writeln!(out, "        if (data == 0)\n            return {{}};");
    let extents: Vec<String> = index.iter().map(|i| format!("{i} > 0 ? {i} : 0")).collect();
    let _ = writeln!(out, "        array{rank} a = {{(T *)data, (T *)grad, {{{}}}}};", extents.join(", "));
    let _ = writeln!(out, "        int stride = sizeof(T);");
    let _ = writeln!(out, "        for (int d = {}; d >= 0; --d) {{", rank.saturating_sub(1));
    let _ = writeln!(out, "            a.strides[d] = stride;");
    let _ = writeln!(out, "            stride *= a.shape[d];");
    let _ = writeln!(out, "        }}");
    let _ = writeln!(out, "        a.ndim = {rank};");
    let _ = writeln!(out, "        return a;");
    out.push_str("    }\n");
    out
}

fn row_text(rank: u8) -> String {
    let rest = rank - 1;
    let mut out = format!("    __device__ array{rest}<T> operator[](int i) const {{\n");
    let _ = writeln!(out, "        long long offset = (long long)i * strides[0];");
    let _ = writeln!(out, "        array{rest}<T> row = {{}};");
    let _ = writeln!(out, "        row.data = (T *)((char *)data + offset);");
    let _ = writeln!(out, "        row.grad = grad ? (T *)((char *)grad + offset) : nullptr;");
    let _ = writeln!(out, "        for (int d = 0; d < {rest}; ++d) {{");
    let _ = writeln!(out, "            row.shape[d] = shape[d + 1];");
    let _ = writeln!(out, "            row.strides[d] = strides[d + 1];");
    let _ = writeln!(out, "        }}");
    let _ = writeln!(out, "        row.ndim = {rest};");
    let _ = writeln!(out, "        return row;");
    out.push_str("    }\n");
    out
}

fn fix_text(rank: u8) -> String {
    let rest = rank - 1;
    format!(
        "    // The sub-array at index i of dimension d; a negative index counts from the end.
    __device__ array{rest}<T> fix(int d, int i) const {{
        long long offset = (long long)wrap(i, shape[d]) * strides[d];
        array{rest}<T> part = {{}};
        part.data = (T *)((char *)data + offset);
        part.grad = grad ? (T *)((char *)grad + offset) : nullptr;
        for (int e = 0; e < {rest}; ++e) {{
            part.shape[e] = shape[e < d ? e : e + 1];
            part.strides[e] = strides[e < d ? e : e + 1];
        }}
        part.ndim = {rest};
        return part;
    }}
"
    )
}
