//! Which programs are kept apart? What models are measured with must not be what they were trained
//! with.
//!
//! Programs of an algorithm are of its split, which its entry in the library says, and go with
//! companions of the same split alone: no kernel of one split is in another one, under whatever
//! names.

use super::identity;
use crate::syntax::ast::Parsed;

/// The splits of a set, the largest first.
pub const SPLITS: [&str; 3] = ["train", "validation", "test"];

/// What no other split may have, of a program.
pub fn keys(parsed: &Parsed) -> Vec<u64> {
    identity::kernels_of(parsed).map(identity::body).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diag::Diagnostics;
    use crate::source::FileId;
    use crate::syntax;

    #[test]
    fn kernels_are_told_apart_by_what_they_do() {
        let program = "import warp as wp\n\n@wp.kernel\ndef k(a: wp.array[float], n: int):\n    i = wp.tid()\n    a[i] = 2.0 * a[i] + float(n)\n";
        let of = |text: &str| keys(&syntax::parse(FileId(0), text, &mut Diagnostics::new()));
        let other = program.replace("a: wp.array[float], n: int", "count: int, data: wp.array(dtype=wp.float32)");
        let other = other.replace("float(n)", "wp.float32(count)").replace("a[i]", "data[i]");
        let other = other.replace("    i = ", "    \"\"\"Scale and shift.\"\"\"\n    i = ");
        assert_eq!(of(program), of(&other), "{other}");
        assert_ne!(of(program), of(&program.replace("2.0", "3.0")));
        assert_eq!(of(&(program.to_string() + &other.replace("def k", "def l"))).len(), 2);
    }
}
