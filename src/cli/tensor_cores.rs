//! `--tensor-cores`: which products of tiles do a GPU's instructions for matrices compute?

use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use crate::codegen::llvm::TensorCores;

#[derive(clap::Args, Clone, Copy, Debug)]
pub(super) struct TensorCoresArg {
    /// Instructions for matrices on a GPU, for products of tiles.
    #[arg(long, value_name = "WHICH", default_value = TensorCores::On.name(), value_parser = parser())]
    tensor_cores: TensorCores,
}

impl TensorCoresArg {
    pub fn choice(self) -> TensorCores {
        self.tensor_cores
    }
}

fn parser() -> impl TypedValueParser<Value = TensorCores> {
    let value = |choice: TensorCores| {
        PossibleValue::new(choice.name()).help(match choice {
            TensorCores::On => "For float16, bfloat16 and float64, where shapes allow",
            TensorCores::Off => "None: sums are the chains of fma that the host computes, bit for bit",
            TensorCores::Tf32 => "For float32 too, whose factors are rounded to the 11 bits of TensorFloat-32",
        })
    };
    let known = [TensorCores::On, TensorCores::Off, TensorCores::Tf32].map(value);
    // The values above are the only ones that get here.
    PossibleValuesParser::new(known).map(|text| TensorCores::from_name(&text).unwrap_or_default())
}
