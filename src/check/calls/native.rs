//! `@wp.func_native(snippet, adj_snippet, replay_snippet)`: functions whose bodies are CUDA C++
//! text. The signature is checked, the texts are passed on to the CUDA output as they are. The
//! adjoint's text sees the parameters, `adj_x` for each of them (arrays of adjoints; numbers to add
//! to), and `adj_ret`.

use std::sync::Arc;

use crate::check::Checker;
use crate::check::state::definition::{Definition, InstanceArg, ParamInfo, Underived};
use crate::check::state::globals::{Unknown, Why};
use crate::check::tree::{Derivative, Function, Local};
use crate::check::types::value::{Operand, Reported, Res};
use crate::ids::IdVec;
use crate::syntax::ast::{self, ExprKind};
use crate::types::Type;

/// The texts of a function, by the place and the name of the decorator's arguments.
const SNIPPET: (usize, &str) = (0, "snippet");
const ADJOINT: (usize, &str) = (1, "adj_snippet");
const REPLAY: (usize, &str) = (2, "replay_snippet");

/// Whether all that a text does is to wait for the threads of the block, on a GPU alone perhaps:
/// `wp.sync()`, as Warp's kernels have it.
pub fn is_barrier(text: &str) -> bool {
    let is_frame = |line: &&str| {
        !line.is_empty()
            && !line.starts_with("//")
            && !matches!(*line, "#if defined(__CUDA_ARCH__)" | "#ifdef __CUDA_ARCH__" | "#endif")
    };
    text.lines().map(str::trim).filter(is_frame).eq(["__syncthreads();"])
}

impl Checker<'_> {
    /// The instance of a native function for these arguments. Err: its text or its result is
    /// nothing that kc can know.
    pub fn native_function(&mut self, definition: &Arc<Definition>, args: &[InstanceArg]) -> Res<Function> {
        let name = &definition.ast.name;
        let unknown = Unknown { name: name.text.clone(), place: name.span, why: Why::Native };
        let Ok(Some(text)) = self.native_text(definition, SNIPPET) else { return Err(self.need_unknown(&unknown)) };
        let results = match &definition.ast.returns {
            None | Some(ast::Expr { kind: ExprKind::None, .. }) => Vec::new(),
            Some(returns) => vec![self.within(definition.scope, |c| c.concrete_type(returns, false))?],
        };
        let Some(locals) = self.native_params(definition, args)? else { return Err(self.need_unknown(&unknown)) };
        let name = self.instance_name(definition, args);
        Ok(self.native(name, &definition.ast, locals, results, text))
    }

    /// How a native function is differentiated: by its own text, if it has one.
    pub fn native_derivative(&mut self, of: &Underived) -> Derivative {
        let definition = &of.definition;
        let text = match self.native_text(definition, ADJOINT) {
            Ok(Some(text)) => text,
            Ok(None) => return Derivative::None("its CUDA text has no `adj_snippet`".into()),
            Err(Reported) => return Derivative::None("the text of its `adj_snippet` is not known".into()),
        };
        let replay = match self.native_text(definition, REPLAY) {
            Ok(replay) => replay,
            Err(Reported) => return Derivative::None("the text of its `replay_snippet` is not known".into()),
        };
        let primal = &self.output.functions[of.id];
        let params: Vec<Local> = primal.locals.values().cloned().collect();
        let (results, name) = (primal.results.clone(), primal.name.clone());
        let adjoint = |param: &Local| Local { name: format!("adj_{}", param.name), ..param.clone() };
        let (mut locals, mut own) = (params.clone(), Vec::new());
        for param in &params {
            let (bears, holds) =
                (param.ty.bears_array(&self.output.structs), param.ty.holds_floats(&self.output.structs));
            if bears && holds {
                return Derivative::None(format!("`{}` holds numbers and arrays", param.name));
            }
            if bears {
                locals.push(adjoint(param));
            }
            if holds {
                own.push(adjoint(param));
            }
        }
        locals.extend(results.iter().map(|&ty| Local { name: "adj_ret".into(), ty, span: definition.ast.span }));
        let adjoint_name = self.output.names.unique(&format!("adj_{name}"));
        let mut made = self.native(adjoint_name, &definition.ast, locals, Vec::new(), text);
        made.source_name = format!("adj_{}", made.source_name);
        made.derivative = Derivative::None("it is the gradient of CUDA text".into());
        made.accumulators = own.into_iter().map(|local| made.locals.push(local)).collect();
        let adjoint = self.output.functions.push(made);
        let replay = replay.map(|text| {
            let name = self.output.names.unique(&format!("replay_{name}"));
            let mut made = self.native(name, &definition.ast, params, results, text);
            made.source_name = format!("replay_{}", made.source_name);
            made.derivative = Derivative::None("it is only replayed".into());
            self.output.functions.push(made)
        });
        Derivative::Rule { adjoint, replay }
    }

    /// The parameters as variables. None: one of them has no form in the text.
    fn native_params(&mut self, definition: &Arc<Definition>, args: &[InstanceArg]) -> Res<Option<Vec<Local>>> {
        let signature = self.signature(definition)?;
        let local = |(param, arg): (&ParamInfo, &InstanceArg)| match arg {
            InstanceArg::Type(ty) if !matches!(ty, Type::Local(_)) => {
                let plain = !matches!(param.pattern, crate::check::types::pattern::Pattern::Ref(_));
                plain.then(|| Local { name: param.name.clone(), ty: *ty, span: param.span })
            }
            _ => None,
        };
        Ok(signature.params.iter().zip(args).map(local).collect())
    }

    fn native(
        &self,
        name: String,
        ast: &ast::Function,
        params: Vec<Local>,
        results: Vec<Type>,
        text: String,
    ) -> Function {
        let param_count = params.len() as u32;
        let locals: IdVec<_, Local> = params.into_iter().collect();
        Function {
            name,
            source_name: ast.name.text.clone(),
            kernel_rank: None,
            library: false,
            by_block: false,
            by_thread: false,
            cuda_name: None,
            gives: None,
            native: Some(text),
            locals,
            param_count,
            results,
            nested: Vec::new(),
            accumulators: Vec::new(),
            by_ref: Vec::new(),
            arrays: Vec::new(),
            derivative: Derivative::Body,
            body: Vec::new(),
            named: Default::default(),
            span: ast.span,
            imported: None,
        }
    }

    /// A text of the decorator; None when it has none. Err: only Python knows it.
    fn native_text(&mut self, definition: &Definition, (place, name): (usize, &str)) -> Res<Option<String>> {
        let given = definition.ast.decorators.iter().find_map(|decorator| match &decorator.expr.kind {
            ExprKind::Call { args, .. } => {
                let named = args.iter().find(|arg| arg.name.as_ref().is_some_and(|n| n.text == name));
                Some(named.or_else(|| args.get(place).filter(|arg| arg.name.is_none()))?.value.clone())
            }
            _ => None,
        });
        let Some(given) = given.filter(|given| !matches!(given.kind, ExprKind::None)) else { return Ok(None) };
        match self.within(definition.scope, |c| c.host_value(&given)) {
            Some(Operand::Str(text)) => Ok(Some(text)),
            _ => Err(Reported),
        }
    }
}
