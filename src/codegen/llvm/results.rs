//! How does a function give several numbers, on the host in particular?

use super::builder::{Func, Llvm, Ty, Val};

/// LLVM's number of the calling convention `swiftcc`.
const SEVERAL_RESULTS: u32 = 16;

impl<'ctx> Llvm<'ctx> {
    /// A function of the host that gives up to four numbers in registers, by LLVM's convention
    /// `swiftcc`. By C's, the third and fourth float come on the stack of the x87 unit; where LLVM
    /// fetches them from there without optimising, it may name registers above 15 in an instruction
    /// that has none of those.
    ///
    /// A fifth and a sixth float go there by both; seven and more through memory. See
    /// [`Self::results_ty`].
    pub fn set_several_results(&self, function: Func<'ctx>) {
        function.set_call_conventions(SEVERAL_RESULTS);
    }
    /// The struct of such results: with five or six floats, as many more that nobody sets and reads
    /// as make seven.
    pub fn results_ty(&self, results: &[Ty<'ctx>]) -> Ty<'ctx> {
        let missing = match results.iter().filter(|ty| ty.is_float_type()).count() {
            count @ (5 | 6) => 7 - count,
            _ => 0,
        };
        self.struct_ty(&[results, &vec![self.f32(); missing]].concat())
    }
    /// A struct that begins with these numbers, as the result of a function; the others are
    /// undefined.
    pub fn results(&self, function: Func<'ctx>, numbers: &[Val<'ctx>]) -> Val<'ctx> {
        let ty = function.get_type().get_return_type().expect("the function gives a struct of numbers");
        let empty = self.undefined(ty);
        numbers.iter().enumerate().fold(empty, |whole, (n, &value)| self.insert_field(whole, value, n as u32))
    }
    /// A call of a function with so many results, by its own convention (a call by another one is
    /// undefined). None: it has none.
    pub fn call_several_results(&self, function: Func<'ctx>, args: &[Val<'ctx>]) -> Option<Val<'ctx>> {
        let call = self.call_site(function, args);
        call.set_call_convention(function.get_call_conventions());
        call.try_as_basic_value().basic()
    }
    /// Lets no pass take away results of functions that give more than four floats, though nobody
    /// reads them: five or six could be left.
    pub fn keep_results(&self) {
        let floats = |function: &Func<'ctx>| match function.get_type().get_return_type() {
            Some(ty) if ty.is_struct_type() => {
                ty.into_struct_type().get_field_types_iter().filter(|ty| ty.is_float_type()).count()
            }
            _ => 0,
        };
        let is_kept =
            |function: &Func<'ctx>| function.get_call_conventions() == SEVERAL_RESULTS && floats(function) > 4;
        self.keep_signatures(&self.module.get_functions().filter(is_kept).collect::<Vec<_>>());
    }
}
