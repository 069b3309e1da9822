//! Which of LLVM's passes does host code go through?

use std::borrow::Cow;

use super::builder::Llvm;
use super::machine::{LEAN, Machine};
use super::options::{CodegenError, Opt};

/// Passes of a time that grows no faster than the function. Functions that are called take arrays
/// apart into numbers, of which they need few: without the rest MuJoCo's contacts between
/// primitives take a tenth less.
const LARGE: &str =
    "deadargelim,function(sroa,early-cse<memssa>,instcombine,simplifycfg,loop-mssa(licm),gvn,simplifycfg)";
const FULL: &str = "deadargelim,\
                    function(sroa,early-cse<memssa>,simplifycfg,instcombine,simplifycfg,loop-mssa(loop-rotate,licm),\
                    simplifycfg,instcombine,loop(indvars,loop-idiom,loop-deletion,loop-unroll-full),sroa,gvn,sccp,bdce,\
                    instcombine,loop-mssa(licm),dse,adce,simplifycfg,instcombine,loop-mssa(loop-rotate,licm),\
                    loop-distribute,loop-vectorize,infer-alignment,loop-load-elim,instcombine,\
                    simplifycfg<forward-switch-cond;switch-range-to-icmp;hoist-common-insts;sink-common-insts>,\
                    slp-vectorizer,vector-combine,instcombine,loop-unroll<O2>,sroa,instcombine,\
                    loop-mssa(licm),early-cse<memssa>,simplifycfg)";

/// Passes of [`FULL`] that compare each access of a loop with all others.
const ON_ACCESSES: [&str; 3] = ["loop-distribute,", "loop-vectorize,", "loop-load-elim,"];

/// The pass of [`FULL`] that looks for operations on scalars that make one on a vector.
const VECTORS_OF_SCALARS: &str = "slp-vectorizer,vector-combine,instcombine,";

/// The passes that a module of this size bears.
pub(super) fn optimise(machine: &Machine, ll: &Llvm, opt: Opt) -> Result<(), CodegenError> {
    let size = ll.size();
    let passes = match opt {
        Opt::Full if !size.bears_costly_passes() => LARGE.into(),
        Opt::Full => {
            let mut left_out = Vec::new();
            if !size.bears_passes_on_accesses() {
                left_out.extend(ON_ACCESSES);
            }
            if !size.bears_vectors_of_scalars() {
                left_out.push(VECTORS_OF_SCALARS);
            }
            left_out.iter().fold(Cow::Borrowed(FULL), |passes, name| passes.replace(name, "").into())
        }
        Opt::Lean => LEAN.into(),
        Opt::None => "".into(),
    };
    if opt == Opt::Full {
        ll.keep_results();
    }
    machine.optimise(ll, &passes)
}
