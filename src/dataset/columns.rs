//! Which columns do rows have? Their names and types, in order, for both formats.
//!
//! A dot leads into a struct; `[]` behind a name says that it is a list of structs.

/// Behind the name of a list of structs.
pub const LIST: &str = "[]";

#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum ColumnType {
    Text,
    OptionalText,
    Int,
    OptionalInt,
    Float,
    OptionalFloat,
    Bool,
    OptionalBool,
    TextList,
    IntList,
    /// Of 32-bit numbers without sign.
    WordList,
}

impl ColumnType {
    pub fn is_list(self) -> bool {
        matches!(self, ColumnType::TextList | ColumnType::IntList | ColumnType::WordList)
    }

    /// Whether values may be missing.
    pub fn is_optional(self) -> bool {
        use ColumnType::*;
        matches!(self, OptionalText | OptionalInt | OptionalFloat | OptionalBool)
    }
}

pub type Columns = &'static [(&'static str, ColumnType)];

/// Of the table `pairs`.
pub const PAIRS: Columns = {
    use ColumnType::*;
    &[
        ("id", Text),
        ("index", Int),
        ("split", Text),
        ("category", Text),
        ("subcategory", Text),
        ("domain", Text),
        ("family", OptionalText),
        ("kinds", TextList),
        ("formula", OptionalText),
        ("task.short", OptionalText),
        ("task.medium", OptionalText),
        ("task.long", OptionalText),
        ("tags", TextList),
        ("python_source", Text),
        ("cuda_forward", OptionalText),
        ("cuda_backward", OptionalText),
        ("cuda_standalone", OptionalText),
        ("adjoint_source", OptionalText),
        ("llvm_ir_host", OptionalText),
        ("llvm_ir_nvptx", OptionalText),
        ("ptx", OptionalText),
        ("ptx_arch", OptionalText),
        ("ptx_version", OptionalText),
        ("entry.name", Text),
        ("entry.launch_dim", IntList),
        ("entry.rounded_up", Bool),
        ("entry.block_dim", Int),
        ("entry.shared_bytes", Int),
        ("entry.uses", TextList),
        ("entry.args[].kernel", Text),
        ("entry.args[].name", Text),
        ("entry.args[].array", OptionalText),
        ("entry.args[].kind", Text),
        ("entry.args[].dtype", Text),
        ("entry.args[].ndim", Int),
        ("entry.args[].shape", OptionalText),
        ("entry.args[].value", OptionalText),
        ("entry.args[].extent", OptionalText),
        ("entry.args[].intent", Text),
        ("entry.args[].requires_grad", Bool),
        ("launches[].kernel", Text),
        ("launches[].dim", Text),
        ("launches[].rounded_up", Bool),
        ("io.inputs[].name", Text),
        ("io.inputs[].dtype", Text),
        ("io.inputs[].shape", Text),
        ("io.inputs[].data", Text),
        ("io.outputs[].name", Text),
        ("io.outputs[].dtype", Text),
        ("io.outputs[].shape", Text),
        ("io.outputs[].data", Text),
        ("alpha_hash", Text),
        ("ast_shape_hash", Text),
        ("skeleton_hash", Text),
        ("minhash", WordList),
        ("verify.host_ok", OptionalBool),
        ("verify.n_cases", Int),
        ("verify.shapes", TextList),
        ("verify.max_abs", OptionalFloat),
        ("verify.max_ulp", OptionalInt),
        ("verify.f64_ok", OptionalBool),
        ("verify.f64_error", OptionalFloat),
        ("verify.reference_ok", OptionalBool),
        ("verify.reference_error", OptionalFloat),
        ("verify.order_free", OptionalBool),
        ("verify.grad_ok", OptionalBool),
        ("verify.grad_rel_err", OptionalFloat),
        ("verify.grad_skipped_reason", OptionalText),
        ("complexity.stmts", Int),
        ("complexity.ast_nodes", Int),
        ("complexity.ast_depth", Int),
        ("complexity.cf_depth", Int),
        ("complexity.cyclomatic", Int),
        ("complexity.halstead_volume", Float),
        ("complexity.builtins", Int),
        ("complexity.ir_insts", Int),
        ("complexity.mem_ops", Int),
        ("complexity.atomics", Int),
        ("complexity_score", Float),
        ("difficulty", Int),
        ("perf_static.flops", Int),
        ("perf_static.int_ops", Int),
        ("perf_static.bytes_read", Int),
        ("perf_static.bytes_written", Int),
        ("perf_static.arithmetic_intensity", Float),
        ("perf_static.atomics", Int),
        ("perf_static.accesses_next", Int),
        ("perf_static.accesses_same", Int),
        ("perf_static.accesses_other", Int),
        ("perf_static.divergent", Int),
        ("perf_static.open_loops", Int),
        ("perf.threads", OptionalInt),
        ("perf.warp_insts", OptionalInt),
        ("perf.active_lanes", OptionalFloat),
        ("perf.uniform_branches", OptionalFloat),
        ("perf.load_requests", OptionalInt),
        ("perf.sectors_per_load", OptionalFloat),
        ("perf.store_requests", OptionalInt),
        ("perf.sectors_per_store", OptionalFloat),
        ("perf.sectors", OptionalInt),
        ("perf.sectors_ideal", OptionalInt),
        ("perf.dram_bytes", OptionalInt),
        ("perf.registers_at_least", OptionalInt),
        ("perf.registers_at_most", OptionalInt),
        ("perf.warps_at_least", OptionalInt),
        ("perf.warps_at_most", OptionalInt),
        ("tokens.py", Int),
        ("tokens.cuda", Int),
        ("tokens.adjoint", Int),
        ("tokens.ir", Int),
        ("tokens.ptx", Int),
        ("chars.py", Int),
        ("chars.cuda", Int),
        ("chars.adjoint", Int),
        ("chars.ir", Int),
        ("chars.ptx", Int),
        ("provenance.seed", Text),
        ("provenance.candidate", Text),
        ("provenance.mode", Text),
        ("provenance.parent_id", OptionalText),
        ("generator_version", Text),
        ("schema_version", Int),
        ("license", Text),
    ]
};

/// Of the table `repair`.
pub const REPAIR: Columns = {
    use ColumnType::*;
    &[
        ("id", Text),
        ("index", Int),
        ("parent_id", Text),
        ("split", Text),
        ("bug_class", Text),
        ("bug_kind", Text),
        ("description", Text),
        ("category", Text),
        ("domain", Text),
        ("buggy_source", Text),
        ("fixed_source", Text),
        ("unified_diff", Text),
        ("found_by", Text),
        ("failure", Text),
        ("diagnostic_codes", TextList),
        ("diagnostics", Text),
        ("rendered_terminal", Text),
        ("witness_input", OptionalText),
        ("kernel", Text),
        ("ast_shape_hash", Text),
        ("skeleton_hash", Text),
        ("provenance.seed", Text),
        ("provenance.candidate", Text),
        ("generator_version", Text),
        ("schema_version", Int),
        ("license", Text),
    ]
};
