//! Kernels for the last block of a launch, where it is not full: an array with an element for each
//! of its threads has fewer there.

use std::sync::Arc;

use crate::check::Checker;
use crate::check::messages;
use crate::check::state::definition::Definition;
use crate::check::tree::FnId;
use crate::diag::{Diagnostic, Level};
use crate::ir::OF_LAST;

impl Checker<'_> {
    /// Checks kernels with tiles once more, for a block of so many threads. Those that make no
    /// sense for it are none of a launch with such a block.
    pub fn check_last_block(&mut self, threads: u32, kernels: &mut Vec<FnId>) {
        let whole = std::mem::replace(&mut self.settings.block_dim, threads);
        self.instances.keep_library();
        for definition in self.definitions.all.clone().iter().filter(|definition| definition.kernel) {
            let span = definition.ast.span;
            let on_tiles = |c: &Self, id: FnId| c.output.functions[id].span == span && c.output.functions[id].by_block;
            if kernels.iter().any(|&id| on_tiles(self, id))
                && let Err(refused) = self.of_last_block(definition, whole)
            {
                kernels.retain(|&id| !on_tiles(self, id));
                self.report(refused);
            }
        }
        self.settings.block_dim = whole;
    }

    fn of_last_block(&mut self, definition: &Arc<Definition>, whole: u32) -> Result<(), Diagnostic> {
        // What there is to say of them was said of those for whole blocks.
        let said = std::mem::take(self.diagnostics);
        let made = self.kernels(definition);
        let found = std::mem::replace(self.diagnostics, said);
        for id in made {
            let name = self.output.names.unique(&format!("{}_last_block", self.output.functions[id].name));
            let kernel = &mut self.output.functions[id];
            kernel.name = name;
            kernel.source_name.push_str(OF_LAST);
        }
        let Some(error) = found.iter().find(|found| found.level == Level::Error) else { return Ok(()) };
        let (name, threads) = (&definition.ast.name.text, self.settings.block_dim);
        let refused = messages::host::last_block(name, threads, whole, &error.message);
        Err(error.labels.iter().fold(refused, |refused, label| refused.label(label.span, label.message.clone())))
    }
}
