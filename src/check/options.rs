//! What may stand in the parentheses of `@wp.kernel(...)`?

use crate::check::Checker;
use crate::check::calls::keyword::unknown_keyword;
use crate::check::state::definition::Definition;
use crate::syntax::ast::ExprKind;

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

impl Checker<'_> {
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
