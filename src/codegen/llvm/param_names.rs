//! The parameters of entries in PTX are called as in the source (`x_param`) and not by their
//! numbers, as LLVM calls them (`saxpy_cuda_kernel_forward_param_1`). The word at the end keeps
//! them apart from PTX's own: a parameter may be called `add`.

use std::collections::HashMap;

use crate::abi;
use crate::ir::{FuncId, Function, Module};

/// What LLVM puts between the name of a function and the number of its parameter.
const NUMBERED: &str = "_param_";

/// The text with the names of the parameters of `kernels`.
pub(super) fn name_parameters(text: &str, module: &Module, kernels: &[FuncId]) -> String {
    let functions = kernels.iter().map(|&id| &module.functions[id]);
    let entries: HashMap<String, Vec<String>> =
        functions.map(|function| (abi::device_entry(&function.source_name, function.phase), names(function))).collect();
    let mut out = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(at) = rest.find(NUMBERED) {
        let after = &rest[at + NUMBERED.len()..];
        let start = rest[..at].rfind(|c: char| !is_word(c)).map_or(0, |end| end + 1);
        let digits = after.find(|c: char| !c.is_ascii_digit()).unwrap_or(after.len());
        let name = || entries.get(&rest[start..at])?.get(after[..digits].parse::<usize>().ok()?);
        let ends = !after[digits..].starts_with(is_word);
        match name().filter(|_| ends) {
            Some(name) => {
                out.push_str(&rest[..start]);
                out.push_str(name);
                rest = &after[digits..];
            }
            None => {
                out.push_str(&rest[..at + NUMBERED.len()]);
                rest = after;
            }
        }
    }
    out.push_str(rest);
    out
}

fn is_word(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '$'
}

/// The launch, then what the kernel takes: each a name of its own.
fn names(function: &Function) -> Vec<String> {
    let mut names: Vec<String> = Vec::with_capacity(function.params().len() + 1);
    let given = (0..function.params().len()).map(|n| function.param_name(n));
    for (n, name) in std::iter::once("launch".to_string()).chain(given).enumerate() {
        // Letters of other alphabets are none of PTX's.
        let plain = name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
        let mut name = if plain { format!("{name}_param") } else { format!("param_{n}") };
        while names.contains(&name) {
            name.push('_');
        }
        names.push(name);
    }
    names
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ir::parse::parse;

    #[test]
    fn entries_name_what_they_take() {
        let module = parse(
            "kernel @k(%x: float32, %launch: int32, %add: int32) rank 1 {\nreturn\n}\n\
             kernel @k_1(%y: float32) rank 1 {\nreturn\n}\n",
        )
        .expect("IR");
        let kernels: Vec<FuncId> = module.kernels().map(|(id, _)| id).collect();
        let text = "k_cuda_kernel_forward_param_0 k_cuda_kernel_forward_param_1, [k_cuda_kernel_forward_param_2+4]; \
                    k_cuda_kernel_forward_param_3 k_1_cuda_kernel_forward_param_1 vprintf_param_0 a_param_ \
                    k_cuda_kernel_forward_param_1a k_cuda_kernel_forward_param_9";
        assert_eq!(
            name_parameters(text, &module, &kernels),
            "launch_param x_param, [launch_param_+4]; add_param y_param vprintf_param_0 a_param_ \
             k_cuda_kernel_forward_param_1a k_cuda_kernel_forward_param_9"
        );
    }
}
