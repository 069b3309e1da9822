use super::select;
use crate::ir::{parse, print, verify};

#[test]
fn keeps_the_chosen_kernels_and_their_callees() {
    let text = "\
func @unused(%a: int32) -> (int32) {
  return %a
}

func @inner(%a: int32) -> (int32) {
  return %a
}

kernel @first(%x: array(dtype=int32)) rank 1 {
  return
}

kernel @second(%x: array(dtype=int32)) rank 1 {
  %i: int32 = thread_index 0
  %r: int32 = call @inner(%i)
  store %x[%i], %r
  return
}
";
    let mut module = parse::parse(text).expect("a module");
    select(&mut module, |kernel| kernel.source_name == "second");
    assert_eq!(verify::verify(&module), Ok(()));
    let kept = print::print(&module);
    assert!(kept.contains("@inner") && kept.contains("@second"), "{kept}");
    assert!(!kept.contains("@first") && !kept.contains("@unused"), "{kept}");
}
