//! What may stand in the parentheses of `@wp.kernel(...)`?

use crate::check::Checker;
use crate::check::calls::keyword::unknown_keyword;
use crate::check::messages;
use crate::check::state::definition::Definition;
use crate::syntax::ast::{Expr, ExprKind};

/// The keywords of Warp 1.19.
const OPTIONS: [&str; 10] = [
    "cluster_dim",
    "cuda_max_registers",
    "enable_backward",
    "enable_cuda_smem_spilling",
    "entry_point_abi",
    "grid_stride",
    "launch_bounds",
    "module",
    "module_options",
    "name",
];

/// The option that lets GPU code approximate.
pub const FAST_MATH: &str = "fast_math";

impl Checker<'_> {
    /// Whether GPU code of a kernel may approximate: as its `module_options` say, else as the file
    /// does.
    pub fn is_fast(&mut self, definition: &Definition) -> bool {
        let calls = definition.ast.decorators.iter().filter_map(|decorator| match &decorator.expr.kind {
            ExprKind::Call { args, .. } => Some(args),
            _ => None,
        });
        let options = calls.flatten().find(|arg| arg.name.as_ref().is_some_and(|name| name.text == "module_options"));
        let stated = options.and_then(|arg| match &arg.value.kind {
            ExprKind::Dict(pairs) => {
                pairs.iter().find(|(key, _)| matches!(&key.kind, ExprKind::Str(key) if key == FAST_MATH))
            }
            _ => None,
        });
        let stated = stated.map(|(_, value)| value.clone());
        stated.map_or(self.settings.fast_math, |value| self.fast_math_value(&value))
    }

    /// What the option is; anything but a bool is reported: Warp takes `"off"` for true.
    pub fn fast_math_value(&mut self, value: &Expr) -> bool {
        if let ExprKind::Bool(on) = value.kind {
            return on;
        }
        let written = self.sources.text(value.span).to_string();
        self.report(messages::host::fast_math(&written, value.span));
        false
    }

    /// Reports options that no kernel has: Warp raises there, and a slip in `enable_backward` would
    /// do nothing.
    pub fn kernel_options(&mut self, definition: &Definition) {
        for decorator in &definition.ast.decorators {
            let ExprKind::Call { callee, args } = &decorator.expr.kind else { continue };
            let is_kernel = match &callee.kind {
                ExprKind::Name(name) => name == "kernel",
                ExprKind::Attribute { name, .. } => name.text == "kernel",
                _ => false,
            };
            let names = args.iter().filter_map(|arg| arg.name.as_ref()).filter(|_| is_kernel);
            for name in names.filter(|name| !OPTIONS.contains(&name.text.as_str())) {
                let message = format!("`@wp.kernel` has no option `{}`", name.text);
                self.report(unknown_keyword(message, name, OPTIONS.into_iter()));
            }
        }
    }
}
